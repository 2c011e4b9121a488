"""The run report: one self-contained page of a run folder, read by a person, offline.

Reading a run folder and choosing episodes need only what fglguard itself needs; drawing needs the
extra `report` (matplotlib, jinja2), which is imported when a page is made.
"""
