"""Becomes a command that the kernel kills as soon as its parent is gone: `die_with_parent.py PARENT COMMAND…`.

A rehearsal that is killed outright (`kill -9`, out of memory) has no chance to stop its processes; a control plane
left behind would hold a gigabyte. Linux only. Run as a script with `-I -S`, so that it costs 20 ms.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h; the setting outlives the exec that follows."""


def main() -> None:
    """Replaces this process by the command, or ends it when the parent is gone already."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before the line above, and then no signal ever comes.
    if os.getppid() != parent:
        sys.exit(f"the parent {parent} is gone")
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
