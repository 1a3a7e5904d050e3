"""Which bucket, how it is reached, and the obstore client for each kind of it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, Self
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from components.weights.oss_credentials import oss_credentials
from components.weights.store_error import StoreError

if TYPE_CHECKING:
    from obstore.store import AzureConfig, ClientConfig, GCSConfig, RetryConfig, S3Config

Scheme = Literal["s3", "az", "gs", "oss"]
Client = S3Store | AzureStore | GCSStore

_SCHEMES: Final[Mapping[str, Scheme]] = {"s3": "s3", "az": "az", "gs": "gs", "oss": "oss"}


@dataclass(frozen=True)
class Location:
    """A bucket and a folder in it, from `s3://bucket/folder`."""

    scheme: Scheme
    bucket: str
    folder: str
    """Without a slash at either end; empty when none is given."""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read a URL.

        Raises:
            StoreError: It isn't one of the known kinds.
        """
        parts = urlsplit(url)
        scheme = _SCHEMES.get(parts.scheme)
        if scheme is None or not parts.netloc:
            kinds = "s3://bucket, az://container, gs://bucket or oss://bucket"
            raise StoreError(f"{url!r} is no bucket; it has to be {kinds}", final=True)
        return cls(scheme, parts.netloc, parts.path.strip("/"))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.folder}".rstrip("/")


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """How to reach a bucket. Where no key is given, the client looks for the environment's or the workload's own."""

    endpoint: str | None = None
    """For S3-compatible stores, emulators and private endpoints; without the bucket."""
    region: str | None = None
    path_style: bool | None = None
    """`endpoint/bucket/key`, or else the bucket in the host's name; None: yes where an endpoint is given."""
    checksum: bool | None = None
    """S3 only: CRC64NVME for the server to check; None: where it is AWS itself, for others refuse it."""
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    account: str | None = None
    """Azure: the storage account."""
    account_key: str | None = field(default=None, repr=False)
    azure_endpoint: str | None = None
    """With the account, where `endpoint` isn't given: an emulator's address, or another cloud's than the public one."""
    retries: int = 15
    """Of one request, on 5xx and broken connections."""
    retry_seconds: float = 240.0
    """Of one request with its retries; below five minutes, for a retry keeps its signature (object_store)."""
    request_seconds: float = 300.0
    """Of one request: a part of 32 MiB needs 0.9 Mbit/s."""
    stall_seconds: float | None = None
    """Without a byte of an answer. For readers only: sending a part counts as silence (reqwest)."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, prefix: str = "") -> Self:
        """Read the usual variables; a prefix such as `SOURCE_` names those of a second bucket.

        `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_S3_PATH_STYLE`,
        `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AZURE_STORAGE_ACCOUNT_NAME`,
        `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_ENDPOINT`.
        """

        def read(*names: str) -> str | None:
            return next((value for name in names if (value := environment.get(prefix + name))), None)

        style = read("AWS_S3_PATH_STYLE")
        return cls(
            endpoint=read("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
            region=read("AWS_REGION", "AWS_DEFAULT_REGION"),
            path_style=None if style is None else style.lower() in ("1", "true"),
            access_key=read("AWS_ACCESS_KEY_ID"),
            secret_key=read("AWS_SECRET_ACCESS_KEY"),
            session_token=read("AWS_SESSION_TOKEN"),
            account=read("AZURE_STORAGE_ACCOUNT_NAME"),
            account_key=read("AZURE_STORAGE_ACCOUNT_KEY"),
            azure_endpoint=read("AZURE_STORAGE_ENDPOINT"),
        )


def connect(location: Location, options: StoreOptions) -> Client:
    """Return the client of a bucket; no request is made yet.

    Raises:
        StoreError: Something that this kind of bucket needs isn't given.
    """
    if location.scheme == "az" and options.endpoint is None:
        options = replace(options, endpoint=options.azure_endpoint)
    client: ClientConfig = {
        "timeout": timedelta(seconds=options.request_seconds),
        "connect_timeout": timedelta(seconds=10),
        "allow_http": (options.endpoint or "").startswith("http://"),
    }
    if options.stall_seconds is not None:
        client["read_timeout"] = timedelta(seconds=options.stall_seconds)
    retry: RetryConfig = {
        "max_retries": options.retries,
        "retry_timeout": timedelta(seconds=options.retry_seconds),
    }
    if location.scheme == "az":
        azure = _azure(options)
        return AzureStore(location.bucket, config=azure, client_options=client, retry_config=retry)
    if location.scheme == "gs":
        google: GCSConfig = {"base_url": options.endpoint} if options.endpoint else {}
        return GCSStore(location.bucket, config=google, client_options=client, retry_config=retry)
    provider = oss_credentials(options.region) if location.scheme == "oss" and options.access_key is None else None
    config = _oss(location, options) if location.scheme == "oss" else _s3(location, options)
    return S3Store(
        location.bucket, config=config, client_options=client, retry_config=retry, credential_provider=provider
    )


def _azure(options: StoreOptions) -> "AzureConfig":
    if options.account is None:
        raise StoreError("the storage account isn't known; set AZURE_STORAGE_ACCOUNT_NAME", final=True)
    config: AzureConfig = {"account_name": options.account}
    if options.account_key is not None:
        config["account_key"] = options.account_key
    if options.endpoint is not None:
        config["endpoint"] = options.endpoint
    return config


def _s3(location: Location, options: StoreOptions) -> "S3Config":
    host = urlsplit(options.endpoint or "").hostname or "amazonaws.com"
    amazon = host.endswith((".amazonaws.com", ".amazonaws.com.cn")) or host == "amazonaws.com"
    config = _keys(options)
    # SigV4 over every part costs a fifth of the CPU; TLS and the checksum protect the bytes without it.
    config["unsigned_payload"] = True
    config["region"] = options.region or "us-east-1"
    path_style = options.path_style if options.path_style is not None else options.endpoint is not None
    config["virtual_hosted_style_request"] = not path_style
    if amazon if options.checksum is None else options.checksum:
        config["checksum_algorithm"] = "CRC64NVME"
    if options.endpoint is not None:
        endpoint = options.endpoint if path_style else _with_bucket(options.endpoint, location.bucket)
        config["endpoint"] = config["aws_endpoint_url_s3"] = endpoint
    return config


def _oss(location: Location, options: StoreOptions) -> "S3Config":
    """Return Alibaba OSS as its S3 interface wants it: no checksum algorithm, no path style, no conditions."""
    if options.region is None and options.endpoint is None:
        raise StoreError("the bucket's region isn't known; set AWS_REGION, such as cn-hangzhou", final=True)
    endpoint = options.endpoint or f"https://oss-{options.region}-internal.aliyuncs.com"
    placed = endpoint if options.path_style else _with_bucket(endpoint, location.bucket)
    config = _keys(options)
    config["unsigned_payload"] = True
    config["region"] = options.region or "oss"
    config["virtual_hosted_style_request"] = not options.path_style
    config["endpoint"] = config["aws_endpoint_url_s3"] = placed
    return config


def _keys(options: StoreOptions) -> "S3Config":
    config: S3Config = {}
    if options.access_key is not None and options.secret_key is not None:
        config["access_key_id"] = options.access_key
        config["secret_access_key"] = options.secret_key
    if options.session_token is not None:
        config["session_token"] = options.session_token
    return config


def _with_bucket(endpoint: str, bucket: str) -> str:
    """Return an endpoint with the bucket in front of its host."""
    scheme, _, rest = endpoint.rstrip("/").partition("://")
    return f"{scheme}://{rest}" if rest.startswith(f"{bucket}.") else f"{scheme}://{bucket}.{rest}"
