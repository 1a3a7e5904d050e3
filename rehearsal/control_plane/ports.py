"""The TCP ports of one control plane, chosen when it starts, so that several can run at once."""

import contextlib
import socket
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Ports on 127.0.0.1, one for each listener."""

    etcd: int
    etcd_peer: int
    kube_apiserver: int
    kube_controller_manager: int
    kube_scheduler: int
    kwok: int
    lws_webhooks: int
    lws_health: int

    @classmethod
    def free(cls) -> "Ports":
        """Returns ports that nobody listens on at this moment; another process may still be quicker to take one."""
        names = [field.name for field in fields(cls)]
        with contextlib.ExitStack() as stack:
            # All are held until the last is known, so no port is given out twice.
            sockets = [stack.enter_context(socket.socket()) for _ in names]
            for listener in sockets:
                listener.bind(("127.0.0.1", 0))
            return cls(**dict(zip(names, (s.getsockname()[1] for s in sockets), strict=True)))
