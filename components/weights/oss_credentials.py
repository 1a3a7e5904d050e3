"""Alibaba Cloud's credentials for obstore: RAM roles for service accounts (RRSA), or fixed keys.

Not run against a real account yet. The request is AssumeRoleWithOIDC of Alibaba's STS, which needs no signature.
"""

import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import urllib3

from components.weights.store_error import StoreError

if TYPE_CHECKING:
    from obstore.store import S3Credential

_SESSION: Final = "weight-sync"
_VERSION: Final = "2015-04-01"
_TIMEOUT: Final = urllib3.Timeout(connect=10, read=30)


def oss_credentials(
    region: str | None, environment: Mapping[str, str] = os.environ
) -> "Callable[[], S3Credential] | None":
    """Return a function that gets short-lived keys, or None when the environment names none.

    Args:
        region: Where to ask for them; None asks the central endpoint.
        environment: `ALIBABA_CLOUD_ROLE_ARN`, `ALIBABA_CLOUD_OIDC_PROVIDER_ARN` and `ALIBABA_CLOUD_OIDC_TOKEN_FILE`,
            which RRSA sets in the pod, or `ALIBABA_CLOUD_ACCESS_KEY_ID` and `ALIBABA_CLOUD_ACCESS_KEY_SECRET`.
    """
    role, token_file = environment.get("ALIBABA_CLOUD_ROLE_ARN"), environment.get("ALIBABA_CLOUD_OIDC_TOKEN_FILE")
    if role and token_file:
        host = f"sts.{region}.aliyuncs.com" if region else "sts.aliyuncs.com"
        endpoint = environment.get("ALIBABA_CLOUD_STS_ENDPOINT") or f"https://{host}"
        provider = environment.get("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "")
        return lambda: _assume_role(endpoint, role, provider, Path(token_file))
    key, secret = (environment.get(f"ALIBABA_CLOUD_ACCESS_KEY_{part}") for part in ("ID", "SECRET"))
    if key and secret:
        token = environment.get("ALIBABA_CLOUD_SECURITY_TOKEN")
        return lambda: {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}
    return None


def _assume_role(endpoint: str, role: str, provider: str, token_file: Path) -> "S3Credential":
    fields = {
        "Action": "AssumeRoleWithOIDC",
        "Format": "JSON",
        "Version": _VERSION,
        "RoleArn": role,
        "OIDCProviderArn": provider,
        "OIDCToken": token_file.read_text().strip(),
        "RoleSessionName": _SESSION,
    }
    with urllib3.PoolManager(timeout=_TIMEOUT, retries=urllib3.Retry(3)) as pool:
        answer = pool.request("POST", endpoint, fields=fields, encode_multipart=False)
        content = json.loads(answer.data)
    if answer.status != 200:
        code, message = content.get("Code", answer.status), content.get("Message", "")
        raise StoreError(f"Alibaba's STS refused the role {role}: {code} {message}; check the role's trust", final=True)
    keys = content["Credentials"]
    return {
        "access_key_id": keys["AccessKeyId"],
        "secret_access_key": keys["AccessKeySecret"],
        "token": keys["SecurityToken"],
        "expires_at": datetime.fromisoformat(keys["Expiration"]),
    }
