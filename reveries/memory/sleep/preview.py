"""Dry run of deep sleep: asks the model about the waiting experiences and shows what would change. Changes nothing.

The changes are applied to copies of the episodes that could be affected, so that each experience sees those before it.
A later real pass may differ, because it asks the model again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Vector, Vectors
from reveries.llm.structured import AnswerRecorder
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import SpeakerNames
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Experience, SelfModel
from reveries.memory.sleep.consolidation import MAX_ATTEMPTS
from reveries.memory.sleep.linking import nearest_episodes, possible_causes
from reveries.memory.sleep.model_answers import decide_changes, interpret_experience, run_unless_stopped
from reveries.memory.sleep.owner_questions import merge_allowance
from reveries.memory.sleep.pass_log import ChangeDiff, build_diff
from reveries.memory.sleep.pass_records import build_pass_record
from reveries.memory.sleep.questions import Asker
from reveries.memory.sleep.upkeep import Upkeep
from reveries.memory.store import MemoryStore, find_live_episode
from reveries.safe_text import one_line

_NEAR_COUNT = 24


@dataclass(frozen=True, slots=True)
class Preview:
    """What a pass would do now."""

    changes: tuple[ChangeDiff, ...]
    fallbacks: int
    """Experiences with an unusable answer."""
    left: int
    """Experiences that were not processed."""
    would_ask: bool
    """It would merge away more than it may without asking the owner."""
    was_interrupted: bool
    seconds: float


class DryRun:
    """Asks and decides as deep sleep does, but writes nothing."""

    def __init__(
        self,
        store: MemoryStore,
        names: Callable[[], SpeakerNames],
        settings: Callable[[], MemorySettings],
        clock: Clock,
        answers: AnswerRecorder | None = None,
    ) -> None:
        self._store = store
        self._names = names
        self._settings = settings
        self._clock = clock
        self._answers = answers

    async def run(
        self,
        model: ChatModel,
        *,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> Preview:
        """Process at most `limit` experiences, the most salient first. Setting `stop` ends it at once. Raises
        ModelError if the model cannot be used at all."""
        began = self._clock.monotonic()
        sketch = DryRunMemory(self._store.live)
        allowance = merge_allowance(self._store.live.graph, self._settings())
        waiting = await self._count_waiting()
        total = waiting if limit is None else min(limit, waiting)
        seen: list[str] = []
        diffs: list[ChangeDiff] = []
        spent = foreign_spent = fallbacks = 0
        while len(seen) < total and not (stop is not None and stop.is_set()):
            experience, turns = await self._store.next_unprocessed(MAX_ATTEMPTS, seen)
            if experience is None:
                break
            seen.append(experience.id)
            try:
                names = self._names()
                asker = Asker(names.owner, names.mind, sketch.self_model, self._clock.now())
                lives_in = await find_live_episode(self._store.database, self._store.live, experience.id)
                earlier = possible_causes(self._store.live.graph, lives_in) if lives_in is not None else ()
                asking = interpret_experience(model, asker, experience, turns, earlier, self._settings(), self._answers)
                understood = await run_unless_stopped(stop, asking)
            except ModelAnswerError as error:
                diffs.append(_fallback_diff(experience, error))
                fallbacks += 1
                continue
            if understood is None:
                seen.pop()
                break
            async with self._store.embedding_lock:
                vector = (await self._store.embed_or_none([understood.abstraction.summary]))[0]
                home = sketch.home_of(experience.id, lives_in, vector)
                if home is not None:
                    now, foreign_left = self._clock.now(), allowance - foreign_spent
                    decision = decide_changes(
                        sketch, home, understood, vector, self._settings(), now, foreign_left=foreign_left
                    )
                    spent += decision.cost
                    foreign_spent += decision.foreign_cost
                    diffs.append(sketch.apply_changes(experience.id, decision.changes, decision.line))
            if progress is not None:
                progress(len(seen), total)
        diffs += await Upkeep(self._store, self._settings(), self._clock.now(), stop=stop).preview()
        is_stopped = stop is not None and stop.is_set()
        seconds = self._clock.monotonic() - began
        return Preview(tuple(diffs), fallbacks, waiting - len(seen), spent > allowance, is_stopped, seconds)

    async def _count_waiting(self) -> int:
        named = {"max_attempts": MAX_ATTEMPTS, "with_held": 1, "most": -1}
        return int((await self._store.database.rows("experiences.count_unprocessed", named))[0]["unprocessed"])


class DryRunMemory:
    """Copies of the live episodes that could be affected, with the links between them."""

    def __init__(self, live: LiveMemory) -> None:
        self._live = live
        self.graph = MemoryGraph(live.graph.dimensions)
        self.self_model: SelfModel = live.self_model
        self.claims = live.claims
        self._known: set[str] = set()
        self._merged_into: dict[str, str] = {}

    def home_of(self, experience_id: str, lives_in: Episode | None, near: Vector) -> Episode | None:
        """Return the dry run's state of the episode that holds an experience (`lives_in` in the live memory), after
        copying the episodes near it and near `near`."""
        home = next((e for e in self.graph.episodes() if experience_id in e.experience_ids), None)
        home = home or lives_in
        if home is None:
            return None
        around = [home.id, *home.before, *home.after]
        if home.id in self._live.graph:
            around += [link.target_id for link in self._live.graph.links_of(home.id)]
            around += [link.source_id for link in self._live.graph.links_into(home.id)]
            mixed = self._live.graph.vector_of(home.id) + near
            around += [e.id for e, _ in nearest_episodes(self._live.graph, mixed, _NEAR_COUNT, -1.0)]
        self._copy_episodes(around)
        return self.graph.get(home.id)

    def turn_vectors_of(self, episode_id: str) -> Vectors:
        """Return the vectors of the turns that would belong to an episode by now."""
        names = [episode_id, *(gone for gone, into in self._merged_into.items() if into == episode_id)]
        return np.vstack([self._live.turn_vectors_of(name) for name in names])

    def apply_changes(self, experience_id: str, changes: ChangeSet, line: str) -> ChangeDiff:
        """Apply `changes` to the copies and return their diff."""
        diff = build_diff(experience_id, line, build_pass_record(changes, self.graph.state_before(changes)))
        self.graph.apply(changes)
        if changes.self_model is not None:
            self.self_model = changes.self_model.after
        for gone in changes.retired:
            earlier = [name for name, into in self._merged_into.items() if into == gone.episode_id]
            self._merged_into |= dict.fromkeys(earlier, gone.merged_into)
            self._merged_into[gone.episode_id] = gone.merged_into
        return diff

    def _copy_episodes(self, names: list[str]) -> None:
        live = self._live.graph
        new = [name for name in dict.fromkeys(names) if name not in self._known and name in live]
        self._known |= set(new)
        episodes = [episode for name in new if (episode := live.get(name)) is not None]
        links = [link for name in new for link in (*live.links_of(name), *live.links_into(name))]
        self.graph.apply(
            ChangeSet(
                episodes=tuple(episodes),
                vectors=tuple((episode.id, live.vector_of(episode.id)) for episode in episodes),
                links=tuple(links),
            )
        )


def _fallback_diff(experience: Experience, error: ModelAnswerError) -> ChangeDiff:
    line = f"No usable answer about \u201c{one_line(experience.content, 60)}\u201d. {error}"
    return ChangeDiff(experience.id, line, (), (), 0, ())
