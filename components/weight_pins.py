"""A source of the weights must be pinned: the files are code, and what moves can run anything on the GPUs."""

from components.faults import Fault
from components.settings import Serving, Weights


def source_faults(weights: Weights, serving: Serving, *, instead_of_filling: str = "huggingface") -> list[Fault]:
    """Refuse a source whose files can move, and a draft model that the source doesn't have.

    Args:
        weights: What fills the bucket.
        serving: Whether the draft model is used.
        instead_of_filling: What to type where the draft model is missing.
    """
    found: list[Fault] = []
    if weights.source == "modelscope" and weights.source_revision is None and weights.digest is None:
        found.append(
            Fault(
                key="weights.source",
                given="modelscope",
                allowed="ModelScope's branches move, and the files are code: pin them",
                instead="modelscope with digest, as a copy from Hugging Face prints it, or with sourceRevision",
            )
        )
    if weights.source != "huggingface" and serving.speculative_decoding:
        found.append(
            Fault(
                key="weights.source",
                given=weights.source,
                allowed="the draft model is copied from Hugging Face alone",
                instead=instead_of_filling,
            )
        )
    return found
