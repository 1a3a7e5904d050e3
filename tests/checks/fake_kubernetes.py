"""An API server that knows pods and forwards their ports, as `kubectl port-forward` has it over WebSocket.

Each frame begins with its channel: 0 carries data, 1 errors; the first frame of each holds the port
(https://github.com/kubernetes/kubernetes, staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/websocket.go).
"""

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection

from tests.weights.loopback import QuietHandler, QuietServer, serving

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""
_PODS = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}


def pod(name: str, labels: Mapping[str, str], port: int, *, ready: bool = True) -> dict[str, Any]:
    """Return a leader as the API has it, with what the port is found by."""
    probe = {"httpGet": {"path": "/health", "port": port, "scheme": "HTTP"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kimi-k3", "labels": dict(labels)},
        "spec": {"containers": [{"name": "vllm", "image": "vllm", "readinessProbe": probe}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


@contextmanager
def api_server(pods: Sequence[Mapping[str, Any]], kubeconfig: Path) -> Iterator[None]:
    """Serve pods on loopback and write a kubeconfig for it, until the block ends."""
    server = QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"pods": pods}))
    cluster = {"server": f"http://127.0.0.1:{server.server_address[1]}"}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
                "clusters": [{"name": "here", "cluster": cluster}],
                "users": [{"name": "me", "user": {"token": "none"}}],
            }
        )
    )
    with serving(server):
        yield


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    pods: Sequence[Mapping[str, Any]]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if parts.path.endswith("/portforward"):
            self._forward(int(query["ports"][0]))
        elif parts.path.rstrip("/") == "/version":
            self._json({"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
        elif parts.path == "/api/v1":
            self._json({"kind": "APIResourceList", "groupVersion": "v1", "resources": [_PODS]})
        elif parts.path.endswith("/pods"):
            wanted = dict(term.split("=") for term in query["labelSelector"][0].split(","))
            found = [each for each in self.pods if wanted.items() <= each["metadata"]["labels"].items()]
            self._json({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": found})
        else:
            self._json({"kind": "APIGroupList", "groups": [], "versions": ["v1"]})

    def _json(self, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        # kr8s keeps its sessions open for ever, which the tests would take for a leak.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _forward(self, port: int) -> None:
        accept = hashlib.sha1(f"{self.headers['Sec-WebSocket-Key']}{_GUID}".encode()).digest()  # noqa: S324 - RFC 6455
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        self.close_connection = True
        frames = Connection(ConnectionType.SERVER)
        for channel in (b"\x00", b"\x01"):
            self.wfile.write(frames.send(BytesMessage(data=channel + port.to_bytes(2, "little"))))
        with socket.create_connection(("127.0.0.1", port)) as target, suppress(OSError):
            threading.Thread(target=self._answer, args=(frames, target), daemon=True).start()
            while data := self.connection.recv(1 << 16):
                frames.receive_data(data)
                for event in frames.events():
                    if isinstance(event, BytesMessage):
                        target.sendall(bytes(event.data)[1:])
                    if isinstance(event, CloseConnection):
                        return

    def _answer(self, frames: Connection, target: socket.socket) -> None:
        with suppress(OSError):
            while data := target.recv(1 << 16):
                self.wfile.write(frames.send(BytesMessage(data=b"\x00" + data)))
