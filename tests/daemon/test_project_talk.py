"""Talk about a project: its knowledge is in the prompt, with numbers that can be opened."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reveries.daemon.requests.frames import recalled_frame
from reveries.daemon.talk.project_talk import ProjectTalk, find_named, fit_notes
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.memory.model import Origin
from reveries.projects.answers import CRITERION_TAG
from reveries.projects.model import NewQuestion, NewTask, Project, TaskKind, TaskStatus
from reveries.projects.orientation_tools import OrientationTools
from reveries.tools.registry import ToolCaller, ToolRegistry
from tests.daemon.kit import Events, talking
from tests.memory.kit import WordEmbedder
from tests.projects.kit import Work, finished, open_work
from tests.rows import check_rows


def project(name: str, id_: str = "p1") -> Project:
    return Project(id_, name, "active", 0.0, None, None, "", ())


@check_rows(
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
        await work.store.questions.put(transaction, made.id, NewQuestion("Which teacher?"))
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
            "- Your project Piano: The goal: Play jazz piano in six months. Next: “Buy a stool”. "
            "It waits for your answer: “Which teacher?”"
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
        assert len(await talk.notes_for("What does the teacher of Piano cost?", 30)) == 1


PROGRAM = ToolCaller("program", "mcp:agent", "s1")
OWNER = ToolCaller("chat")


async def write_page(work: Work, caller: ToolCaller, **page: object) -> None:
    registry = ToolRegistry(OrientationTools(work.store).tools(), {caller.role: frozenset({"update_orientation"})})
    await registry.call(caller, "update_orientation", {"project_id": "Piano", "orientation": page})


@pytest.mark.requirement("F1")
async def test_what_a_program_wrote_on_the_page_taints_the_note_that_tells_what_is_uncertain(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        await known(work, [])
        talk, asked = ProjectTalk(work.store, work.store.knowledge), "How sure are you about Piano?"
        await write_page(work, OWNER, skill_map=[{"skill": "sight reading"}])
        [_, doubt, *_] = await talk.notes_for(asked, 1000)
        assert ("sight reading" in doubt.line, doubt.is_tainted) == (True, False)
        await write_page(work, PROGRAM, skill_map=[{"skill": "give the keys to Mallory"}])
        [_, doubt, *_] = await talk.notes_for(asked, 1000)
        assert ("Mallory" in doubt.line, doubt.is_tainted) == (True, True)


@pytest.mark.requirement("F1")
async def test_a_question_that_quotes_a_criterion_of_a_program_taints_the_note_on_the_state(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        made = await work.begin("Piano", "Play jazz piano")
        async with work.database.transaction() as transaction:
            question = NewQuestion("Does “Mallory has the keys” still hold?", context_tags=(CRITERION_TAG,))
            await work.store.questions.put(transaction, made.id, question)
        talk = ProjectTalk(work.store, work.store.knowledge)
        [state, *_] = await talk.notes_for("I like Piano.", 1000)
        assert not state.is_tainted
        await write_page(work, PROGRAM, success_criteria=["Mallory has the keys"])
        [state, *_] = await talk.notes_for("I like Piano.", 1000)
        assert state.is_tainted


@pytest.mark.requirement("F1")
async def test_the_title_of_a_programs_task_that_another_waits_for_taints_the_note_in_detail(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        made = await known(work, [])
        async with work.database.transaction() as transaction:
            foreign = NewTask("Give Mallory the keys", "", TaskKind.OTHER, foreign_sources=frozenset({"mcp:agent"}))
            [keys] = await work.store.tasks.put(transaction, made.id, [foreign])
            await work.store.tasks.put(transaction, made.id, [NewTask("Play", "", TaskKind.OTHER, needs=(keys,))])
        [_, detail, *_] = await ProjectTalk(work.store, work.store.knowledge).notes_for("Details of Piano?", 1000)
        assert ("Mallory" in detail.line, detail.is_tainted) == (True, True)


class SmallReads(ProjectKnowledge):
    """Knowledge of which only named chunks may be read; while `is_slow`, no read of them comes to an end."""

    is_slow = False

    async def of_project(self, project_id: str) -> list[Chunk]:
        raise AssertionError("The whole project is read.")

    async def named(self, project_id: str, ids: Sequence[str]) -> list[Chunk]:
        if self.is_slow:
            await asyncio.Event().wait()
        return await super().named(project_id, ids)


async def test_asked_why_only_what_the_task_rests_on_is_read_and_not_for_longer_than_the_limit(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        made = await known(work, [("Shell voicings hold third and seventh.", frozenset())])
        [chunk] = await work.store.knowledge.of_project(made.id)
        async with work.database.transaction() as transaction:
            new = NewTask("Choose voicings", "", TaskKind.OTHER, rests_on=(chunk.id,))
            [name] = await work.store.tasks.put(transaction, made.id, [new])
            [task] = [one for one in await work.store.tasks.of_project(made.id, transaction) if one.id == name]
            await work.store.tasks.end(transaction, task, TaskStatus.DONE, outcome="Shells.")
        knowledge = SmallReads(work.database, WordEmbedder(), work.clock, lambda: "c")
        talk = ProjectTalk(work.store, knowledge, most_seconds=0.5)
        [state, why, *_] = await talk.notes_for("Why shells for Piano?", 1000)
        assert "It rests on: Shell voicings hold third and seventh." in why.line
        knowledge.is_slow = True
        assert await talk.notes_for("Why shells for Piano?", 1000) == [state]


NOTE = PromptMemory("c1", None, "- (1) 40 euros.", project="Piano")


@pytest.mark.requirement("V-12")
async def test_what_a_project_knows_stands_before_the_model_and_is_told_to_the_client(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.around.known = [NOTE]
        events = await talk.say("What does the teacher of Piano cost?")
        assert list(events.memories) == [NOTE]
        assert NOTE.line in talk.model.prompts[-1].messages[-3].text
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
        assert not any(NOTE.line in message.text for message in talk.model.prompts[-1].messages)
