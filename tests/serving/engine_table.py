"""What `vllm serve` of one release accepts, as a committed table, and a check against it.

`engine_table.json` is made from the published wheel by

    python -m tests.serving.engine_table [--version 0.33.0] [--wheel PATH]

which reads the wheel's Python files as text (`engine_source`); neither vLLM nor torch is imported.

A flag's `choices` are those that argparse enforces; names that fail only later (load formats, parsers,
cache types, backends) are the lists beside the flags. `nargs` is argparse's (0 for a switch), `aliases` hold
the short spellings and, for a switch that has one, the negation. `<flag>_keys` are the keys of a JSON flag
whose value is a configuration class; `model_loader_extra_config_keys` are given by load format.

Defaults and ranges are not collected. What cannot be had from the text alone is left out: the choices of
`--mm-processor-device` (they depend on the platform); what platforms and plugins add at run time (flags,
parsers, cache types); keys that validators accept beside the fields of a class; the keys of
`--model-loader-extra-config` for loaders that do not list them. So is argparse's own `--help`.
"""

import argparse
import ast
import functools
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.serving.engine_source import Found, Reader, Source

VERSION = "0.33.0"
TABLE = Path(__file__).with_name("engine_table.json")

_LISTS = {
    "all2all_backends": ("vllm.config.parallel", "All2AllBackend"),
    "attention_backends": ("vllm.v1.attention.backends.registry", "AttentionBackendEnum"),
    "compilation_pass_config_keys": ("vllm.config.compilation", "PassConfig"),
    "distributed_executor_backends": ("vllm.config.parallel", "DistributedExecutorBackend"),
    "environment": ("vllm.envs", "environment_variables"),
    "kv_cache_dtypes": ("vllm.config.cache", "CacheDType"),
    "load_formats": ("vllm.model_executor.model_loader", "LoadFormats"),
    "moe_backends": ("vllm.config.kernel", "MoEBackend"),
    "reasoning_parsers": ("vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER"),
    "tool_call_parsers": ("vllm.tool_parsers", "_TOOL_PARSERS_TO_REGISTER"),
}
_NAMED_BY_LIST = {
    "--all2all-backend": "all2all_backends",
    "--attention-backend": "attention_backends",
    "--distributed-executor-backend": "distributed_executor_backends",
    "--kv-cache-dtype": "kv_cache_dtypes",
    "--load-format": "load_formats",
    "--moe-backend": "moe_backends",
    "--reasoning-parser": "reasoning_parsers",
    "--tool-call-parser": "tool_call_parsers",
}
_OBJECT_STORAGE = ("s3://", "gs://", "az://")
_NUMBERS = {"int": r"-?\d+", "float": r"-?\d+(\.\d*)?([eE]-?\d+)?"}
_FILLED_IN = r"\$(\(\w+\)|\{\w+\}|\w+)"


def build(version: str, files: Mapping[str, str]) -> dict[str, Any]:
    """The table of a release, from its Python files by their path in the wheel."""
    source = Source(files)
    reader = Reader(source, _inverses(source)).read(_parser(source))
    configs = {name: flag.config for name, flag in reader.flags.items() if flag.config}
    return {
        "version": version,
        "flags": {name: flag.entry() for name, flag in reader.flags.items()},
        "model_loader_extra_config_keys": _loader_keys(source),
        **{key: source.names(source.find(*at)) for key, at in _LISTS.items()},
        **{_keys_of(name): sorted(source.fields(config)) for name, config in configs.items()},
    }


def _keys_of(flag: str) -> str:
    return f"{flag[2:].replace('-', '_')}_keys"


def _parser(source: Source) -> Found:
    """The function that builds the server's parser; its module has moved between releases."""
    for path in sorted(source.files):
        if path.startswith("vllm/entrypoints/") and path.endswith("/cli_args.py"):
            module = source.module(path.removesuffix(".py").replace("/", "."))
            found = source.resolve(module, "make_arg_parser") if module else None
            if found:
                return found
    raise LookupError("this release has no make_arg_parser")


