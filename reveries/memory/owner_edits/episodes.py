"""The owner's edits of single episodes: pin, unpin, salience, correct. One that is only on disk is woken first.

A correction overwrites nothing: the owner's new words rank over the earlier ones, which are marked as replaced, as with
any fact that was renewed. It is a light pass of its own, so it is undone like one; the new words leave memory then."""

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
from reveries.memory.deep_recall import DeepRecall, episode_on_disk
from reveries.memory.importing import ImportUnderWay, IsErased, PastTurn
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Turn
from reveries.memory.rows import storable
from reveries.memory.sleep.light_sleep import LightSleep
from reveries.memory.sleep.pass_log import CORRECTION
from reveries.memory.store import MemoryStore, pins
from reveries.memory.views.episodes import find_episode
from reveries.safe_text import one_line


@dataclass(frozen=True, slots=True)
class EditedEpisode:
    """An episode as the owner left it."""

    episode: Episode
    is_pinned: bool


class EpisodeEdits:
    """Each change is one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._deep = DeepRecall(store, clock)

    async def pin(self, id_or_prefix: str) -> EditedEpisode:
        """From now on time leaves it alone: it keeps its salience, is fully within reach and never goes dormant. Raises
        NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(transaction: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            await transaction.run("pins.put", {"episode_id": name, "now": self._clock.now()})
            return ChangeSet(fadings=(Fading(name, episode.salience, 1.0, self._clock.now()),))

        await self._store.commit(work)
        return await self._held(name)

    async def unpin(self, id_or_prefix: str) -> EditedEpisode:
        """It fades like any other, from now on and not for the time that it was pinned. Raises NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(transaction: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            held_by = [pinned for pinned, home in (await pins(transaction)).items() if home == name]
            await transaction.run_many("pins.drop", [{"episode_id": pinned} for pinned in held_by])
            return ChangeSet(fadings=(Fading(name, episode.salience, episode.accessibility, self._clock.now()),))

        await self._store.commit(work)
        return await self._held(name)

    async def set_salience(self, id_or_prefix: str, salience: float) -> EditedEpisode:
        """It matters so much, 0 to 1, until recall and time say otherwise. Raises NotFoundError."""
        name = (await self.live_episode(id_or_prefix)).id

        async def work(_: Transaction) -> ChangeSet:
            episode = _live_episode(self._store.live, name)
            return ChangeSet(fadings=(Fading(name, salience, episode.accessibility, self._clock.now()),))

        await self._store.commit(work)
        return await self._held(name)

    async def is_pinned(self, episode_id: str) -> bool:
        """Whether a pin holds this episode."""
        return episode_id in (await pins(self._store.database)).values()

    async def live_episode(self, id_or_prefix: str) -> Episode:
        """The episode, brought back into memory if it was only on disk. Raises NotFoundError."""
        try:
            return find_episode(self._store.live, id_or_prefix)
        except NotFoundError:
            if (dormant := await episode_on_disk(self._store, id_or_prefix)) is None:
                raise
        await self._deep.wake_episodes([dormant.id], "owner")
        return find_episode(self._store.live, dormant.id)

    async def _held(self, name: str) -> EditedEpisode:
        return EditedEpisode(_live_episode(self._store.live, name), await self.is_pinned(name))


def _live_episode(live: LiveMemory, name: str) -> Episode:
    """As it stands within the write. Raises NotFoundError when sleep merged it away meanwhile."""
    if (episode := live.graph.get(name)) is None:
        raise NotFoundError(f"There is no episode {name} any more.", advice="Find it: reveries memory search WORDS")
    return episode


REMEMBERED = "remembered"
"""The conversation of what the owner had it remember."""
_REASON = "The owner corrected it."
_QUOTE_CHARS = 400
_FOUND_BY = "pattern"
"""The file knows two who find claims; the owner's own word is as certain as a pattern, and needs no model."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a correction came to."""

    run_id: str
    """The pass to take back."""
    episode_id: str
    new_episode_id: str
    replaced: tuple[Turn, ...]
    """What ranks under the new words from now on."""


class Corrections:
    """Takes one at a time."""

    def __init__(
        self,
        store: MemoryStore,
        light_sleep: LightSleep,
        names: SpeakerNames,
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
        self._hand = EpisodeEdits(store, clock)
        self._deep = DeepRecall(store, clock)

    async def correct(self, id_or_prefix: str, text: str, vector: Vector) -> Corrected:
        """Let `text` (its vector: `vector`) stand in the place of what an episode says. Raises NotFoundError and
        UsageError."""
        episode = await self._hand.live_episode(id_or_prefix)
        if not self._store.live.turns.turns_of(episode.id):
            # Its words were put away: what is replaced must be here to be ranked under something.
            await self._deep.wake_episodes([episode.id], "owner")
        replaced = self._concerned_turns(episode, vector)
        if not replaced:
            raise UsageError(
                "This episode has no words of its own that could be corrected.",
                advice="Tell the mind what holds: reveries remember TEXT",
            )
        # What waits goes first: the correction's own pass is to be of nothing else.
        await self._light_sleep.run()
        line = PastTurn(self._clock.now(), self._names.owner, text)
        await ImportUnderWay(self._store, self._names, REMEMBERED, self._new_id, self._is_erased).add([line])
        formed: list[str] = []

        def beside(changes: ChangeSet) -> ChangeSet:
            indexed = next((entry for entry in changes.indexed if _is(entry.turn, line)), None)
            if indexed is None:
                return changes
            formed.append(indexed.episode_id)
            return _with_superseded(changes, indexed.turn, replaced, self._clock.now())

        run_id = await self._light_sleep.run_for_turn(lambda turn: _is(turn, line), CORRECTION, beside)
        if not formed:
            raise UsageError(
                "It was told just that already, or had to forget it.", advice="See: reveries consolidate log"
            )
        return Corrected(run_id, episode.id, formed[0], replaced)

    def _concerned_turns(self, episode: Episode, vector: Vector) -> tuple[Turn, ...]:
        """The exchange in it that is nearest to the correction: the words, and the answer to them."""
        live = self._store.live
        turns = live.turns.turns_of(episode.id)
        if not turns:
            return ()
        cosines = live.turn_vectors_of(episode.id) @ vector if vector.size == live.dimensions else np.zeros(len(turns))
        nearest = turns[int(np.argmax(cosines))]
        return tuple(turn for turn in turns if turn.experience_id and turn.experience_id == nearest.experience_id)


def _is(turn: Turn, line: PastTurn) -> bool:
    return turn.said_at == line.said_at and turn.text == storable(line.text) and turn.speaker == line.speaker


def _with_superseded(changes: ChangeSet, new: Turn, replaced: tuple[Turn, ...], now: float) -> ChangeSet:
    """`changes` with the owner's word that `new` holds and `replaced` does not. What a pattern found between the two is
    settled by it."""
    olds = {turn.id for turn in replaced}
    settled = tuple(
        replace(one, kind=UPDATE, reason=_REASON)
        if one.kind == CONTRADICTION and one.earlier.turn_id in olds and one.later.turn_id == new.id
        else one
        for one in changes.conflicts
    )
    later = _claim(new, new)
    pairs = [(_claim(old, new), later) for old in replaced]
    return replace(
        changes,
        claims=(*changes.claims, later, *(earlier for earlier, _ in pairs)),
        conflicts=(
            *settled,
            *(Conflict(conflict_id(earlier, later), earlier, later, UPDATE, _REASON, now) for earlier, later in pairs),
        ),
    )


def _claim(turn: Turn, by: Turn) -> Claim:
    """What `turn` says as a claim, in the matter of the correction `by`: nothing else is ever about the same."""
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
