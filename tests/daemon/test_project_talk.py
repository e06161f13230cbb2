"""Talk about a project: its knowledge is in the prompt, with numbers that can be opened."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from reveries.daemon.chat_context import split_notes
from reveries.daemon.project_talk import ProjectTalk, find_named, fit_notes
from reveries.daemon.prompt_memories import PromptMemory
from reveries.daemon.requests.frames import recalled_frame
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.memory.model import Origin
from reveries.projects.model import Project, TaskKind
from reveries.projects.store import NewQuestion
from reveries.projects.task_store import NewTask
from tests.daemon.kit import Events, talking
from tests.projects.kit import Work, finished, open_work


def project(name: str, id_: str = "p1") -> Project:
    return Project(id_, name, "active", 0.0, None, None, "", ())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("How is Piano going?", "Piano"),
        ("how is piano going?", "Piano"),
        ("Tell me about the project piano.", "Piano"),
        ("Piano is going well.", "Piano"),
        ("I sold my piano today.", ""),
        ("I know a pianotuner, don't I?", ""),
        ("Where does Piano Duets stand?", "Piano Duets"),
        ("What is in Go?", ""),
    ],
)
def test_a_project_is_spoken_of_by_its_name_and_in_other_letters_where_something_is_asked(
    words: str, named: str
) -> None:
    found = find_named(words, [project("Piano"), project("Piano Duets", "p2"), project("Go", "p3")])
    assert (found.name if found else "") == named


def test_notes_fit_into_their_room_and_end_where_one_does_not() -> None:
    notes = [PromptMemory(str(size), None, "x" * size, project="Piano") for size in (10, 50, 30)]
    assert [one.episode_id for one in fit_notes(notes, 45)] == ["10"]
    assert [one.episode_id for one in fit_notes(notes, 100)] == ["10", "50", "30"]


def test_before_a_question_what_is_known_stands_nearest_to_it() -> None:
    notes = [
        PromptMemory("a", None, "- where it stands", project="Piano"),
        PromptMemory("b", None, "- (1) known", project="Piano"),
    ]
    note, beside = split_notes("How is Piano?", notes)
    assert (note, beside) == ("[From memory:\n- (1) known\n- where it stands]\n", [])
    assert split_notes("Piano goes well.", notes) == ("", notes)


async def known(work: Work, texts: Iterable[tuple[str, frozenset[str]]]) -> Project:
    made = await work.store.create("Piano")
    goal = await work.store.set_goal(made, "Play jazz piano in six months", None)
    chunks = [
        NewChunk(text, ChunkType.INSIGHT, Confidence.VERIFIED, ChunkSource.USER, foreign_sources=sources)
        for text, sources in texts
    ]
    prepared = await work.store.knowledge.prepare(made.id, chunks)
    async with work.database.transaction() as transaction:
        await work.store.knowledge.put(transaction, made.id, prepared)
        await work.store.tasks.put(transaction, made.id, [NewTask("Buy a stool", "", TaskKind.OTHER, goal_id=goal.id)])
        await work.store.put_question(transaction, made.id, NewQuestion("Which teacher?"))
    return made


async def test_it_is_told_where_the_project_stands_and_what_it_knows_that_fits(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        texts = [
            ("Shell voicings hold third and seventh.", frozenset[str]()),
            ("The teacher costs 40 euros.", frozenset({"web:x"})),
        ]
        await known(work, texts)
        talk = ProjectTalk(work.store, work.store.knowledge)
        state, *chunks = await talk.notes_for("What does the teacher of Piano cost?", 1000)
        assert state.line == (
            "- Your project Piano: The goal: Play jazz piano in six months. 0 of 1 tasks are done. "
            "The next task is: Buy a stool. A question waits for your answer: Which teacher?"
        )
        lines = [one.line for one in chunks]
        assert "- (1) somebody else wrote: The teacher costs 40 euros." in lines
        assert [one.is_tainted for one in chunks if "teacher" in one.line] == [True]
        assert {one.project for one in chunks} == {"Piano"}
        # Reading reinforces nothing.
        assert {
            one.access_count for one in await work.store.knowledge.of_project(chunks[0].project and state.episode_id)
        } == {0}
        assert await talk.notes_for("What does a teacher cost?", 1000) == []
        assert len(await talk.notes_for("What does the teacher of Piano cost?", 45)) == 1


NOTE = PromptMemory("c1", None, "- (1) 40 euros.", project="Piano")


async def test_what_a_project_knows_stands_before_the_model_and_is_told_to_the_client(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.around.known = [NOTE]
        events = await talk.say("What does the teacher of Piano cost?")
        assert list(events.memories) == [NOTE]
        assert NOTE.line in talk.model.prompts[-1].messages[-1].text
        assert events.recall is not None
        frame = recalled_frame(1, events.recall, events.memories)
        assert [(one.episode_id, one.project, one.was_told) for one in frame.items] == [("c1", "Piano", True)]


@pytest.mark.requirement("F1")
async def test_a_reply_that_was_made_of_what_somebody_else_wrote_inherits_that(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.around.known = [NOTE]
        await talk.say("What does the teacher of Piano cost?")
        talk.around.known = [replace(NOTE, is_tainted=True)]
        await talk.say("And what else does Piano cost?")
        assert [one.tainted for one in talk.around.turns if one.origin is Origin.SELF] == [False, True]


async def test_off_the_record_nothing_of_a_project_is_looked_up(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.around.known = [NOTE]
        await talk.conversation.say("What does the teacher of Piano cost?", Events(), off_record=True)
        assert NOTE.line not in talk.model.prompts[-1].messages[-1].text
