"""Facade of memory for the daemon: builds its parts and offers the operations that need several of them."""

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
from reveries.llm.tier import Tier
from reveries.memory.changes import ChangeSet
from reveries.memory.claims import CONTRADICTION, Conflict
from reveries.memory.conversations import ConversationStore, SpeakerNames
from reveries.memory.deep_recall import DeepRecall, DeepSearchResult, find_dormant_episode
from reveries.memory.deep_store import DeepCounts
from reveries.memory.forgetting.forgetting import Forgetting
from reveries.memory.gaps import Gaps
from reveries.memory.importing import ImportSession, PastTurn
from reveries.memory.kernel_compilation import warm_up
from reveries.memory.live import LiveMemory
from reveries.memory.model import Gap, Recall, RecallContext, SelfModel, Turn
from reveries.memory.owner_edits.episodes import REMEMBERED, Correction, Corrections, EpisodeEdits
from reveries.memory.owner_edits.imports import ImportEdits
from reveries.memory.owner_edits.self_model import SelfModelEdits
from reveries.memory.owner_edits.thoughts import ThoughtEdits
from reveries.memory.past_talk import PastTalk
from reveries.memory.reembedding import Reembedding
from reveries.memory.sleep.consolidation import DeepSleep
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
    end_interrupted_runs,
    recent_runs,
    run_detail,
    shorten_records,
)
from reveries.memory.sleep.preview import DryRun
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
from reveries.memory.views.search import EVERYTHING, SearchPeriod, recall_within, turns_like
from reveries.protocol import Consolidated, EpisodeDetail, MemoryStats, SleepPreview, SleepRun

_CUE_SECONDS = 5.0
"""Time limit for the vector of a cue: longer than the embedder takes to load and answer on a small machine."""

_DEEP_SEARCH_SECONDS = 10.0

log = structlog.get_logger("memory")

UNNAMED_OWNER = "You"
"""The owner's name in the conversation log when none is configured."""

