"""Print the nodes that a SuperLink knows, with their keys: `python listed_nodes.py CONNECTION`.

`flwr supernode list` leaves the keys out, and a key that is registered already says no more than
that it is. This asks the same API with Flower's own client, as a process of its own since Flower
reads FLWR_HOME from the environment.
"""

import contextlib
import json
import sys

from flwr.cli.flower_config import read_superlink_connection
from flwr.cli.utils import init_http_client_from_connection
from flwr.proto.control_pb2 import ListNodesRequest


def main(connection: str) -> None:
    """Print a JSON list: node, status and key (PEM) of each, revoked ones included."""
    with contextlib.redirect_stdout(sys.stderr):
        # Flower greets on stdout.
        client = init_http_client_from_connection(read_superlink_connection(connection))
        try:
            answer = client.ListNodes(ListNodesRequest())
        finally:
            client.close()
    nodes = [
        {"node": node.node_id, "status": node.status, "key": node.public_key.decode("ascii")}
        for node in answer.nodes_info
    ]
    print(json.dumps(nodes))


if __name__ == "__main__":
    main(sys.argv[1])
