"""Builds the real Kubernetes provider plugin, for rehearsals on a machine that can't download it.

It has a folder of its own: the engine prefers a plugin on PATH over everything else, so this one may be there
only when a rehearsal asks for it.
"""

from pathlib import Path

from toolchain import go_build, tool, versions


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the path of the executable `pulumi-resource-kubernetes`, of the Python SDK's version.

    Raises:
        ToolMissingError: It is not there yet and could not be built.
    """
    command = go_build.GoCommand(
        name="pulumi-resource-kubernetes",
        package=".",
        module=tool.MODULES / "kubernetes_provider",
        ldflags=f"-s -w -X main.version={versions.kubernetes_provider()}",
        minutes=5,
    )
    (built,) = go_build.build([command], folder(), say)
    return built


def folder() -> Path:
    """Returns where it lands."""
    return tool.TOOLS / "providers" / "kubernetes"
