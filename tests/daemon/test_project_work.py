"""Project work in the daemon: it starts when no one talks, is interrupted by the owner, and comes after due sleep."""

import asyncio
import contextlib
import re

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, Settings, load_settings
from reveries.daemon.mind import reload_settings
from reveries.daemon.occupations.attention import Lane
from reveries.daemon.occupations.work_break import WorkBreak
from reveries.daemon.shutdown import Shutdown, wind_down
from reveries.errors import UsageError
from reveries.llm.base import PROJECT_ROLES, Prompt
from reveries.projects.model import NewTask, TaskKind, TaskStatus
from reveries.projects.orientation_tools import GetOrientation, OrientationTools
from reveries.projects.wake_report import RestReason, WakeReport
from reveries.tools.registry import ToolCaller
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_money import mind_of
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Pause, Piece, ScriptedModel

SETTINGS = load_settings(None)
QUIET = msgspec.structs.replace(SETTINGS, monologue=msgspec.structs.replace(SETTINGS.monologue, enabled=False))


def worker(
    clock: PatientClock | None = None, pause_seconds: float = 0.0, name: str = "openai/gpt-4.1"
) -> ScriptedModel:
    """Asks, plans three tasks, and does each."""
    numbers = iter(range(10_000))

    def answer(prompt: Prompt) -> list[Piece]:
        if prompt.role not in PROJECT_ROLES:
            return list(mind_of(prompt, next(numbers)))
        text = prompt.messages[0].text
        wait: list[Piece] = [Pause(pause_seconds)] if pause_seconds else []
        return [*wait, msgspec.json.encode(work_answer(text)).decode()]

    return ScriptedModel(otherwise=answer, name=name, context_tokens=16384, clock=clock)


def work_answer(text: str) -> object:
    if text.startswith("You keep one page"):
        open_tasks = [status for status in ("ready", "in_progress", "blocked") if f", {status})" in text]
        done = ", done)" in text and not open_tasks
        page: dict[str, object] = {"vision_summary": "A shed", "success_criteria": [], "constraints": [], "skills": []}
        return page | {"phase": "complete" if done else "research", "priorities": []}
    if text.startswith("You plan"):
        task: dict[str, object] = {"description": "", "kind": "find_out", "skill_area": "shed", "depends_on": []}
        goal = re.findall("^Goal(?:, in .*'s words)?: Build (.*)$", text, re.MULTILINE)[0].lower()
        tasks = [task | {"title": f"Look into part {n} of the {goal}", "rests_on": []} for n in (1, 2, 3)]
        return {"tasks": tasks, "success_criteria": [f"The {goal} stands"]}
    if text.startswith("You check"):
        return {"why": "Fine.", "accepted": True, "reached": [1]}
    finish = {"tool": "finish", "status": "complete", "outcome": "It takes oak.", "learnings": [], "rests_on": []}
    return {"steps": [finish | {"question": "", "topic": ""}]}


async def give_project(life: Living, name: str = "Shed") -> None:
    await ask(life.mind, protocol.CreateProject(1, name), protocol.ProjectDetail)
    await ask(life.mind, protocol.SetGoal(2, name, f"Build {name}"), protocol.ProjectDetail)


async def detail(life: Living, name: str = "Shed") -> protocol.ProjectDetail:
    return await ask(life.mind, protocol.AskProject(3, name), protocol.ProjectDetail)


