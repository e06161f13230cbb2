"""The owner's control of thinking (pause, nudge, step, pin, drop, notes), and everything else that holds it back."""

from collections.abc import Callable
from datetime import tzinfo

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.occupations.thought_log import ThoughtLog
from reveries.daemon.talk.owner_notes import OwnerNotes
from reveries.errors import ConfigError, ReveriesError
from reveries.memory.self_model import format_day
from reveries.monologue.loop import Monologue
from reveries.monologue.permission import ThinkingHold, find_hold, parse_quiet_span
from reveries.monologue.thought import Reactivation


class Permission:
    """Decides whether thinking is held back. `settings`, `is_on_battery` and `no_room` are called each time."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        is_on_battery: Callable[[], bool],
        clock: Clock,
        zone: tzinfo | None = None,
        no_room: Callable[[], str] = lambda: "",
    ) -> None:
        self._settings = settings
        self._is_on_battery = is_on_battery
        self._clock = clock
        self._zone = zone
        self._no_room = no_room
        self.is_paused = False

    def find_hold(self) -> ThinkingHold | None:
        """Return what holds thinking back; None if it may think."""
        monologue = self._settings().monologue
        spans = [span for text in monologue.quiet_hours if (span := parse_quiet_span(text)) is not None]
        return find_hold(
            is_paused=self.is_paused,
            spans=spans,
            is_on_battery=self._is_on_battery() and not monologue.on_battery,
            now=self._clock.now(),
            zone=self._zone,
            no_room=self._no_room(),
        )


class ThinkingControl:
    """Carries out the owner's requests about thinking."""

    def __init__(
        self,
        monologue: Monologue,
        log: ThoughtLog,
        notes: OwnerNotes,
        permission: Permission,
        settings: Callable[[], Settings],
    ) -> None:
        self._monologue = monologue
        self._log = log
        self.notes = notes
        self._permission = permission
        self._settings = settings

    async def restore(self) -> None:
        """Restore the owner's pause and requests after a restart."""
        self._permission.is_paused = await self._log.paused_at() is not None
        for why in await self._log.open_requests():
            self._monologue.ask(why)

    async def notes_to_show(self) -> list[str]:
        """Return the notes that were not shown yet, a line each with its day, and mark them as shown. The day tells
        the owner that what was said since is not in the note."""
        return [
            f"A note from {self._settings().mind.name}, {format_day(note.written_at)}: {note.text} ({note.reason} Not"
            f" wanted: reveries notes dismiss {note.note_id[:8]})"
            for note in await self.notes.show(self._settings().monologue.notes_per_day)
        ]

    async def ask(self, why: Reactivation) -> None:
        """Request a thought for this reason, which survives a restart. Raises ConfigError if thinking is off."""
        if not self._settings().monologue.enabled:
            raise ConfigError(
                "Thinking is switched off.", advice="Switch it on: reveries config set monologue.enabled true"
            )
        # Stored before it is acknowledged.
        await self._log.store_request(why)
        if not self._monologue.ask(why):
            await self._log.complete_request(why.reason.value, why.detail)
            raise ReveriesError(
                "It already has as many things to think about as it can keep.",
                advice="Wait until it has thought about some of them. To watch: reveries monologue",
            )

    async def pause(self, *, is_paused: bool) -> None:
        """Pause thinking, or resume it."""
        await self._log.store_pause(is_paused=is_paused)
        self._permission.is_paused = is_paused
        self._monologue.halt() if is_paused else self._monologue.reconsider()

    async def release(self) -> str | None:
        """End the rest after a trip; return why it rested, or None if it did not."""
        rest = self._monologue.cool_down.current_hold()
        if rest is None:
            return None
        await self._log.store_release(rest.why)
        self._monologue.release()
        return self._monologue.cool_down.because

    async def pin(self, thought_id: str) -> str:
        """Pin a thought in memory; return its full id. Raises NotFoundError."""
        return await self._log.pin(thought_id)

    async def drop(self, thought_id: str) -> str:
        """Drop a thought from memory; return its full id. Raises NotFoundError."""
        dropped = await self._log.drop(thought_id)
        self._monologue.cycle.forget(dropped)
        return dropped
