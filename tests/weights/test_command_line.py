"""What the command line takes and refuses, and where it reaches each kind of bucket."""

import sys
from pathlib import Path

import pytest

from components.weights.command_line import Options, parse
from components.weights.store_connection import Location, StoreOptions, connect
from components.weights.store_error import StoreError, store_error
from tests.stacks import PROJECT
from tests.test_imports import imports

COMMIT = "a" * 40
BASE = ("--repository", "x/y", "--revision", COMMIT, "--to", "s3://bucket")


def parsed(*extra: str, **environment: str) -> Options:
    return parse([*BASE, *extra], environment)


def test_defaults() -> None:
    found = parsed()
    assert (found.index, found.of, found.folder.prefix) == (0, 1, f"x/y/{COMMIT}")
    assert (found.effort.parallel, found.effort.part_bytes, found.effort.part_concurrency) == (4, 32 << 20, 2)
    assert (found.hub.endpoint, found.hub.token) == ("https://huggingface.co", None)
    assert (found.timing.stall, found.timing.tries) == (30, 5)


def test_the_environment_of_a_pod() -> None:
    found = parsed(JOB_COMPLETION_INDEX="3", WEIGHT_SYNC_WORKERS="4", HF_TOKEN=" t\n", HF_ENDPOINT="https://mirror")
    assert (found.index, found.of, found.hub.token, found.hub.endpoint) == (3, 4, "t", "https://mirror")


def test_model_scope_has_variables_of_its_own() -> None:
    found = parsed("--source", "modelscope", "--digest", "d", HF_TOKEN="secret", MODELSCOPE_API_TOKEN="m")
    assert (found.hub.kind, found.hub.token, found.hub.revision) == ("modelscope", "m", "master")
    assert found.hub.endpoint == "https://modelscope.cn"


def test_another_bucket_may_have_keys_of_its_own() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "A", "AWS_REGION": "r", "SOURCE_AWS_ACCESS_KEY_ID": "B"}
    found = parsed("--source", "s3://other/folder", **keys)
    assert (found.bucket.access_key, found.source_bucket.access_key, found.source_bucket.region) == ("A", "B", None)
    same = parsed("--source", "s3://other/folder", AWS_ACCESS_KEY_ID="A")
    assert same.source_bucket.access_key == "A"


REFUSED = {
    "branch": (["--revision", "main"], "'main' can move; give the commit"),
    "index": (["--index", "4", "--of", "4"], "the index runs from 0 to 3"),
    "none": (["--of", "0"], "0 is less than 1"),
    "place": (["--to", "/data"], "has to be s3://bucket, az://container, gs://bucket or oss://bucket"),
    "source": (["--source", "ftp://x"], "'ftp://x' is no bucket"),
    "modelscope": (["--source", "modelscope"], "give --digest, or a commit of its own"),
}