@pytest.mark.requirement("V-1", "V-3", "V-81")
async def test_a_project_is_worked_on_by_itself_until_its_goal_is_reached_and_then_rests(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await give_project(life)
        await life.pass_time(1)
        shown = await detail(life)
        assert [task.status for task in shown.tasks] == ["done"] * 3
        assert shown.project.rested_because == RestReason.DONE.value
        assert shown.project.tokens > 0
        calls = len(life.model.prompts)
        await life.pass_time(5)
        assert len([one for one in life.model.prompts[calls:] if one.role in PROJECT_ROLES]) == 0


async def test_a_task_is_said_to_wait_for_what_is_still_open_alone(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        store = life.mind.projects.store
        project = await store.create("Shed")
        async with store.transaction() as transaction:
            measure, saw = await store.tasks.put(
                transaction, project.id, [NewTask("Measure", "", TaskKind.OTHER), NewTask("Saw", "", TaskKind.OTHER)]
            )
            await store.tasks.put(transaction, project.id, [NewTask("Build", "", TaskKind.OTHER, needs=(measure, saw))])
            [task, *_] = await store.tasks.of_project(project.id, transaction)
            await store.tasks.end(transaction, task, TaskStatus.DONE, outcome="Two by three.")
        assert [one.waits_for for one in (await detail(life)).tasks] == ["", "", "Saw"]


@pytest.mark.requirement("G2")
async def test_without_budget_of_learning_no_step_is_paid_for_however_often_work_is_asked_for(home: Home) -> None:
    learning = msgspec.structs.replace(SETTINGS.budget.learning, tokens_per_day=0)
    budget = msgspec.structs.replace(SETTINGS.budget, learning=learning)
    async with living(home, worker(), PatientClock(NOON), msgspec.structs.replace(QUIET, budget=budget)) as life:
        await give_project(life)
        await life.pass_time(1)
        for _ in range(2):
            asked = await life.mind.projects.request_work("Shed")
            await life.pass_time(1)
        assert (await life.mind.projects.store.find(asked.id)).rested_because == RestReason.BUDGET.value
        assert not [one for one in life.model.prompts if one.messages[0].text.startswith("You work")]


@pytest.mark.requirement("V-1")
async def test_what_it_worked_on_is_recalled_when_it_is_asked(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await give_project(life)
        await life.pass_time(1)
        found = await life.mind.memory.search("What did you do about part 2 of the shed?", 3)
        summaries = [one.episode.summary for one in found.episodes]
        assert any("I worked on Shed: Look into part 2" in summary for summary in summaries)


@pytest.mark.requirement("V-3")
async def test_a_word_of_the_owner_breaks_a_call_off_at_once_and_the_task_is_done_later(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=40), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        assert life.mind.activity.state()[0] == "working"
        stopped = life.model.stopped
        await life.say("Are you there?")
        assert life.model.stopped == stopped + 1
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value
        await life.pass_time(1)
        assert [task.status for task in (await detail(life)).tasks] == ["done"] * 3


async def until_working(life: Living) -> None:
    """On a busy machine the clock may be ahead of the mind's threads: it gets some minutes more then."""
    for _ in range(20):
        await life.pass_time(0.1)
        if life.mind.activity.state()[0] == "working":
            return
    raise AssertionError(life.mind.activity.state())


@pytest.mark.parametrize(
    ("request_", "answer", "why"),
    [
        (protocol.Consolidate(9), protocol.Consolidated, "You asked for sleep."),
        (protocol.PreviewSleep(9), protocol.SleepPreview, "You asked for sleep."),
        (
            protocol.Forget(9, matching="a red bicycle", dry_run=False, erase=True),
            protocol.Forgotten,
            "Something is being forgotten.",
        ),
    ],
)
async def test_what_the_owner_asks_for_does_not_wait_for_the_task_in_hand(
    home: Home, request_: protocol.Request, answer: type[protocol.Frame], why: str
) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=1800), clock, QUIET) as life:
        await give_project(life)
        await life.say("I saw a red bicycle.")
        await until_working(life)
        async with asyncio.timeout(300):
            await ask(life.mind, request_, answer)
        shown = await detail(life)
        assert shown.project.rested_because == RestReason.INTERRUPTED.value
        assert any(why in entry.details for entry in shown.log)


async def test_a_test_of_the_models_does_not_wait_for_the_task_in_hand(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=1800), clock, QUIET) as life:
        await give_project(life)
        await until_working(life)
        async with asyncio.timeout(300), life.mind.activity.during_test():
            assert life.mind.activity.state()[0] != "working"


