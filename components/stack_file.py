"""From the raw values of a stack file to settings and a plan, or to every fault of the file at once.

Pydantic stops at the first kind of trouble: a check across keys never runs when any field failed. So a value that
failed is replaced by its example and the rest is checked all the same; what a person has to change comes out in one go.
"""

from collections.abc import Mapping
from typing import Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from components.alicloud.settings import AlicloudSettings
from components.aws.settings import AwsSettings
from components.azure.settings import AzureSettings
from components.existing.settings import ExistingSettings
from components.faults import Fault, Faulty, nearest
from components.gcp.settings import GcpSettings
from components.overrides import engine_faults, override_faults
from components.plan.planner import Plan, chosen_machine, make_plan
from components.settings import Cloud, StackSettings

Settings = ExistingSettings | AwsSettings | AzureSettings | GcpSettings | AlicloudSettings
"""What `load` returns."""

CLOUDS: Final[Mapping[str, type[Settings]]] = {
    "existing": ExistingSettings,
    "aws": AwsSettings,
    "azure": AzureSettings,
    "gcp": GcpSettings,
    "alicloud": AlicloudSettings,
}
"""The settings of each cloud; the order is that of the README."""

_PLAN_KEYS: Final = frozenset({"cloud", "machine", "replicas", "topology"})
"""Keys that the plan's arithmetic stands on; with a fault in one its faults would mislead."""


def load(values: Mapping[str, object]) -> tuple[Settings, Plan]:
    """Return the settings and the plan of a stack file.

    Args:
        values: The keys below the project's namespace, as parsed YAML. No secret among them.

    Raises:
        Faulty: With every fault of the file, its cross-checks and its plan.
    """
    settings, found = read(values)
    plan: Plan | None = None
    if settings is not None:
        found += override_faults(settings)
        found += _cross_faults(settings)
        bad = {fault.key.split(".")[0] for fault in found}
        if not _PLAN_KEYS & bad:
            plan, plan_faults = make_plan(settings)
            found += plan_faults
            found += [*engine_faults(plan, settings.serving), *settings.plan_faults(plan)] if plan is not None else []
        elif "machine" not in bad:
            found += chosen_machine(settings)[1]
    if found or settings is None or plan is None:
        raise Faulty(_first_per_key(found))
    return settings, plan


def read(values: Mapping[str, object]) -> tuple[Settings | None, list[Fault]]:
    """Return the settings with every bad value replaced by its example, and the faults of the bad ones.

    The settings are None only when no example could stand in.
    """
    model = CLOUDS.get(str(values.get("cloud")), ExistingSettings)
    found: list[Fault] = []
    data = _given(model, values)
    for _ in range(len(get_args(Cloud)) + 4):
        try:
            return model.model_validate(data), found
        except ValidationError as error:
            for detail in error.errors(include_input=True, include_url=False):
                found.append(_fault(model, detail))
                _repair(model, data, detail)
    return None, found


def _given(model: type[StackSettings], values: Mapping[str, object]) -> dict[str, object]:
    """Return a copy without the keys that Pulumi.yaml declares and the person left empty: the models' defaults hold.

    A required key stays, so that its fault comes out, and so does any key that was filled, so that one of another
    cloud is a fault.
    """
    required = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
    declared = {field.alias or name for each in CLOUDS.values() for name, field in each.model_fields.items()}
    optional = declared - required
    return {key: value for key, value in _copy(values).items() if not (key in optional and value in ("", {}))}


def _cross_faults(settings: Settings) -> list[Fault]:
    """Return what is wrong between keys that are right one by one."""
    found = [*_shutdown_faults(settings), *_exposure_faults(settings)]
    if settings.serving.host_network and settings.serving.socket_interface in (None, "eth0"):
        found.append(
            Fault(
                key="serving.socketInterface",
                given=settings.serving.socket_interface,
                allowed="on the host's network NCCL and Gloo must not guess among many NICs",
                instead="the machine's NIC, or an exclusion such as ^docker0,lo",
            )
        )
    if not settings.serving.rollout.max_unavailable and not settings.serving.rollout.max_surge:
        found.append(
            Fault(
                key="serving.rollout.maxUnavailable",
                given=0,
                allowed="without surge at least one group must be down while it is replaced",
                instead="1",
            )
        )
    return [*found, *settings.faults()]


