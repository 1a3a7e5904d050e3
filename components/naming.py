"""Names that every limit of Kubernetes and the clouds accepts, made from any project, stack or prefix.

A name that is too long is shortened in its readable part; eight characters of a hash of the whole keep two long
names apart, so the unique part is never cut.
"""

import hashlib
import re
from typing import Final

KUBERNETES_NAME_MAX: Final = 63
"""DNS label, RFC 1123: namespaces, Services and label values."""

_LABEL_MAX: Final = 63
_HASH_LENGTH: Final = 8
# A worker StatefulSet's pods carry the label controller-revision-hash = <StatefulSet>-<up to 10 characters>.
_REVISION_SUFFIX: Final = 11


def fit(name: str, limit: int) -> str:
    """Return `name` as lower-case letters, digits and hyphens, at most `limit` characters, unique for its input.

    Args:
        name: Any text; what a DNS label can't hold becomes a hyphen.
        limit: The longest result in characters; at least 10.
    """
    clean = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not clean or not clean[0].isalpha():
        clean = f"k-{clean}".strip("-")
    if clean == name and len(clean) <= limit:
        return clean
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{clean[: limit - _HASH_LENGTH - 1].rstrip('-')}-{digest}"


def letters_and_digits(name: str, limit: int) -> str:
    """Return `name` as lower-case letters and digits alone, which is all that some stores take; unique for its input.

    Args:
        name: Any text; what isn't a letter or digit is left out.
        limit: The longest result in characters; at least 10.
    """
    clean = re.sub(r"[^a-z0-9]+", "", name.lower())
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return clean[: limit - _HASH_LENGTH] + digest


def leader_worker_set_name(name: str, replicas: int) -> str:
    """Return a name that LeaderWorkerSet can derive its own names from.

    The workers' StatefulSet is called `<name>-<group>` and its pods carry a label of that plus a hyphen and a hash
    of up to ten characters; past 63 characters the leaders start and the workers never do, with an error in the
    events alone (kubernetes-sigs/lws#410).
    """
    return fit(name, _LABEL_MAX - _REVISION_SUFFIX - 1 - len(str(max(replicas, 1) - 1)))