@pytest.mark.requirement("R-100")
async def test_the_last_sleep_does_not_wait_for_the_task_in_hand(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=1800), clock, QUIET) as life:
        await life.say("The boat of Ines is called Aurora.")
        await give_project(life)
        await until_working(life)
        assert [entry.depth for entry in await life.mind.memory.sleep_log(9)] == ["light"]
        began, ending = clock.now(), Shutdown()
        ending.request(is_graceful=True)
        await clock.drive(asyncio.wait_for(wind_down(life.mind, ending), 300))
        assert clock.now() - began < 600  # The task in hand would take half an hour.
        assert ("deep", "sleep") in [(entry.depth, entry.trigger) for entry in await life.mind.memory.sleep_log(9)]


async def test_work_that_waits_while_something_else_is_asked_for_does_not_begin_before_it(home: Home) -> None:
    async with living(home, worker(name="ollama/qwen3:32b"), PatientClock(NOON), QUIET) as life:
        async with asyncio.TaskGroup() as group, life.mind.activity.during_pass():
            await give_project(life)
            await life.pass_time(1 / 60)
            assert life.mind.projects._at_work  # It has begun, and waits.
            group.create_task(ask(life.mind, protocol.Consolidate(9), protocol.Consolidated), name="consolidate")
            await life.pass_time(1 / 3600)
        assert not [one for one in life.model.prompts if one.role in PROJECT_ROLES]
        await life.pass_time(1)
        assert [one for one in life.model.prompts if one.role in PROJECT_ROLES]


@pytest.mark.requirement("V-3")
async def test_while_the_owner_writes_work_makes_room_on_a_local_model_and_goes_on_a_minute_later(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, 40, "ollama/qwen3:32b"), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(20 / 3600)
        assert life.mind.activity.state()[0] == "working"
        await ask(life.mind, protocol.NoteWriting(9), protocol.Ok)
        await life.pass_time(1 / 3600)
        assert life.model.stopped == 1
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value
        calls = len(life.model.prompts)
        await life.pass_time(50 / 3600)
        await ask(life.mind, protocol.NoteWriting(10), protocol.Ok)
        await life.pass_time(50 / 3600)
        assert life.mind.activity.state()[0] != "working"
        assert len(life.model.prompts) == calls
        await life.pass_time(1)
        assert (await detail(life)).project.rested_because in (RestReason.WAITING.value, RestReason.DONE.value)


async def test_work_of_a_hosted_model_goes_on_beside_sleep_and_thought_and_none_is_paused_for_it(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, 40), clock, SETTINGS) as life:
        await give_project(life)
        await life.pass_time(70 / 3600)
        assert life.mind.activity.state()[0] == "working"
        async with life.mind.activity.during_sleep("experiences wait"):
            await life.pass_time(0.2)
            assert life.mind.monologue.state.value == "paused"  # Work that ended meanwhile did not wake thinking.
        shown = await detail(life)
        assert shown.project.tasks_done == 3
        assert shown.project.rested_because != RestReason.INTERRUPTED.value


@pytest.mark.requirement("R-38")
async def test_words_end_a_pass_of_sleep_although_work_of_a_hosted_model_begins_after_them(home: Home) -> None:
    async with (
        living(home, worker(), PatientClock(NOON), QUIET) as life,
        life.mind.activity.during_sleep("experiences wait"),
    ):
        await life.say("The boat is called Aurora.")
        async with life.mind.activity.during_work("Shed", Lane.HOSTED):
            assert life.mind.activity.words_came.is_set()


async def test_nothing_is_forgotten_while_work_of_a_hosted_model_runs(home: Home) -> None:
    order: list[str] = []
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        activity = life.mind.activity

        async def forget() -> None:
            async with activity.during_silence():
                order.append("forgotten")

        async with asyncio.TaskGroup() as group, activity.during_work("Shed", Lane.HOSTED):
            group.create_task(forget(), name="forget")
            await life.pass_time(1 / 3600)
            order.append("worked")
    assert order == ["worked", "forgotten"]


