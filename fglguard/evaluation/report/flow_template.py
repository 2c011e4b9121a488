"""The values that flowed through an episode, as a macro of the report's template."""

FLOW = """\
{%- macro flow(found) -%}
{%- set by = "calls" if found.calls else "messages" -%}
<p class="plain">
{%- if not found.values %}No value that an untrusted source brought in left by the agents' {{ by }}.
{%- else %}{{ found.values }} tainted value{{ "s" if found.values > 1 }}, which no user gave and an
untrusted source did, left by {{ found.messages }} of the agents' {{ by }}
{%- if found.relayed %}; {{ found.relayed }} passed through several agents{% endif -%}
.
{%- endif -%}
</p>
{% if found.shown %}
<details><summary>The most instruction-like of them</summary>
{% for taint in found.shown %}
<div class="message taint"><div class="muted plain">
<b>{{ taint.value }}</b> left in round {{ taint.round }} by a
{{ "call" if taint.kind == "call" else "message" }} of {{ taint.sender }}; likeness to an
instruction {{ "%.2f" | format(taint.likeness) }}; path {{ taint.path | join(" → ") }}; came in by:
</div>
<pre>
{{ taint.before }}<mark>{{ taint.marked }}</mark>{{ taint.after }}</pre></div>
{% endfor %}</details>
{% endif %}
{%- endmacro -%}
"""
