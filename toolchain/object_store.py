"""Builds versitygw, an S3 server that checks what S3 checks, for the tests of the weights.

Of the servers that run here it alone refuses a wrong checksum and honours conditions as AWS does; the one that the
quick tests use accepts anything.
"""

from pathlib import Path

from toolchain import go_build, tool


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the path of the executable.

    Raises:
        ToolMissingError: It is not there yet and could not be built.
    """
    command = go_build.GoCommand(
        name="versitygw",
        package="github.com/versity/versitygw/cmd/versitygw",
        module=tool.MODULES / "versitygw",
        ldflags="-s -w",
        minutes=2,
    )
    (built,) = go_build.build([command], tool.TOOLS / "bin", say)
    return built