async def test_work_that_waits_for_sleep_does_not_begin_while_the_owner_writes(home: Home) -> None:
    async with living(home, worker(name="ollama/qwen3:32b"), PatientClock(NOON), QUIET) as life:
        async with life.mind.activity.during_pass():
            await give_project(life)
            await life.pass_time(1 / 60)
            assert life.mind.projects._at_work  # It has begun, and waits.
            await ask(life.mind, protocol.NoteWriting(9), protocol.Ok)
        await life.pass_time(10 / 3600)
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value
        assert not [one for one in life.model.prompts if one.role in PROJECT_ROLES]
        await life.pass_time(0.1)
        assert [one for one in life.model.prompts if one.role in PROJECT_ROLES]


async def test_work_that_the_owner_asks_for_begins_although_they_write(home: Home) -> None:
    async with living(home, worker(name="ollama/qwen3:32b"), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.NoteWriting(9), protocol.Ok)
        await give_project(life)
        await life.mind.projects.request_work("Shed")
        await life.pass_time(10 / 3600)
        assert [one for one in life.model.prompts if one.role in PROJECT_ROLES]


async def test_work_of_a_hosted_model_whose_tokens_are_paid_for_goes_on_while_the_owner_writes(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, 40, "openai/gpt-4.1"), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        stopped = life.model.stopped
        await ask(life.mind, protocol.NoteWriting(9), protocol.Ok)
        await life.pass_time(1 / 3600)
        assert life.model.stopped == stopped
        assert life.mind.activity.state()[0] == "working"


