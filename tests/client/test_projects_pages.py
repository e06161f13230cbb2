"""The pages of projects, for the command line and the chat alike."""

import sys
import time
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.client.answers import render_answer
from reveries.client.connection import connect
from reveries.client.features.knowledge import (
    chunks_page,
    conflicts_page,
    find_end_of_day,
    know_page,
    relations_page,
)
from reveries.client.features.project_pages import (
    orientation_diff_page,
    project_page,
    projects_page,
    questions_page,
    tasks_page,
    trace_page,
)
from reveries.client.features.work import render_event, say_what_waits
from reveries.client.knowledge_picture import draw_knowledge_svg
from reveries.client.render import Page
from reveries.config import Home
from tests.client.command_line import in_terminal
from tests.client.slash import first_request
from tests.fakes.daemon import Script, awake_in_thread, status

NOW = 1_750_000_000.0
LINE = protocol.ProjectLine(
    project_id="p1", name="Fair", state="active", status="waiting_for_user", goal="Organise a fair", phase="research",
    tasks_done=2, tasks=5, criteria=2, criteria_shown=1, next_task="Find the fees", open_questions=2,
    rested_because="waiting for you",
    last_worked_at=NOW - 60, dollars=0.02, tokens=4200,
)  # fmt: skip
TASK = protocol.TaskEntry(
    task_id="t1", title="Find the fees", description="", kind="find_out", status="blocked", skill_area="money",
    outcome="", waits_for="your answer: Who pays?", flagged_because="", is_tainted=True,
)  # fmt: skip
QUESTION = protocol.QuestionEntry(
    question_id="3f9ac81b20d4e57a", project="Fair", kind="question", question="Who pays?", context="Nearest: “Els.”",
    asked_at=NOW - 3600, blocked_tasks=1, is_tainted=True,
)  # fmt: skip
DETAIL = protocol.ProjectDetail(
    request_id=1, project=LINE, message="One question waits for you.", orientation="A fair\nphase: research",
    doubts=["Buy oak: rests on notes, which fell"], tasks=[TASK], questions=[QUESTION], log=[],
)  # fmt: skip


