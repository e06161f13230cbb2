"""The owner's edits of single episodes: pin, unpin, set salience, correct. A dormant episode is woken first.

A correction overwrites nothing: the new words rank above the earlier ones, which are marked as replaced like any
superseded fact. A correction is a separate light pass and is undone like one; the new words then leave memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reveries.clock import Clock
from reveries.db.database import Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, Fading
from reveries.memory.claims import CONTRADICTION, UPDATE, Claim, Conflict, conflict_id
from reveries.memory.conversations import SpeakerNames
from reveries.memory.deep_recall import DeepRecall, find_dormant_episode
from reveries.memory.importing import ImportSession, IsErased, PastTurn
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Turn
from reveries.memory.rows import make_storable
from reveries.memory.sleep.light_sleep import LightSleep
from reveries.memory.sleep.pass_log import CORRECTION
from reveries.memory.store import MemoryStore, load_pins
from reveries.memory.views.episodes import find_episode
from reveries.safe_text import one_line


@dataclass(frozen=True, slots=True)
class EditedEpisode:
    """An episode after an edit."""

    episode: Episode
    is_pinned: bool


class EpisodeEdits:
    """Pins, unpins and sets the salience of episodes. Each edit is one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._deep = DeepRecall(store, clock)

    async def pin(self, id_or_prefix: str) -> EditedEpisode:
        """Pin an episode: it keeps its salience, becomes fully accessible and never goes dormant. Raises
        NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(transaction: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            await transaction.run("pins.put", {"episode_id": name, "now": self._clock.now()})
            return ChangeSet(fadings=(Fading(name, episode.salience, 1.0, self._clock.now()),))

        await self._store.commit(work)
        return await self._edited_episode(name)

    async def unpin(self, id_or_prefix: str) -> EditedEpisode:
        """Unpin an episode: it fades like any other from now on, not for the time it was pinned. Raises
        NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(transaction: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            pins = [pinned for pinned, home in (await load_pins(transaction)).items() if home == name]
            await transaction.run_many("pins.drop", [{"episode_id": pinned} for pinned in pins])
            return ChangeSet(fadings=(Fading(name, episode.salience, episode.accessibility, self._clock.now()),))

        await self._store.commit(work)
        return await self._edited_episode(name)

    async def set_salience(self, id_or_prefix: str, salience: float) -> EditedEpisode:
        """Set the salience, 0 to 1; recall and decay change it from there. Raises NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(_: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            return ChangeSet(fadings=(Fading(name, salience, episode.accessibility, self._clock.now()),))

        await self._store.commit(work)
        return await self._edited_episode(name)

    async def is_pinned(self, episode_id: str) -> bool:
        """Whether this episode is pinned."""
        return episode_id in (await load_pins(self._store.database)).values()

    async def live_episode(self, id_or_prefix: str) -> Episode:
        """Find an episode by id or unique prefix, and wake it if it is dormant. Raises NotFoundError."""
        try:
            return find_episode(self._store.live, id_or_prefix)
        except NotFoundError:
            if (dormant := await find_dormant_episode(self._store, id_or_prefix)) is None:
                raise
        await self._deep.wake_episodes([dormant.id], "owner")
        return find_episode(self._store.live, dormant.id)

    async def _edited_episode(self, name: str) -> EditedEpisode:
        return EditedEpisode(_live_episode(self._store.live, name), await self.is_pinned(name))


def _live_episode(live: LiveMemory, name: str) -> Episode:
    """The current state within the write. Raises NotFoundError if sleep has merged the episode meanwhile."""
    if (episode := live.graph.get(name)) is None:
        raise NotFoundError(f"There is no episode {name} any more.", advice="Find it: reveries memory search WORDS")
    return episode


REMEMBERED = "remembered"
"""Source of the conversation that holds texts the owner asked to remember."""
_REASON = "The owner corrected it."
_QUOTE_CHARS = 400
_FOUND_BY = "pattern"
"""`Claim.found_by` allows two values; the owner's word is as certain as a pattern, and needs no model."""


@dataclass(frozen=True, slots=True)
class Correction:
    """Result of a correction."""

    run_id: str
    """The pass to undo."""
    episode_id: str
    new_episode_id: str
    replaced: tuple[Turn, ...]
    """The turns that rank below the new words from now on."""


class Corrections:
    """Stores the owner's corrections of episodes."""

    def __init__(
        self,
        store: MemoryStore,
        light_sleep: LightSleep,
        names: Callable[[], SpeakerNames],
        clock: Clock,
        new_id: Callable[[], str],
        is_erased: IsErased,
    ) -> None:
        self._store = store
        self._light_sleep = light_sleep
        self._names = names
        self._clock = clock
        self._new_id = new_id
        self._is_erased = is_erased
        self._edits = EpisodeEdits(store, clock)
        self._deep = DeepRecall(store, clock)

    async def correct(self, id_or_prefix: str, text: str, vector: Vector) -> Correction:
        """Let `text` (its vector: `vector`) replace what an episode says. Raises NotFoundError, UsageError."""
        episode = await self._edits.live_episode(id_or_prefix)
        if not self._store.live.turns.turns_of(episode.id):
            # Its turns are only on disk: they must be live to be ranked below the correction.
            await self._deep.wake_episodes([episode.id], "owner")
        replaced = self._concerned_turns(episode, vector)
        if not replaced:
            raise UsageError(
                "This episode has no words that could be corrected.",
                advice="Add the right fact instead: reveries remember TEXT",
            )
        # New experiences are processed first, so that the correction's pass contains nothing else.
        await self._light_sleep.run()
        line = PastTurn(self._clock.now(), self._names().owner, text)
        await ImportSession(self._store, self._names(), REMEMBERED, self._new_id, self._is_erased).add([line])
        new_episode_ids: list[str] = []

        def supersede(changes: ChangeSet) -> ChangeSet:
            indexed = next((entry for entry in changes.indexed if _is_turn_of_line(entry.turn, line)), None)
            if indexed is None:
                return changes
            new_episode_ids.append(indexed.episode_id)
            return _with_superseded(changes, indexed.turn, replaced, self._clock.now())

        run_id = await self._light_sleep.run_for_turn(lambda turn: _is_turn_of_line(turn, line), CORRECTION, supersede)
        if not new_episode_ids:
            raise UsageError(
                "These words are already in memory, or were erased.", advice="See: reveries consolidate log"
            )
        return Correction(run_id, episode.id, new_episode_ids[0], replaced)

    def _concerned_turns(self, episode: Episode, vector: Vector) -> tuple[Turn, ...]:
        """The turns of the episode's exchange that is nearest to the correction."""
        live = self._store.live
        turns = live.turns.turns_of(episode.id)
        if not turns:
            return ()
        cosines = live.turn_vectors_of(episode.id) @ vector if vector.size == live.dimensions else np.zeros(len(turns))
        nearest = turns[int(np.argmax(cosines))]
        return tuple(turn for turn in turns if turn.experience_id and turn.experience_id == nearest.experience_id)


def _is_turn_of_line(turn: Turn, line: PastTurn) -> bool:
    return turn.said_at == line.said_at and turn.text == make_storable(line.text) and turn.speaker == line.speaker


def _with_superseded(changes: ChangeSet, new: Turn, replaced: tuple[Turn, ...], now: float) -> ChangeSet:
    """Add claims and conflicts to `changes` by which `new` supersedes `replaced`. Contradictions that a pattern found
    between them become updates."""
    replaced_ids = {turn.id for turn in replaced}
    conflicts = tuple(
        replace(conflict, kind=UPDATE, reason=_REASON)
        if conflict.kind == CONTRADICTION
        and conflict.earlier.turn_id in replaced_ids
        and conflict.later.turn_id == new.id
        else conflict
        for conflict in changes.conflicts
    )
    later = _claim(new, new)
    pairs = [(_claim(old, new), later) for old in replaced]
    return replace(
        changes,
        claims=(*changes.claims, later, *(earlier for earlier, _ in pairs)),
        conflicts=(
            *conflicts,
            *(Conflict(conflict_id(earlier, later), earlier, later, UPDATE, _REASON, now) for earlier, later in pairs),
        ),
    )


def _claim(turn: Turn, by: Turn) -> Claim:
    """Return what `turn` says as a claim. Its key is unique to the correction `by`, so it only relates to that."""
    return Claim(
        id=f"{turn.id}~c{by.id}",
        subject=f"correction {by.id}",
        relation="says",
        value=one_line(turn.text, _QUOTE_CHARS),
        quote=one_line(turn.text, _QUOTE_CHARS),
        is_change=turn.id == by.id,
        turn_id=turn.id,
        experience_id=turn.experience_id or "",
        speaker=turn.speaker,
        said_at=turn.said_at,
        found_by=_FOUND_BY,
        origin=turn.origin,
        tainted=turn.tainted or turn.origin.is_tainted,
    )
