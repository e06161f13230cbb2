"""Speed of recall, learning and start-up with N episodes, as ratios of times from one run.

    python bench/speed.py --episodes 100000 [--turns-per-episode 1] [--interpreted] [--hubs] [--json]

The mind is random (`synthetic.py`, `synthetic_turns.py`); recall is `LiveMemory.recall`, as in a chat turn, with the
shipped settings. Times are processor time of the one thread, median and 99th percentile, unless marked "wall";
compared operations are timed alternately, cue by cue. Ratios are valid on a busy machine, single times are not.

A "matvec" is numpy's float32 product of one cue with the vectors of all episodes; "all vectors" are those of the turns
as well. Peers: personalised PageRank of igraph (what HippoRAG ranks by) on the same links; it runs until it converges,
which is a different computation from three hops. With `--mem0 PYTHON` (an environment with mem0), mem0 adds the same
texts with the same vectors and searches for the same cues (`mem0_peer.py`); it adds to a store on disk, ours in memory.

The slowest twentieth of recalls is repeated: if it is slow again, the cue is the cause, else it was the machine.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from synthetic import DIMENSIONS, HUB_DEGREE, HUBS, NOW, Synthetic, cues, episode_at, make_mind, new_links
from synthetic_turns import SyntheticCue, Talk

from reveries.config import load_settings
from reveries.errors import ReveriesError
from reveries.llm.assets import find_weights
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.changes import ChangeSet
from reveries.memory.graph.activation import nearest_seeds, seed_energy
from reveries.memory.graph.arena_loops import TOP
from reveries.memory.graph.kernels import compile_kernels
from reveries.memory.live import LiveMemory, PackedMemory
from reveries.memory.model import RecallContext
from reveries.memory.recall.turn_packing import pack_turns
from reveries.memory.snapshot_file import read_snapshot, write_snapshot

_RECALL = load_settings(None).recall
_STAMP = b"s" * 16
_MODEL = "synthetic-384"
_LIMIT = 10
_WARM_UPS = 5
_ADDED = 500
_LINKS = 12


@dataclass
class Times:
    """Seconds of one thing, cue by cue."""

    seconds: list[float] = field(default_factory=list)

    def of(self, work: Callable[[], object]) -> None:
        """Time `work` once."""
        began = time.thread_time()
        work()
        self.seconds.append(time.thread_time() - began)

    def ms(self, share: float = 50.0) -> float:
        """A percentile in milliseconds."""
        return float(np.percentile(self.seconds, share)) * 1000.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--turns-per-episode", type=int, default=1)
    parser.add_argument("--cues", type=int, default=200)
    parser.add_argument("--interpreted", action="store_true", help="the loops as a memory below LARGE_ROWS has them")
    parser.add_argument("--hubs", action="store_true", help=f"the same again with {HUBS} hubs of degree {HUB_DEGREE}")
    parser.add_argument("--peer-cues", type=int, default=20, help="how often PageRank is asked; 0 leaves it out")
    parser.add_argument("--mem0", type=Path, metavar="PYTHON", help="a Python that has mem0ai: it is timed too")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    report = measured(chosen)
    if chosen.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:44} {value}")


def measured(chosen: argparse.Namespace) -> dict[str, object]:
    """Everything, by name."""
    load_before = os.getloadavg()[0]
    report: dict[str, object] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "episodes": chosen.episodes,
        "turns": chosen.episodes * chosen.turns_per_episode,
    }
    mind = make_mind(chosen.episodes, hubs=False)
    talk = Talk(mind, chosen.episodes * chosen.turns_per_episode)
    with tempfile.TemporaryDirectory() as folder:
        live = _woken(mind, talk, Path(folder), report)
    if not chosen.interpreted:
        _compile_loops(live)
    report |= _ram(live, chosen.episodes)
    asked = list(talk.cues(chosen.cues)) if talk.count else _wordless(mind, chosen.cues)
    report |= _recall(live, mind, asked)
    report |= _first_token(live, asked[:50]) if talk.count else {}
    report |= _spreading(live, mind, chosen.peer_cues)
    report |= _adding(live, report)
    if chosen.mem0 is not None and talk.count:
        report |= _mem0(chosen.mem0, talk, asked, report)
    del live, talk, mind
    gc.collect()
    if chosen.hubs:
        report |= _with_hubs(chosen)
    report["load_average"] = f"{load_before:.1f} before, {os.getloadavg()[0]:.1f} after"
    return report


def _woken(mind: Synthetic, talk: Talk, folder: Path, report: dict[str, object]) -> LiveMemory:
    """A live memory that woke from its snapshot; how long that took goes into `report`."""
    entries = list(talk.turns(0, talk.count))
    began = time.process_time()
    turns = pack_turns(
        [entry.turn for entry in entries],
        [entry.episode_id for entry in entries],
        {entry.turn.id: entry.vector for entry in entries},
        DIMENSIONS,
    )
    report["reading_turns_anew_us_each"] = round(1e6 * (time.process_time() - began) / max(1, len(entries)), 1)
    file = folder / "memory.snapshot"
    assert write_snapshot(file, PackedMemory(mind.packed, turns), _STAMP, _MODEL, lambda: True)
    del entries, turns
    gc.collect()
    before = _rss()
    live, ratios, seconds = None, [], []
    for _ in range(3):
        live = None
        gc.collect()
        read = _wall(lambda: _read_bytes(file))
        began = time.perf_counter()
        found = read_snapshot(file, {_STAMP}, _MODEL, DIMENSIONS)
        assert found is not None
        live = LiveMemory(DIMENSIONS, lambda: _RECALL)
        live.load_packed(found[1])
        seconds.append(time.perf_counter() - began)
        ratios.append(seconds[-1] / read)
        del found
    assert live is not None
    report |= {
        "snapshot_mb": round(file.stat().st_size / 1e6, 1),
        "hydration_wall_s": round(float(np.median(seconds)), 3),
        "hydration / reading the bytes": round(float(np.median(ratios)), 2),
        "rss_mb_of_the_memory": round((_rss() - before) / 1e6, 1),
    }
    return live


def _compile_loops(live: LiveMemory) -> None:
    live.use_kernels(compile_kernels())
    for _ in live.graph.shadow_slices():
        pass


def _recall(live: LiveMemory, mind: Synthetic, asked: Sequence[SyntheticCue]) -> dict[str, object]:
    bare = LiveMemory(DIMENSIONS, lambda: _RECALL)
    bare.graph = live.graph
    count = len(mind.packed.ids)
    vectors = live.graph.vectors[:count]
    everything = np.concatenate([vectors, live.turns.vectors[slice(0, live.turns.size)]])
    context = RecallContext(now=NOW, limit=_LIMIT)
    matvec, wide, no_words, whole = Times(), Times(), Times(), Times()
    edges: list[int] = []
    for place, cue in enumerate([*asked[:_WARM_UPS], *asked]):
        if place == _WARM_UPS:
            matvec, wide, no_words, whole, edges = Times(), Times(), Times(), Times(), []
        matvec.of(lambda cue=cue: vectors @ cue.vector)  # type: ignore[misc]
        wide.of(lambda cue=cue: everything @ cue.vector)  # type: ignore[misc]
        no_words.of(lambda cue=cue: bare.recall(cue.text, cue.vector, context))  # type: ignore[misc]
        whole.of(lambda cue=cue, edges=edges: edges.append(live.recall(cue.text, cue.vector, context).edges_touched))  # type: ignore[misc]
    slow = np.argsort(whole.seconds)[-max(1, len(edges) // 20) :]
    again = Times()
    for place in slow.tolist():
        again.of(lambda cue=asked[place]: live.recall(cue.text, cue.vector, context))  # type: ignore[misc]
    return {
        "matvec_ms": round(matvec.ms(), 3),
        "matvec_all_vectors_ms": round(wide.ms(), 3),
        "recall_no_words_ms": round(no_words.ms(), 3),
        "recall_ms": round(whole.ms(), 3),
        "recall without words / matvec": round(no_words.ms() / matvec.ms(), 2),
        "recall / matvec": round(whole.ms() / matvec.ms(), 2),
        "recall / matvec over all vectors": round(whole.ms() / wide.ms(), 2),
        "recall_no_words_p99_ms": round(no_words.ms(99), 3),
        "recall_p99_ms": round(whole.ms(99), 3),
        "matvec_p99_ms": round(matvec.ms(99), 3),
        "edges_touched_p50": int(np.median(edges)),
        "edges_touched_p99": int(np.percentile(edges, 99)),
        "the slowest twentieth / median": round(1000 * float(np.median(np.array(whole.seconds)[slow])) / whole.ms(), 2),
        "the same cues once more / median": round(again.ms() / whole.ms(), 2),
        "edges_touched_by_the_slowest_twentieth": int(np.median(np.array(edges)[slow])),
    }


def _first_token(live: LiveMemory, asked: Sequence[SyntheticCue]) -> dict[str, object]:
    """Measure embedding a cue with the default embedder and recalling: what a turn adds before the model starts."""
    try:
        files = find_weights("all-minilm-l6-v2")
    except ReveriesError:
        return {"before_the_first_token_wall_ms": "no embedding model here"}
    embedder = OnnxEmbedder(files / "model.onnx", files / "tokenizer.json")
    context = RecallContext(now=NOW, limit=_LIMIT)
    times, worked = [], []
    with asyncio.Runner() as runner:
        runner.run(embedder.embed(["warm"]))
        for cue in asked:
            began, began_work = time.perf_counter(), time.process_time()
            vector = runner.run(embedder.embed([cue.text]))[0]
            live.recall(cue.text, vector, context)
            times.append(time.perf_counter() - began)
            worked.append(time.process_time() - began_work)
        runner.run(embedder.aclose())
    return {
        "before_the_first_token_cpu_ms": round(1000 * float(np.median(worked)), 1),
        "before_the_first_token_cpu_p95_ms": round(1000 * float(np.percentile(worked, 95)), 1),
        "before_the_first_token_wall_ms": round(1000 * float(np.median(times)), 1),
        "before_the_first_token_wall_p95_ms": round(1000 * float(np.percentile(times, 95)), 1),
    }


def _wordless(mind: Synthetic, count: int) -> list[SyntheticCue]:
    return [SyntheticCue("", vector, 0) for vector in cues(mind, count)]


def _spreading(live: LiveMemory, mind: Synthetic, peer_cues: int) -> dict[str, object]:
    """Our spreading, and PageRank from the same seeds over the same links."""
    settings = load_settings(None).recall
    graph, ours, theirs = live.graph, Times(), Times()
    starts = []
    for cue in cues(mind, 200):
        seeds = nearest_seeds(graph, cue, settings.seeds)
        starts.append({seed.index: seed_energy(seed, graph.at(seed.index), NOW) for seed in seeds})
    for start in starts:
        ours.of(lambda start=start: graph.field.spread(start, graph.size, settings.max_hops, settings.decay_per_hop))  # type: ignore[misc]
        graph.field.clear()
    report: dict[str, object] = {
        "spreading_ms": round(ours.ms(), 4),
        "spreading_p99_ms": round(ours.ms(99), 4),
    }
    if not peer_cues:
        return report
    import igraph

    links = mind.packed.links
    degrees = links.nodes[:, 1]
    sources = np.repeat(np.arange(len(degrees)), degrees)
    slots = np.concatenate([np.arange(first, first + many) for first, many in links.nodes[:, :2].tolist()])
    peer = igraph.Graph(n=len(degrees), edges=np.stack([sources, links.targets[slots]], axis=1), directed=True)
    weights = links.strengths[slots].astype(float).tolist()
    for start in starts[:peer_cues]:
        reset = np.zeros(len(degrees))
        reset[list(start)] = list(start.values())
        named = reset.tolist()
        theirs.of(lambda named=named: peer.personalized_pagerank(reset=named, weights=weights))  # type: ignore[misc]
    report["igraph_pagerank_ms"] = round(theirs.ms(), 2)
    report["igraph PageRank / spreading"] = round(theirs.ms() / ours.ms())
    return report


def _adding(live: LiveMemory, report: Mapping[str, object]) -> dict[str, object]:
    """An episode with its vector and twelve links, both ways."""
    count, times = len(live.graph), Times()
    for place in range(count, count + _ADDED):
        episode = episode_at(place)
        changes = ChangeSet(
            episodes=(episode,),
            vectors=((episode.id, live.graph.vectors[place % count].copy()),),
            links=new_links(place, _LINKS, count),
        )
        times.of(lambda changes=changes: live.graph.apply(changes))  # type: ignore[misc]
    return {
        "add_episode_us": round(1000 * times.ms(), 1),
        "add_episode_p99_us": round(1000 * times.ms(99), 1),
        "recall / adding an episode": round(float(str(report["recall_ms"])) / times.ms()),
        "recall without words / adding an episode": round(float(str(report["recall_no_words_ms"])) / times.ms()),
    }


def _mem0(python: Path, talk: Talk, asked: Sequence[SyntheticCue], report: Mapping[str, object]) -> dict[str, object]:
    """Measure mem0 with the same turns and cues, in a separate process."""
    entries = list(talk.turns(0, talk.count))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.json").write_text(json.dumps([entry.turn.text for entry in entries]), encoding="utf-8")
        (folder / "cues.json").write_text(json.dumps([cue.text for cue in asked]), encoding="utf-8")
        np.save(folder / "vectors.npy", np.stack([entry.vector for entry in entries]))
        np.save(folder / "cue_vectors.npy", np.stack([cue.vector for cue in asked]))
        command = [str(python), str(Path(__file__).parent / "mem0_peer.py"), name]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    took: dict[str, float] = json.loads(answer.splitlines()[-1])
    return {
        "mem0_search_ms": took["search_ms"],
        "mem0_add_ms": took["add_ms"],
        "mem0's search / recall": round(took["search_ms"] / float(str(report["recall_ms"])), 1),
    }


def _ram(live: LiveMemory, episodes: int) -> dict[str, object]:
    """Return the bytes of arrays in use, without spare capacity; ids and texts are not included."""
    graph, turns = live.graph, live.turns
    facts, arena, count = graph._facts, graph._arena, max(1, turns.size)
    links = int(arena._ledger[TOP]) * 9 + 16 * episodes
    columns = [value for value in vars(facts).values() if isinstance(value, np.ndarray)]
    spread = 8 + 8 + 4 + 4 + 4
    words, near = turns.words._packed, turns.static_features.neighbours
    held = (words.rows, words.counts, words.terms, words.ends, words.term_ends)
    rows = (turns._live, turns._previous, turns._next, turns._window_lengths, turns._marks, turns._surface)
    worked_out = (near.previous, near.next, near.second_previous, near.second_next, turns.static_features.norms.row)
    turn_bytes = sum(part.nbytes for part in (*held, *worked_out, turns.static_features.norms.window))
    turn_bytes += sum(part.itemsize * count for part in rows) + count * (DIMENSIONS + 4)
    return {
        "bytes_per_episode_float32": 4 * DIMENSIONS,
        "bytes_per_episode_links": round(links / episodes),
        "bytes_per_episode_facts_and_energy": sum(column.itemsize for column in columns) + spread,
        "RAM per episode, kB": round(
            (4 * DIMENSIONS + links / episodes + sum(c.itemsize for c in columns) + spread) / 1000, 3
        ),
        "RAM per episode for int8, kB": round((DIMENSIONS + 16) / 1000, 3),
        "RAM per turn, kB": round(turn_bytes / count / 1000, 3) if turns.size else 0.0,
    }


def _with_hubs(chosen: argparse.Namespace) -> dict[str, object]:
    """Measure recall by vector over a graph with hubs; cues are near nodes linked to one."""
    mind = make_mind(chosen.episodes, hubs=True)
    live = LiveMemory(DIMENSIONS, lambda: _RECALL)
    live.graph.load_packed(mind.packed)
    _compile_loops(live)
    vectors, context = live.graph.vectors, RecallContext(now=NOW, limit=_LIMIT)
    matvec, recall, edges = Times(), Times(), []
    for cue in cues(mind, chosen.cues):
        matvec.of(lambda cue=cue: vectors @ cue)  # type: ignore[misc]
        recall.of(lambda cue=cue: edges.append(live.recall("", cue, context).edges_touched))  # type: ignore[misc]
    return {
        "hubs: recall_no_words_ms": round(recall.ms(), 3),
        "hubs: recall_no_words_p99_ms": round(recall.ms(99), 3),
        "hubs: recall without words / matvec": round(recall.ms() / matvec.ms(), 2),
        "hubs: edges_touched_p50": int(np.median(edges)),
        "hubs: edges_touched_p99": int(np.percentile(edges, 99)),
    }


def _read_bytes(file: Path) -> None:
    raw = np.empty(file.stat().st_size, dtype=np.uint8)
    with file.open("rb", buffering=0) as opened:
        done = 0
        while got := opened.readinto(raw.data[done:]):
            done += got


def _wall(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
