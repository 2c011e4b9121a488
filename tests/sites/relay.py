"""A TCP relay on loopback: a network that can be cut, and that remembers what went through it."""

import contextlib
import socket
import threading

PIECE = 65536
POLL_SECONDS = 0.1


class Relay:
    """Passes connections on to a port of this machine until it is cut.

    A cut network drops what is sent and closes nothing, as a router that is switched off does.

    Attributes:
        port: Where it listens.
        said: What the client of each connection has sent, in order.
    """

    def __init__(self, target):
        self._target = target
        self._cut = threading.Event()
        self._closed = threading.Event()
        self._open, self.said = [], []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self._cut.set()

    def mend(self):
        """Let connections through again; those that were open are gone, as after a restart."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()
        self._cut.clear()

    def close(self):
        self._closed.set()
        self._listening.close()
        self.mend()

    def _accept(self):
        while not self._closed.is_set():
            try:
                inner, _ = self._listening.accept()
                outer = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # closed, or nobody listens behind it
                continue
            self._open += [inner, outer]
            said = bytearray()
            self.said.append(said)
            threading.Thread(target=self._pass, args=(inner, outer, said), daemon=True).start()
            threading.Thread(target=self._pass, args=(outer, inner, None), daemon=True).start()

    def _pass(self, source, sink, said):
        with contextlib.suppress(OSError), source, sink:
            while piece := source.recv(PIECE):
                if said is not None:
                    said += piece
                if not self._cut.is_set():
                    sink.sendall(piece)
