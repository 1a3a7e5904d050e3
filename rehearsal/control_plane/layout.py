"""Where one control plane lives: its programs, its folder, its ports and its certificates."""

import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rehearsal.control_plane.pki import Pki
from rehearsal.control_plane.ports import Ports
from rehearsal.control_plane.process import Process


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What every process of one control plane is told."""

    binaries: Path
    """Folder with the executables."""
    folder: Path
    """Folder for whatever the plane writes."""
    ports: Ports
    pki: Pki

    def start(self, name: str, *arguments: str, healthy: Callable[[], bool], **variables: str) -> Process:
        """Starts one of the executables with a log file of its own name.

        Nothing of the caller's environment reaches it: neither proxies nor credentials have a say here.
        """
        return Process(
            name,
            [str(self.binaries / name), *arguments],
            log=self.folder / "log" / f"{name}.log",
            healthy=healthy,
            environment={"PATH": os.defpath, "HOME": str(self.folder), **variables},
        )

    def answers(self, url: str, body: bytes | None = None) -> bool:
        """Whether a server answers a GET (a POST if there is a body) with success.

        An https server must show a certificate of the plane's authority, or it is somebody else's.
        """
        request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})  # noqa: S310
        context = ssl.create_default_context(cafile=str(self.pki.authority))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            opener.open(request, timeout=2).close()
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return False
        except OSError:
            return False
        return True
