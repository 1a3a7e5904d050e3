"""The copy of the stack file: laid over, without the user's secrets, never written back."""

from pathlib import Path

import pytest

from rehearsal.stack_file import (
    PLACEHOLDER,
    Contents,
    NoSuchStackError,
    encrypted_paths,
    merged,
    paths,
    read,
    without_encryption,
)


@pytest.mark.parametrize(
    ("config", "overrides", "want"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3, "z": 4}}, {"a": {"x": 1, "y": 3, "z": 4}}),
        ({"a": {"x": {"deep": 1}}}, {"a": {"x": {"er": 2}}}, {"a": {"x": {"deep": 1, "er": 2}}}),
        ({"a": "text"}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
    ],
)
def test_merged(config: Contents, overrides: Contents, want: Contents) -> None:
    before = repr(config)
    assert merged(config, overrides) == want
    assert repr(config) == before


def test_encrypted_values_become_placeholders_at_their_paths() -> None:
    config: Contents = {"p:key": {"secure": "v1:x"}, "p:deep": {"a-b": [{"c": {"secure": "y"}}], "plain": 1}}
    assert list(encrypted_paths(config)) == ["p:key", 'p:deep["a-b"][0].c']
    opened = without_encryption({"encryptionsalt": "s", "secretsprovider": "gcpkms://", "config": config})
    assert opened == {"config": {"p:key": PLACEHOLDER, "p:deep": {"a-b": [{"c": PLACEHOLDER}], "plain": 1}}}


def test_a_stack_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    for name in ("aws", "existing"):
        (tmp_path / f"Pulumi.{name}.yaml").write_text("config: {}")
    with pytest.raises(NoSuchStackError, match=r"no Pulumi.azure.yaml. Stacks with a file: aws, existing."):
        read(tmp_path, "azure")


def test_an_empty_stack_file_is_fine(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("# nothing yet\n")
    assert read(tmp_path, "dev") == {}


def test_what_is_laid_over_a_stack_file_is_named_by_its_paths() -> None:
    assert paths({"p:mirror": {"charts": "/x"}, "p:key": "", "p:list": [1]}) == ["p:mirror.charts", "p:key", "p:list"]
