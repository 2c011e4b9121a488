"""The page of a report, as a jinja2 template.

In a module, since a Flower app bundle carries Python files and no HTML. Values are escaped by
jinja2; only drawings and the style sheet, which are made here, are marked as safe.
"""

from fglguard.evaluation.report.flow_template import FLOW

_KEY = """\
{%- macro swatch(entry) -%}
{%- set stroke = "fill:none;stroke:var(--" ~ entry.colour ~ ")" -%}
{%- set fill = "fill:var(--" ~ entry.colour ~ ")" -%}
<svg viewBox="0 0 28 14" aria-hidden="true">
{%- if entry.shape == "line" -%}
<path d="M1 7H27" style="{{ stroke }}" stroke-width="2.2"
 stroke-dasharray="{{ entry.dashes | join(' ') }}"/>
{%- elif entry.shape == "box" -%}
<path d="M6 1H22V13H6z" style="{{ fill }}"/>
{%- elif entry.shape == "dot" -%}
<circle cx="14" cy="7" r="5.5" style="{{ fill }}"/>
{%- elif entry.shape == "circle" -%}
<circle cx="14" cy="7" r="5" style="{{ stroke }}" stroke-width="2.4"/>
{%- elif entry.shape == "ring" -%}
<circle cx="14" cy="7" r="6.2" style="{{ stroke }}"/>
<circle cx="14" cy="7" r="3.6" style="{{ stroke }}"/>
{%- elif entry.shape == "square" -%}
<path d="M9 2H19V12H9z" style="{{ stroke }}" stroke-width="2"/>
{%- elif entry.shape == "triangle" -%}
<path d="M14 1.5 20 12.5H8z" style="{{ stroke }}" stroke-width="2"/>
{%- elif entry.shape == "diamond" -%}
<path d="M14 1 20 7 14 13 8 7z" style="{{ stroke }}" stroke-width="2"/>
{%- elif entry.shape == "cross" -%}
<path d="M9 2 19 12M19 2 9 12" style="{{ stroke }}" stroke-width="2.6"/>
{%- endif -%}
</svg>
{%- endmacro -%}

{%- macro key(entries) -%}
{%- if entries -%}
<ul class="key">
{%- for entry in entries %}<li>{{ swatch(entry) }}<span>{{ entry.label }}</span></li>{% endfor -%}
</ul>
{%- endif -%}
{%- endmacro -%}
"""

_CARD = """\
{%- macro table(content, caption="", kind="") -%}
<div class="scroll" tabindex="0"><table class="{{ kind }}">
{%- if caption %}<caption><span>{{ caption }}</span></caption>{% endif -%}
<thead><tr>
{%- for column in content.columns %}<th scope="col">{{ column }}</th>{% endfor -%}
</tr></thead>
<tbody>
{%- for row in content.rows %}<tr><th scope="row">{{ row[0] }}</th>
{%- for cell in row[1:] %}<td>{{ cell }}</td>{% endfor -%}
</tr>
{% endfor -%}
</tbody></table></div>
{%- endmacro -%}

{%- macro card(picture) -%}
<figure class="card">
<h3>{{ picture.title }}</h3>
{% if picture.svg %}<div class="drawing">{{ picture.svg | safe }}</div>{% endif %}
{{ key(picture.key) }}
<figcaption>{{ picture.description }}</figcaption>
{% if picture.table %}
<details><summary>As a table</summary>{{ table(picture.table) }}</details>
{% endif %}
</figure>
{%- endmacro -%}
"""

_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>{{ run.name }}: run report</title>
<style>{{ stylesheet | safe }}</style>
</head>
<body>
<main>
<header>
<h1>Run report: {{ run.name }}</h1>
<p class="plain">{{ summary }}</p>
{% if episodes and episodes.hold_text %}
<p class="notice"><strong>This page holds what agents said.</strong>
It must not leave the site that holds the episodes.</p>
{% endif %}
<ul class="tiles">
{% for tile in tiles %}
<li><b>{{ tile.value }}</b>{{ tile.label }}<div class="muted">{{ tile.note }}</div></li>
{% endfor %}
</ul>
{% for notice in notices %}<p class="notice">{{ notice }}</p>{% endfor %}
</header>
"""

_RUN = """\
<section>
<h2>Held-out test split</h2>
<div class="card">
{{ table(results, "95 % intervals in brackets, from a bootstrap over task groups", "figures") }}
{% for line in calibration %}<p class="muted plain">{{ line }}</p>{% endfor %}
{% if domain_thresholds %}
{{ table(domain_thresholds, "Thresholds by domain, and what each does to the calibration data",
  "reasons") }}
{% endif %}
{% if undefined %}
<details><summary>Undefined figures and why</summary>
<ul>{% for line in undefined %}<li>{{ line }}</li>{% endfor %}</ul></details>
{% endif %}
</div>
</section>

