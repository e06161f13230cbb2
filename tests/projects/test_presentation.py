"""How a project is told of in a conversation, by the owner's words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reveries.daemon.talk.project_talk import ProjectTalk
from reveries.knowledge.model import Chunk
from reveries.projects.model import AuditedBy, WorkTask
from reveries.projects.presentation import Presentation, choose_presentation, tell_what_is_uncertain, tell_why
from reveries.projects.working_tools import WorkingTools
from reveries.tools.registry import ToolCaller, ToolRegistry
from tests.projects.kit import Work, asked_for, finished, open_work, task_in
from tests.projects.test_goals_and_input import answers
from tests.projects.test_premise import chunk
from tests.projects.test_premise import task as made_task
from tests.rows import check_rows

RAW = ("task.", "coherence.", "in_progress", "not_started", "{", "}", "None", "p000", "c000")
"""What only rows hold."""


@pytest.mark.requirement("V-99")
@check_rows(
    ("words", "mode"),
    [
        ("How is Piano going?", Presentation.SUMMARY),
        ("Where does the shed stand?", Presentation.SUMMARY),
        ("Wie steht es um Piano?", Presentation.SUMMARY),
        ("Sure, how is the shed?", Presentation.SUMMARY),
        ("What did you find out for the shed?", Presentation.DETAIL),
        ("Is something wrong with the shed?", Presentation.DETAIL),
        ("I am worried about the shed.", Presentation.DETAIL),
        ("Tell me everything about the project Shed.", Presentation.DETAIL),
        ("Why did you choose oak for the shed?", Presentation.TRACE),
        ("How do you know that the shed needs oak?", Presentation.TRACE),
        ("What is that based on?", Presentation.TRACE),
        ("How sure are you of the shed's price?", Presentation.UNCERTAIN),
        ("What is uncertain in the shed?", Presentation.UNCERTAIN),
        ("Why are you not certain about the shed?", Presentation.UNCERTAIN),
    ],
)
def test_the_owners_words_decide_how_a_project_is_told_of(words: str, mode: Presentation) -> None:
    assert choose_presentation(words) is mode


def test_where_nothing_is_in_doubt_that_is_said() -> None:
    assert tell_what_is_uncertain([], []) == ["Nothing that is known of it is in doubt."]
    assert tell_what_is_uncertain(["a"] * 9, ["b"] * 9) == [*["In doubt: a"] * 3, *["b"] * 3]


def builder(text: str) -> object:
    """Does the first task, fails at the second."""
    if asked_for(text) != "step":
        return answers(text)
    if task_in(text) == "Look into part 2":
        return finished("failed", "There is no saw.")
    return finished(outcome=f"Oak is best for {task_in(text)[-6:]}.")


async def tell(work: Work, words: str, room_tokens: int = 2000) -> list[str]:
    return [one.line for one in await ProjectTalk(work.store, work.store.knowledge).notes_for(words, room_tokens)]


async def begin(work: Work) -> None:
    await work.wake(await work.begin("Shed", "Build a shed"))


@pytest.mark.requirement("V-99")
async def test_in_detail_it_tells_outcomes_and_what_is_stuck_and_never_a_row(tmp_path: Path) -> None:
    async with open_work(tmp_path, builder) as work:
        await begin(work)
        [state, detail, *_] = await tell(work, "What have you done for the shed so far?")
        assert "“Look into part 1”: Oak is best for part 1." in detail
        assert "“Look into part 2”, because it waits for your answer." in detail
        assert "There is no saw." in detail
        assert not [raw for raw in RAW if raw in state + detail]


@pytest.mark.requirement("V-99")
async def test_asked_why_it_tells_of_the_task_that_is_meant_and_how_it_was_checked(tmp_path: Path) -> None:
    async with open_work(tmp_path, builder) as work:
        await begin(work)
        [_, why, *_] = await tell(work, "Why is it oak for part 3 of the shed?")
        assert "“Look into part 3” came to this: Oak is best for part 3." in why
        assert "It was checked: Fine." in why
        # The last one, where the words mean none.
        [_, why, *_] = await tell(work, "Why, shed?")
        assert "“Look into part 3” came to this" in why


@pytest.mark.requirement("V-99")
async def test_asked_what_is_uncertain_it_tells_that_and_asked_in_passing_nothing_of_it(tmp_path: Path) -> None:
    async with open_work(tmp_path, builder) as work:
        await begin(work)
        [state, doubt, *_] = await tell(work, "What is uncertain in the shed?")
        assert "Nothing that is known of it is in doubt." in doubt
        short = await tell(work, "How is the shed going?")
        assert all("“Look into part 3”: Oak is best for part 3." in line for line in (state, short[0]))
        assert not [line for line in short if line.startswith("- Of your project")]


def done(**changed: object) -> WorkTask:
    task = replace(
        made_task("Buy oak", is_done=True), outcome="Oak is best.", audit="Fine.", audited_by=AuditedBy.AUDIT
    )
    return replace(task, **changed)  # type: ignore[arg-type]


def based_on(*chunks: Chunk, **changed: object) -> list[str]:
    rests_on = tuple(one.id for one in chunks)
    return tell_why(done(rests_on=rests_on, **changed), {one.id: one for one in chunks})


@pytest.mark.requirement("V-99")
def test_asked_why_a_basis_that_holds_no_more_is_told_as_such_and_a_doubt_comes_first() -> None:
    fell, replaced = chunk("Oak costs 20 euros", fell="It was pine"), replace(chunk("Oak is dry"), superseded_by="c9")
    told = based_on(chunk("Oak lasts"), fell, replaced, flagged_because="rests on Oak costs 20 euros, which fell")
    assert told == [
        "“Buy oak” is in doubt: it rests on Oak costs 20 euros, which fell.",
        "“Buy oak” came to this: Oak is best.",
        "It rested on something that holds no more (It was pine): Oak costs 20 euros",
        "It rested on something that holds no more (a newer one replaces it): Oak is dry",
        "It rests on: Oak lasts",
        "It was checked: Fine.",
    ]


def test_asked_why_what_was_erased_is_not_told_as_nothing_stored() -> None:
    assert "It rested on something that was erased." in tell_why(done(rests_on=("c9",)), {})
    assert "It rests on nothing that was stored." in tell_why(done(), {})


async def test_what_a_program_says_is_done_is_told_as_its_words_and_as_not_checked(tmp_path: Path) -> None:
    async with open_work(tmp_path, builder) as work:
        await work.begin("Shed", "Build a shed")
        tools = WorkingTools(work.store).tools()
        registry = ToolRegistry(tools, {"program": frozenset(one.name for one in tools)})
        agent = ToolCaller("program", "mcp:agent", "s1")
        given = {"project_id": "Shed", "title": "Buy oak", "description": "", "skill_area": "wood"}
        made: Any = await registry.call(agent, "create_task", given)
        updates = {"status": "done", "outcome": "Pine is best."}
        given = {"project_id": "Shed", "task_id": made["task"]["id"]}
        await registry.call(agent, "update_task", given | {"updates": updates})
        [_, why, *_] = await tell(work, "Why did you buy oak for the shed?")
        assert "came to this: somebody else wrote: Pine is best." in why
        assert "It was not checked: said by mcp:agent, not audited" in why
        [_, detail, *_] = await tell(work, "What have you done for the shed so far?")
        assert "Done: “Buy oak”: somebody else wrote: Pine is best." in detail


async def test_what_does_not_fit_is_left_out_by_whole_sentences(tmp_path: Path) -> None:
    async with open_work(tmp_path, builder) as work:
        await begin(work)
        lines = await tell(work, "What have you done for the shed so far?", room_tokens=60)
        told = [line for line in lines if line.startswith("- Of your project")]
        assert len("".join(lines)) <= 240
        assert all(line.endswith(".") for line in told)