def text(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


@pytest.mark.requirement("V-126")
def test_a_project_at_a_glance_says_how_far_it_is_what_comes_and_what_it_asks() -> None:
    shown = text(projects_page([LINE], NOW))
    for words in (
        "Fair",
        "1 of 2 criteria shown, 3 open tasks",
        "Organise a fair",
        "Find the fees",
        "2 questions for you",
        "it waits for your answer",
        "$0.02",
    ):
        assert words in shown
    assert "reveries project new" in text(projects_page([], NOW))


def test_in_short_there_is_no_page_and_in_detail_there_is_and_what_is_uncertain_stands_in_both() -> None:
    short = text(project_page(DETAIL, NOW, is_detailed=False))
    detailed = text(project_page(DETAIL, NOW, is_detailed=True))
    for shown in (short, detailed):
        assert "rests on notes, which fell" in shown
        assert "Who pays?" in shown
    assert "phase: research" not in short
    assert "phase: research" in detailed
    assert "waits for your answer" in detailed


def test_what_is_reached_is_named_with_the_task_that_shows_it_and_what_is_not_stands_there_too() -> None:
    criteria = (
        protocol.CriterionEntry("The hall is rented", "Rent the hall"),
        protocol.CriterionEntry("300 come"),
        protocol.CriterionEntry("It costs 900 euros", "Add it up", "rests on fees.md, which fell"),
    )
    shown = text(project_page(msgspec.structs.replace(DETAIL, criteria=criteria), NOW, is_detailed=False))
    assert "1 of 3 criteria shown to be reached" in shown
    assert "✓ The hall is rented (by: Rent the hall)" in shown
    assert "· 300 come" in shown
    assert "? It costs 900 euros (in doubt: it rests on fees.md, which fell)" in shown


@pytest.mark.requirement("V-91")
def test_a_project_says_how_many_of_its_tasks_serve_the_goal_and_where_it_leaves_it() -> None:
    assert "coherence" not in text(project_page(DETAIL, NOW, is_detailed=False)), "nothing is begun"
    strays = msgspec.structs.replace(DETAIL, coherence=0.75, begun=4, coherence_notes=("Off track? Count penguins.",))
    shown = text(project_page(strays, NOW, is_detailed=False))
    assert "75%  3 of 4 tasks begun serve the goal" in shown
    assert "Off track? Count penguins." in shown


def test_a_question_says_who_had_a_hand_in_it_and_how_it_is_answered() -> None:
    shown = text(questions_page([QUESTION], NOW))
    assert "3f9ac81b" in shown
    assert "not written by you" in shown
    assert "reveries questions answer" in shown
    assert "no questions" in text(questions_page([], NOW))


def test_a_difference_of_two_versions_is_shown_line_by_line() -> None:
    versions = [
        protocol.OrientationEntry(2, "goal", NOW, "same\nnew line"),
        protocol.OrientationEntry(1, "created", NOW, "same\nold line"),
    ]
    assert text(orientation_diff_page(versions, 1, 2)) == "  - old line\n  + new line"
    assert "They are the same." in text(orientation_diff_page(versions, 1, 1))
    assert "versions 1 to 2" in text(orientation_diff_page(versions, 1, 7))


def test_why_a_task_came_to_what_it_came_to_shows_steps_and_what_it_rests_on() -> None:
    chunk = protocol.ChunkEntry("c1", "notes", "The fee is 9 pounds.", "resource", "verified", "", ["document:ab"])
    steps = [protocol.StepEntry(1, "holds answer", "yes", "done", NOW)]
    shown = text(trace_page(protocol.TaskTrace(1, TASK, "Every quote stands.", "", [chunk], steps)))
    for words in ("holds answer", "Every quote stands.", "The fee is 9 pounds.", "not written by you"):
        assert words in shown
    fallen = protocol.ChunkEntry("c2", "", "x", "insight", "inferred", "it was wrong", [])
    assert "no longer valid: it was wrong" in text(chunks_page([fallen]))
    assert "No tasks yet" in text(tasks_page([]))


def test_hostile_words_of_a_project_reach_no_terminal_as_they_are() -> None:
    frame = protocol.WorkHappened(1, "\x1b[31mFair", "done", "\x1b]0;title\x07 [bold]x[/bold]")
    assert "\x1b" not in "".join(part.text for part in render_event(frame))


async def test_who_begins_to_watch_is_told_what_began_before_and_how_many_questions_wait(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting: dict[str, protocol.Frame] = {"AskOpenQuestions": protocol.OpenQuestions(0, [QUESTION] * 3)}
    script = Script(looks=waiting, status=status(home, state="working", state_detail="Fair"))
    home.create()
    with awake_in_thread(home, script):
        async with connect(home) as mind:
            await say_what_waits(mind)
        script.looks["AskOpenQuestions"] = protocol.OpenQuestions(0, [])
        script.status = status(home, state="settled")
        async with connect(home) as mind:
            await say_what_waits(mind)
    told = capsys.readouterr().err
    assert told.count("3 questions for you: reveries questions") == 1
    assert told.count("It is working on Fair.") == 1


@pytest.mark.parametrize(
    "script",
    [Script(silent_on="AskStatus"), Script(failures={"AskStatus": protocol.Failed(0, "protocol", "It is stuck.", "")})],
    ids=["silent", "failing"],
)
def test_watching_shows_events_and_ends_quietly_though_the_mind_does_not_say_what_waits(
    home: Home, script: Script
) -> None:
    script.live = [protocol.WorkHappened(0, "Fair", "done", "Find the fees")]
    home.create()
    with awake_in_thread(home, script):
        shown, code = in_terminal(home, [(b"Find the fees", b"\x03")], "work", "--watch")
    assert (code, b"stuck" in shown) == (0, False)


async def test_what_waits_names_a_command_that_the_shell_finds(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/reveries"])
    script = Script(looks={"AskOpenQuestions": protocol.OpenQuestions(0, [QUESTION])}, status=status(home))
    home.create()
    with awake_in_thread(home, script):
        async with connect(home) as mind:
            await say_what_waits(mind)
    assert "1 question for you: .venv/bin/reveries questions\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-10-25", 25), ("2026-03-29", 23), ("2026-06-01", 24), ("9999-12-31", None)]
)
def test_a_day_lasts_until_the_next_midnight_even_if_the_clocks_change(
    day: str, hours: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")  # Europe/Stockholm, wherever its rules are not installed.
    time.tzset()
    try:
        begin = datetime.fromisoformat(day)
        lasted = find_end_of_day(begin) - begin.timestamp()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert hours is None or lasted == pytest.approx(hours * 3600 - 0.001, abs=0.0005)


@pytest.mark.parametrize("day", ["1960-01-01", "0001-01-01"])
def test_on_a_day_before_unix_time_nothing_was_known(day: str) -> None:
    assert find_end_of_day(datetime.fromisoformat(day)) == 1.0


def test_the_chat_shows_a_project_and_answers_a_question() -> None:
    assert first_request("/project Fair")[0] == protocol.AskProject(7, "Fair")
    assert first_request("/answer 3f9a Els pays")[0] == protocol.AnswerQuestion(7, "3f9a", "Els pays")
    assert first_request("/work Fair")[0] == protocol.RequestWork(7, "Fair")
    frames: list[protocol.Frame] = [
        DETAIL, protocol.QuestionAnswered(1, "Fair", "Who pays?"), protocol.WorkRequested(1, "Fair"),
    ]  # fmt: skip
    for frame in frames:
        assert "Fair" in text(render_answer(frame, NOW))


CHUNK = protocol.ChunkEntry(
    chunk_id="c0ffee0011", title="Fees", content="The hall costs 300 euros.", type="research", confidence="verified",
    fell_because="", sources=["document:a"], created_at=NOW, superseded_by="deadbeef99", why="meaning 1; words 2",
)  # fmt: skip
RELATION = protocol.RelationEntry(
    "r1a2b3c4d5", "c0ffee0011", "Fees <b>", "contradicts", "deadbeef99", "The hall costs 350 euros.", 0.8, True, ""
)


def test_what_a_project_knows_says_where_it_comes_from_what_replaced_it_and_why_when_asked() -> None:
    answer = protocol.Chunks(1, [CHUNK], "operational", "Next: Find the fees", (RELATION,))
    shown = text(know_page(answer, with_why=True))
    for words in (
        "Next: Find the fees",
        "not written by you",
        "replaced by deadbeef",
        "why: meaning 1",
        "contradicts",
    ):
        assert words in shown
    assert "why:" not in text(know_page(answer))
    assert "knows nothing about that" in text(know_page(protocol.Chunks(1, [])))
    assert "There are no relations yet" in text(relations_page([]))


def test_a_conflict_shows_both_sides_who_says_so_and_what_holds() -> None:
    newer = protocol.ChunkEntry("deadbeef99", "", "The hall costs 350 euros.", "research", "verified", "", [], NOW)
    for found_by, settled, words in (
        ("likeness", "", "not verified"),
        ("rule", "recency", "later one is valid"),
        ("model", "owner", "You settled it"),
    ):
        conflict = protocol.ProjectConflict("abc123def4", "Fair", CHUNK, newer, found_by, settled)
        shown = text(conflicts_page(protocol.ProjectConflicts(1, [conflict])))
        assert words in shown
        assert "300" in shown
        assert "350" in shown


def test_a_picture_of_knowledge_holds_each_chunk_once_and_no_markup_of_theirs() -> None:
    svg = draw_knowledge_svg("Fair <script>", [RELATION])
    assert svg.count("<circle") == 2
    assert "<b>" not in svg
    assert "<script>" not in svg
    assert svg.startswith("<svg")
    assert draw_knowledge_svg("Fair", []).count("<circle") == 0
