"""The largest resident memory of this process while something runs."""

import gc
from collections.abc import Callable
from pathlib import Path

_PROCESS = Path("/proc/self")
_FORGET_PEAK = "5"
"""proc(5): written to clear_refs, sets the peak back to what is resident now."""


def peak_rss(work: Callable[[], None]) -> float:
    """Peak resident set in MB of 2^20 bytes while `work` runs, all that was there before included.

    Raises:
        OSError: The system has no /proc.
    """
    gc.collect()
    (_PROCESS / "clear_refs").write_text(_FORGET_PEAK)
    work()
    for line in (_PROCESS / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status: expected a line VmHWM, got none")
