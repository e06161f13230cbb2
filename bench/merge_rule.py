"""Merging of episodes (RA-26): how many merges of a rule are right, and their effect on recall.

    python bench/merge_rule.py --data DIR --model model.onnx --tokenizer tokenizer.json

Each conversation of a LoCoMo-like set is imported; light sleep creates the episodes; then `find_merge_target` and
`merge_change_set` are applied to them in memory, in chronological order, with the vector that deep sleep would give
them (from words and summary). No language model is used, and there is no merging code here.

There are no labels for merges, so the questions serve as labels: a merge is *confirmed* if some question has evidence
in both episodes, and *against* if questions have evidence in each of the two but none in both. Chance is the same share
over random pairs of episodes of one speaker pair.
"""

import argparse
import asyncio
import itertools
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
from recall_data import CachedEmbedder, Corpus, corpora

from reveries.clock import SystemClock
from reveries.config import MemorySettings, load_settings
from reveries.db.opening import open_database
from reveries.llm.base import Embedder, Vectors
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts
from reveries.memory.model import RecallContext
from reveries.memory.sleep.merge import find_merge_target, merge_change_set
from reveries.memory.text.segments import unit_mean

_COSINES = (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90)
_WINDOWS_HOURS = (0.0, 72.0, 720.0, 1e6)
_SILENCE_SECONDS = 3 * 3600.0
_BLIND_PAIRS = 4000


@dataclass(slots=True)
class Tally:
    """What one rule did over all corpora."""

    merges: int = 0
    confirmed: int = 0
    against: int = 0
    same_talk: int = 0
    episodes: int = 0
    episodes_left: int = 0
    questions: int = 0
    in_episodes: dict[int, int] = field(default_factory=lambda: {5: 0, 10: 0})
    in_turns: int = 0


async def opened(file: Path, embedder: Embedder) -> Memory:
    """The memory in `file`, hydrated."""
    settings = load_settings(None)
    count = itertools.count()
    memory = Memory(
        MemoryParts(
            database=await open_database(file),
            embedder=embedder,
            clock=SystemClock(),
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: "",
            mind_name=settings.mind.name,
            new_id=lambda: f"{next(count):08x}",
        )
    )
    await memory.hydrate()
    return memory


async def import_talks(memory: Memory, corpus: Corpus) -> None:
    """Each talk as a conversation: a new one begins after three hours of silence."""
    talks: list[list[PastTurn]] = []
    last = float("-inf")
    for item in corpus.items:
        if item.said_at - last > _SILENCE_SECONDS:
            talks.append([])
        talks[-1].append(PastTurn(item.said_at, item.speaker, item.text))
        last = item.said_at
    for place, talk in enumerate(talks):
        await memory.begin_import(f"talk {place}").add(talk)
    await memory.light_sleep()


def merged_pairs(memory: Memory, summaries: dict[str, np.ndarray], settings: MemorySettings) -> list[tuple[str, str]]:
    """Merge as deep sleep would, in memory alone; the ids of which went into which."""
    live, pairs = memory.live, []
    for episode in sorted(live.graph.episodes(), key=lambda one: one.created_at):
        now = live.graph.get(episode.id)
        if now is None:
            continue
        vector = unit_mean(np.vstack([unit_mean(live.turn_vectors_of(now.id)), summaries[now.id]]))
        target = find_merge_target(live.graph, now, vector, settings)
        if target is not None:
            middle = unit_mean(np.vstack([live.graph.vector_of(target.id), vector]))
            live.apply(merge_change_set(live.graph, target, replace(now, depth="deep"), middle))
            pairs.append((now.id, target.id))
    return pairs


def judge(tally: Tally, pairs: Sequence[tuple[str, str]], gold: dict[str, set[int]]) -> None:
    """Evaluate merged pairs by the questions; the evidence of a merged item counts for its target."""
    for gone, into in pairs:
        tally.merges += 1
        if gold[gone] and gold[into]:
            both = bool(gold[gone] & gold[into])
            tally.confirmed += both
            tally.against += not both
        gold[into] = gold[into] | gold[gone]


async def measure(chosen: argparse.Namespace, embedder: Embedder) -> None:
    """Every rule on every corpus; a table."""
    rules = [(cosine, hours) for hours in chosen.windows for cosine in chosen.cosines]
    tallies = {rule: Tally() for rule in [(2.0, 0.0), *rules]}
    chance = Tally()
    for corpus in corpora(chosen.data, chosen.set)[: chosen.corpora or None]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "memory.db"
            memory = await opened(file, embedder)
            await import_talks(memory, corpus)
            episodes = list(memory.live.graph.episodes())
            vectors = await embedder.embed([episode.summary for episode in episodes])
            summaries = dict(zip([episode.id for episode in episodes], vectors, strict=True))
            questions = [question for question in corpus.questions if question.gold]
            cues = await embedder.embed([question.text for question in questions])
            await memory.close()
            await memory._parts.database.aclose()
            for rule, tally in tallies.items():
                await one_rule(file, embedder, corpus, rule, tally, summaries, cues)
            await by_chance(file, embedder, corpus, chance)
    show(tallies, chance)


