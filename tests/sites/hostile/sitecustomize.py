"""A hostile site's own code: every update that it sends is NaN.

Python imports this at its start where the folder stands in PYTHONPATH.
"""

import numpy as np
from flwr.app import Array, ArrayRecord
from flwr.clientapp import ClientApp

_honest = ClientApp.__call__


def _spoiled(self, message, context):
    reply = _honest(self, message, context)
    if reply.has_content() and message.metadata.message_type == "train":
        reply.content["arrays"] = ArrayRecord(
            {
                name: Array(np.full(array.shape, np.nan, dtype=np.float32))
                for name, array in reply.content["arrays"].items()
            }
        )
    return reply


ClientApp.__call__ = _spoiled
