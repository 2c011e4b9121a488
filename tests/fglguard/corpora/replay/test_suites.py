import subprocess
import sys

import pytest

from fglguard.corpora.replay.suites import SUITES, load_suite
from fglguard.errors import CorpusError


@pytest.mark.long
def test_usable_tasks() -> None:
    """97 user tasks all show a place for injected text; of the 14 + 7 + 9 + 5 injection tasks those
    with an empty ground truth (workspace 6 to 13, travel 6) are left out.
    """
    suites = [load_suite(name) for name in SUITES]
    assert [len(suite.user_tasks) for suite in suites] == [40, 20, 16, 21]
    assert [len(suite.injection_tasks) for suite in suites] == [6, 6, 9, 5]
    assert all(fact.vectors for suite in suites for fact in suite.facts.values())


def test_an_unknown_suite_is_refused_with_the_choices() -> None:
    with pytest.raises(CorpusError, match="workspace, travel, banking, slack, got 'chess'"):
        load_suite("chess")


def test_a_missing_benchmark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agentdojo.task_suite.load_suites", None)
    with pytest.raises(CorpusError, match=r"pip install 'fglguard\[corpora\]'"):
        load_suite.__wrapped__("banking")


def test_importing_the_replay_does_not_import_the_benchmark() -> None:
    code = "import sys, fglguard.corpora.replay; print('agentdojo' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
