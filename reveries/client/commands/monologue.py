"""`reveries monologue` (live) and `monologue history`."""

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection

_HISTORY = "1d"


@click.group("monologue", short_help="Watch it think, or read what it thought.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Watch it think, live, until Ctrl+C. Watching changes nothing."""
    if ctx.invoked_subcommand is None:
        from reveries.client.calling import call

        call(_watch)


@command.command("history")
@click.option(
    "--since", "since_text", default=_HISTORY, show_default=True, help="How long ago (2h, 3d), or an ISO time."
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many, the newest."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def history(since_text: str, limit: int, as_json: bool) -> None:
    """What it thought: why each thought began, its words, why it ended."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.memory_page import thoughts_page
    from reveries.client.render import show, show_json
    from reveries.client.wording import since

    began = since(since_text, time.time())
    thoughts = ask(lambda new_id: protocol.AskThoughts(new_id, began, limit), protocol.Thoughts)
    if as_json:
        show_json(thoughts)
    else:
        show(thoughts_page(thoughts.thoughts, time.time()))


async def _watch(mind: "Connection") -> None:
    from reveries import protocol
    from reveries.client.calling import ctrl_c
    from reveries.client.render import is_terminal, say

    request_id = mind.new_id()
    if is_terminal():
        say("Watching it think. Ctrl+C ends the watching, not the thinking.", "dim", err=True)
    shown = _Thought()
    with ctrl_c(lambda: mind.cancel_soon(request_id)):
        async for frame in mind.request(protocol.Observe(request_id)):
            shown.show(frame)
    shown.finish()


class _Thought:
    """The thought that is being written to the terminal."""

    def __init__(self) -> None:
        from reveries.plaintext import PlainStream

        self._plain = PlainStream()
        self._last = "\n"

    def show(self, frame: "protocol.Frame") -> None:
        from reveries import protocol
        from reveries.plaintext import one_line

        match frame:
            case protocol.ThoughtBegan():
                self.finish()
                self._remark(f"{time.strftime('%H:%M')}  {one_line(frame.reason)}")
                self._write(self._plain.feed(frame.so_far))
            case protocol.ThoughtToken():
                if frame.skipped:
                    self._write(f" […{frame.skipped} pieces missed…] ")
                self._write(self._plain.feed(frame.text))
            case protocol.ThoughtEnded():
                self.finish()
                why = one_line(frame.explanation or frame.reason)
                self._remark(f"{why}  ({frame.tokens} tokens)\n")
            case _:
                pass

    def finish(self) -> None:
        """End the line that was begun."""
        self._write(self._plain.finish())
        if self._last != "\n":
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._last = text[-1]
            click.echo(text, nl=False)

    def _remark(self, text: str) -> None:
        click.echo(click.style(text, dim=True))
        self._last = "\n"