async def test_the_next_prompt_is_read_ahead_when_the_owner_begins_to_write(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await life.say("Good morning.")
        await life.pass_time(1 / 3600)
        before = len(life.model.read)
        await ask(life.mind, protocol.NoteWriting(9), protocol.Ok)
        await life.pass_time(1 / 3600)
        [(messages, _)] = life.model.read[before:]
        assert messages == life.mind.conversation.turns.prompt_beginning()


async def test_what_changes_something_comes_to_its_end_before_a_word_of_the_owner_breaks_the_work_off() -> None:
    done: list[str] = []

    async def work() -> None:
        words = WorkBreak()
        async with words.breakable():
            for step in ("command", "next step"):
                with words.defer() if step == "command" else contextlib.nullcontext():
                    words.note_state("talking", "")
                    for _ in range(5):
                        await asyncio.sleep(0)
                    done.append(step)

    with pytest.raises(TimeoutError):
        await work()
    assert done == ["command"]


async def test_a_break_that_is_asked_for_before_the_work_begins_breaks_it_off_and_one_after_its_end_nothing() -> None:
    early, late = WorkBreak(), WorkBreak()

    async def work() -> None:
        async with early.breakable():
            try:
                for _ in range(100):
                    await asyncio.sleep(0)
                pytest.fail("It was not broken off.")
            finally:
                early.ask("You spoke.")  # While it ends.

    early.ask("It is paused.")
    with pytest.raises(TimeoutError):
        await work()
    async with late.breakable():
        await asyncio.sleep(0)
    late.ask("It is paused.")
    assert (early.has_broken_off, late.has_broken_off) == (True, False)
    assert early.why == "It is paused."


async def test_a_time_limit_of_the_work_itself_is_no_break() -> None:
    work = WorkBreak()
    with pytest.raises(TimeoutError):
        async with work.breakable():
            raise TimeoutError
    assert not work.has_broken_off


async def test_a_project_that_is_paused_while_its_work_waits_for_sleep_does_not_begin(home: Home) -> None:
    async with living(home, worker(name="ollama/qwen3:32b"), PatientClock(NOON), QUIET) as life:
        async with life.mind.activity.during_pass():
            await give_project(life)
            await life.mind.projects.request_work("Shed")
            await life.pass_time(1 / 60)
            assert life.mind.projects._at_work  # It has begun, and waits.
            await ask(life.mind, protocol.ChangeProject(4, "Shed", "paused"), protocol.ProjectDetail)
        await life.pass_time(1)
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value
        assert not [one for one in life.model.prompts if one.role in PROJECT_ROLES]


async def test_it_works_at_once_when_the_owner_asks_for_it_and_not_in_quiet_hours_by_itself(home: Home) -> None:
    monologue = msgspec.structs.replace(QUIET.monologue, quiet_hours=("00:00-23:59",))
    always_quiet: Settings = msgspec.structs.replace(QUIET, monologue=monologue)
    async with living(home, worker(), PatientClock(NOON), always_quiet) as life:
        await give_project(life)
        await life.pass_time(3)
        assert not [one for one in life.model.prompts if one.role in PROJECT_ROLES]
        async with asyncio.TaskGroup() as tasks:
            request = protocol.WorkNow(4, "Shed")
            asked = tasks.create_task(ask(life.mind, request, protocol.Worked), name="work-now")
            await life.pass_time(0.2)
        assert asked.result().reason == RestReason.DONE.value


async def test_a_pause_breaks_off_the_task_in_hand_and_a_paused_project_is_not_worked_on_when_asked(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=40), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        assert life.mind.activity.state()[0] == "working"
        await ask(life.mind, protocol.ChangeProject(4, "Shed", "paused"), protocol.ProjectDetail)
        await life.pass_time(1 / 3600)
        shown = await detail(life)
        assert shown.project.rested_because == RestReason.INTERRUPTED.value
        assert "It is paused." in shown.log[-1].details or "It is paused." in shown.log[0].details
        with pytest.raises(UsageError, match="Shed is paused"):
            await life.mind.projects.work_now("Shed")
        await ask(life.mind, protocol.ChangeProject(5, "Shed", "active"), protocol.ProjectDetail)
        await life.pass_time(1)
        assert [task.status for task in (await detail(life)).tasks] == ["done"] * 3


async def test_a_project_that_is_archived_in_the_midst_of_a_task_is_broken_off_at_once(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=40), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        assert life.mind.activity.state()[0] == "working"
        await ask(life.mind, protocol.ChangeProject(4, "Shed", "archived"), protocol.ProjectDetail)
        await life.pass_time(1 / 3600)
        assert life.mind.activity.state()[0] != "working"
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value


async def test_what_begins_to_hold_the_mind_back_ends_the_work_within_a_task(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=40), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        assert life.mind.activity.state()[0] == "working"
        life.mind.permission.is_paused = True
        await life.pass_time(60 / 3600)
        assert (await detail(life)).project.rested_because == RestReason.INTERRUPTED.value
        calls = len(life.model.prompts)
        await life.pass_time(1)
        assert len(life.model.prompts) == calls
        life.mind.permission.is_paused = False
        await life.pass_time(1)
        assert [task.status for task in (await detail(life)).tasks] == ["done"] * 3


@pytest.mark.parametrize("changed", ["[web]\nenabled = true\n", "[projects]\nenabled = false\n"])
async def test_what_a_task_may_use_is_changed_at_once_for_the_one_in_hand_is_broken_off(
    home: Home, changed: str
) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(clock, pause_seconds=40), clock, QUIET) as life:
        await give_project(life)
        await life.pass_time(200 / 3600)
        assert life.mind.activity.state()[0] == "working"
        home.config.write_text(f"[monologue]\nenabled = false\n{changed}", encoding="utf-8")
        assert reload_settings(life.mind)[1] == []
        await life.pass_time(1 / 3600)
        assert any("You changed settings that it uses." in one.details for one in (await detail(life)).log)
        calls = len(life.model.prompts)
        await life.pass_time(1)
        goes_on = "web" in changed
        assert (len(life.model.prompts) > calls) is goes_on
        assert ([task.status for task in (await detail(life)).tasks] == ["done"] * 3) is goes_on


