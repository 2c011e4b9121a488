"""The style sheet of a report, beside the colours of `theme`.

In a module, like the page, since a Flower app bundle carries Python files and no style sheets.
"""

STYLE = """\
:root {
  color-scheme: light dark;
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  background: var(--page);
  color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main {
  max-width: 1280px;
  margin: 0 auto;
  padding: 16px;
}
h1 {
  font-size: 1.5rem;
  line-height: 1.25;
  margin: .4em 0 .2em;
  overflow-wrap: anywhere;
}
h2 {
  font-size: 1.2rem;
  margin: 1.8em 0 .6em;
}
h3 {
  font-size: 1rem;
  margin: 0 0 .3em;
  overflow-wrap: anywhere;
}
p {
  margin: .4em 0;
  max-width: 75ch;
}
.muted,
figcaption {
  color: var(--muted);
  font-size: .9rem;
}
.plain {
  overflow-wrap: anywhere;
}
.tiles {
  display: grid;
  grid-template-columns: repeat(auto-fit,minmax(150px,1fr));
  gap: 12px;
  margin: 16px 0;
  padding: 0;
  list-style: none;
}
.tiles li,
.card {
  background: var(--surface);
  border: 1px solid var(--grid);
  border-radius: 8px;
  padding: 12px;
}
.tiles b {
  display: block;
  font-size: 1.5rem;
  line-height: 1.2;
  font-variant-numeric: tabular-nums;
}
.grid {
  display: grid;
  grid-template-columns: repeat(auto-fill,minmax(min(100%,400px),1fr));
  gap: 16px;
  align-items: start;
}
.card {
  min-width: 0;
  margin: 0;
}
.card.wide {
  margin-top: 16px;
}
.drawing>svg {
  display: block;
  width: 100%;
  height: auto;
}
.drawing svg * {
  stroke-linejoin: round;
}
.drawing svg text {
  font-family: inherit!important;
  font-variant-numeric: tabular-nums;
}
.key {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 16px;
  margin: .3em 0;
  padding: 0;
  list-style: none;
  font-size: .9rem;
  overflow-wrap: anywhere;
}
.key li {
  display: flex;
  align-items: center;
  gap: 6px;
  min-width: 0;
}
.key svg {
  flex: none;
  width: 28px;
  height: 14px;
}
.scroll {
  overflow-x: auto;
}
table {
  border-collapse: collapse;
  font-size: .9rem;
  font-variant-numeric: tabular-nums;
}
th,
td {
  padding: 4px 10px;
  text-align: right;
  border-bottom: 1px solid var(--grid);
  vertical-align: top;
}
th {
  font-weight: 600;
}
th:first-child,
td:first-child {
  text-align: left;
  padding-left: 0;
}
.names td:nth-child(2),
.names th:nth-child(2) {
  text-align: left;
  overflow-wrap: anywhere;
  min-width: 7.5em;
}
.reasons td:last-child,
.reasons th:last-child {
  text-align: left;
  min-width: 14em;
}
tbody th {
  font-weight: 400;
  overflow-wrap: break-word;
  max-width: 16em;
}
.figures td {
  white-space: pre;
}
thead th:first-child,
tbody th {
  position: sticky;
  left: 0;
  background: var(--surface);
}
caption {
  text-align: left;
  color: var(--muted);
  padding: 4px 0;
}
caption span {
  display: block;
  max-width: min(75ch, 100vw - 60px);
}
summary {
  cursor: pointer;
  color: var(--muted);
  font-size: .9rem;
  padding: 4px 0;
}
summary:focus-visible,
.scroll:focus-visible {
  outline: 2px solid var(--safe);
  outline-offset: 2px;
}
.badge {
  display: inline-block;
  border: 1px solid currentColor;
  border-radius: 4px;
  padding: 0 6px;
  margin-right: 4px;
  font-size: .8rem;
  white-space: nowrap;
}
.badge.unsafe {
  color: var(--unsafe);
}
.badge.safe {
  color: var(--safe);
}
.notice {
  border-left: 4px solid var(--unsafe);
  padding: 4px 12px;
  background: var(--surface);
  max-width: none;
}
.message {
  border-left: 3px solid var(--grid);
  padding: 2px 0 2px 10px;
  margin: 8px 0;
}
.message pre {
  margin: 2px 0;
  font: .85rem/1.45 ui-monospace,"DejaVu Sans Mono",monospace;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  max-height: 24em;
  overflow-y: auto;
}
.taint b {
  color: var(--text);
}
mark {
  background: none;
  color: var(--unsafe);
  font-weight: 700;
}
@media (min-width:900px) {
  main { padding: 24px }
}
@media (max-width: 600px) {
  tbody th { overflow-wrap: anywhere; min-width: 6.5em; max-width: 9em }
}
@media print {
  body { background: none }
  .card { break-inside: avoid }
}
"""
