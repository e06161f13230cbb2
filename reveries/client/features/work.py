"""`reveries work`: start, watch, pause and resume the work on projects."""

import contextlib
import time
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, Style, line
from reveries.errors import ReveriesError
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.connection import Connection
    from reveries.protocol import WorkHappened

_STYLES: dict[str, Style] = {"done": "good", "question": "warn", "failed": "bad", "rested": "dim", "step": "dim",
    "result": "dim", "no result": "warn", "approval": "warn"}  # fmt: skip


@click.command("work", short_help="Work on your projects: start it, watch it, pause it.")
@click.option("--now", "is_now", is_flag=True, help="Work now, even in quiet hours, until the project is idle.")
@click.option("--watch", "is_watching", is_flag=True, help="Show the work live, until Ctrl+C.")
@click.option("--project", default="", help="With --now: the project. Default: the one that waited longest.")
@click.option("--pause", "is_pausing", is_flag=True, help="Pause all projects until --resume.")
@click.option("--resume", "is_resuming", is_flag=True, help="Resume paused projects.")
@json_option(
    protocol.Projects,
    {"--now": protocol.Worked, "--watch": protocol.WorkHappened},
    help="Print one JSON object; with --watch one per line.",
)
def command(is_now: bool, is_watching: bool, project: str, is_pausing: bool, is_resuming: bool, as_json: bool) -> None:
    """Start, watch, pause or resume the work on projects. It works by itself while no conversation is active."""
    from reveries.client.sync_call import call_mind

    if is_pausing or is_resuming:
        _set_all_states("paused" if is_pausing else "active", as_json)
    elif is_watching:
        call_mind(lambda mind: _watch_work(mind, is_now=is_now, project=project, as_json=as_json))
    elif is_now:
        call_mind(lambda mind: _work_now(mind, project, as_json))
    else:
        from reveries.client.features.projects import print_projects

        print_projects(as_json)


def _set_all_states(state: str, as_json: bool) -> None:
    from reveries.client.features.project_pages import projects_page
    from reveries.client.sync_call import ask_mind

    current = "active" if state == "paused" else "paused"
    for project in ask_mind(protocol.AskProjects, protocol.Projects).projects:
        if project.state == current:
            name = project.project_id
            ask_mind(lambda new_id, name=name: protocol.ChangeProject(new_id, name, state), protocol.ProjectDetail)  # type: ignore[misc,arg-type]
    answer = ask_mind(protocol.AskProjects, protocol.Projects)
    print_answer(answer, as_json, lambda: projects_page(answer.projects, time.time()))


@page_of(protocol.WorkRequested, "work")
def work_requested_page(requested: protocol.WorkRequested) -> Page:
    """Render that the work will begin, for the conversation."""
    return [line(f"It works on {one_line(requested.project)} when this conversation is idle.")]


async def _work_now(mind: "Connection", project: str, as_json: bool) -> None:
    from reveries.client.own_command import own_command
    from reveries.client.render import is_terminal, say, show_json

    if is_terminal(err=True) and not as_json:
        say(f"It is working. To watch: {own_command('work --now --watch')}", "dim", err=True)
    answer = await mind.ask(lambda new_id: protocol.WorkNow(new_id, project), protocol.Worked, seconds=None)
    if as_json:
        show_json(answer)
        return
    is_said_by_message = answer.message and answer.reason in ("waiting for you", "keeps order")
    words = (answer.message,) if is_said_by_message else (answer.reason, answer.message)
    say(f"{one_line(answer.project)}: {': '.join(one_line(word, 300) for word in words if word)}")
    if answer.reason == "waiting for you":
        say(f"  {own_command('questions')}", "accent")


async def _watch_work(mind: "Connection", *, is_now: bool, project: str, as_json: bool) -> None:
    """Show the work until Ctrl+C or, with --now, until that stretch of work ends."""
    import asyncio

    from reveries.client.render import is_terminal, json_line, say, show
    from reveries.client.sync_call import handle_ctrl_c

    is_told = is_terminal(err=True) and not as_json
    if is_told:
        say("Watching it work. Ctrl+C stops watching; the work continues.", "dim", err=True)
    watching = mind.start(protocol.WatchWork, protocol.Ok)
    async with asyncio.TaskGroup() as tasks:
        if is_now:

            async def work() -> None:
                await mind.ask(lambda new_id: protocol.WorkNow(new_id, project), protocol.Worked, seconds=None)
                watching.stop()

            tasks.create_task(work(), name="work-now")
        with handle_ctrl_c(watching.stop):
            # The watching does not wait for it, and cancels it at the end.
            opening = tasks.create_task(say_what_waits(mind), name="work-opening") if is_told else None
            async for frame in watching:
                if isinstance(frame, protocol.WorkHappened):
                    click.echo(json_line(frame)) if as_json else show([render_event(frame)])
            if opening is not None:
                opening.cancel()


async def say_what_waits(mind: "Connection") -> None:
    """Say what began before the watching did, of which no event tells: a call of a local model may take minutes, and
    without answers to its questions there may be nothing to watch. Says nothing if the mind does not answer."""
    with contextlib.suppress(ReveriesError):
        await _say_status_and_questions(mind)


async def _say_status_and_questions(mind: "Connection") -> None:
    from reveries.client.own_command import own_command
    from reveries.client.render import say
    from reveries.client.wording import plural

    status = await mind.ask(protocol.AskStatus, protocol.Status)
    if status.state == "working":
        say(f"It is working on {one_line(status.state_detail)}. One step may take minutes.", "dim", err=True)
    questions = (await mind.ask(protocol.AskOpenQuestions, protocol.OpenQuestions)).questions
    if questions:
        say(f"{plural(len(questions), 'question')} for you: {own_command('questions')}", "warn", err=True)


def render_event(frame: "WorkHappened") -> Line:
    """Render an event: "14:02  Piano  done  Research swing feel: ..."."""
    style = _STYLES.get(frame.action, "")
    return line(
        Part(f"{time.strftime('%H:%M:%S')}  ", "dim"),
        Part(f"{one_line(frame.project)}  ", "dim"),
        Part(f"{one_line(frame.action)}  ", style or "accent"),
        one_line(frame.words, 300),
    )
