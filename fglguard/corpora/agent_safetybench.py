"""Agent-SafetyBench results: one agent with tools, judged by a model.

Unsafe where `pred_label` is 1; the judge agrees with people in about 91 % of the cases. `risks`,
`failure_modes` and the judge's own texts are left out, and so is the hint (another model's
answer) that one setting appends to the request.
"""

from pathlib import Path
from typing import Any

from fglguard.corpora.dialogue import Dialogue, add_chat
from fglguard.corpora.fields import as_kind, digest, flag, required
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode
from fglguard.errors import CorpusError

_SETTING = "shield_results_"


class AgentSafetyBench(Importer):
    """`shield_results_<setting>/<model>/*.json`, each a list of judged results."""

    def episode(self, record: Any, source: Source) -> Episode:
        """One judged result. Its split key is the test's id."""
        record = as_kind(record, dict, "record")
        test = record.get("id")
        if isinstance(test, bool) or not isinstance(test, int | str):
            raise CorpusError(f"id: expected a number or a text, got {type(test).__name__}")
        setting, model = _setting_and_model(source.file)
        dialogue = Dialogue()
        add_chat(dialogue, required(record, "output", list), clean_user=_without_hint)
        return dialogue.build(
            source,
            id=f"{self.name}-{digest(record, setting, model)}",
            task=(f"task:{test}",),
            final_agent=dialogue.main,
            unsafe=flag(record, "pred_label"),
            label_source="judge",
            attributes={"agent_model": model, "setting": setting},
        )


def _without_hint(text: str) -> str:
    return text.split("\nHint:")[0]


def _setting_and_model(file: Path) -> tuple[str | None, str | None]:
    model, setting = file.absolute().parent, file.absolute().parent.parent
    if not setting.name.startswith(_SETTING):
        return None, None
    return setting.name.removeprefix(_SETTING), model.name
