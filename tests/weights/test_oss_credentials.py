"""Alibaba's short-lived keys, from a stand-in of its STS."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from components.weights.oss_credentials import oss_credentials
from components.weights.store_error import StoreError
from tests.weights.loopback import QuietHandler, QuietServer, serving

ROLE = "acs:ram::1:role/weights"


class _Sts(QuietHandler, BaseHTTPRequestHandler):
    """Answers AssumeRoleWithOIDC for one token."""

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        right = (asked["Action"], asked["RoleArn"], asked["OIDCToken"]) == (["AssumeRoleWithOIDC"], [ROLE], ["jwt"])
        keys = {"AccessKeyId": "K", "AccessKeySecret": "S", "SecurityToken": "T", "Expiration": "2026-12-01T10:00:00Z"}
        refused = {"Code": "AuthenticationFail.OIDCToken.Invalid", "Message": "no"}
        body = json.dumps({"Credentials": keys} if right else refused).encode()
        self.send_response(200 if right else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def sts() -> Iterator[str]:
    server = QuietServer(("127.0.0.1", 0), _Sts)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


def environment(sts: str, token: Path) -> dict[str, str]:
    names = {"ALIBABA_CLOUD_ROLE_ARN": ROLE, "ALIBABA_CLOUD_OIDC_TOKEN_FILE": str(token)}
    return {**names, "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "p", "ALIBABA_CLOUD_STS_ENDPOINT": sts}


@pytest.mark.servers
def test_the_pods_token_becomes_keys(sts: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("jwt\n")
    provider = oss_credentials("cn-x", environment(sts, tmp_path / "token"))
    assert provider is not None
    assert provider() == {
        "access_key_id": "K",
        "secret_access_key": "S",
        "token": "T",
        "expires_at": datetime(2026, 12, 1, 10, tzinfo=UTC),
    }


@pytest.mark.servers
def test_a_role_that_doesnt_trust_the_pod_says_so(sts: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("other")
    provider = oss_credentials("cn-x", environment(sts, tmp_path / "token"))
    assert provider is not None
    with pytest.raises(StoreError, match=r"refused the role .*OIDCToken.Invalid no; check the role's trust"):
        provider()


def test_fixed_keys_and_none() -> None:
    keys = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "K", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "S"}
    provider = oss_credentials(None, keys)
    assert provider is not None
    assert provider() == {"access_key_id": "K", "secret_access_key": "S", "token": None, "expires_at": None}
    assert oss_credentials(None, {}) is None
