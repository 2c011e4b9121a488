import subprocess
import sys
import time

import pytest

from fglguard.errors import SiloError
from fglguard.silo.lock import writing

HOLDER = """
import sys
from pathlib import Path
from fglguard.silo.lock import writing
with writing(Path(sys.argv[1]), 0):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_writer_waits_and_then_says_who_holds_the_lock(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            start = time.monotonic()
            with (
                pytest.raises(SiloError, match=rf"pid {holder.pid}\).*0\.2 s"),
                writing(tmp_path, 0.2),
            ):
                pytest.fail("two writers at once")
            assert time.monotonic() - start >= 0.2
        finally:
            holder.kill()
    # The system drops a dead holder's lock.
    with writing(tmp_path, 5):
        pass


def test_a_lock_on_a_folder_that_was_removed_guards_nothing(tmp_path):
    import shutil
    import threading

    folder = tmp_path / "s"
    folder.mkdir()
    waiting, told = threading.Event(), []

    def second():
        waiting.set()
        try:
            with writing(folder, 10):
                told.append("entered")
        except SiloError as error:
            told.append(str(error))

    with writing(folder, 0):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        time.sleep(0.2)
        shutil.rmtree(folder)
    thread.join(10)
    assert len(told) == 1
    assert "removed" in told[0]
