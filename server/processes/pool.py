"""A pool of workers: who gets which parcel, and what happens when one dies or hangs."""

import logging
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from server.processes.nursery import Nursery, Work
from server.processes.parcels import Parcel
from server.processes.wire import ChannelClosed, receive_frame, send_frame

logger = logging.getLogger("fglguard")

TRANSFER_SECONDS = 10.0
"""Limit for one frame between two processes of this machine, once it has begun."""


@dataclass(slots=True)
class _Process:
    pid: int
    channel: socket.socket
    common: object = None  # the common data it holds


@dataclass(slots=True, eq=False)
class _Worker:
    """A place in the pool; processes come and go in it."""

    number: int
    queue: deque[Parcel] = field(default_factory=deque)
    process: _Process | None = None
    task: Parcel | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a parcel.

    Attributes:
        parcel: Which.
        reply: The frame that the worker answered with, or None.
        failure: Why there is none.
    """

    parcel: Parcel
    reply: list[bytes] | None = None
    failure: str = ""


class WorkerPool:
    """Workers that each handle one parcel at a time.

    A client's parcels go to its home worker, which has its data open, unless another one has
    nothing left to do. A worker is sent a parcel only when it waits for one, so that neither side
    can block the other. One that dies costs the parcel it worked on; a new one takes its place.

    Args:
        size: How many workers.
        work: What each does with its channel.
    """

    def __init__(self, size: int, work: Work) -> None:
        self._nursery = Nursery(work)
        self._workers = [_Worker(number) for number in range(size)]
        self._selector = selectors.DefaultSelector()

    def submit(self, parcels: Iterable[Parcel]) -> None:
        """Queue parcels; nothing is sent before `advance`."""
        for parcel in parcels:
            self._workers[parcel.client % len(self._workers)].queue.append(parcel)

    def advance(self, deadline: float) -> list[Outcome]:
        """Give work to idle workers, then wait until one is done, at most until `deadline`.

        Args:
            deadline: On the clock of `time.monotonic`.
        """
        outcomes = self._feed()
        wait = 0.0 if outcomes else max(0.0, deadline - time.monotonic())
        for key, _ in self._selector.select(wait):
            outcome = self._collect(key.data)
            if outcome is not None:
                outcomes.append(outcome)
        return outcomes + self._feed()

    def abandon(self) -> None:
        """Drop what is queued and end the workers that still work; they are late or hang."""
        for worker in self._workers:
            worker.queue.clear()
            if worker.task is not None:
                logger.warning(
                    "worker %d: client %d took too long; its process is ended",
                    worker.number,
                    worker.task.client,
                )
                self._end(worker)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            if worker.process is not None:
                worker.process.channel.close()
        self._selector.close()
        self._nursery.close()

    def process_ids(self) -> list[int]:
        """Process ids of the workers that are up."""
        return [worker.process.pid for worker in self._workers if worker.process is not None]

    def _feed(self) -> list[Outcome]:
        failures = []
        for worker in self._workers:
            while worker.task is None and (parcel := self._next(worker)) is not None:
                failure = self._send(worker, parcel)
                if failure is not None:
                    failures.append(failure)
        return failures

    def _next(self, worker: _Worker) -> Parcel | None:
        if worker.queue:
            return worker.queue.popleft()
        longest = max(self._workers, key=lambda other: len(other.queue))
        return longest.queue.pop() if longest.queue else None

    def _send(self, worker: _Worker, parcel: Parcel) -> Outcome | None:
        process = self._alive(worker)
        worker.task = parcel
        try:
            if parcel.common and process.common is not parcel.common:
                send_frame(process.channel, parcel.common_frame())
                process.common = parcel.common
            send_frame(process.channel, parcel.frame())
        except (ChannelClosed, TimeoutError):
            return self._lost(worker)
        return None

    def _collect(self, worker: _Worker) -> Outcome | None:
        assert worker.process is not None
        if worker.task is None:
            # A worker sends nothing unasked: this is its end.
            logger.warning("worker %d %s while idle", worker.number, self._end(worker))
            return None
        try:
            reply = receive_frame(worker.process.channel)
        except (ChannelClosed, TimeoutError):
            return self._lost(worker)
        parcel, worker.task = worker.task, None
        return Outcome(parcel, reply)

    def _lost(self, worker: _Worker) -> Outcome:
        assert worker.process is not None and worker.task is not None
        parcel, pid = worker.task, worker.process.pid
        how = self._end(worker)
        failure = f"worker process {pid} {how} while it worked for client {parcel.client}"
        logger.error("%s; another one takes its place", failure)
        return Outcome(parcel, failure=failure)

    def _alive(self, worker: _Worker) -> _Process:
        """The worker's process; a new one where it has none or died while idle."""
        if worker.process is not None and _readable(worker.process.channel):
            logger.warning("worker %d %s while idle", worker.number, self._end(worker))
        if worker.process is None:
            worker.process = _Process(*self._nursery.start())
            worker.process.channel.settimeout(TRANSFER_SECONDS)
            self._selector.register(worker.process.channel, selectors.EVENT_READ, worker)
        return worker.process

    def _end(self, worker: _Worker) -> str:
        assert worker.process is not None
        process, worker.process, worker.task = worker.process, None, None
        self._selector.unregister(process.channel)
        process.channel.close()
        return self._nursery.end(process.pid)


def _readable(channel: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        return bool(selector.select(0))
