"""Asked how a project stands, the reply is what the rows say, whatever the model is."""

from reveries import protocol
from reveries.config import Home
from reveries.llm.base import Role
from reveries.projects.model import Criterion, NewQuestion, NewTask, Orientation, TaskKind, TaskStatus
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_project_wishes import say
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock

SMALL = "ollama/qwen2.5:1.5b"


async def begin(life: Living, name: str = "Bathroom") -> str:
    """A project with a task that is done, two that are open, and a question; return its id."""
    await ask(life.mind, protocol.CreateProject(1, name), protocol.ProjectDetail)
    for title, due in (("Measure the room", ""), ("Buy the tiles", ""), ("Call the plumber", "2026-11-25")):
        await ask(life.mind, protocol.AddTask(1, name, title, due=due), protocol.TasksChanged)
    finished = protocol.FinishTask(1, name, "Measure", outcome="2.4 by 1.8 metres")
    await ask(life.mind, finished, protocol.TasksChanged)
    store = life.mind.projects.store
    project = await store.find(name)
    async with store.transaction() as transaction:
        await store.questions.put(transaction, project.id, NewQuestion("Which colour do the tiles have?"))
    return project.id


def replies_asked(life: Living) -> int:
    """How often a model was asked for a reply."""
    return sum(prompt.role is Role.CONVERSATION for prompt in life.model.prompts)


async def test_how_a_project_stands_what_is_next_and_due_is_answered_from_rows_without_the_small_model(
    home: Home,
) -> None:
    async with living(home, worker(name=SMALL), PatientClock(NOON), QUIET) as life:
        await begin(life)
        asked = replies_asked(life)
        assert await say(life, "How is the bathroom going?") == (
            "Bathroom: Done: “Measure the room” (you said so). Next: “Buy the tiles”. "
            "Due by Saturday 28 November 2026: “Call the plumber”, Wednesday 25 November 2026. "
            "It waits for your answer: “Which colour do the tiles have?”"
        )
        assert "Lo siguiente: “Buy the tiles”." in await say(life, "¿Qué toca ahora en el baño?")
        assert await say(life, "Was ist nächste Woche fällig?") == (
            "Bathroom: Fällig bis Sonntag, 29. November 2026: “Call the plumber”, Mittwoch, 25. November 2026."
        )
        assert await say(life, "What is due today?") == "Nothing is due on Saturday 21 November 2026."
        assert replies_asked(life) == asked


async def test_what_is_said_to_be_reached_stands_there_with_the_task_that_shows_it_and_no_share_is_told(
    home: Home,
) -> None:
    async with living(home, worker(name=SMALL), PatientClock(NOON), QUIET) as life:
        project_id = await begin(life)
        store = life.mind.projects.store
        async with store.transaction() as transaction:
            [tiled] = await store.tasks.put(transaction, project_id, [NewTask("Lay the tiles", "", TaskKind.OTHER)])
            [task] = [item for item in await store.tasks.of_project(project_id, transaction) if item.id == tiled]
            await store.tasks.end(
                transaction, task, TaskStatus.DONE, outcome="tiles.md says so", audit="It is so.", audited_by="audit"
            )
            page = Orientation("", (Criterion("The floor is tiled", reached_by=tiled), Criterion("The bath is dry")))
            old = await store.orientation(project_id, transaction)
            await store.put_orientation(transaction, project_id, old, page, "shown", frozenset({"folder"}))
        reply = await say(life, "Où en est le projet Bathroom ?")
        assert "Atteint, preuve à l'appui : “The floor is tiled” (par “Lay the tiles”)." in reply
        assert "Pas encore prouvé : “The bath is dry”." in reply
        assert "“Lay the tiles”: tiles.md says so (vérifié)" in reply
        assert "%" not in reply
        # The page may quote what others wrote.
        turns = await life.mind.memory.conversations.recent_turns(life.mind.conversation.conversation_id, 2)
        assert [turn.tainted for turn in turns] == [False, True]


async def test_a_capable_model_has_the_same_rows_in_its_prompt_and_says_them_itself(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await begin(life)
        asked = replies_asked(life)
        await say(life, "¿Cómo va el baño?")
        assert replies_asked(life) == asked + 1
        [prompt] = [item for item in life.model.prompts if item.role is Role.CONVERSATION][-1:]
        shown = "\n".join(message.text for message in prompt.messages)
        assert "Your project Bathroom: Done: “Measure the room” (you said so). Next: “Buy the tiles”." in shown
        await say(life, "What is due by 25 November?")
        [prompt] = [item for item in life.model.prompts if item.role is Role.CONVERSATION][-1:]
        shown = "\n".join(message.text for message in prompt.messages)
        assert "Your project Bathroom: Due by Wednesday 25 November 2026: “Call the plumber”" in shown


async def test_off_the_record_and_about_other_things_the_model_answers(home: Home) -> None:
    async with living(home, worker(name=SMALL), PatientClock(NOON), QUIET) as life:
        await begin(life)
        asked = replies_asked(life)
        await say(life, "How is the bathroom going?", off_record=True)
        await say(life, "How is my sister going to the bathroom?")
        assert replies_asked(life) >= asked + 2
