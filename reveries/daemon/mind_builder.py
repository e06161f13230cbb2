"""Builds a mind from its parts in dependency order. Only event subscriptions are attached afterwards (`_subscribe`)."""

import asyncio
import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from reveries.daemon.conversation_host import MindAsHost
from reveries.daemon.lifecycle.backup_keeper import BackupKeeper
from reveries.daemon.lifecycle.health import Health
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.daemon.lifecycle.watchdog import Watchdog
from reveries.daemon.mind import Mind
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.role_models import Models
from reveries.daemon.models.watched_model import WatchedModel
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.document_worker import DocumentWorker
from reveries.daemon.occupations.occupation_loop import OccupationLoop
from reveries.daemon.occupations.project_work import ProjectWorker
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.daemon.occupations.thinking_control import Permission, ThinkingControl
from reveries.daemon.occupations.thought_sources import MemoryThoughtSources, count_recent_turns
from reveries.daemon.senses.battery import Power
from reveries.daemon.senses.calendar_watch import Calendar
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.daemon.talk.project_talk import ProjectTalk
from reveries.daemon.talk.project_wishes import ProjectWishes
from reveries.daemon.talk.sentence_embedding import SentenceEmbeddings
from reveries.daemon.talk.turn import TurnPipeline
from reveries.daemon.talk.turn_records import ConversationHost
from reveries.llm.base import Role
from reveries.monologue.cycle import ThoughtCycle
from reveries.monologue.loop import Monologue
from reveries.projects.store import ProjectStore
from reveries.projects.wish_store import WishStore
from reveries.projects.work_model import WorkModel
from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.crisis.likeness import load_crisis_likeness
from reveries.safety.likeness import load_likeness
from reveries.safety.verdict import Verdict
from reveries.safety.word_order import load_word_order

if TYPE_CHECKING:
    from reveries.knowledge.reading.layout import DocumentReader

log = structlog.get_logger("mind")


@dataclass(frozen=True, slots=True)
class Guards:
    """Detection data: of thoughts that loop, and of words of a person in danger."""

    knowledge: Knowledge
    danger: CrisisDetector


async def load_guards(models: Models, meanings: SentenceEmbeddings) -> Guards:
    """Load the detection data. Detection by meaning needs the local embedder that it was trained for; with another
    embedder the rules are used alone, and no text is ever sent away for it."""
    order, likeness = await asyncio.to_thread(load_word_order), await asyncio.to_thread(load_likeness)
    bare = models.embedding.bare
    is_known = bare is not None and bare.model_id == likeness.model_id
    knowledge = Knowledge(order, likeness, meanings.open) if is_known else Knowledge(order)
    return Guards(knowledge, CrisisDetector(bare, await asyncio.to_thread(load_crisis_likeness)))


def build_mind(parts: MindParts, guards: Guards, chance: random.Random) -> Mind:
    """Build a mind that is not running yet; its plain chat must still be opened."""
    in_force, events, conversations = parts.in_force, MindEvents(), ConversationRegistry()
    power, watchdog = Power(parts.clock, parts.read_power), Watchdog(parts.settings.llm)
    room = RoomKeeper(parts.database, parts.clock, lambda: in_force.current.storage)
    calendar = Calendar(lambda: in_force.current.calendar, parts.database, parts.clock)
    health = Health(parts, room=room, watchdog=watchdog, calendar=calendar)
    permission = Permission(
        lambda: in_force.current, lambda: power.is_on_battery, parts.clock, no_room=room.why_to_rest
    )
    sources = _build_sources(parts, calendar, health, chance)
    monologue = _build_monologue(parts, sources, permission, guards, chance)
    activity = Activity(
        parts, conversations=conversations, monologue=monologue, events=events, sleep_pulse=watchdog.sleep
    )
    sleep = SleepControl(parts, monologue=monologue, activity=activity, room=room, watchdog=watchdog, events=events)
    store = ProjectStore(parts.database, parts.knowledge, parts.clock, parts.memory.new_id)
    wish_store = WishStore(parts.database, store, parts.clock, parts.memory.new_id)
    model_of = partial(_build_asked_model, parts)
    wishes = ProjectWishes(store, wish_store, parts.clock, model_of)
    host = MindAsHost(
        parts,
        conversations=conversations,
        monologue=monologue,
        sleep=sleep,
        activity=activity,
        events=events,
        project_talk=ProjectTalk(store, parts.knowledge, tier=lambda: parts.models.tier(Role.CONVERSATION)),
        project_wishes=wishes,
    )
    conversations.add(_build_conversation(parts, host, guards))
    worker = ProjectWorker(
        parts, activity=activity, sleep=sleep, permission=permission, watchdog=watchdog, events=events, store=store
    )
    documents = DocumentWorker(parts, activity=activity, store=store, open_reader=open_document_reader)
    mind = Mind(
        **vars(parts),
        events=events,
        power=power,
        room=room,
        watchdog=watchdog,
        health=health,
        backups=BackupKeeper(parts, health),
        permission=permission,
        sources=sources,
        monologue=monologue,
        thinking=ThinkingControl(monologue, sources.log, sources.notes, permission, lambda: in_force.current),
        conversations=conversations,
        activity=activity,
        sleep=sleep,
        projects=worker,
        documents=documents,
        occupations=OccupationLoop(
            activity=activity, sleep=sleep, permission=permission, sources=[worker, documents], clock=parts.clock
        ),
        wishes=wishes,
        model_of=model_of,
        awake_since=parts.clock.now(),
        erased_again=parts.memory.forgetting.repeated_erasure,
    )
    _subscribe(mind)
    return mind


