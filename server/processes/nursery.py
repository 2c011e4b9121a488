"""The nursery: one process that forks workers, and ends with this one.

Why fork: torch, Flower and the client app are loaded here already, so a worker starts in
milliseconds and shares their memory; spawned anew, each would pay seconds of imports. Why not
fork from here: the progress display's threads, or a library's, may hold a lock that the copy would
never see released. The nursery is forked once, before a run starts threads or computes anything,
stays single-threaded, and can replace a worker at any time.
"""

import contextlib
import ctypes
import gc
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable

from fglguard.errors import FederationError

Work = Callable[[socket.socket], None]
"""A worker's whole life: serve a channel until it closes."""

ANSWER_SECONDS = 30.0

_START, _END = 0, 1
_REQUEST = struct.Struct("!Bq")
_ANSWER = struct.Struct("!q")
_PR_SET_PDEATHSIG = 1


class Nursery:
    """Starts and ends worker processes.

    If this process is killed, its nursery and the workers are ended by the kernel (Linux) or by
    their closed sockets. Linux counts the *thread* that made the nursery as its parent, so make it
    in a thread that lives as long as the run.

    Args:
        work: What each worker does; it is inherited, not sent, so it may be any callable.
    """

    def __init__(self, work: Work) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(ANSWER_SECONDS)
        parent = os.getpid()
        _flush()  # or both processes would print what is buffered
        self._pid = os.fork()
        if self._pid == 0:
            _last_words(lambda: _nurse(theirs, self._control, parent, work))
        theirs.close()

    def start(self) -> tuple[int, socket.socket]:
        """Start a worker; returns its process id and this side of its channel.

        Raises:
            FederationError: The nursery is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self._ask(_START, 0, [theirs.fileno()])
        return pid, ours

    def end(self, pid: int) -> str:
        """End a worker, if it still lives, and say how it ended.

        A worker's process id stays taken until then, so no other process can be hit.

        Raises:
            FederationError: The nursery is gone.
        """
        status = self._ask(_END, pid, [])
        if os.WIFSIGNALED(status):
            return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exited with code {os.WEXITSTATUS(status)}"

    def close(self) -> None:
        """End the nursery and with it all its workers."""
        if self._control.fileno() < 0:
            return
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)  # its workers end with it
        os.waitpid(self._pid, 0)

    def _ask(self, operation: int, pid: int, descriptors: list[int]) -> int:
        try:
            socket.send_fds(self._control, [_REQUEST.pack(operation, pid)], descriptors)
            answer = self._control.recv(_ANSWER.size, socket.MSG_WAITALL)
            return int(_ANSWER.unpack(answer)[0])
        except (OSError, struct.error) as error:
            raise FederationError(
                f"the process {self._pid}, which starts and ends this run's workers, does not "
                f"answer: {error}"
            ) from error


def _nurse(control: socket.socket, other_end: socket.socket, parent: int, work: Work) -> None:
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to act on
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(parent)
    gc.freeze()  # the collector would touch, and so copy, every page that workers share
    workers: set[int] = set()
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, _REQUEST.size, 1)
        if len(request) < _REQUEST.size:
            break
        operation, pid = _REQUEST.unpack(request)
        if operation == _START:
            pid = _bear(control, descriptors[0], work)
            workers.add(pid)
            control.sendall(_ANSWER.pack(pid))
        else:
            os.kill(pid, signal.SIGKILL)
            workers.discard(pid)
            control.sendall(_ANSWER.pack(os.waitpid(pid, 0)[1]))
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


def _bear(control: socket.socket, descriptor: int, work: Work) -> int:
    nursery = os.getpid()

    def live() -> None:
        control.close()
        _die_with(nursery)
        work(socket.socket(fileno=descriptor))

    _flush()
    pid = os.fork()
    if pid == 0:
        _last_words(live)
    os.close(descriptor)
    return pid


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)


def _last_words(life: Callable[[], None]) -> None:
    """Run a forked process to its end; it must never return into its parent's code."""
    code = 1
    try:
        life()
        code = 0
    except BaseException:  # noqa: BLE001  (the end of a process: told on stderr and by its code)
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
