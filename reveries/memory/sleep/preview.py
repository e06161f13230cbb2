"""Dry run of deep sleep: asks the model about the waiting experiences and shows what would change. Changes nothing.

The changes are applied to copies of the episodes that could be affected, so that each experience sees those before it.
A later real pass may differ, because it asks the model again.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Vector, Vectors
from reveries.llm.structured import AnswerRecorder
from reveries.llm.tier import Tier
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import SpeakerNames
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, SelfModel
from reveries.memory.sleep.consolidation import MAX_ATTEMPTS, SELF_LINE, load_waiting_notes
from reveries.memory.sleep.linking import nearest_episodes
from reveries.memory.sleep.model_answers import (
    Interpretation,
    decide_changes,
    decide_self_change,
    interpret_reading,
    run_unless_stopped,
)
from reveries.memory.sleep.owner_questions import merge_allowance
from reveries.memory.sleep.pass_log import build_diff
from reveries.memory.sleep.pass_records import build_pass_record
from reveries.memory.sleep.questions import Asker
from reveries.memory.sleep.reading import ExperiencePart, Reading, WaitingExperiences
from reveries.memory.sleep.upkeep import Upkeep
from reveries.memory.store import MemoryStore, find_live_episode
from reveries.protocol import SleepChange, SleepPreview
from reveries.safe_text import one_line

_NEAR_COUNT = 24


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
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> SleepPreview:
        """Process at most `limit` experiences, the most salient first. Setting `stop` ends it at once. Raises
        ModelError if the model cannot be used at all."""
        began = self._clock.monotonic()
        dry = _DryPass(DryRunMemory(self._store.live), merge_allowance(self._store.live.graph, self._settings()))
        count = await self._count_waiting()
        total = count if limit is None else min(limit, count)
        waiting = WaitingExperiences(self._store, MAX_ATTEMPTS, with_held=True, limit=limit)
        while not (stop is not None and stop.is_set()):
            reading = await waiting.next(tier(), model.context_tokens)
            if reading is None:
                break
            try:
                interpretation = await run_unless_stopped(stop, self._interpret(model, reading, dry))
            except ModelAnswerError as error:
                dry.note_fallbacks(reading.parts, str(error))
                continue
            if interpretation is None:
                waiting.put_back()
                break
            await self._apply(dry, interpretation)
            if progress is not None:
                progress(waiting.read_count, total)
        diffs = [*dry.diffs, *await Upkeep(self._store, self._settings(), self._clock.now(), stop=stop).preview()]
        is_stopped = stop is not None and stop.is_set()
        left, seconds = count - waiting.read_count, self._clock.monotonic() - began
        would_ask = dry.spent > dry.allowance
        return SleepPreview(0, diffs, dry.fallbacks, left, would_ask, is_stopped, seconds)

    async def _interpret(self, model: ChatModel, reading: Reading, dry: "_DryPass") -> Interpretation:
        names = self._names()
        notes = await load_waiting_notes(self._store.database)
        least_salience = self._settings().self_model_salience
        asker = Asker(names.owner, names.mind, dry.sketch.self_model, self._clock.now(), notes, least_salience)
        graph = self._store.live.graph
        return await interpret_reading(model, asker, reading, graph, self._settings(), self._answers)

    async def _apply(self, dry: "_DryPass", interpretation: Interpretation) -> None:
        """Decide as a real pass does, and apply the changes to the copies."""
        now = self._clock.now()
        dry.diffs += [dry.sketch.apply_changes("", ChangeSet(), line) for line in interpretation.self_lines]
        if (change := decide_self_change(dry.sketch.self_model, interpretation, now)) is not None:
            dry.diffs.append(dry.sketch.apply_changes("", ChangeSet(self_model=change), SELF_LINE))
        for part in interpretation.parts:
            async with self._store.embedding_lock:
                vector = (await self._store.embed_or_none([part.abstraction.summary]))[0]
                first = part.experiences[0].id
                lives_in = await find_live_episode(self._store.database, self._store.live, first)
                home = dry.sketch.home_of(first, lives_in, vector)
                if home is None:
                    continue
                foreign_left = dry.allowance - dry.foreign_spent
                decision = decide_changes(
                    dry.sketch, home, part, vector, self._settings(), now, foreign_left=foreign_left
                )
                dry.spent += decision.cost
                dry.foreign_spent += decision.foreign_cost
                dry.diffs.append(dry.sketch.apply_changes(first, decision.changes, decision.line))
        dry.note_fallbacks(interpretation.missing, "The answer left it out.")

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

    def apply_changes(self, experience_id: str, changes: ChangeSet, line: str) -> SleepChange:
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


@dataclass(slots=True)
class _DryPass:
    """The state of a dry run."""

    sketch: DryRunMemory
    allowance: float
    diffs: list[SleepChange] = field(default_factory=list)
    spent: int = 0
    foreign_spent: int = 0
    fallbacks: int = 0

    def note_fallbacks(self, parts: Sequence[ExperiencePart], reason: str) -> None:
        """Note that these parts have no usable answer."""
        for experience in (experience for part in parts for experience in part.experiences):
            line = f"No usable answer about \u201c{one_line(experience.content, 60)}\u201d. {reason}"
            self.diffs.append(SleepChange(experience.id, line))
            self.fallbacks += 1
