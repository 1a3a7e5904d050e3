"""Stack files for tests: the committed one, with changes."""

from pathlib import Path

import yaml

from components.plan.planner import Plan
from components.stack_file import Settings, load

PROJECT = Path(__file__).resolve().parent.parent


def values(stack: str = "existing", /, **changes: object) -> dict[str, object]:
    """Return the values of a committed stack file; a change of an object is merged into it."""
    config = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())["config"]
    found = {key.removeprefix("kimi-k3:"): value for key, value in config.items() if key.startswith("kimi-k3:")}
    for key, change in changes.items():
        old = found.get(key)
        found[key] = {**old, **change} if isinstance(old, dict) and isinstance(change, dict) else change
    return found


def loaded(machine: str = "8xB300", nodes: int = 16, **changes: object) -> tuple[Settings, Plan]:
    """Return settings and plan of the committed stack file on another machine, with room for its replicas."""
    cluster = {"nodes": nodes}
    given = changes.pop("cluster", {})
    assert isinstance(given, dict)
    return load(values(machine=machine, cluster={**cluster, **given}, **changes))
