"""A client's failure, told to the server in words that give no text away."""

import functools
import logging
import re
import traceback
from collections.abc import Callable
from pathlib import Path

from flwr.app import Context, Error, Message, MessageType
from flwr.common.constant import ErrorCode

from client.identity import is_simulated, name_of
from fglguard.errors import FglguardError

logger = logging.getLogger("fglguard")


_OWN_NAME = re.compile(r"\Asite [^:\n]+: ")
"""What `client.naming` puts before an error's text."""


class SimulatedFault(FglguardError):
    """A simulated client dropped out, as its settings want it to: no bug to trace."""


Handler = Callable[[Message, Context], Message]


def report_failure(handler: Handler) -> Handler:
    """Turn an exception of a handler into an error reply.

    Flower would report one too, but without the traceback, and on a site's own premises with
    whatever text the exception quotes. Of an FglguardError, which says what to do and never quotes
    an agent, the message is sent, without the traceback. Of any other exception a simulation sends
    the whole traceback; from a real site only its type and the places it passed through leave, and
    the rest goes to the site's log.
    """

    @functools.wraps(handler)
    def handle(message: Message, context: Context) -> Message:
        try:
            return handler(message, context)
        except Exception as error:
            if isinstance(error, FglguardError):
                logger.warning("%s", error)
            else:
                logger.exception("the %s handler failed", message.metadata.message_type)
            reason = describe(error, whole=is_simulated(context))
            if message.metadata.message_type == MessageType.QUERY:
                # Before it has answered this, the server has no name for the node.
                reason = f"{name_of(context)}: {reason}"
            failed = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason)
            return Message(failed, reply_to=message)

    return handle


def describe(error: BaseException, *, whole: bool) -> str:
    """What the server is told of an exception; it puts the site's name before it."""
    if isinstance(error, FglguardError):
        return f"{type(error).__name__}: {_OWN_NAME.sub('', str(error), count=1)}"
    if whole:
        summary = f"{type(error).__name__}: {error}"
        return f"{summary}\n{''.join(traceback.format_exception(error))}"
    places = [
        f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    return f"{type(error).__name__} (its text stays at the site) at {' > '.join(places)}"
