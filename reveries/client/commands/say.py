"""`reveries say`: one exchange without the terminal interface."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection

_INTERRUPTED = 130


@click.command("say", short_help="Say something and print the reply.")
@click.argument("text", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object when the reply is whole.")
def command(text: tuple[str, ...], as_json: bool) -> int:
    """Say TEXT (or what comes on stdin) and print the reply as it comes. Ctrl+C stops the reply."""
    from reveries.client.calling import call

    words = _words(text)
    return call(lambda mind: _exchange(mind, words, as_json))


def _words(text: tuple[str, ...]) -> str:
    from reveries.errors import InputDataError, UsageError
    from reveries.protocol import MAX_TEXT_CHARS

    if text and text != ("-",):
        words = " ".join(text)
    elif sys.stdin.isatty() and not text:
        raise UsageError("There is nothing to say.", advice='For example: reveries say "Good morning"')
    else:
        try:
            words = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputDataError(
                "What came on stdin is not UTF-8 text.", advice="Convert it, then try again."
            ) from error
    words = words.strip()
    if not words:
        raise UsageError("There is nothing to say.", advice='For example: reveries say "Good morning"')
    if len(words) > MAX_TEXT_CHARS:
        raise InputDataError(
            f"That is {len(words):,} characters; one turn has at most {MAX_TEXT_CHARS:,}.",
            advice="Say it in parts, or bring it in as a past conversation: reveries import FILE",
        )
    # A terminal may hand over bytes that are no UTF-8, as lone surrogates; they cannot cross the wire.
    return words.encode("utf-8", "replace").decode("utf-8")


async def _exchange(mind: "Connection", words: str, as_json: bool) -> int:
    from reveries import protocol
    from reveries.client.calling import ctrl_c
    from reveries.errors import ConnectionLostError

    request_id = mind.new_id()
    told = _Exchange(as_json)
    try:
        with ctrl_c(lambda: mind.cancel_soon(request_id)):
            async for frame in mind.request(protocol.Say(request_id, words)):
                told.show(frame)
    except ConnectionLostError as error:
        told.break_off()
        raise ConnectionLostError(
            "The mind went away in the middle of its reply; your words are stored."
            if "words" in told.stored
            else "The mind went away, and your words were not stored.",
            advice=error.advice,
        ) from error
    return told.end()


class _Exchange:
    """What came of one exchange so far, and how it is shown."""

    def __init__(self, as_json: bool) -> None:
        from reveries.plaintext import PlainStream

        self._as_json = as_json
        self._plain = PlainStream()
        self._last = "\n"
        self._recalled: list[protocol.RecalledItem] = []
        self.stored: dict[str, str] = {}
        self._replied: protocol.Replied | None = None
        self._help = ""

    def show(self, frame: "protocol.Frame") -> None:
        from reveries import protocol

        match frame:
            case protocol.Recalled():
                self._recalled = frame.items
            case protocol.Help():
                self._help = frame.text
                self._show_help()
            case protocol.Stored():
                self.stored[frame.what] = frame.turn_id
            case protocol.Token():
                self._write(self._plain.feed(frame.text))
            case protocol.Replied():
                self._replied = frame
            case _:
                pass

    def _show_help(self) -> None:
        """At once: whatever becomes of the reply."""
        from reveries.client.render import say

        if not self._as_json:
            say(self._help, "strong", err=True)

    def break_off(self) -> None:
        """End the line that was begun."""
        self._write(self._plain.finish())
        if self._last != "\n":
            self._write("\n")

    def end(self) -> int:
        """Show what comes after the reply; the exit code."""
        from reveries.client.render import say, write_json

        self.break_off()
        if self._replied is None:
            return 1
        if self._as_json:
            write_json(self._object(self._replied))
        elif self._replied.explanation:
            say(self._replied.explanation, "dim", err=True)
        return {"cancelled": _INTERRUPTED, "failed": 69}.get(self._replied.reason, 0)

    def _write(self, text: str) -> None:
        if text and not self._as_json:
            self._last = text[-1]
            click.echo(text, nl=False)

    def _object(self, replied: "protocol.Replied") -> dict[str, object]:
        import msgspec

        return {
            "text": replied.text,
            "reason": replied.reason,
            "explanation": replied.explanation,
            "help": self._help,
            "recalled": [msgspec.to_builtins(item) for item in self._recalled],
            "stored": self.stored,
            "usage": {
                "model": replied.model,
                "prompt_tokens": replied.prompt_tokens,
                "cached_tokens": replied.cached_tokens,
                "completion_tokens": replied.completion_tokens,
                "first_token_seconds": replied.first_token_seconds,
                "seconds": replied.seconds,
            },
        }