_LONGEST_SNAPSHOT_SECONDS = 60.0
_LONGEST_LAST_SNAPSHOT_SECONDS = 2.0
"""Low, because a daemon that gets a signal ends within five seconds."""


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Dependencies and settings of a memory."""

    database: Database
    embedder: Embedder
    clock: Clock
    memory: Callable[[], MemorySettings]
    recall: Callable[[], RecallSettings]
    owner_name: Callable[[], str]
    mind_name: str
    new_id: Callable[[], str]
    old_embedder: OldEmbedder = lambda model_id: None
    """Returns the embedder of an earlier model to embed cues with, or None if it is no longer available."""
    answers: AnswerRecorder | None = None
    """Records how well the model of deep sleep follows the answer format."""


class Memory:
    """Stores, recalls and consolidates. Call `hydrate` first, and `close` before the database closes."""

    def __init__(self, parts: MemoryParts) -> None:
        self._parts = parts
        names = self._speaker_names
        self._live = LiveMemory(parts.embedder.dimensions, parts.recall)
        self._store = MemoryStore(parts.database, parts.embedder, self._live, parts.mind_name)
        self.no_vector_reason = ""
        """Why the last cue had no vector (recall used words alone); empty when it had one."""
        self._deep_recall = DeepRecall(self._store, parts.clock)
        self.reembedding = Reembedding(self._store, parts.clock)
        self.new_id = parts.new_id
        """Generates a row id."""
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
        self.import_edits = ImportEdits(self._store, parts.clock, parts.new_id)
        self._corrections = Corrections(
            self._store, self._light_sleep, names, parts.clock, parts.new_id, self.forgetting.is_erased_text
        )
        self.past_talk = PastTalk(self._store)
        self.conversations = ConversationStore(self._store, self._gaps, names, parts.clock, parts.new_id)

    def _speaker_names(self) -> SpeakerNames:
        return SpeakerNames(self._parts.owner_name() or UNNAMED_OWNER, self._parts.mind_name)

    # --- recall ------------------------------------------------------------------------------------------------------

    @property
    def self_model(self) -> SelfModel:
        """Included in every prompt, changed only by deep sleep and the owner (R-86)."""
        return self._live.self_model

    @property
    def open_gap(self) -> Gap | None:
        """The current gap; None during a conversation."""
        return self._gaps.open_gap

    def describe_silence_before(self, turn: Turn) -> str:
        """Return what the gap that `turn` ended means, in plain words; empty if it ended none or it means nothing."""
        gap = self._gaps.last
        return gap.significance if gap is not None and gap.ended_at == turn.said_at else ""

    @property
    def live(self) -> LiveMemory:
        """The live memory, for reading only."""
        return self._live

    def episode_of(self, turn_id: str) -> str | None:
        """Return the id of the episode that a turn belongs to; None before light sleep."""
        row = self._live.turns.row_of(turn_id)
        return None if row is None else self._live.turns.episode_id(row)

    async def embed_cue(self, text: str) -> Vector:
        """Embed a cue for recall, without the speakers' names, as turns are embedded.

        Returns `no_vector` when the embedder fails or takes too long: recall then uses words alone.
        """
        return (await self.embed_cues([text]))[0]

    async def embed_cues(self, texts: Sequence[str]) -> list[Vector]:
        """Embed several cues in one call of the embedder: see `embed_cue`."""
        names = self._live.turns.speakers | {self._parts.mind_name}
        cues = [embedding_text(text, names) for text in texts]
        embedder, none = self._store.embedder, [self._live.no_vector] * len(texts)
        try:
            async with asyncio.timeout(_CUE_SECONDS):
                vectors = await embedder.embed(cues)
        except (TimeoutError, ModelError, DiskFullError) as error:
            why = str(error) or f"{embedder.model_id} gave no vector within {_CUE_SECONDS:.0f} seconds."
            if why != self.no_vector_reason:
                log.warning("recall.by_words", why=getattr(error, "for_log", "timed_out"))
            self.no_vector_reason = why
            return none
        self.no_vector_reason = ""
        # Memory may have switched to another embedder in the meantime.
        return list(vectors) if self._store.embedder is embedder else none

    def recall_context(self, cue: str, limit: int, exclude_turn_ids: frozenset[str] = frozenset()) -> RecallContext:
        """Return the circumstances of a recall of at most `limit` episodes now, in the mood of `cue`."""
        now = self._parts.clock.now()
        return RecallContext(now=now, mood=infer_mood(cue), limit=limit, exclude_turn_ids=exclude_turn_ids)

    async def recall(
        self,
        cue: str,
        context: RecallContext,
        *,
        by_words_alone: bool = False,
        may_wake: bool = False,
    ) -> Recall:
        """Embed `cue`, unless it is recalled `by_words_alone`, and recall what it brings to mind. Changes nothing,
        except with `may_wake`: then a weak recall also searches the disk for a fraction of a second and wakes what a
        strong cue finds there. A turn passes the result to `record_exchange`, which reinforces (R-125)."""
        vector = self._live.no_vector if by_words_alone else await self.embed_cue(cue)
        recall = self._live.recall(cue, vector, context)
        if may_wake and await self._deep_recall.wake_for(recall, vector):
            return self._live.recall(cue, vector, context)
        return recall

    async def search(
        self, query: str, limit: int, *, period: SearchPeriod = EVERYTHING, is_explained: bool = False
    ) -> Recall:
        """Recall for whoever asks: the owner's search, or a program. Changes nothing (R-29, RA-7). The turns have
        their reasons within a `period`, or if it `is_explained`."""
        context = self.recall_context(query, limit)
        vector = await self.embed_cue(query)
        if not period.is_everything:
            return recall_within(self._live, query, vector, context, period)
        return self._live.recall(query, vector, context, is_explained=is_explained)

    async def turns_like(self, texts: Sequence[str], without: Collection[str], limit: int) -> list[Turn]:
        """Return turns similar in meaning to any of `texts`, see `views.search.turns_like`."""
        vectors = await self.embed_cues(texts) if texts else []
        return turns_like(self._live.turns, vectors, without, limit)

    async def search_deep(self, query: str, limit: int) -> DeepSearchResult:
        """Search what is only on disk, for the owner's search command. Wakes no episode."""
        vector = await self.embed_cue(query)
        return await self._deep_recall.search_disk(query, vector, limit, _DEEP_SEARCH_SECONDS)

    @property
    def on_disk(self) -> DeepCounts:
        """How much is only on disk."""
        return self._store.deep.counts

    async def inspect(self, id_or_prefix: str) -> EpisodeDetail:
        """Everything about one episode, live or dormant (R-23). Raises NotFoundError."""
        try:
            return await view_episode(self._parts.database, self._live, find_episode(self._live, id_or_prefix))
        except NotFoundError:
            if (dormant := await find_dormant_episode(self._store, id_or_prefix)) is None:
                await refuse_merged(self._parts.database, id_or_prefix)
                raise
            return await view_episode(self._parts.database, self._live, dormant)

    async def stats(self) -> MemoryStats:
        """Return counts and sizes of the memory (R-171)."""
        return await statistics(self._parts.database, self._live, self._store.deep)

    async def reinforce(self, recalls: Iterable[Recall]) -> None:
        """Reinforce what surfaced in a thought (R-125). For a chat turn `record_exchange` does it."""
        kept = list(recalls)

        async def work(_: object) -> ChangeSet:
            return self._live.reinforcements(kept, self._parts.clock.now())

        await self._store.commit(work)

    # --- storing -----------------------------------------------------------------------------------------------------

    def begin_import(self, source: str) -> ImportSession:
        """Begin an import: add the lines batch by batch, then call `light_sleep`.

        An owner without a configured name is recognized only where the file marks the owner's lines: the default name
        could be anyone's.
        """
        names = SpeakerNames(self._parts.owner_name(), self._parts.mind_name)
        return ImportSession(self._store, names, source, self._parts.new_id, self.forgetting.is_erased_text)

    async def remember(self, text: str) -> bool:
        """Store words of the owner outside a conversation; whether they are new. Light sleep makes them recallable."""
        names = self._speaker_names()
        session = ImportSession(self._store, names, REMEMBERED, self._parts.new_id, self.forgetting.is_erased_text)
        counts = await session.add([PastTurn(self._parts.clock.now(), names.owner, text)])
        return bool(counts.stored)

    async def correct(self, id_or_prefix: str, text: str) -> Correction:
        """Let the owner's words replace what an episode says. Raises NotFoundError, UsageError."""
        return await self._corrections.correct(id_or_prefix, text, await self.embed_cue(text))

    # --- sleep -------------------------------------------------------------------------------------------------------

    async def light_sleep(
        self, progress: SleepProgress | None = None, stop: asyncio.Event | None = None
    ) -> LightSleepResult:
        """Make new experiences recallable, without a model."""
        pulse = self.light_sleep_pulse
        return await pulse.during(self._light_sleep.run(pulse.beat_on_call(progress), stop))

    async def make_latest_recallable(self) -> None:
        """Make what was said last recallable, before somebody looks for it: one batch, and none beside another pass or
        on a full disk."""
        if not self._light_sleep.running.locked():
            stop = asyncio.Event()
            with contextlib.suppress(DiskFullError):
                await self.light_sleep(lambda _done, _total: stop.set(), stop)

    @contextlib.asynccontextmanager
    async def pause_light_sleep(self) -> AsyncIterator[None]:
        """Keep light sleep from running within the block. Waits for a running pass to end first."""
        async with self._light_sleep.running:
            yield

    async def deep_sleep(
        self,
        model: ChatModel,
        *,
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        limit: int | None = None,
        trigger: str = "asked",
        progress: SleepProgress | None = None,
        stop: asyncio.Event | None = None,
    ) -> Consolidated:
        """Run light sleep, then consolidate (R-103..R-108) with a model of this tier. Raises ModelError."""
        await self.light_sleep(stop=stop)
        return await self._deep_sleep.run(model, tier=tier, limit=limit, trigger=trigger, progress=progress, stop=stop)

    async def unprocessed_count(self, most: int | None = None) -> int:
        """Count the experiences that wait for automatic deep sleep, up to `most` (R-98)."""
        return await self._deep_sleep.unprocessed_count(most=most)

    async def only_thoughts_wait(self, since: float) -> bool:
        """Whether nothing but thoughts from after `since` waits for deep sleep."""
        return await self._deep_sleep.only_thoughts_wait(since)

    async def dry_run(
        self,
        model: ChatModel,
        *,
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        limit: int | None = None,
        progress: SleepProgress | None = None,
        stop: asyncio.Event | None = None,
    ) -> SleepPreview:
        """Preview what deep sleep would do now. Changes nothing, and does not run light sleep. Raises ModelError."""
        return await self._dry_run.run(model, tier=tier, limit=limit, progress=progress, stop=stop)

    async def sleep_log(self, limit: int) -> list[SleepRun]:
        """Return the latest sleep passes, newest first."""
        return await recent_runs(self._parts.database, limit)

    async def sleep_run(self, run: str) -> RunDetail:
        """Return the changes of one pass. Raises NotFoundError."""
        return await run_detail(self._parts.database, run)

    async def undo_pass(self, run: str, *, through: bool = False) -> list[UndonePass]:
        """Undo a pass; with `through`, first the passes that built on it. Raises NotFoundError, UndoError."""
        return await self._undo.undo_pass(run, through=through)

    async def shorten_records(self) -> None:
        """Rewrite the pass records of earlier versions in the compact format."""
        await shorten_records(self._store, self._parts.clock.now())

    async def sleep_question(self) -> Question | None:
        """Return the question that a pass asks the owner before it continues; None if there is none."""
        return await load_open_question(self._store)

    async def answer_sleep_question(self, run: str, *, do_it: bool) -> str:
        """Apply or drop what the pass asked about. Returns a line for the owner. Raises NotFoundError."""
        question = await find_question(self._store, run)
        if do_it:
            return await self._deep_sleep.apply_approved(question)
        return await drop_question(self._store, question, self._parts.clock.now())

    async def decay_and_prune(self, stop: asyncio.Event | None = None) -> ChangeSet:
        """Apply decay and pruning (R-104) without processing new experiences."""
        return await self._deep_sleep.decay_and_prune(stop)

    # --- contradictions ----------------------------------------------------------------------------------------------

    async def contradictions(self, *, with_settled: bool = False) -> list[Conflict]:
        """Return the contradictions that wait for the owner, newest first. `with_settled` adds settled ones and
        updates that took effect."""
        conflicts = [
            conflict
            for conflict in self._live.claims.conflicts.values()
            if with_settled or (conflict.kind == CONTRADICTION and not conflict.settled)
        ]
        return sorted(conflicts, key=lambda conflict: (-conflict.found_at, conflict.id))

    async def settle_contradiction(self, conflict: str, keep: str) -> Conflict:
        """Record the owner's decision on a conflict: "earlier", "later" or "both" hold. Raises NotFoundError."""
        return await settle_conflict(self._store, conflict, keep, self._parts.clock.now())

    # --- lifecycle ---------------------------------------------------------------------------------------------------

    async def hydrate(self, *, from_rows: bool = False) -> None:
        """Load everything, and clean up after a crash: unanswered turns, unfinished passes. With `from_rows` no
        snapshot is read.

        On a full disk the cleanup is left to the next wake. Erasures that an old copy undid are repeated first, or this
        raises DiskFullError.
        """
        await self._store.hydrate(self._parts.old_embedder, self._parts.clock.now(), from_rows=from_rows)
        await self.forgetting.repeat_erasures()
        await self._gaps.hydrate()
        with contextlib.suppress(DiskFullError):
            await self.conversations.adopt_unanswered_turns()
            await end_interrupted_runs(self._store)
            await Upkeep(self._store, self._parts.memory(), self._parts.clock.now()).unindex_old_words()

    @property
    def wants_compiled_loops(self) -> bool:
        """Whether recall's inner loops are interpreted, and compiled ones would be noticeably faster."""
        return self._live.wants_compiled_loops

    async def warm_up(self) -> bool:
        """Compile the inner loops of recall in the background; whether they are in use afterwards."""
        return await warm_up(self._live, self._parts.database.path.parent / "cache" / "loops")

    async def save_snapshot(self, stop: asyncio.Event | None = None) -> bool:
        """Save a snapshot for the next wake unless `stop` is set first; whether a current one exists."""
        return await self._save_snapshot(_LONGEST_SNAPSHOT_SECONDS, stop)

    async def save_last_snapshot(self) -> bool:
        """Save a snapshot before the daemon ends, within a short limit; not on a disk that has failed."""
        return not self._parts.database.is_lost and await self._save_snapshot(_LONGEST_LAST_SNAPSHOT_SECONDS, None)

    async def _save_snapshot(self, longest_seconds: float, stop: asyncio.Event | None) -> bool:
        try:
            return await self._store.save_snapshot(longest_seconds, stop)
        except StorageError:  # The rows are authoritative; a wake without a snapshot is only slower.
            return False

    async def close(self) -> None:
        """Wait for a running write to finish. The database can be closed after this."""
        async with self._store.pause_writes():
            if self._store.embedder is not self._store.configured_embedder:
                await self._store.embedder.aclose()
