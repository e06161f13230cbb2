"""`reveries work`: the work on projects, now or as it goes."""

import time
from typing import TYPE_CHECKING

import click

from reveries.client.render import Line, Part, Style, line
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.connection import Connection
    from reveries.protocol import WorkHappened

_STYLES: dict[str, Style] = {"done": "good", "question": "warn", "failed": "bad", "rested": "dim", "step": "dim",
    "result": "dim", "no result": "warn", "approval": "warn"}  # fmt: skip


@click.command("work", short_help="The work on your projects: now, or watch it.")
@click.option("--now", "is_now", is_flag=True, help="One wake now, also in quiet hours. Ends when the project rests.")
@click.option("--watch", "is_watching", is_flag=True, help="What happens, as it happens, until Ctrl+C.")
@click.option("--project", default="", help="With --now: this one. Else the one that waited longest.")
@click.option("--pause", "is_pausing", is_flag=True, help="Hold all projects until --resume.")
@click.option("--resume", "is_resuming", is_flag=True, help="Let held projects go on.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; with --watch one a line.")
def command(is_now: bool, is_watching: bool, project: str, is_pausing: bool, is_resuming: bool, as_json: bool) -> None:
    """It works by itself when nobody talks. This has it work now, shows it, or holds it."""
    from reveries.client.sync_call import call

    if is_pausing or is_resuming:
        _change_all("paused" if is_pausing else "active", as_json)
    elif is_watching:
        call(lambda mind: _watch(mind, is_now=is_now, project=project, as_json=as_json))
    elif is_now:
        call(lambda mind: _work_now(mind, project, as_json))
    else:
        from reveries.client.features.projects import list_projects

        list_projects(as_json)


def _change_all(state: str, as_json: bool) -> None:
    from reveries import protocol
    from reveries.client.features.project_pages import projects_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    wanted = "active" if state == "paused" else "paused"
    for one in ask(protocol.AskProjects, protocol.Projects).projects:
        if one.state == wanted:
            name = one.project_id
            ask(lambda new_id, name=name: protocol.ChangeProject(new_id, name, state), protocol.ProjectDetail)  # type: ignore[misc,arg-type]
    answer = ask(protocol.AskProjects, protocol.Projects)
    show_json(answer) if as_json else show(projects_page(answer.projects, time.time()))


async def _work_now(mind: "Connection", project: str, as_json: bool) -> None:
    from reveries import protocol
    from reveries.client.render import is_terminal, say, show_json

    if is_terminal(err=True) and not as_json:
        say("It works. To see what it does: reveries work --now --watch", "dim", err=True)
    answer = await mind.ask(lambda new_id: protocol.WorkNow(new_id, project), protocol.Worked, seconds=None)
    if as_json:
        show_json(answer)
        return
    message = f": {one_line(answer.message, 300)}" if answer.message else ""
    say(f"{one_line(answer.project)}: {one_line(answer.reason)}{message}")
    if answer.reason == "waiting for you":
        say("  reveries questions", "accent")


async def _watch(mind: "Connection", *, is_now: bool, project: str, as_json: bool) -> None:
    """Until Ctrl+C, or, with --now, until that wake ends."""
    import asyncio

    from reveries import protocol
    from reveries.client.render import is_terminal, json_line, say, show
    from reveries.client.sync_call import ctrl_c

    if is_terminal(err=True) and not as_json:
        say("Watching it work. Ctrl+C ends the watching, not the work.", "dim", err=True)
    watching = mind.new_id()
    async with asyncio.TaskGroup() as tasks:
        if is_now:

            async def work() -> None:
                await mind.ask(lambda new_id: protocol.WorkNow(new_id, project), protocol.Worked, seconds=None)
                mind.cancel_soon(watching)

            tasks.create_task(work(), name="work-now")
        with ctrl_c(lambda: mind.cancel_soon(watching)):
            async for frame in mind.request(protocol.WatchWork(watching)):
                if isinstance(frame, protocol.WorkHappened):
                    click.echo(json_line(frame)) if as_json else show([happened_line(frame)])


def happened_line(frame: "WorkHappened") -> Line:
    """ "14:02  Piano  done  Research swing feel: ..." """
    style = _STYLES.get(frame.action, "")
    return line(
        Part(f"{time.strftime('%H:%M:%S')}  ", "dim"),
        Part(f"{one_line(frame.project)}  ", "dim"),
        Part(f"{one_line(frame.action)}  ", style or "accent"),
        one_line(frame.words, 300),
    )
