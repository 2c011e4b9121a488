"""Another server in the place of the host: it shows a certificate, and waits to be believed."""

import contextlib
import socket
import ssl
import threading

SECONDS = 5.0


class Impostor:
    """A TLS server.

    Attributes:
        port: Where it listens.
        refusals: What each handshake that failed failed with.
        heard: Bytes that were sent to it by those who believed it.
    """

    def __init__(self, folder):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.refusals, self.heard = [], b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listening.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(SECONDS)
        try:
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self.heard += secured.recv(65536)
        except (ssl.SSLError, OSError) as error:
            self.refusals.append(str(error))