async def test_a_project_whose_wake_fails_lets_the_others_have_their_turn(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        for name in ("Shed", "Boat"):
            await give_project(life, name)
        projects, real = life.mind.projects, life.mind.projects._wake_until_words
        shed = await projects.store.find("Shed")

        async def fail(project_id: str) -> WakeReport:
            if project_id == shed.id:
                raise ValueError("a page that cannot be read")
            return await real(project_id)

        monkeypatch.setattr(projects, "_wake_until_words", fail)
        with pytest.raises(ValueError, match="a page"):
            await projects.run(shed.id)
        assert not (await projects._candidate(shed)).can_run
        await life.pass_time(0.4)
        assert (await detail(life, "Boat")).project.tasks_done == 3


async def test_after_a_call_that_failed_the_work_goes_on_in_a_minute_and_status_says_what_is_the_matter(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await give_project(life, "Shed")
        projects, real = life.mind.projects, life.mind.projects._wake_until_words
        shed = await projects.store.find("Shed")

        async def fail(project_id: str) -> WakeReport:
            report = WakeReport(RestReason.NO_MODEL, "openai/hand refused the call: too many calls (429).", 0, 60.0)
            work = await projects._open_work(lambda action, words: None, WorkBreak())
            return await work.note_rest(project_id, report)

        monkeypatch.setattr(projects, "_wake_until_words", fail)
        await projects.run(shed.id)
        assert not (await projects._candidate(await projects.store.find("Shed"))).can_run
        told = await detail(life, "Shed")
        assert told.message == "openai/hand refused the call: too many calls (429)."
        monkeypatch.setattr(projects, "_wake_until_words", real)
        await life.clock.advance(61.0)
        await life.pass_time(0.4)
        assert (await detail(life, "Shed")).project.tasks_done == 3


async def test_a_time_limit_within_the_work_is_not_told_as_an_interruption(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Work:
        async def wake(self, *_: object) -> WakeReport:
            raise TimeoutError("a model that hangs")

    async def open_work(*_: object) -> Work:
        return Work()

    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        projects = life.mind.projects
        shed = await projects.store.create("Shed")
        monkeypatch.setattr(projects, "_open_work", open_work)
        with pytest.raises(TimeoutError, match="a model that hangs"):
            await projects.run(shed.id)


async def test_of_three_projects_none_starves(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        for name in ("Shed", "Boat", "Bench"):
            await give_project(life, name)
        await life.pass_time(4)
        assert [(await detail(life, name)).project.tasks_done for name in ("Shed", "Boat", "Bench")] == [3] * 3


async def test_of_more_chunks_than_are_asked_for_the_newest_are_listed_and_one_is_found_by_its_id(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Flat"), protocol.ProjectDetail)
        for number, text in enumerate(("The flat has a balcony.", "The cellar is dry.", "The stairs are steep.")):
            material = protocol.AddMaterial(2 + number, "Flat", f"letter {number}", text, is_own=True)
            await ask(life.mind, material, protocol.Chunks)
        listed = (await ask(life.mind, protocol.AskChunks(5, "Flat", limit=2), protocol.Chunks)).chunks
        assert [one.content for one in listed] == ["The cellar is dry.", "The stairs are steep."]
        alone = protocol.AskChunks(6, "Flat", chunk_id=listed[0].chunk_id)
        assert (await ask(life.mind, alone, protocol.Chunks)).chunks == [listed[0]]


@pytest.mark.requirement("V-37", "V-71")
async def test_what_a_project_knows_is_told_with_why_its_relations_and_its_contradictions(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Flat"), protocol.ProjectDetail)
        for place, text in enumerate(("The rent in Mill Lane is 900 euros.", "The rent in Mill Lane is 950 euros.")):
            added = protocol.AddMaterial(2 + place, "Flat", f"letter {place}", text, is_own=True)
            await ask(life.mind, added, protocol.Chunks)
        found = await ask(
            life.mind, protocol.AskChunks(4, "Flat", "How high is the rent in Mill Lane?"), protocol.Chunks
        )
        assert [("950" in one.content, bool(one.superseded_by)) for one in found.chunks] == [
            (True, False),
            (False, True),
        ]
        assert "meaning 1" in found.chunks[0].why
        assert "counts half" in found.chunks[1].why
        assert found.plan == "hybrid"
        state = await ask(life.mind, protocol.AskChunks(5, "Flat", "What is blocked?"), protocol.Chunks)
        assert (state.plan, state.message) == ("operational", "There are no tasks and no questions.")
        related = await ask(life.mind, protocol.AskRelations(6, "Flat"), protocol.ProjectRelations)
        assert [one.type for one in related.relations] == ["contradicts"]
        assert "950" in related.relations[0].from_text or "letter 1" in related.relations[0].from_text
        known = await ask(life.mind, protocol.AskProjectConflicts(7, with_settled=True), protocol.ProjectConflicts)
        [conflict] = known.conflicts
        assert (conflict.found_by, conflict.settled, "900" in conflict.older.content) == ("rule", "recency", True)
        settle = protocol.SettleProjectConflict(8, conflict.conflict_id[:10], "earlier")
        [settled] = (await ask(life.mind, settle, protocol.ProjectConflicts)).conflicts
        assert (settled.settled, bool(settled.newer.superseded_by)) == ("owner", True)
        assert (await ask(life.mind, protocol.AskProjectConflicts(9), protocol.ProjectConflicts)).conflicts == []


async def test_a_task_in_doubt_is_shown_to_the_owner_and_to_whoever_asks_for_the_orientation(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Flat"), protocol.ProjectDetail)
        store = life.mind.projects.store
        [project] = await store.projects()
        async with store.transaction() as transaction:
            new = NewTask("Use the cellar", "", TaskKind.FIND_OUT, foreign_sources=frozenset({"x"}))
            [task_id] = await store.tasks.put(transaction, project.id, [new])
            row = {"id": task_id, "why": "the lease no longer holds", "now": NOON}
            await transaction.run("projects.hold_task", row)
        doubts = ["Use the cellar: the lease no longer holds"]
        assert (await detail(life, "Flat")).doubts == doubts
        asked = GetOrientation(project.id)
        page = (await OrientationTools(store).get_orientation(asked, ToolCaller("work"))).orientation
        assert page.doubts == doubts
        assert page.foreign_sources == ["x"]


@pytest.mark.requirement("V-59", "V-74", "V-120")
async def test_forgetting_and_sleep_give_the_index_back_and_sleep_deletes_old_pairs(home: Home) -> None:
    clock = PatientClock(NOON)
    async with living(home, worker(), clock, QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Flat"), protocol.ProjectDetail)
        text = "# A\n\nOak floors zqvorblax7741.\n\n# B\n\nOak floors are hard."
        await ask(life.mind, protocol.AddMaterial(2, "Flat", "notes", text, is_own=True), protocol.Chunks)
        search, [project] = life.mind.knowledge.search, await life.mind.projects.store.projects()
        await search.hybrid(project.id, "oak floors", 5, session_id="wake 1")
        assert set(search._indexes) == {project.id}
        await ask(
            life.mind, protocol.Forget(3, matching="zqvorblax7741", dry_run=False, erase=True), protocol.Forgotten
        )
        assert not search._indexes
        await ask(
            life.mind, protocol.AddMaterial(4, "Flat", "more", "Oak floors cost 20.", is_own=True), protocol.Chunks
        )
        await search.hybrid(project.id, "oak floors", 5, session_id="wake 2")
        clock.step_wall(31 * 86_400)
        await life.mind.sleep.consolidate(None, trigger="owner")
        assert not search._indexes
        assert await life.mind.database.rows("relations.uncounted_pairs", {"project_id": project.id}) == []
