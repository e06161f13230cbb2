"""The log of a project in words."""

import re
from pathlib import Path

import pytest

import reveries
from reveries.client.features.project_notes import describe_progress
from reveries.client.features.project_wording import describe_action, describe_details, describe_trigger
from reveries.protocol import ProjectLine

SOURCES = Path(reveries.__file__).parent
_LOGGED = re.compile(r"""log(?:_event|\.put)?\(\s*[^()]*?"([a-z]+\.[a-z_]+|planned)\"""")


def test_every_event_that_the_mind_writes_into_a_log_has_words() -> None:
    files = [*SOURCES.glob("projects/*.py"), *SOURCES.glob("daemon/**/*.py")]
    logged = {name for file in files for name in _LOGGED.findall(file.read_text(encoding="utf-8"))}
    assert logged >= {"task.began", "tool.switched_off", "server.not_started", "task.created", "question.answered"}
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
    ("details", "words"),
    [
        ("task.created\nBuy wood", "new task: Buy wood"),
        ("task.updated\nBuy wood: done", "changed the task: Buy wood: done"),
        ("question.asked\nOak or pine?", "asked you: Oak or pine?"),
        ("question.answered", "answered a question"),
        ("Sawed the boards", "Sawed the boards"),
        ("goal.said\nas it claims", "goal.said: as it claims"),
    ],
)
def test_what_a_program_did_is_in_words_and_never_as_what_you_did(details: str, words: str) -> None:
    assert describe_details("mcp:agent", details) == words


def test_nothing_is_left_to_do_only_where_all_is_shown_and_nothing_is_asked() -> None:
    def progress(shown: int, questions: int) -> str:
        line = ProjectLine(
            project_id="p",
            name="Fair",
            state="active",
            status="ready",
            goal="",
            phase="",
            tasks_done=1,
            tasks=1,
            next_task="",
            open_questions=questions,
            rested_because="",
            last_worked_at=0.0,
            dollars=0.0,
            tokens=0,
            criteria=3,
            criteria_shown=shown,
        )
        return describe_progress(line)

    assert progress(3, 0) == "3 of 3 criteria shown, nothing left to do"
    assert progress(0, 0) == "0 of 3 criteria shown, no open task"
    assert progress(3, 1) == "3 of 3 criteria shown, no open task"