def _shutdown_faults(settings: Settings) -> list[Fault]:
    """The grace period counts from the start of the preStop hook (vllm-project/vllm PR #43208)."""
    shutdown = settings.serving.shutdown
    needed = shutdown.pre_stop_seconds + shutdown.drain_seconds
    if shutdown.grace_seconds > needed:
        return []
    return [
        Fault(
            key="serving.shutdown.graceSeconds",
            given=shutdown.grace_seconds,
            allowed=f"must exceed preStopSeconds {shutdown.pre_stop_seconds} + drainSeconds {shutdown.drain_seconds} "
            f"= {needed}, or running requests are cut",
            instead=str(needed + 30),
        )
    ]


def _exposure_faults(settings: Settings) -> list[Fault]:
    """A public address needs closed ranges and TLS: /invocations answers without a key (vllm-project/vllm #58144)."""
    exposure = settings.exposure
    if exposure.mode != "public":
        return []
    found: list[Fault] = []
    open_ranges = [cidr for cidr in exposure.allowed_ranges if cidr.endswith("/0")]
    if not exposure.allowed_ranges or open_ranges:
        found.append(
            Fault(
                key="exposure.allowedRanges",
                given=list(exposure.allowed_ranges),
                allowed="a public API needs closed ranges: the engine answers /invocations and /tokenize without a key",
                instead="[203.0.113.0/24]",
            )
        )
    key, certificate = exposure.certificate
    if certificate is None:
        found.append(
            Fault(
                key=f"exposure.{key}",
                given=None,
                allowed="a public API speaks TLS",
                instead=_example(_field(type(exposure), [key])[1]),
            )
        )
    return found


def _fault(model: type[BaseModel], detail: ErrorDetails) -> Fault:
    """Turn one error of pydantic into a fault that says what to type."""
    path = [str(part) for part in detail["loc"]]
    key = ".".join(path)
    owner, field = _field(model, path)
    if detail["type"] == "extra_forbidden":
        known = [item.alias or name for name, item in owner.model_fields.items()]
        close = nearest(path[-1], known)
        return Fault(
            key=key,
            given=detail["input"],
            allowed="there is no such key; known here: " + ", ".join(known),
            instead=".".join([*path[:-1], close]) if close else "leave it out",
        )
    missing = detail["type"] == "missing"
    rule = detail["msg"][0].lower() + detail["msg"][1:]
    meaning = field.description if field is not None and field.description else ""
    return Fault(
        key=key,
        given=None if missing else detail["input"],
        allowed=f"{meaning}; {rule}" if meaning else rule,
        instead=_example(field),
    )


def _example(field: FieldInfo | None) -> str:
    if field is None:
        return "see the comments of the stack file"
    example = _stand_in(field)
    return f"{example}".lower() if isinstance(example, bool) else f"{example}"


def _stand_in(field: FieldInfo) -> object:
    if field.examples:
        return field.examples[0]
    return None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})


def _field(model: type[BaseModel], path: list[str]) -> tuple[type[BaseModel], FieldInfo | None]:
    """Return the model that owns the last key of a path, and its field when there is one."""
    owner, field = model, None
    for part in path:
        field = next((item for name, item in owner.model_fields.items() if part == (item.alias or name)), None)
        if field is None:
            break
        inner = _block(field.annotation)
        if inner is None or part == path[-1]:
            break
        owner = inner
    return owner, field


def _block(annotation: object) -> type[BaseModel] | None:
    """Return the block of keys inside an annotation such as `Claim | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _block(part)) is not None), None)


def _repair(model: type[BaseModel], data: dict[str, object], detail: ErrorDetails) -> None:
    """Take a bad value out of the data, or put its example in where the key is required."""
    path = [str(part) for part in detail["loc"]]
    holder: object = data
    for part in path[:-1]:
        inner = holder.get(part) if isinstance(holder, dict) else None
        if not isinstance(inner, dict):
            # A list's element or a block that isn't one: the whole value above goes.
            path = path[: path.index(part) + 1]
            break
        holder = inner
    if not isinstance(holder, dict):
        return
    holder.pop(path[-1], None)
    _, field = _field(model, path)
    if field is not None and field.is_required():
        holder[path[-1]] = _required(field)


def _required(field: FieldInfo) -> object:
    """Return a legal value of a required key: its example, or a block filled with examples."""
    inner = _block(field.annotation)
    if field.examples or inner is None:
        return _stand_in(field)
    return {item.alias or name: _required(item) for name, item in inner.model_fields.items() if item.is_required()}


def _copy(values: object) -> dict[str, object]:
    return {
        str(key): _copy(value) if isinstance(value, dict) else value
        for key, value in (values.items() if isinstance(values, Mapping) else ())
    }


def _first_per_key(found: list[Fault]) -> list[Fault]:
    return list({fault.key: fault for fault in reversed(found)}.values())[::-1]
