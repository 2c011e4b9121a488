"""Names of span attributes: OpenTelemetry's for generative AI, OpenInference's, and our own.

The GenAI conventions are in development. They are pinned: `SEMCONV_VERSION` is the last release of
OpenTelemetry's semantic conventions that defines them itself; later ones list the same names as
moved to a repository of their own.
"""

SEMCONV_VERSION = "1.41.0"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV_VERSION}"

GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_CONVERSATION = "gen_ai.conversation.id"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_AGENT_ID = "gen_ai.agent.id"
GEN_AI_MODEL = "gen_ai.request.model"
GEN_AI_INPUT = "gen_ai.input.messages"
GEN_AI_OUTPUT = "gen_ai.output.messages"
GEN_AI_TOOL_NAME = "gen_ai.tool.name"
GEN_AI_TOOL_CALL_ID = "gen_ai.tool.call.id"
GEN_AI_TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_RESULT = "gen_ai.tool.call.result"
GEN_AI_EVALUATION_EVENT = "gen_ai.evaluation.result"
GEN_AI_EVALUATION_NAME = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_VALUE = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_LABEL = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

INVOKE_AGENT = "invoke_agent"
EXECUTE_TOOL = "execute_tool"
INFERENCE = ("chat", "generate_content", "text_completion")
"""What `gen_ai.operation.name` says of a call of a model."""

OPENINFERENCE_KIND = "openinference.span.kind"
SESSION = "session.id"
AGENT_NAME = "agent.name"
NODE = "graph.node.id"
NODE_PARENT = "graph.node.parent_id"
LLM_MODEL = "llm.model_name"
LLM_INPUT = "llm.input_messages"
LLM_OUTPUT = "llm.output_messages"
TOOL_NAME = "tool.name"
TOOL_CALL_IDS = ("tool.id", "tool_call.id")
INPUT_VALUE = "input.value"
OUTPUT_VALUE = "output.value"

DOMAIN = "fglguard.domain"
TASK = "fglguard.task"
UNSAFE = "fglguard.unsafe"
LABEL_SOURCE = "fglguard.label_source"
ATTACK = "fglguard.attack"
AGENT = "fglguard.agent"
AGENTS = "fglguard.agents"
FINAL_AGENT = "fglguard.final_agent"

VERDICT = "fglguard.verdict."
"""Prefix of what the guard's own span says."""
