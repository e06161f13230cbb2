"""The independent parts that a mind is built from."""

from collections.abc import Callable
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.daemon.models.role_models import Models
from reveries.daemon.process.loop_lag import LoopLag
from reveries.daemon.process.settings_in_force import SettingsInForce
from reveries.db.database import Database
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.tier_results import TierResults
from reveries.memory.memory import Memory
from reveries.safety.journal import SafetyJournal


@dataclass(kw_only=True)
class MindParts:
    """Parts that are open and loaded, and need no other part of the mind."""

    in_force: SettingsInForce
    home: Home
    clock: Clock
    database: Database
    ledger: Ledger
    models: Models
    memory: Memory
    knowledge: ProjectKnowledge
    answers: AnswerCounts
    tier_results: TierResults
    journal: SafetyJournal
    lag: LoopLag
    read_power: Callable[[], bool] = lambda: False
    safe_because: str = ""
    """Why the mind is in safe mode, in words for the owner; empty if it is not."""

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self.in_force.current
