"""Builds the programs of a real Kubernetes control plane: etcd, Kubernetes, LeaderWorkerSet and KWOK.

One Go module holds all but etcd, so that LeaderWorkerSet and KWOK reuse the packages that kube-apiserver
compiled. etcd has its own, since it would raise gRPC for all the others.
"""

from pathlib import Path

from toolchain import go_build, tool, versions

_MODULE = tool.MODULES / "control_plane"
_KUBERNETES = "k8s.io/kubernetes/cmd"
_LWS = "sigs.k8s.io/lws"
_STRIPPED = "-s -w"


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the folder with the executables that `commands()` lists.

    Raises:
        ToolMissingError: One of them is not there yet and could not be built.
    """
    folder = tool.TOOLS / "bin"
    go_build.build(commands(), folder, say)
    return folder


def lws_crds() -> Path:
    """Returns the folder with the CustomResourceDefinitions of LeaderWorkerSet, as its Go module ships them.

    Raises:
        ToolMissingError: The module is not in Go's cache and could not be downloaded.
    """
    return _lws_folder() / "config" / "crd" / "bases"


def lws_webhooks() -> Path:
    """Returns the file with LeaderWorkerSet's webhook configurations, which name a Service as their target.

    Raises:
        ToolMissingError: The module is not in Go's cache and could not be downloaded.
    """
    return _lws_folder() / "config" / "webhook" / "manifests.yaml"


def commands() -> list[go_build.GoCommand]:
    """Returns what is built, the longest first: what follows finds its packages compiled."""
    kubernetes = _kubernetes_ldflags()
    return [
        _command("kube-apiserver", f"{_KUBERNETES}/kube-apiserver", kubernetes, minutes=9),
        _command("kube-controller-manager", f"{_KUBERNETES}/kube-controller-manager", kubernetes, minutes=4),
        _command("kube-scheduler", f"{_KUBERNETES}/kube-scheduler", kubernetes, minutes=1),
        _command("lws-manager", f"{_LWS}/cmd", _STRIPPED, minutes=1),
        _command("kwok", "sigs.k8s.io/kwok/cmd/kwok", _STRIPPED, minutes=1),
        go_build.GoCommand(
            name="etcd",
            package="go.etcd.io/etcd/server/v3",
            module=tool.MODULES / "etcd",
            ldflags=_STRIPPED,
            minutes=2,
        ),
    ]


def _command(name: str, package: str, ldflags: str, minutes: float) -> go_build.GoCommand:
    return go_build.GoCommand(name=name, package=package, module=_MODULE, ldflags=ldflags, minutes=minutes)


def _kubernetes_ldflags() -> str:
    """Without these `/version` says "v0.0.0-master+$Format:%H$", which no parser of versions takes."""
    major, minor, _ = versions.KUBERNETES.split(".")
    facts = {
        "gitVersion": f"v{versions.KUBERNETES}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    flags = [f"-X {package}.{key}={value}" for package in packages for key, value in facts.items()]
    return " ".join([_STRIPPED, *flags])


def _lws_folder() -> Path:
    return go_build.module_folder(_MODULE, _LWS, versions.LWS)
