"""A wish in the chat becomes a question, and only a yes right after it changes a project."""

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home
from reveries.llm.base import Prompt, Role
from reveries.projects.model import NewQuestion, NewTask, TaskKind, TaskStatus, WorkTask
from tests.daemon.asking import ask
from tests.daemon.kit import Events
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_money import mind_of
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Piece, ScriptedModel

NAME = "Harbour"


async def begin(life: Living) -> None:
    await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
    for title in ("Fair", "Buy the tiles"):
        await ask(life.mind, protocol.AddTask(1, NAME, title), protocol.TasksChanged)


async def tasks(life: Living) -> dict[str, WorkTask]:
    store = life.mind.projects.store
    project = await store.find(NAME)
    return {task.title: task for task in await store.tasks.of_project(project.id)}


async def say(life: Living, words: str, *, off_record: bool = False) -> str:
    """Return the reply."""
    return (await life.mind.conversation.say(words, Events(), off_record=off_record)).draft.text


@pytest.mark.requirement("V-12")
async def test_a_wish_is_asked_back_and_a_yes_applies_it_a_no_or_other_words_do_not(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await begin(life)
        reply = await say(life, "The fair moves to 2027-03-06.")
        assert reply.endswith("Shall I change the due date of “Fair” (Harbour) to 6 March 2027? yes/no")
        assert not (await tasks(life))["Fair"].due
        assert await say(life, "Ja, gerne!") == "Changed: “Fair” is due on 6 March 2027."
        assert (await tasks(life))["Fair"].due == "2027-03-06"

        assert (await say(life, "skip the tiles")).endswith("Shall I drop the task “Buy the tiles” (Harbour)? yes/no")
        assert await say(life, "no") == "I left it as it is."
        await say(life, "skip the tiles")
        await say(life, "By the way, it rains.")
        assert await say(life, "yes") != "Dropped: “Buy the tiles”."
        assert (await tasks(life))["Buy the tiles"].status is TaskStatus.READY
        dropped = await ask(life.mind, protocol.DecideWish(1, "apply"), protocol.TasksChanged)
        assert dropped.message == "Dropped: “Buy the tiles”."
        assert (await tasks(life))["Buy the tiles"].status is TaskStatus.DROPPED


async def test_off_the_record_nothing_is_asked_and_a_title_of_others_taints_the_question(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await begin(life)
        await say(life, "skip the tiles", off_record=True)
        assert await life.mind.wishes.wishes.proposed() is None
        project = await life.mind.projects.store.find(NAME)
        new = NewTask("Answer the council", "", TaskKind.OTHER, foreign_sources=frozenset({"folder"}))
        async with life.mind.projects.store.transaction() as transaction:
            await life.mind.projects.store.tasks.put(transaction, project.id, [new])
        await say(life, "The council is done.")
        turns = await life.mind.memory.conversations.recent_turns(life.mind.conversation.conversation_id, 2)
        assert turns[-1].tainted


async def test_a_goal_a_project_and_an_answer_that_are_said_wait_for_a_yes(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await begin(life)
        store = life.mind.projects.store
        reply = await say(life, "I want you to find out which boiler fits.")
        assert reply.endswith("Shall I begin a project with the goal “Find out which boiler fits”? yes/no")
        assert [project.name for project in await store.projects()] == [NAME]
        assert await say(life, "yes") == "Begun: the project Find out which boiler fits."
        boiler = await store.find("Find out which boiler fits")
        assert [goal.text for goal in await store.goals(boiler.id)] == ["Find out which boiler fits"]

        assert (await say(life, "Make a project of the garden")).endswith("Shall I begin a project “Garden”? yes/no")
        await say(life, "no")
        assert {project.name for project in await store.projects()} == {NAME, boiler.name}

        project = await store.find(NAME)
        assert "Shall I set this goal for Harbour: “Twenty stalls”?" in await say(
            life, "The goal of Harbour is: twenty stalls"
        )
        assert not await store.goals(project.id)
        assert await say(life, "yes") == "The goal of Harbour is now: “Twenty stalls”."
        assert [goal.text for goal in await store.goals(project.id)] == ["Twenty stalls"]

        async with store.transaction() as transaction:
            asked = NewQuestion("Which currency should the report use?")
            asked_id = await store.questions.put(transaction, project.id, asked)
        reply = await say(life, "The report should use guilders")
        assert "as the answer to “Which currency should the report use?” (Harbour)? yes/no" in reply
        assert asked_id in {question.id for _, question in await store.questions.list_open()}
        assert await say(life, "ja") == "Noted for Harbour: “The report should use guilders”."
        [answered] = [item for item in await store.questions.of_project(project.id) if item.id == asked_id]
        assert answered.answer == "The report should use guilders"


def chooser(choice: dict[str, str], asked: list[str]) -> ScriptedModel:
    """A capable model that answers each question about a wish with `choice`, and keeps the questions."""

    def answer(prompt: Prompt) -> list[Piece]:
        if prompt.role is not Role.LEARNING:
            return list(mind_of(prompt, len(asked)))
        asked.append(prompt.messages[0].text)
        return [msgspec.json.encode(choice).decode()]

    return ScriptedModel(otherwise=answer, name="openai/gpt-4.1", context_tokens=16384)


async def test_a_wish_in_other_words_is_chosen_by_a_capable_model_and_only_where_it_touches_a_project(
    home: Home,
) -> None:
    asked: list[str] = []
    choice = {"action": "drop", "target": "t2", "words": "", "day": ""}
    async with living(home, chooser(choice, asked), PatientClock(NOON), QUIET) as life:
        await begin(life)
        await say(life, "It rains, and I am tired.")
        assert asked == []
        reply = await say(life, "Those tiles, I think we can do without them after all.")
        assert reply.endswith("Shall I drop the task “Buy the tiles” (Harbour)? yes/no")
        assert len(asked) == 1
        assert (await tasks(life))["Buy the tiles"].status is TaskStatus.READY
        assert await say(life, "yes") == "Dropped: “Buy the tiles”."


async def test_where_the_model_chooses_nothing_or_is_small_the_reply_stays_as_it_is(home: Home) -> None:
    asked: list[str] = []
    async with living(home, chooser({"action": "none", "target": "none"}, asked), PatientClock(NOON), QUIET) as life:
        await begin(life)
        assert "yes/no" not in await say(life, "My neighbour bought tiles for her kitchen.")
        assert len(asked) == 1
        await say(life, "My neighbour bought tiles for her kitchen.", off_record=True)
        assert len(asked) == 1
        assert await life.mind.wishes.wishes.proposed() is None
