"""One tree of errors, one table of exit codes."""

import re

import pytest

from reveries import errors
from reveries.errors import ReveriesError, StorageError, error_from_code
from tests.rows import check_rows


def tree(error: type[ReveriesError] = ReveriesError) -> list[type[ReveriesError]]:
    return [error, *(below for child in error.__subclasses__() for below in tree(child))]


EXIT_CODES = {
    "failed": 1,
    "undo": 1,
    "usage": 2,
    "asleep": 3,
    "input_data": 65,
    "input_file": 66,
    "document": 66,
    "model": 69,
    "model_missing": 69,
    "model_unavailable": 69,
    "model_answer": 69,
    "budget": 69,
    "home": 73,
    "storage": 74,
    "database_too_new": 78,
    "disk_full": 74,
    "storage_lost": 74,
    "storage_damaged": 74,
    "already_awake": 75,
    "protocol": 76,
    "connection_lost": 76,
    "other_version": 76,
    "config": 78,
    "not_found": 1,
    "safe_mode": 1,
    "tool": 1,
}
"""Scripts depend on these: a line is added, never changed."""


@pytest.mark.requirement("R-28")
def test_the_exit_codes_never_change() -> None:
    assert {cls.code: cls.exit_code for cls in tree()} == EXIT_CODES


def test_no_two_errors_share_a_code() -> None:
    codes = [cls.code for cls in tree()]
    assert len(codes) == len(set(codes))


@check_rows("cls", tree())
def test_an_error_crosses_the_wire_as_what_it_was(cls: type[ReveriesError]) -> None:
    sent = cls("What happened.", advice="What to do.")
    received = error_from_code(sent.code, sent.message, sent.advice)
    assert type(received) is cls
    assert (received.message, received.advice) == ("What happened.", "What to do.")
    assert received.exit_code == cls.exit_code


def test_an_error_of_a_newer_version_is_still_an_error() -> None:
    received = error_from_code("eclipsed", "The sun is gone.", "")
    assert type(received) is ReveriesError
    assert received.exit_code == 1


def test_an_error_reads_as_its_sentence_and_its_advice() -> None:
    assert str(StorageError("It is full.", advice="Make room.")) == "It is full. Make room."
    assert str(StorageError("It is full.")) == "It is full."


def test_the_tree_that_is_drawn_is_the_tree_that_is() -> None:
    drawn = re.findall(r"^ +(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(cls.__name__ for cls in tree())
