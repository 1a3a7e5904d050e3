"""Questions to a cloud in a preview: one that gets no answer is a fault that says how to leave it out."""

from collections.abc import Callable, Collection, Sequence

from components.faults import Fault


class Questions:
    """The named checks of one cloud, some of which a person leaves out."""

    def __init__(self, cloud: str, skipped: Collection[str]) -> None:
        """Remember whom to ask.

        Args:
            cloud: As a person calls it.
            skipped: Names of the checks that are left out.
        """
        self._cloud = cloud
        self._skipped = skipped

    def skips(self, check: str) -> bool:
        """Return whether a check is left out."""
        return check in self._skipped

    def ask(self, check: str, key: str, given: object, question: Callable[[], Sequence[Fault]]) -> list[Fault]:
        """Return what a check found, or that it could not be made.

        Args:
            check: Its name in `preflight.skip`; empty for one that can't be left out.
            key: The stack file's key that it is about.
            given: What stands there.
            question: Asks, and judges the answer.
        """
        if self.skips(check):
            return []
        try:
            return list(question())
        except Exception as error:  # noqa: BLE001 - whatever the cloud or the network says, it is one line for the person
            reason = " ".join(str(error).split())[-300:]
            way_out = f"preflight: {{skip: [{check}]}}, or" if check else "a value that exists, and"
            allowed = f"{self._cloud} could not be asked: {reason}"
            return [Fault(key=key, given=given, allowed=allowed, instead=f"{way_out} the right to ask")]