<section>
<h2>Training, detection, and text floors</h2>
<div class="grid">{{ card(learning) }}{{ card(roc) }}{{ card(floors) }}</div>
</section>

<section>
<h2>Score distributions on the test split</h2>
{{ key(distribution_key) }}
{% if unseen_domains %}
<p class="muted">{{ unseen_domains }} more domains are left out.</p>
{% endif %}
<div class="grid">{% for picture in distributions %}{{ card(picture) }}{% endfor %}</div>
</section>

<section>
<h2>Clients</h2>
<div class="grid">{{ card(holdings) }}{{ card(fairness) }}</div>
<div class="card wide">
{% if clients %}
{{ table(clients, "Every client, on its own episodes", "names") }}
{% else %}
<p class="muted">{{ run.results["clients"] | length }} clients: results.json has every one.</p>
{% endif %}
<p class="muted plain">{{ participation }}</p>
</div>
</section>
"""

_EPISODES = """\
{% if episodes %}
<section>
<h2>Episodes worth a look</h2>
<p>Out of {{ episodes.scored }} test episodes
{%- if episodes.scored < episodes.held %} (evenly spaced among {{ episodes.held }}){% endif -%}
: the highest scores, the missed (unsafe, below the threshold, lowest first) and the false alarms
(safe, at or above it). An edge's change is the episode's logit minus the logit without that edge
{%- if episodes.tell_flow %}, that is without what the one said to the other{% endif -%}
; edges that can stand in for each other each show little.</p>
{% if not episodes.hold_text %}
<p class="muted">What agents said, and every name that a site chose, is left out. At the site that
holds the episodes, <code>fglguard report RUN_FOLDER --silo SILO</code> makes a page with them.</p>
{% endif %}
{{ key(graph_key) }}
<div class="grid">
{% for view, picture, agents in views %}
<article class="card">
<h3>{{ view.name }}</h3>
<p>
{%- for why in view.why %}<span class="badge">{{ why }}</span>{% endfor -%}
{%- if view.unsafe is none %}<span class="badge">no label</span>
{%- elif view.unsafe %}<span class="badge unsafe">unsafe</span>
{%- else %}<span class="badge safe">safe</span>{% endif -%}
<span class="badge">{{ "blocked" if view.blocked else "allowed" }}</span></p>
<p class="muted plain">{{ view.domain }}{% if view.silo %} in {{ view.silo }}{% endif %}.
Corroborated {{ "%.3f" | format(view.corroborated) }}, raw {{ "%.3f" | format(view.raw) }},
threshold {{ threshold_text(view) }}.</p>
{% if picture.svg %}
<div class="drawing">{{ picture.svg | safe }}</div>
{% else %}
<p class="muted">{{ picture.description }}</p>
{% endif %}
<details><summary>Agents and edges as tables</summary>
{{ table(agents, "Each agent's own risk", "names") }}
{{ table(picture.table, "Edges that change the final logit most", "names") }}</details>
{% if view.flow %}{{ flow(view.flow) }}{% endif %}
{% if view.messages is not none %}
<details><summary>What was said ({{ view.messages | length }} messages)</summary>
{% for message in view.messages %}
<div class="message"><div class="muted plain">round {{ message.round }}: {{ message.sender }}
{%- if message.receivers %} to {{ message.receivers }}{% endif %}, {{ message.kind }}</div>
<pre>
{{ message.text }}</pre></div>
{% endfor %}</details>
{% endif %}
</article>
{% endfor %}
</div>
</section>
{% endif %}
"""

_FOOT = """\
<section>
<h2>Settings</h2>
<details class="card"><summary>Every setting of the run; paths are left out</summary>
{{ table(settings, "", "names") }}</details>
</section>
</main>
</body>
</html>
"""

PAGE = _KEY + _CARD + FLOW + _HEAD + _RUN + _EPISODES + _FOOT
