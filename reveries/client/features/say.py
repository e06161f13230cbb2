"""`reveries say`: one exchange without the terminal interface."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection
    from reveries.client.mind import Exchange

_INTERRUPTED = 130


@click.command("say", short_help="Say something and print the reply.")
@click.argument("text", nargs=-1)
@click.option("--private", is_flag=True, help="Off the record: neither this nor the reply is kept anywhere.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object when the reply is whole.")
def command(text: tuple[str, ...], private: bool, as_json: bool) -> int:
    """Say TEXT (or what comes on stdin) and print the reply as it comes. Ctrl+C stops the reply.

    With --private neither your words nor the reply are stored, recalled, thought of or logged, and the next turn does
    not know of them. Your shell may remember the command: give the words on stdin then.
    """
    from reveries.client.sync_call import call

    words = words_given(text, "There is nothing to say.", 'For example: reveries say "Good morning"')
    return call(lambda mind: _exchange(mind, words, as_json, private=private))


def words_given(text: tuple[str, ...], nothing: str, example: str) -> str:
    """The words of a command line, or those on stdin. Raises UsageError with `nothing` and `example` for none."""
    from reveries.errors import InputDataError, UsageError

    if text and text != ("-",):
        words = " ".join(text)
    elif sys.stdin.isatty() and not text:
        raise UsageError(nothing, advice=example)
    else:
        try:
            words = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputDataError(
                "What came on stdin is not UTF-8 text.", advice="Convert it, then try again."
            ) from error
    if not words.strip():
        raise UsageError(nothing, advice=example)
    return words


async def _exchange(connection: "Connection", words: str, as_json: bool, *, private: bool) -> int:
    from reveries.client.mind import MindClient
    from reveries.client.render import say
    from reveries.client.sync_call import ctrl_c
    from reveries.errors import ConnectionLostError

    def show_help(text: str) -> None:
        if not as_json:
            say(text, "strong", err=True)

    exchange, last = MindClient(connection).say(words, show_help, off_record=private), "\n"
    try:
        with ctrl_c(exchange.stop):
            async for piece in exchange:
                last = piece[-1]
                if not as_json:
                    click.echo(piece, nl=False)
    except ConnectionLostError as error:
        _end_line(last, as_json)
        raise ConnectionLostError(
            "The mind went away in the middle of its reply; your words are stored."
            if "words" in exchange.stored
            else "The mind went away, and your words were not stored.",
            advice=error.advice,
        ) from error
    _end_line(last, as_json)
    return _print_exchange(exchange, as_json)


def _end_line(last: str, as_json: bool) -> None:
    if last != "\n" and not as_json:
        click.echo()


def _print_exchange(exchange: "Exchange", as_json: bool) -> int:
    """Show what comes after the reply; the exit code."""
    from reveries.client.render import say, write_json

    replied = exchange.end
    if replied is None:
        return 1
    if as_json:
        write_json(_reply_object(exchange, replied))
    elif replied.explanation:
        say(replied.explanation, "dim", err=True)
    return {"cancelled": _INTERRUPTED, "failed": 69}.get(replied.reason, 0)


def _reply_object(exchange: "Exchange", replied: "protocol.Replied") -> dict[str, object]:
    import msgspec

    return {
        "text": replied.text,
        "reason": replied.reason,
        "explanation": replied.explanation,
        "help": exchange.help,
        "recalled": [msgspec.to_builtins(item) for item in exchange.recalled],
        "stored": exchange.stored,
        "usage": {
            "model": replied.model,
            "prompt_tokens": replied.prompt_tokens,
            "cached_tokens": replied.cached_tokens,
            "completion_tokens": replied.completion_tokens,
            "first_token_seconds": replied.first_token_seconds,
            "seconds": replied.seconds,
        },
    }
