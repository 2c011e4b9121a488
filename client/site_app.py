"""A ClientApp that lets nothing out before the site's log has it."""

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from client.failure import report_failure
from client.sent_log import sent_log_of
from client.sent_record import sent_record


class SiteApp(ClientApp):
    """A ClientApp whose every reply, an error too, is first written to the node's `sent-log`.

    It stands around the call of the app, not around single handlers, so that a handler that is
    added later, or a message that none is there for, can't go past it. If the log can't be written,
    an error that says so is all that leaves.
    """

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer a message."""
        return report_failure(self._answer)(message, context)

    def _answer(self, message: Message, context: Context) -> Message:
        log = sent_log_of(context)
        if log is None:
            return super().__call__(message, context)
        reply = report_failure(super().__call__)(message, context)
        log.append(sent_record(message, reply, context))
        return reply