async def open_document_reader() -> "DocumentReader":
    """Return what reads files of others, each in a sandboxed child."""
    # A mind without documents does not need these.
    from reveries.tools.document_reader import SandboxedDocumentReader
    from reveries.tools.sandbox import find_sandbox

    return SandboxedDocumentReader(await asyncio.to_thread(find_sandbox))


def _build_sources(parts: MindParts, calendar: Calendar, health: Health, chance: random.Random) -> MemoryThoughtSources:
    models, in_force = parts.models, parts.in_force
    return MemoryThoughtSources(
        memory=parts.memory,
        database=parts.database,
        journal=parts.journal,
        clock=parts.clock,
        settings=lambda: in_force.current,
        calendar=calendar,
        is_running_normally=lambda: health.is_running_normally,
        chance=chance,
        count_recent=lambda: count_recent_turns(models.tier(Role.MONOLOGUE), models.monologue.context_tokens),
    )


def _build_monologue(
    parts: MindParts, sources: MemoryThoughtSources, permission: Permission, guards: Guards, chance: random.Random
) -> Monologue:
    settings, models = parts.settings, parts.models
    cycle = ThoughtCycle(
        model=models.monologue,
        sources=sources,
        breaker=Breaker(
            settings.circuit_breaker,
            guards.knowledge,
            max_pace=settings.circuit_breaker.max_tokens_per_second,
        ),
        clock=parts.clock,
        settings=lambda: parts.settings.monologue,
        chance=chance,
        slice_tokens=models.slice_tokens,
        tier=lambda: models.tier(Role.MONOLOGUE),
    )
    return Monologue(
        cycle, find_hold=permission.find_hold, cool_down_seconds=settings.circuit_breaker.cool_down_seconds
    )


def _build_conversation(parts: MindParts, host: ConversationHost, guards: Guards) -> Conversation:
    models = parts.models
    turns = TurnPipeline(
        memory=parts.memory,
        model=models.conversation,
        clock=parts.clock,
        host=host,
        new_watch=lambda: Breaker(parts.settings.circuit_breaker, guards.knowledge, max_pace=None),
        read_settings=lambda: parts.settings,
        tier=lambda: models.tier(Role.CONVERSATION),
        forget_read=models.forget_read,
    )
    return Conversation(turns, danger=guards.danger)


def _build_asked_model(parts: MindParts, project_id: str) -> WorkModel:
    """Return what reads the owner's words about a project: the model of work, watched and paid for as that."""

    async def record_trip(verdict: Verdict, so_far: str) -> None:
        await parts.journal.record_trip("conversation", verdict, so_far, "the choice was cut and not used")

    models, settings = parts.models, parts.settings
    watched = WatchedModel(models.work, settings.circuit_breaker, record_trip, models.embedding.bare)
    return WorkModel(watched, project_id, models.tier(Role.WORK), settings.owner.name or "the owner")


def _subscribe(mind: Mind) -> None:
    """Subscribe parts to the changes of other parts."""

    def note_wish(_: str) -> None:
        mind.projects.consider()

    mind.wishes.applied.subscribe(note_wish)
    mind.projects.changed.subscribe(mind.occupations.consider)
    mind.documents.changed.subscribe(mind.occupations.consider)

    def notify_problems() -> None:
        mind.events.problems_changed.notify(mind.health.problems())

    def try_embedding_again() -> None:
        if not mind.room.why_to_rest():
            mind.memory.reembedding.retry_now()

    def try_provider_again(provider: str) -> None:
        log.info("provider.recovered", provider=provider)
        mind.monologue.try_again()
        mind.memory.reembedding.retry_now()

    mind.power.changed.subscribe(mind.monologue.reconsider)
    mind.watchdog.changed.subscribe(notify_problems)
    for listener in (notify_problems, mind.monologue.reconsider, try_embedding_again):
        mind.room.changed.subscribe(listener)
    mind.models.circuits.recovered.subscribe(try_provider_again)