def _inverses(source: Source) -> Mapping[str, str]:
    """The prefixes that the release turns round for a switch's second negation, where it has one."""
    module = source.module("vllm.utils.argparse_utils")
    action = source.resolve(module, "EnableDisableAction") if module else None
    for statement in getattr(action.node, "body", []) if action else []:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_inverse_prefixes":
            return ast.literal_eval(statement.value)
    return {}


def _loader_keys(source: Source) -> dict[str, list[str]]:
    """The keys of the extra configuration by load format, for the loaders that list them."""
    loaders = source.find("vllm.model_executor.model_loader", "_LOAD_FORMAT_TO_MODEL_LOADER")
    display = loaders.node if isinstance(loaders.node, ast.Dict) else ast.Dict([], [])
    found: dict[str, list[str]] = {}
    for key, value in zip(display.keys, display.values, strict=True):
        loader = source.resolve(loaders.module, ast.unparse(value))
        for node in ast.walk(loader.node) if loader else []:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "allowed_keys":
                load_format = str(key.value if isinstance(key, ast.Constant) else key)
                found[load_format] = sorted(ast.literal_eval(node.value))
    return found


def render(table: Mapping[str, Any]) -> str:
    """The table as JSON, sorted, one entry a line."""
    parts = []
    for name in sorted(table):
        value = table[name]
        if isinstance(value, Mapping):
            lines = [f"{json.dumps(key)}: {json.dumps(value[key], sort_keys=True)}" for key in sorted(value)]
            text = "{\n  " + ",\n  ".join(lines) + "\n }"
        elif isinstance(value, list):
            text = "[\n  " + ",\n  ".join(json.dumps(item) for item in sorted(value)) + "\n ]"
        else:
            text = json.dumps(value)
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_wheel(path: Path) -> tuple[str, dict[str, str]]:
    """The version of a wheel and its Python files."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        stated = re.search(r"^Version: (\S+)$", wheel.read(metadata).decode(), re.MULTILINE)
        files = {name: wheel.read(name).decode() for name in names if re.match(r"vllm/.*\.py$", name)}
    if not stated:
        raise LookupError(f"{path.name} states no version")
    return stated[1], files


def download(version: str, folder: Path) -> Path:
    """Fetch the wheel of a release, without what it depends on."""
    fetch = [
        "pip",
        "download",
        "--no-deps",
        "--no-binary=:none:",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        f"vllm=={version}",
    ]
    subprocess.run([sys.executable, "-m", *fetch], check=True, stdout=sys.stderr)  # noqa: S603 - no shell
    return next(folder.glob("vllm-*.whl"))


@functools.cache
def committed() -> Mapping[str, Any]:
    """The committed table."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Given:
    """One flag of an argument list: as it was written, what the table calls it, and its values."""

    written: str
    name: str | None
    values: Sequence[str]