@pytest.mark.parametrize(("extra", "says"), REFUSED.values(), ids=REFUSED)
def test_wrong_usage_says_what_is_right(extra: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(*extra)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_there_is_no_option_for_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    text = capsys.readouterr().out
    assert "--token" not in text
    assert "HF_TOKEN" in text


KEYS = {"access_key": "a", "secret_key": "b"}
HOSTED = "virtual_hosted_style_request"
MINIO = "http://m:9000"
PLACES = {
    "aws": ("s3://b", {"region": "eu-west-1"}, {"checksum_algorithm": "CRC64NVME", HOSTED: True}),
    "minio": ("s3://b", {"endpoint": MINIO}, {"endpoint": MINIO, HOSTED: False}),
    "hosted": ("s3://b", {"endpoint": "https://m", "path_style": False}, {"endpoint": "https://b.m"}),
    "oss": ("oss://b", {"region": "cn-x"}, {"endpoint": "https://b.oss-cn-x-internal.aliyuncs.com"}),
}


@pytest.mark.parametrize(("url", "options", "wanted"), PLACES.values(), ids=PLACES)
def test_how_each_s3_is_reached(url: str, options: dict[str, str], wanted: dict[str, object]) -> None:
    config = dict(connect(Location.parse(url), StoreOptions(**KEYS, **options)).config)  # type: ignore[arg-type]
    assert config["unsigned_payload"] in (True, "true")
    assert {name: str(config[name]).lower() for name in wanted} == {name: str(v).lower() for name, v in wanted.items()}
    # Only AWS itself surely knows CRC64NVME; OSS refuses it.
    assert ("checksum_algorithm" in config) is ("checksum_algorithm" in wanted)


AZURE = {
    "AZURE_STORAGE_ACCOUNT_NAME": "a",
    "AZURE_STORAGE_ACCOUNT_KEY": "a2V5",
    "AZURE_STORAGE_ENDPOINT": "https://blobs.example",
}


@pytest.mark.parametrize("prefix", ["", "SOURCE_"])
def test_an_azure_account_is_reached_as_the_environment_says(prefix: str) -> None:
    options = StoreOptions.from_environment({prefix + name: value for name, value in AZURE.items()}, prefix)
    config = dict(connect(Location.parse("az://c"), options).config)
    names = ("account_name", "account_key", "endpoint")
    assert dict(zip(AZURE, (config[name] for name in names), strict=True)) == AZURE


def test_azures_endpoint_is_no_s3_stores() -> None:
    options = StoreOptions.from_environment({**AZURE, "AWS_REGION": "eu-west-1"})
    assert "endpoint" not in connect(Location.parse("s3://b"), options).config


def test_an_endpoint_of_the_command_line_goes_before_the_environments() -> None:
    found = parsed("--to", "az://c", "--bucket-endpoint", MINIO, **AZURE)
    assert dict(connect(found.to, found.bucket).config)["endpoint"] == MINIO


@pytest.mark.parametrize(("url", "says"), [("az://c", "AZURE_STORAGE_ACCOUNT_NAME"), ("oss://b", "set AWS_REGION")])
def test_what_a_bucket_needs_besides(url: str, says: str) -> None:
    with pytest.raises(StoreError, match=says) as error:
        connect(Location.parse(url), StoreOptions())
    assert error.value.final


def test_keys_never_show_in_a_representation() -> None:
    secret = dict.fromkeys(("access_key", "secret_key", "session_token", "account_key"), "SECRET")
    assert "SECRET" not in repr(StoreOptions(**secret))


ERRORS = {
    "port": ("Error performing GET http://h:46507/k in 1.507 ms - code: 404 Not Found", "can't read x: Error", False),
    "key": ("Error performing GET http://h/quota - code: 403 Forbidden: <Key>my-quota</Key>", "identity may not", True),
    "redirect": ("301 Moved Permanently", "set AWS_REGION to the bucket's region", True),
    "identity": ("Error performing PUT http://169.254.169.254/latest/api/token", "there are no credentials", False),
    "clock": ("<Code>RequestTimeTooSkewed</Code>", "set the clock", True),
    "debug": ("oops\n\nDebug source:\nquota", "can't read x: oops", False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says", "final"), ERRORS.values(), ids=ERRORS)
def test_errors_of_a_store_in_one_line(text: str, says: str, final: bool) -> None:
    found = store_error(Exception(text), "read x", "s3://b")
    assert says in str(found)
    assert (found.final, "\n" in str(found)) == (final, False)


def test_the_program_needs_two_libraries_alone() -> None:
    """Follow the imports from the sync: a pod has nothing but these files, obstore and urllib3."""
    allowed = {"obstore", "urllib3"}
    seen: set[Path] = set()
    waiting = [PROJECT / "components" / "weights" / "sync.py"]
    outside: set[str] = set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        for name in imports(path):
            file = PROJECT.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith("components") and file.is_file() and file not in seen:
                waiting.append(file)
            outside.add(name.split(".")[0] if not name.startswith("components.") else ".".join(name.split(".")[:2]))
    assert {path.parent.name for path in seen} == {"weights"}
    assert outside - set(sys.stdlib_module_names) - allowed - {"components.weights"} == set()
