"""The state of a running mind: all of its parts, by name. Their behaviour is in the parts and in `requests`."""

from collections.abc import Callable
from dataclasses import dataclass

from reveries.daemon.lifecycle.backup_keeper import BackupKeeper
from reveries.daemon.lifecycle.health import Health
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.daemon.lifecycle.watchdog import Watchdog
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.document_worker import DocumentWorker
from reveries.daemon.occupations.occupation_loop import OccupationLoop
from reveries.daemon.occupations.project_work import ProjectWorker
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.daemon.occupations.thinking_control import Permission, ThinkingControl
from reveries.daemon.occupations.thought_sources import MemoryThoughtSources
from reveries.daemon.senses.battery import Power
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.daemon.talk.project_wishes import ProjectWishes
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.monologue.loop import Monologue
from reveries.projects.work_model import WorkModel


@dataclass(kw_only=True)
class Mind(MindParts):
    """All parts of a running mind. Built by `mind_builder`."""

    events: MindEvents
    power: Power
    room: RoomKeeper
    watchdog: Watchdog
    health: Health
    backups: BackupKeeper
    permission: Permission
    sources: MemoryThoughtSources
    monologue: Monologue
    thinking: ThinkingControl
    conversations: ConversationRegistry
    activity: Activity
    sleep: SleepControl
    projects: ProjectWorker
    documents: DocumentWorker
    occupations: OccupationLoop
    wishes: ProjectWishes
    model_of: Callable[[str], WorkModel]
    """The model that answers what the owner asks of a project, by the project's id."""
    awake_since: float
    erased_again: ForgetReport | None
    """What a restored backup had brought back and is erased again, while traces in files are still to be removed."""

    @property
    def conversation(self) -> Conversation:
        """The plain chat."""
        return self.conversations.main


_USED_BY_A_TASK = ("projects.enabled", "web.", "mcp.servers")
"""Beginnings of the keys that a task reads when it begins: the one in hand is broken off and done anew."""


def reload_settings(mind: Mind) -> tuple[list[str], list[str]]:
    """Reload config.toml and apply it. Return the changed keys, and those that apply only from the next
    wake. Raises ConfigError."""
    changed, needs_restart = mind.in_force.reload()
    if any(key.startswith(_USED_BY_A_TASK) for key in changed):
        mind.activity.work_displaced.notify("You changed settings that it uses.")
    for conversation in mind.conversations:
        conversation.apply_settings()
    mind.sleep.try_budget_again()
    mind.projects.consider()
    mind.monologue.apply_settings()
    return changed, needs_restart