async def one_rule(
    file: Path,
    embedder: Embedder,
    corpus: Corpus,
    rule: tuple[float, float],
    tally: Tally,
    summaries: dict[str, np.ndarray],
    cues: Vectors,
) -> None:
    """Merge by one rule, judge the merges, ask the questions."""
    memory = await opened(file, embedder)
    cosine, hours = rule
    settings = load_settings(None).memory
    settings = msgspec.structs.replace(settings, merge_cosine=cosine, merge_window_hours=hours)
    names, gold = named(memory, corpus)
    talk_of = {one.id: one.conversation_id for one in memory.live.graph.episodes()}
    tally.episodes += len(memory.live.graph)
    pairs = merged_pairs(memory, summaries, settings) if cosine <= 1.0 else []
    tally.same_talk += sum(talk_of[gone] == talk_of[into] for gone, into in pairs)
    tally.episodes_left += len(memory.live.graph)
    judge(tally, pairs, gold)
    now = SystemClock().now()
    for question, cue in zip([one for one in corpus.questions if one.gold], cues, strict=True):
        recall = memory.live.recall(question.text, cue, RecallContext(now=now, limit=10))
        tally.questions += 1
        for depth in tally.in_episodes:
            told = {names[ranked.turn.id] for found in recall.episodes[:depth] for ranked in found.turns}
            tally.in_episodes[depth] += bool(told & set(question.gold))
        tally.in_turns += bool({names[ranked.turn.id] for ranked in recall.turns[:10]} & set(question.gold))
    await memory.close()
    await memory._parts.database.aclose()


async def by_chance(file: Path, embedder: Embedder, corpus: Corpus, tally: Tally) -> None:
    """Evaluate randomly chosen pairs as a baseline."""
    memory = await opened(file, embedder)
    _, gold = named(memory, corpus)
    chance = random.Random(7)
    ids = sorted(gold)
    for _ in range(_BLIND_PAIRS):
        judge(tally, [tuple(chance.sample(ids, 2))], dict(gold))  # type: ignore[list-item]
    await memory.close()
    await memory._parts.database.aclose()


def named(memory: Memory, corpus: Corpus) -> tuple[dict[str, str], dict[str, set[int]]]:
    """The data's id of each turn, and of each episode the questions that have evidence in it."""
    waiting: dict[tuple[float, str, str], list[str]] = {}
    for item in corpus.items:
        waiting.setdefault((item.said_at, item.speaker, item.text), []).append(item.id)
    asked: dict[str, set[int]] = {}
    for place, question in enumerate(corpus.questions):
        for name in question.gold:
            asked.setdefault(name, set()).add(place)
    names: dict[str, str] = {}
    gold: dict[str, set[int]] = {episode.id: set() for episode in memory.live.graph.episodes()}
    for turn, home in memory.live.turns.entries():
        names[turn.id] = waiting[(turn.said_at, turn.speaker, turn.text)].pop(0)
        gold[home] |= asked.get(names[turn.id], set())
    return names, gold


def show(tallies: dict[tuple[float, float], Tally], chance: Tally) -> None:
    """The table, as Markdown."""
    print("| cosine | window h | merges | of one talk | judged | confirmed | episodes left | in 5 / 10 episodes |")
    print("|---|---|---|---|---|---|---|---|")
    for (cosine, hours), tally in tallies.items():
        told = " / ".join(f"{100 * found / max(1, tally.questions):.1f}" for found in tally.in_episodes.values())
        rule = ("none", "-") if cosine > 1.0 else (f"{cosine:.2f}", f"{hours:g}")
        print(
            f"| {rule[0]} | {rule[1]} | {tally.merges} | {share(tally.same_talk, tally.merges)} | "
            f"{tally.confirmed + tally.against} | {share(tally.confirmed, tally.confirmed + tally.against)} | "
            f"{tally.episodes_left} of {tally.episodes} | {told} |"
        )
    print(f"by chance: {share(chance.confirmed, chance.confirmed + chance.against)} of judged pairs are confirmed")


def share(part: int, whole: int) -> str:
    """In per cent."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="locomo")
    parser.add_argument("--corpora", type=int, default=0, help="the first so many; 0: all")
    parser.add_argument("--cosines", type=float, nargs="+", default=_COSINES)
    parser.add_argument("--windows", type=float, nargs="+", default=_WINDOWS_HOURS, help="in hours")
    parser.add_argument("--model", type=Path, required=True, help="the embedder's model.onnx")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "reveries-bench-vectors")
    chosen = parser.parse_args()
    asyncio.run(measure(chosen, CachedEmbedder(OnnxEmbedder(chosen.model, chosen.tokenizer), chosen.cache)))


if __name__ == "__main__":
    main()
