"""Azurite as a process: Microsoft's own stand-in of Azure Blob Storage, which checks keys, signatures and blocks."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import urllib3

from tests.weights.loopback import free_port, program
from toolchain import azurite

ACCOUNT = "tests"
KEY = base64.b64encode(b"the key of these tests").decode()
# The last one whose signatures have no field for encryption.
_VERSION = "2019-02-02"


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Run a server on a free port of loopback with its data in a folder; yields its URL."""
    port = free_port()
    where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder]
    command = [azurite.node(), azurite.ensure(), *where, "--silent", "--disableTelemetry"]
    with program(command, {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}, folder, f"http://127.0.0.1:{port}"):
        yield f"http://127.0.0.1:{port}"


def make_container(upstream: str, name: str) -> None:
    """Make a container; obstore has no call for it."""
    url = f"{upstream}/{ACCOUNT}/{name}?restype=container&{sas('c')}"
    with urllib3.PoolManager() as pool:
        assert pool.request("PUT", url, headers={"x-ms-version": _VERSION}).status == 201


def sas(permissions: str, until: str = "2099-01-01T00:00:00Z") -> str:
    """Return a shared access signature for all blobs of the account, such as `rl` for reading and listing."""
    given = {"sv": _VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": until}
    # The fields in Azure's order; begin, addresses and protocols stay open.
    fields = [ACCOUNT, permissions, given["ss"], given["srt"], "", until, "", "", _VERSION, ""]
    signature = hmac.digest(base64.b64decode(KEY), "\n".join(fields).encode(), hashlib.sha256)
    return urlencode({**given, "sig": base64.b64encode(signature).decode()})
