"""Blocks of settings with a mode that decides which of their other keys are filled."""

from collections.abc import Collection, Mapping

from components.faults import Fault
from components.settings import Block


def mode_key_faults(
    path: str, block: Block, mode: str, needed: Mapping[str, Collection[str]], *, optional: Collection[str] = ()
) -> list[Fault]:
    """Return a fault for each key that a mode needs and that is empty, and for each that belongs to another mode.

    Args:
        path: The block's key in the stack file.
        block: The block.
        mode: The one that it is in.
        needed: Python names of the keys that each mode needs.
        optional: Those that this mode takes or leaves.
    """
    fields = type(block).model_fields
    own = needed[mode]
    others = {name for names in needed.values() for name in names} - {*own, *optional}
    takes = ", ".join(fields[name].alias or name for name in own) or "none of the others"
    found = [
        Fault(
            key=f"{path}.{fields[name].alias}",
            given=None,
            allowed=f"mode {mode} needs it: {fields[name].description}",
            instead=f"{(fields[name].examples or [''])[0]}",
        )
        for name in own
        if not getattr(block, name)
    ]
    return found + [
        Fault(
            key=f"{path}.{fields[name].alias}",
            given=getattr(block, name),
            allowed=f"mode {mode} takes {takes}",
            instead="leave it out",
        )
        for name in sorted(others)
        if getattr(block, name)
    ]
