"""The memory as the daemon uses it: builds the parts of memory and offers what needs several of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import structlog

from reveries.clock import Clock
from reveries.config import MemorySettings, RecallSettings
from reveries.db.database import Database
from reveries.errors import DiskFullError, ModelError, NotFoundError, StorageError
from reveries.heartbeat import Pulse
from reveries.llm.base import ChatModel, Embedder, Vector
from reveries.llm.structured import AnswerRecorder
from reveries.memory.changes import ChangeSet
from reveries.memory.claims import CONTRADICTION, Conflict
from reveries.memory.conversations import ConversationStore, SpeakerNames
from reveries.memory.deep_recall import DeepFound, DeepRecall, episode_on_disk, select_dormant, should_search_disk
from reveries.memory.deep_store import DeepCounts
from reveries.memory.forgetting.forgetting import Forgetting
from reveries.memory.gaps import Gaps
from reveries.memory.importing import ImportCounts, ImportUnderWay, PastTurn
from reveries.memory.kernel_compilation import warm_up
from reveries.memory.live import LiveMemory
from reveries.memory.model import Gap, Recall, RecallContext, SelfModel, Turn
from reveries.memory.owner_edits.episodes import REMEMBERED, Corrected, Corrections, EpisodeEdits
from reveries.memory.owner_edits.self_model import SelfModelEdits
from reveries.memory.owner_edits.thoughts import ThoughtEdits
from reveries.memory.past_talk import PastTalk
from reveries.memory.reembedding import Reembedding
from reveries.memory.sleep.consolidation import DeepSleep, DeepSleepResult
from reveries.memory.sleep.light_sleep import LightSleep, LightSleepResult, SleepProgress
from reveries.memory.sleep.owner_questions import (
    Question,
    drop_question,
    find_question,
    load_open_question,
    settle_conflict,
)
from reveries.memory.sleep.pass_log import (
    RunDetail,
    RunEntry,
    end_interrupted_runs,
    recent_runs,
    run_detail,
    shorten_records,
)
from reveries.memory.sleep.preview import DryRun, Preview
from reveries.memory.sleep.undo import Undo, UndonePass
from reveries.memory.sleep.upkeep import Upkeep
from reveries.memory.store import MemoryStore, OldEmbedder
from reveries.memory.text.appraisal import infer_mood
from reveries.memory.text.indexed_text import embedding_text
from reveries.memory.views.episodes import (
    find_episode,
    refuse_merged,
    statistics,
    view_episode,
)
from reveries.memory.views.search import turns_like
from reveries.protocol import EpisodeDetail, MemoryStats

_CUE_SECONDS = 5.0
"""Longer than the embedder takes to load and to answer on a small machine; the owner waits no longer for its vector."""

DEEP_LOOK_SECONDS = 0.5
"""What a chat turn gives for a look on the disk (docs/explain/memory.md has what it takes)."""
_DEEP_SEARCH_SECONDS = 10.0
_DEEP_HITS = 10

log = structlog.get_logger("memory")

UNNAMED_OWNER = "You"
"""What the owner is called in the log when no name is configured."""

_LONGEST_SNAPSHOT_SECONDS = 60.0
_LONGEST_LAST_SNAPSHOT_SECONDS = 2.0
"""A daemon that gets a signal ends within five seconds."""


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """What a memory is made of: all of it is given in, nothing is looked up."""

    database: Database
    embedder: Embedder
    clock: Clock
    memory: MemorySettings
    recall: RecallSettings
    owner_name: str
    mind_name: str
    new_id: Callable[[], str]
    old_embedder: OldEmbedder = lambda model_id: None
    """What embeds cues for vectors of an earlier model, where it can still be had."""
    answers: AnswerRecorder | None = None
    """Who counts how well the model of deep sleep keeps to the form."""


class Memory:
    """Remembers, recalls, sleeps. `hydrate` first; `close` before the database closes."""

    def __init__(self, parts: MemoryParts) -> None:
        self._parts = parts
        names = SpeakerNames(parts.owner_name or UNNAMED_OWNER, parts.mind_name)
        self._live = LiveMemory(parts.embedder.dimensions, parts.recall)
        self._store = MemoryStore(parts.database, parts.embedder, self._live, parts.mind_name)
        self.by_words_because = ""
        """Why the last cue had no vector; empty when it had one."""
        self._deep_recall = DeepRecall(self._store, parts.clock)
        self.reembedding = Reembedding(self._store, parts.clock)
        self.new_id = parts.new_id
        """Makes the name of a row."""
        self._gaps = Gaps(parts.database, parts.new_id)
        self.light_sleep_pulse = Pulse()
        self._light_sleep = LightSleep(self._store, parts.clock, parts.new_id, parts.memory)
        self._deep_sleep = DeepSleep(self._store, names, parts.memory, parts.clock, parts.new_id, parts.answers)
        self._dry_run = DryRun(self._store, names, parts.memory, parts.clock, parts.answers)
        self.forgetting = Forgetting(self._store, parts.clock, parts.new_id)
        self._undo = Undo(self._store, parts.clock, parts.new_id)
        self.self_edits = SelfModelEdits(self._store, parts.clock)
        self.thought_edits = ThoughtEdits(self._store, parts.clock)
        self.episode_edits = EpisodeEdits(self._store, parts.clock)
        self._corrections = Corrections(
            self._store, self._light_sleep, names, parts.clock, parts.new_id, self.forgetting.refuses
        )
        self.past_talk = PastTalk(self._store)
        self.conversations = ConversationStore(self._store, self._gaps, names, parts.clock, parts.new_id)

    # --- recall ------------------------------------------------------------------------------------------------------

    @property
    def self_model(self) -> SelfModel:
        """Read at every prompt, changed only by deep sleep (R-86)."""
        return self._live.self_model

    @property
    def open_gap(self) -> Gap | None:
        """The silence that lasts; None during a conversation."""
        return self._gaps.open_gap

    def silence_before(self, turn: Turn) -> str:
        """What the silence means that these words ended, in plain words; empty when there was none of meaning."""
        gap = self._gaps.last
        return gap.significance if gap is not None and gap.ended_at == turn.said_at else ""

    @property
    def live(self) -> LiveMemory:
        """What is in memory, to be read only."""
        return self._live

    async def embed_cue(self, text: str) -> Vector:
        """The vector to recall by: of `text` without the names of those who speak, as turns are embedded.

        When the embedder fails, or takes too long, a vector that is near to nothing: recall goes by words alone then.
        """
        cue = embedding_text(text, self._live.turns.speakers | {self._parts.mind_name})
        embedder = self._store.embedder
        try:
            async with asyncio.timeout(_CUE_SECONDS):
                vector: Vector = (await embedder.embed([cue]))[0]
        except (TimeoutError, ModelError, DiskFullError) as error:
            why = str(error) or f"{embedder.model_id} gave no vector within {_CUE_SECONDS:.0f} seconds."
            if why != self.by_words_because:
                log.warning("recall.by_words", why=getattr(error, "for_log", "timed_out"))
            self.by_words_because = why
            return self._live.no_vector
        self.by_words_because = ""
        # Another model may have come into use while this one was asked.
        return vector if self._store.embedder is embedder else self._live.no_vector

    @property
    def no_vector(self) -> Vector:
        """A vector that is near to nothing: what is recalled with it is recalled by words."""
        return self._live.no_vector

    def recall(self, cue: str, vector: Vector, context: RecallContext) -> Recall:
        """What comes to mind: no waiting, no database, nothing changed. A turn that uses it hands it to
        `record_exchange`, which reinforces (R-125)."""
        return self._live.recall(cue, vector, context)

    async def search(self, query: str, limit: int, *, is_explained: bool = False) -> Recall:
        """Recall by the owner's own hand: nothing is reinforced by looking (R-29, RA-7)."""
        vector = await self.embed_cue(query)
        context = RecallContext(now=self._parts.clock.now(), mood=infer_mood(query), limit=limit)
        return self._live.recall(query, vector, context, is_explained=is_explained)

    async def turns_like(self, texts: Sequence[str], without: Collection[str], limit: int) -> list[Turn]:
        """What else says nearly the same as any of `texts`: see `views.search`."""
        vectors = [await self.embed_cue(text) for text in texts]
        return turns_like(self._live.turns, vectors, without, limit)

    async def search_deep(self, query: str, limit: int) -> DeepFound:
        """What is only on disk and answers `query`. Wakes nothing: looking by hand changes nothing."""
        vector = await self.embed_cue(query)
        return await self._deep_recall.search_disk(query, vector, limit, _DEEP_SEARCH_SECONDS)

    async def recall_for_turn(self, cue: str, vector: Vector, context: RecallContext) -> Recall:
        """`recall`, and when little came of it a look on the disk, for a fraction of a second: a strong cue wakes what
        it finds there, and then it is recalled. While nothing is only on disk, nothing is read."""
        found = self.recall(cue, vector, context)
        if not self._store.deep.counts.texts or not should_search_disk(found):
            return found
        try:
            async with asyncio.timeout(DEEP_LOOK_SECONDS):
                looked = await self._deep_recall.search_disk(cue, vector, _DEEP_HITS, DEEP_LOOK_SECONDS)
        except TimeoutError:
            return found
        if not (names := select_dormant(looked)):
            return found
        woken = await self._deep_recall.wake_episodes(names, "cue")
        log.info("episodes.woken", count=len(woken))
        return self.recall(cue, vector, context)

    @property
    def on_disk(self) -> DeepCounts:
        """How much is only on disk."""
        return self._store.deep.counts

    async def inspect(self, id_or_prefix: str) -> EpisodeDetail:
        """Everything about one episode, live or dormant (R-23). Raises NotFoundError."""
        try:
            return await view_episode(self._parts.database, self._live, find_episode(self._live, id_or_prefix))
        except NotFoundError:
            if (dormant := await episode_on_disk(self._store, id_or_prefix)) is None:
                await refuse_merged(self._parts.database, id_or_prefix)
                raise
            return await view_episode(self._parts.database, self._live, dormant)

    async def stats(self) -> MemoryStats:
        """R-171."""
        return await statistics(self._parts.database, self._live, self._store.deep)

    async def reinforce(self, recalls: Iterable[Recall]) -> None:
        """Make what really surfaced in thought easier to find (R-125); a chat turn does it in `record_exchange`."""
        kept = list(recalls)

        async def work(_: object) -> ChangeSet:
            return self._live.reinforcements(kept, self._parts.clock.now())

        await self._store.commit(work)

    # --- what happens ------------------------------------------------------------------------------------------------

    def begin_import(self, source: str) -> ImportUnderWay:
        """An import to be handed batch after batch; then `light_sleep`. An owner without a name is nobody in it whose
        name alone stands there: anybody may be called what an unnamed owner is called."""
        names = SpeakerNames(self._parts.owner_name, self._parts.mind_name)
        return ImportUnderWay(self._store, names, source, self._parts.new_id, self.forgetting.refuses)

    async def remember(self, text: str) -> bool:
        """Keep words of the owner that were said to nobody; whether they are new. Light sleep makes them recallable."""
        names = SpeakerNames(self._parts.owner_name or UNNAMED_OWNER, self._parts.mind_name)
        under_way = ImportUnderWay(self._store, names, REMEMBERED, self._parts.new_id, self.forgetting.refuses)
        done = await under_way.add([PastTurn(self._parts.clock.now(), names.owner, text)])
        return bool(done.stored)

    async def correct(self, id_or_prefix: str, text: str) -> Corrected:
        """Let these words of the owner stand in the place of what an episode says. Raises NotFoundError, UsageError."""
        return await self._corrections.correct(id_or_prefix, text, await self.embed_cue(text))

    async def import_turns(self, source: str, turns: Sequence[PastTurn]) -> ImportCounts:
        """A whole past conversation at once. Running it twice stores nothing twice."""
        return await self.begin_import(source).add(turns)

    # --- sleep -------------------------------------------------------------------------------------------------------

    async def light_sleep(
        self, progress: SleepProgress | None = None, stop: asyncio.Event | None = None
    ) -> LightSleepResult:
        """Make what is new recallable, without a model."""
        pulse = self.light_sleep_pulse
        return await pulse.during(self._light_sleep.run(pulse.heard(progress), stop))

    @contextlib.asynccontextmanager
    async def no_light_sleep(self) -> AsyncIterator[None]:
        """While no pass of light sleep runs: one that is under way ends first."""
        async with self._light_sleep.running:
            yield

    async def deep_sleep(
        self,
        model: ChatModel,
        *,
        limit: int | None = None,
        trigger: str = "asked",
        progress: SleepProgress | None = None,
        stop: asyncio.Event | None = None,
    ) -> DeepSleepResult:
        """Consolidate (R-103..R-108): what has not been slept on lightly is first. Raises ModelError."""
        await self.light_sleep(stop=stop)
        return await self._deep_sleep.run(model, limit=limit, trigger=trigger, progress=progress, stop=stop)

    async def unprocessed_count(self, most: int | None = None) -> int:
        """How many experiences wait for deep sleep to begin by itself (R-98)."""
        return await self._deep_sleep.unprocessed_count(most=most)

    async def dry_run(
        self,
        model: ChatModel,
        *,
        limit: int | None = None,
        progress: SleepProgress | None = None,
        stop: asyncio.Event | None = None,
    ) -> Preview:
        """What deep sleep would do now with what has been slept on lightly. Changes nothing. Raises ModelError."""
        return await self._dry_run.run(model, limit=limit, progress=progress, stop=stop)

    async def sleep_log(self, limit: int) -> list[RunEntry]:
        """The latest passes of sleep, newest first."""
        return await recent_runs(self._parts.database, limit)

    async def sleep_run(self, run: str) -> RunDetail:
        """What one pass did, change by change. Raises NotFoundError."""
        return await run_detail(self._parts.database, run)

    async def take_back(self, run: str, *, through: bool = False) -> list[UndonePass]:
        """Undo a pass; with `through` first those that built upon it. Raises NotFoundError, UndoError."""
        return await self._undo.undo_pass(run, through=through)

    async def shorten_records(self) -> None:
        """Write what earlier versions wrote down of sleep anew, in less room."""
        await shorten_records(self._store, self._parts.clock.now())

    async def sleep_question(self) -> Question | None:
        """What a pass asks before it does more."""
        return await load_open_question(self._store)

    async def answer_sleep(self, run: str, *, do_it: bool) -> str:
        """Do what the pass asked about, or drop it; a line about it. Raises NotFoundError."""
        question = await find_question(self._store, run)
        if do_it:
            return await self._deep_sleep.apply_approved(question)
        return await drop_question(self._store, question, self._parts.clock.now())

    async def decay_and_prune(self, stop: asyncio.Event | None = None) -> ChangeSet:
        """Let time do its work on what nobody thought of (R-104), without a pass over what is new."""
        return await self._deep_sleep.decay_and_prune(stop)

    # --- contradictions ----------------------------------------------------------------------------------------------

    async def contradictions(self, *, with_settled: bool = False) -> list[Conflict]:
        """Claims that cannot both hold, latest found first: those that wait for the owner's word, or all of them with
        the updates that took effect."""
        found = [
            one
            for one in self._live.claims.conflicts.values()
            if with_settled or (one.kind == CONTRADICTION and not one.settled)
        ]
        return sorted(found, key=lambda one: (-one.found_at, one.id))

    async def settle_contradiction(self, conflict: str, keep: str) -> Conflict:
        """The owner's word on a conflict: "earlier", "later" or "both" hold. Raises NotFoundError."""
        return await settle_conflict(self._store, conflict, keep, self._parts.clock.now())

    # --- life --------------------------------------------------------------------------------------------------------

    async def hydrate(self, *, from_rows: bool = False) -> None:
        """Load everything; adopt what a crash left: unanswered words, passes that never ended. `from_rows`: whatever
        snapshot there is, it is not read. On a full disk what a crash left is for the next wake; what was erased is
        erased again before anything else, or this raises DiskFullError."""
        await self._store.hydrate(self._parts.old_embedder, self._parts.clock.now(), from_rows=from_rows)
        await self.forgetting.erase_again()
        await self._gaps.hydrate()
        with contextlib.suppress(DiskFullError):
            await self.conversations.adopt_unanswered()
            await end_interrupted_runs(self._store)
            await Upkeep(self._store, self._parts.memory, self._parts.clock.now()).unindex_old_words()

    async def warm_up(self) -> bool:
        """Make recall fast while it serves already; whether the compiled loops are in use then."""
        return await warm_up(self._live, self._parts.database.path.parent / "cache" / "loops")

    async def save_snapshot(self, stop: asyncio.Event | None = None) -> bool:
        """Leave a snapshot for the next wake, in the background and until `stop` is set; whether there is one now."""
        return await self._save_snapshot(_LONGEST_SNAPSHOT_SECONDS, stop)

    async def save_last_snapshot(self) -> bool:
        """The same before the end, if it can be done soon; not on a disk that has failed."""
        return not self._parts.database.is_lost and await self._save_snapshot(_LONGEST_LAST_SNAPSHOT_SECONDS, None)

    async def _save_snapshot(self, longest_seconds: float, stop: asyncio.Event | None) -> bool:
        try:
            return await self._store.save_snapshot(longest_seconds, stop)
        except StorageError:  # The rows are the truth, and a wake without a snapshot is only slower.
            return False

    async def close(self) -> None:
        """Wait until the write in hand is done. The database may be closed then."""
        async with self._store.quiet():
            if self._store.embedder is not self._store.chosen:
                await self._store.embedder.aclose()
