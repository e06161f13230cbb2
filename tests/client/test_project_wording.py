"""The log and the steps of a project in words."""

import re
from pathlib import Path

import msgspec
import pytest

import reveries
from reveries.client.features.project_wording import (
    describe_action,
    describe_answer,
    describe_details,
    describe_trigger,
)

SOURCES = Path(reveries.__file__).parent
_LOGGED = re.compile(r"""\.log\(\s*[^()"']*,\s*"([a-z]+\.[a-z_]+|planned)\"""", re.DOTALL)


def test_every_event_that_the_mind_writes_into_a_log_has_words() -> None:
    files = [*SOURCES.glob("projects/*.py"), *SOURCES.glob("daemon/**/*.py")]
    logged = {name for file in files for name in _LOGGED.findall(file.read_text(encoding="utf-8"))}
    assert len(logged) > 15
    assert [name for name in sorted(logged) if describe_action(name) == name and name != "planned"] == []
    assert describe_action("mcp:agent") == "mcp:agent"


@pytest.mark.requirement("V-99")
def test_a_new_page_says_in_words_why_it_was_written() -> None:
    assert (
        describe_details("orientation.rewritten", "version 3: milestone") == "version 3, because: an area is finished"
    )
    assert describe_trigger("goal answers") == "a goal of yours, several answers of yours"
    for unknown in ("reverted to 1", "mcp:agent", ""):
        assert describe_trigger(unknown) == unknown
    assert describe_details("task.done", "version 3: milestone") == "version 3: milestone"


@pytest.mark.requirement("V-99")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"answer": "yes"}, "answer yes"),
        ({"why": "It does.", "accepted": True}, "accepted: It does."),
        ({"why": "No file.", "accepted": False}, "rejected: No file."),
        (
            {"step": {"tool": "finish", "status": "needs_research", "topic": "Oak", "learnings": []}},
            "finished, needs research: Oak",
        ),
        (
            {"step": {"tool": "finish", "status": "complete", "outcome": "Oak.", "learnings": [{}, {}]}},
            "finished, complete: Oak. (2 learned)",
        ),
        ({"step": {"tool": "read_file", "path": "a.md", "lines": 0, "more": []}}, "read_file: path a.md; lines 0"),
        ({"step": None}, "None"),
    ],
)
def test_an_answer_of_a_model_reads_as_a_sentence(answer: object, words: str) -> None:
    assert describe_answer(msgspec.json.encode(answer).decode()) == words


@pytest.mark.parametrize("text", ["yes", "", '{"cut": "of', "[1, 2]", "no usable answer: it broke"])
def test_what_is_no_known_answer_stays_as_it_is(text: str) -> None:
    assert describe_answer(text) == text
