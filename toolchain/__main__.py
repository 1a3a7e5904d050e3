"""`python -m toolchain TOOL` makes sure that a tool is there and prints its path; what takes long is said on stderr."""

import argparse
import functools
import sys

from toolchain import (
    azurite,
    control_plane_binaries,
    kubernetes_provider,
    language_host,
    object_store,
    pulumi_cli,
    tool,
)

TOOLS = {
    "pulumi": pulumi_cli.ensure,
    "language-host": language_host.ensure,
    "kubernetes-provider": kubernetes_provider.ensure,
    "control-plane": control_plane_binaries.ensure,
    "object-store": object_store.ensure,
    "azurite": azurite.ensure,
}


def main() -> int:
    """Returns the exit code: 1 when the tool could not be had."""
    parser = argparse.ArgumentParser(prog="python -m toolchain", description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    ensure = TOOLS[parser.parse_args().tool]
    say = functools.partial(print, file=sys.stderr, flush=True)
    try:
        sys.stdout.write(f"{ensure(say)}\n")
    except tool.ToolMissingError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
