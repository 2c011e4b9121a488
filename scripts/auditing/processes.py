"""Work on several models at once, a process each: results in the order asked, failures named."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import torch

from fglguard.errors import FglguardError, PrivacyError

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_processes(
    work: Callable[[Task], Result], tasks: Mapping[str, Task], workers: int
) -> list[Result]:
    """What `work` makes of each task; in this process where one worker is enough.

    Args:
        work: A function of a module, so that another process can find it.
        tasks: By name.
        workers: Processes at most; 0: one a core.

    Returns:
        Results in the order of the tasks.

    Raises:
        FglguardError: A task failed; the text names it, and the others are ended.
        PrivacyError: A process was killed from outside.
    """
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if workers <= 1:
        return [_named(name, lambda task=task: work(task)) for name, task in tasks.items()]
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _one_thread)
    others = set(multiprocessing.active_children())
    try:
        futures = {name: pool.submit(work, task) for name, task in tasks.items()}
        found = [_named(name, future.result) for name, future in futures.items()]
    except BaseException:
        # Also an interrupt: a worker would go on for minutes.
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return found


def _named(name: str, result: Callable[[], Result]) -> Result:
    try:
        return result()
    except BrokenProcessPool as error:
        raise PrivacyError(f"audit of {name}: its process was killed: {error}") from error
    except FglguardError as error:
        told = str(error)
        raise type(error)(told if name in told else f"audit of {name}: {told}") from error


def _one_thread() -> None:
    torch.set_num_threads(1)
