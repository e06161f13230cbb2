"""`reveries say`: one exchange without the terminal interface."""

from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option
from reveries.client.citation_lines import citation_lines
from reveries.protocol import copy_fields

if TYPE_CHECKING:
    from reveries.client.connection import Connection
    from reveries.client.mind import Exchange


class SayUsage(msgspec.Struct, frozen=True):
    """Model, tokens and time of the reply. Seconds count from the request."""

    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    first_token_seconds: float
    seconds: float


class SayResult(msgspec.Struct, frozen=True):
    """The complete reply. `stored`: the ids of the stored turns, by "words" and "exchange"; empty off the record.
    `citations`: what it rests on in documents, checked by code."""

    text: str
    reason: str
    explanation: str
    help: str
    recalled: list[protocol.RecalledItem]
    stored: dict[str, str]
    usage: SayUsage
    citations: tuple[protocol.CitationEntry, ...]


_INTERRUPTED = 130


@click.command("say", short_help="Say something and print the reply.")
@click.argument("text", nargs=-1)
@click.option("--private", is_flag=True, help="Off the record: neither your words nor the reply are kept.")
@json_option(SayResult, help="Print one JSON object when the reply is complete.")
def command(text: tuple[str, ...], private: bool, as_json: bool) -> int:
    """Say TEXT (or standard input), and print the reply while it is generated. Ctrl+C stops the reply.

    With --private, neither your words nor the reply are stored, recalled or logged, and the next turn does not know
    about them. Your shell may store the command in its history: use standard input to avoid that.
    """
    from reveries.client.sync_call import call_mind, read_words

    words = read_words(text, "Say at least one word.", 'For example: reveries say "Good morning"')
    return call_mind(lambda mind: _run_exchange(mind, words, as_json, private=private))


async def _run_exchange(connection: "Connection", words: str, as_json: bool, *, private: bool) -> int:
    from reveries.client.mind import MindClient
    from reveries.client.render import say
    from reveries.client.sync_call import handle_ctrl_c
    from reveries.errors import ConnectionLostError

    def show_help(text: str) -> None:
        if not as_json:
            say(text, "strong", err=True)

    exchange, last = MindClient(connection).say(words, show_help, off_record=private), "\n"
    try:
        with handle_ctrl_c(exchange.stop):
            async for piece in exchange:
                last = piece[-1]
                if not as_json:
                    click.echo(piece, nl=False)
    except ConnectionLostError as error:
        _end_line(last, as_json)
        raise ConnectionLostError(
            "The connection was lost during the reply. Your words are stored."
            if "words" in exchange.stored
            else "The connection was lost, and your words were not stored.",
            advice=error.advice,
        ) from error
    _end_line(last, as_json)
    return _print_exchange(exchange, as_json)


def _end_line(last: str, as_json: bool) -> None:
    if last != "\n" and not as_json:
        click.echo()


def _print_exchange(exchange: "Exchange", as_json: bool) -> int:
    """Print what follows the reply, and return the exit code."""
    from reveries.client.render import say, show_json

    replied = exchange.end
    if replied is None:
        return 1
    if as_json:
        show_json(_exchange_result(exchange, replied))
        return _exit_code(replied)
    for shown in citation_lines(replied.citations):
        say(shown, "dim")
    if replied.explanation:
        say(replied.explanation, "dim", err=True)
    return _exit_code(replied)


def _exit_code(replied: "protocol.Replied") -> int:
    return {"cancelled": _INTERRUPTED, "failed": 69}.get(replied.reason, 0)


def _exchange_result(exchange: "Exchange", replied: "protocol.Replied") -> "SayResult":
    return SayResult(
        text=replied.text,
        reason=replied.reason,
        explanation=replied.explanation,
        help=exchange.help,
        recalled=list(exchange.recalled),
        stored=exchange.stored,
        usage=copy_fields(SayUsage, replied),
        citations=replied.citations,
    )
