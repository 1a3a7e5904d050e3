"""`python -m rehearsal.control_plane` runs a control plane with three example nodes until Ctrl-C."""

import argparse
import functools
import signal
import sys
import threading
from pathlib import Path

from rehearsal.control_plane import nodes, process
from rehearsal.control_plane.control_plane import ControlPlane
from toolchain import tool

_EXAMPLE = nodes.Machine(
    architecture="arm64",
    cpu=144,
    memory_gb=900,
    ephemeral_storage_gb=12_000,
    taints=[nodes.Taint(key="nvidia.com/gpu", value="present")],
)


def main() -> int:
    """Returns the exit code: 1 when the control plane could not be started."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.control_plane", description=__doc__)
    parser.add_argument("--folder", type=Path, default=tool.PROJECT / ".rehearsal" / "control-plane")
    folder = parser.parse_args().folder
    # SIGTERM by default ends Python without leaving the `with` block.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say = functools.partial(print, flush=True)
    try:
        with ControlPlane(folder, say=say) as plane:
            gpu_nodes = [nodes.gpu_node(f"gpu-{index}", _EXAMPLE, gpus=4) for index in range(2)]
            plane.add_nodes([*gpu_nodes, nodes.cpu_node("cpu-0")])
            say("Rehearsal: two nodes with 4 GPUs each and one without, all simulated. Ctrl-C ends it.")
            say(f"export KUBECONFIG={plane.kubeconfig}")
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except (tool.ToolMissingError, process.ProcessFailedError, BlockingIOError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