def faults(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """What the release would refuse, or silently not do, of an argument list and its environment.

    The list starts with the model. Only the table's own spelling of a value passes: a backend in another
    case, a number with a suffix, an abbreviated or dotted flag are faults although the parser takes them.
    In place of a number a variable passes that the container's start fills in, `$(RANK)`.
    """
    table = committed()
    model = arguments[0] if arguments else ""
    found = [] if model and not _is_flag(model) else ["the first argument must be the model"]
    given = _split(arguments if found else arguments[1:], table["flags"])
    for flag in given:
        found += _flag_faults(flag, table, _load_format(model, given))
    repeats = Counter(flag.name for flag in given if flag.name and not table["flags"][flag.name]["repeatable"])
    found += [f"{name} is given {count} times" for name, count in repeats.items() if count > 1]
    unknown = sorted(name for name in environment if name.startswith("VLLM_"))
    found += [f"unknown environment variable {name}" for name in unknown if name not in table["environment"]]
    return found


def _is_flag(argument: str) -> bool:
    """Whether argparse would take an argument for a flag."""
    return bool(re.match(r"-(?!\d*\.?\d+\Z)[^\s=]+(=|\Z)", argument))


def _split(arguments: Sequence[str], flags: Mapping[str, Any]) -> list[Given]:
    """The flags of an argument list with their values; values before the first flag belong to none."""
    spellings = {spelling: name for name in flags for spelling in (name, *flags[name]["aliases"])}
    collected: list[tuple[str, list[str]]] = []
    for argument in arguments:
        if _is_flag(argument):
            written, equals, value = argument.partition("=")
            collected.append((written, [value] if equals else []))
        elif collected:
            collected[-1][1].append(argument)
        else:
            collected.append((argument, []))
    return [Given(written, spellings.get(written), values) for written, values in collected]


def _flag_faults(flag: Given, table: Mapping[str, Any], load_format: str) -> list[str]:
    if flag.name is None:
        return [f"unknown {'flag' if flag.written.startswith('-') else 'argument'} {flag.written}"]
    if flag.name == "--model":
        return ["--model is given beside the positional model"]
    entry = table["flags"][flag.name]
    miscounted = _count_fault(flag, entry)
    if miscounted:
        return [miscounted]
    return [
        *(fault for value in flag.values for fault in _value_faults(flag, value, entry, table)),
        *(fault for value in flag.values for fault in _json_faults(flag, value, table, load_format)),
    ]


def _count_fault(flag: Given, entry: Mapping[str, Any]) -> str | None:
    count, nargs = len(flag.values), entry["nargs"]
    if entry["kind"] == "bool":
        return f"{flag.written} takes no value: {flag.values[0]}" if count else None
    if not all(flag.values) or (not count and nargs != "?"):
        return f"{flag.written} has no value"
    if not count:
        return None
    most = count if nargs == "+" else nargs if isinstance(nargs, int) else 1
    return f"{flag.written} takes {most} value(s): {' '.join(flag.values)}" if count != most else None


def _value_faults(flag: Given, value: str, entry: Mapping[str, Any], table: Mapping[str, Any]) -> list[str]:
    known = entry["choices"] or table.get(_NAMED_BY_LIST.get(flag.name or "", ""))
    if known and value not in known:
        return [f"{flag.written} does not know {value}"]
    number = _NUMBERS.get(entry["type"] or "")
    automatic = value == "auto" and flag.name == "--max-model-len"
    if number and not automatic and not re.fullmatch(f"{number}|{_FILLED_IN}", value):
        return [f"{flag.written} takes a plain {entry['type']}: {value}"]
    return []


def _json_faults(flag: Given, value: str, table: Mapping[str, Any], load_format: str) -> list[str]:
    conversion = table["flags"][flag.name]["type"]
    if conversion != "json" and not (conversion == "json or str" and value.lstrip().startswith("{")):
        return []
    try:
        document = json.loads(value)
    except json.JSONDecodeError as error:
        return [f"{flag.written} is not JSON: {error}"]
    known = table.get(_keys_of(flag.name or ""))
    if flag.name == "--model-loader-extra-config":
        known = table["model_loader_extra_config_keys"].get(load_format)
    if known is None:
        return []
    if not isinstance(document, dict):
        return [f"{flag.written} is not a JSON object: {value}"]
    nested = document.get("pass_config") if flag.name == "--compilation-config" else None
    unknown = [key for key in document if key not in known]
    inner = nested if isinstance(nested, dict) else {}
    unknown += [f"pass_config.{key}" for key in inner if key not in table["compilation_pass_config_keys"]]
    return [f"{flag.written} has no key {key}" for key in unknown]


def _load_format(model: str, given: Sequence[Given]) -> str:
    """The load format that the release settles on: object storage turns `auto` into the streamer."""
    stated = next((flag.values[0] for flag in given if flag.name == "--load-format" and flag.values), "auto")
    remote = model.lower().startswith(_OBJECT_STORAGE)
    return "runai_streamer" if remote and stated == "auto" else stated


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the committed table from a wheel."""
    options = argparse.ArgumentParser(prog="python -m tests.serving.engine_table", description=main.__doc__)
    options.add_argument("--version", default=VERSION, help="release to read (default: %(default)s)")
    options.add_argument("--wheel", type=Path, help="a wheel that is already here, instead of a download")
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        version, files = read_wheel(chosen.wheel or download(chosen.version, Path(folder)))
    table = build(version, files)
    TABLE.write_text(render(table), encoding="utf-8")
    sys.stdout.write(f"{TABLE.name}: vLLM {version}, {len(table['flags'])} flags\n")


if __name__ == "__main__":
    main()
