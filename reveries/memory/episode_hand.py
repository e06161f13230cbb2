"""The owner's hand on single episodes: pin, unpin, salience. One that is only on disk is brought back first."""

from dataclasses import dataclass

from reveries.clock import Clock
from reveries.db.database import Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet, Fading
from reveries.memory.live import LiveMemory
from reveries.memory.looking.views import find_episode
from reveries.memory.model import Episode
from reveries.memory.pins import pins
from reveries.memory.recall.deep_recall import DeepRecall, episode_on_disk
from reveries.memory.store import MemoryStore


@dataclass(frozen=True, slots=True)
class EditedEpisode:
    """An episode as the owner left it."""

    episode: Episode
    is_pinned: bool


class EpisodeHand:
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

    async def weigh(self, id_or_prefix: str, salience: float) -> EditedEpisode:
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
        await self._deep.wake([dormant.id], "owner")
        return find_episode(self._store.live, dormant.id)

    async def _held(self, name: str) -> EditedEpisode:
        return EditedEpisode(_live_episode(self._store.live, name), await self.is_pinned(name))


def _live_episode(live: LiveMemory, name: str) -> Episode:
    """As it stands within the write. Raises NotFoundError when sleep merged it away meanwhile."""
    if (episode := live.graph.get(name)) is None:
        raise NotFoundError(f"There is no episode {name} any more.", advice="Find it: reveries memory search WORDS")
    return episode
