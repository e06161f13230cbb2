"""Replies of the default model to statements, to questions about them, and to questions about what was never said.

    PYTHONPATH=.:bench python bench/replies.py [--limit N] [--out FILE] [--model FOLDER] [--cache FOLDER]

Each line of bench/replies.jsonl is a separate conversation in an empty mind: three statements, a question about one of
them, then a question about something that was never said. Counted, by the rules below: how often a statement is
answered like a question ("I don't know"), how often what was said is known, how often the model admits that it does not
know what was never said, and how often it speaks in the person's place ("my dog").

The turn is the daemon's own (`Conversation.say`).
"""

import argparse
import asyncio
import contextlib
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from facts import Heard, Surrounding, mind, settings_for, speaker_of
from recall import embedder_of

from reveries.clock import SystemClock
from reveries.config import Settings
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.turn import TurnPipeline
from reveries.llm.base import ChatModel
from reveries.memory.memory import Memory
from reveries.safety.breaker import Breaker

_DOES_NOT_KNOW: Final = re.compile(
    r"\b(?:do(?:n't| not) (?:know|have)|not (?:sure|mentioned|said|told)|no (?:idea|information)"
    r"|have(?:n't| not) (?:said|told|mentioned)|(?:can't|cannot|can not) (?:answer|say|tell)"
    r"|enough information|unknown)\b",
    re.IGNORECASE,
)
_IN_THEIR_PLACE: Final = re.compile(
    r"\b(?:my (?!name|memory|notes)|our |I have started|I passed|I sold|I am moving)", re.IGNORECASE
)


class Talk(msgspec.Struct, frozen=True):
    """One conversation: statements, a question with its possible answers, and a question without an answer."""

    told: list[str]
    known: tuple[str, list[str]]
    unknown: str

    def turns(self) -> Iterator[tuple[str, str, list[str]]]:
        """Kind, words, possible answers."""
        for words in self.told:
            yield "told", words, []
        yield "known", self.known[0], self.known[1]
        yield "unknown", self.unknown, []


def judged(kind: str, reply: str, answers: list[str]) -> Iterator[str]:
    """Return the judgements of a reply."""
    if _IN_THEIR_PLACE.search(reply):
        yield "in the person's place"
    is_unknown = _DOES_NOT_KNOW.search(reply) is not None
    if kind == "told" and is_unknown:
        yield "told something, answered as if asked"
    if kind == "told" and "?" in reply:
        yield "told something, asked back"
    if kind == "known" and any(answer.casefold() in reply.casefold() for answer in answers):
        yield "asked what was told, known"
    if kind == "unknown" and is_unknown:
        yield "asked what was never said, owned to be unknown"


class Line(msgspec.Struct, frozen=True):
    """One turn, and the judgements of its reply."""

    kind: str
    words: str
    reply: str
    judged: list[str]
    seconds: float


async def talk_through(model: ChatModel, settings: Settings, memory: Memory, talk: Talk) -> list[Line]:
    """Return the turns and their judgements."""
    turns = TurnPipeline(
        memory=memory,
        model=model,
        clock=SystemClock(),
        read_settings=lambda: settings,
        host=Surrounding(memory),
        new_watch=lambda: Breaker(settings.circuit_breaker, max_pace=None),
    )
    conversation = Conversation(turns)
    await conversation.open()
    lines: list[Line] = []
    for kind, words, answers in talk.turns():
        began = time.perf_counter()
        turn = await conversation.say(words, Heard())
        reply = turn.draft.text
        seconds = round(time.perf_counter() - began, 1)
        lines.append(Line(kind, words, reply, list(judged(kind, reply, answers)), seconds))
    return lines


async def measure(chosen: argparse.Namespace) -> None:
    """Talk it all through; print every reply and the counts."""
    settings = settings_for(is_new_each_time=True)
    source = Path(__file__).with_name("replies.jsonl").read_text(encoding="utf-8").splitlines()
    talks = [msgspec.json.decode(line, type=Talk) for line in source][: chosen.limit or None]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        async with (
            contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder,
            speaker_of(settings, Path(folder), chosen.context_tokens) as model,
        ):
            model.speaks = True
            for talk in talks:
                async with mind(embedder, settings) as memory:
                    for line in await talk_through(model, settings, memory, talk):
                        counts.update([f"of {line.kind}", *line.judged])
                        print(f"> {line.words}\n  {line.reply}\n  {line.judged}", flush=True)
                        if chosen.out is not None:
                            with chosen.out.open("a", encoding="utf-8") as out:
                                out.write(msgspec.json.encode(line).decode() + "\n")
    for name, count in sorted(counts.items()):
        print(f"{count:4} {name}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=0, help="only so many conversations; 0: all")
    parser.add_argument("--out", type=Path, help="a line a reply, appended")
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
