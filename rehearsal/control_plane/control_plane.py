"""The whole control plane: started in order, usable when healthy, gone at the end."""

import contextlib
import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from rehearsal.control_plane import (
    compute_domain,
    etcd,
    kube_apiserver,
    kube_controller_manager,
    kube_scheduler,
    kwok,
    lws,
    node_pool,
    pki,
    process,
)
from rehearsal.control_plane.api import Api, Json
from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.node_pool import NODES
from rehearsal.control_plane.ports import Ports
from toolchain import control_plane_binaries, tool

__all__ = ["NODES", "ControlPlane"]


class ControlPlane:
    """A control plane that runs while its `with` block does.

    Example:
        with ControlPlane(folder, say=print) as plane:
            plane.add_nodes([nodes.cpu_node("worker")])
            plane.api.items("/api/v1/nodes")
    """

    api: Api
    """A client with an administrator's certificate."""

    def __init__(self, folder: Path, *, say: tool.Say = tool.silent) -> None:
        """Takes the folder for logs, store and certificates, and who hears of the progress."""
        self._folder = folder.resolve()
        self._say = say
        self._processes: list[process.Process] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "ControlPlane":
        """Starts everything and returns when all of it is healthy.

        Raises:
            ToolMissingError: A program is not there and could not be built.
            ProcessFailedError: A process ended or did not become healthy; the message ends with its log.
            BlockingIOError: Another control plane runs in the folder.
        """
        binaries = control_plane_binaries.ensure(self._say)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_held(self._folder))
            stack.callback(self._stop)
            self._start_with_free_ports(binaries)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops everything."""
        self._stack.close()

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig with an administrator's certificate."""
        return self._layout.pki.kubeconfig()

    @property
    def server(self) -> str:
        """URL of the API server."""
        return kube_apiserver.url(self._layout.ports.kube_apiserver)

    @property
    def authority(self) -> str:
        """Certificate (PEM) of the authority that signed the API server's."""
        return self._layout.pki.authority.read_text()

    @property
    def token(self) -> str:
        """An administrator's bearer token, for kubeconfigs with an exec plugin."""
        return self._layout.pki.token

    @property
    def pids(self) -> dict[str, int]:
        """Process id by name of the program."""
        return {each.name: each.pid for each in self._processes}

    def add_nodes(self, nodes: Sequence[Json], seconds: float = 60) -> None:
        """Adds Nodes and returns when all of them take Pods; see `node_pool.add`."""
        node_pool.add(self.api, nodes, seconds)

    def remove_nodes(self, names: Sequence[str]) -> None:
        """Removes Nodes; see `node_pool.remove`."""
        node_pool.remove(self.api, names)

    def _start_with_free_ports(self, binaries: Path) -> None:
        try:
            self._start(binaries)
        except process.ProcessFailedError as error:
            if not error.port_taken:
                raise
            self._say("A port was taken in the meantime; starting again with others.")
            self._stop()
            self._start(binaries)

    def _start(self, binaries: Path) -> None:
        self._layout = _new_layout(self._folder, binaries)
        self._await(self._run(etcd.start))
        self._await(self._run(kube_apiserver.start))
        self.api = Api.from_kubeconfig(self.kubeconfig)
        # KWOK ends when it starts without a kind that its stages name.
        compute_domain.create_definition(self.api)
        # These need nothing but the API server, and start while the LeaderWorkerSet definitions are read.
        others = [self._run(each.start) for each in (kube_controller_manager, kube_scheduler, kwok)]
        lws.create_crds(self.api)
        self._await(self._run(lws.start))
        lws.register_webhooks(self.api, self._layout)
        for other in others:
            self._await(other)
        # Pods are refused until their namespace has one.
        self.api.wait_for("/api/v1/namespaces/default/serviceaccounts/default", bool)
        compute_domain.create_class(self.api)
        self._say(f"The control plane is up. Kubeconfig: {self.kubeconfig}")

    def _run(self, start: Callable[[Layout], process.Process]) -> process.Process:
        started = start(self._layout)
        self._processes.append(started)
        return started

    def _await(self, started: process.Process) -> None:
        self._say(f"{started.name} is up after {started.wait_until_healthy():.1f} s.")

    def _stop(self) -> None:
        # Clients first: a process whose server is gone waits for it to come back instead of ending.
        store_and_server, clients = self._processes[:2], self._processes[2:]
        process.stop(clients)
        for each in reversed(store_and_server):
            process.stop([each])
        self._processes.clear()


def _new_layout(folder: Path, binaries: Path) -> Layout:
    for leftover in ("etcd", "log", "pki"):
        shutil.rmtree(folder / leftover, ignore_errors=True)
    ports = Ports.free()
    certificates = pki.create(folder / "pki", kube_apiserver.url(ports.kube_apiserver))
    return Layout(binaries=binaries, folder=folder, ports=ports, pki=certificates)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keeps the folder for one control plane: a second one would delete the store of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(f"Another control plane runs in {folder}.") from error
        yield
