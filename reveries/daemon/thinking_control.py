"""The owner's hand on thinking: pause, resume, a nudge, a step; pin and drop; notes. With what else holds it back."""

from collections.abc import Callable
from datetime import tzinfo

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.owner_notes import OwnerNotes
from reveries.daemon.thought_log import ThoughtLog
from reveries.errors import ConfigError, ReveriesError
from reveries.monologue.loop import Monologue
from reveries.monologue.permission import ThinkingHold, find_hold, parse_quiet_span
from reveries.monologue.thought import Reactivation


class Permission:
    """What holds thinking back now. `settings`, `is_on_battery` and `no_room` are asked each time."""

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

    def held(self) -> ThinkingHold | None:
        """None: it may think."""
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
    """Does what the owner says."""

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
        """A pause of the owner's lasts over restarts, and so does what they asked for."""
        self._permission.is_paused = await self._log.paused_at() is not None
        for why in await self._log.asked():
            self._monologue.ask(why)

    async def notes_to_show(self) -> list[str]:
        """Those that nobody has seen yet, a line each; from now on somebody has."""
        return [
            f"A note from {self._settings().mind.name}: {note.text} ({note.reason} Not wanted: reveries notes dismiss"
            f" {note.id[:8]})"
            for note in await self.notes.show(self._settings().monologue.notes_per_day)
        ]

    async def ask(self, why: Reactivation) -> None:
        """Let it think for this reason next, over a restart too. Raises ConfigError where thinking is off."""
        if not self._settings().monologue.enabled:
            raise ConfigError(
                "Thinking is switched off.", advice="Switch it on: reveries config set monologue.enabled true"
            )
        # On the disk before it is promised; what cannot be kept is not promised.
        await self._log.put_asked(why)
        if not self._monologue.ask(why):
            await self._log.asked_done(why.reason.value, why.detail)
            raise ReveriesError(
                "It has as many things to think about already as it keeps.",
                advice="Wait until it has thought about some of them. To watch: reveries monologue",
            )

    async def pause(self, *, is_paused: bool) -> None:
        """Hold thinking back until the owner lets it go on."""
        await self._log.put_paused(is_paused=is_paused)
        self._permission.is_paused = is_paused
        self._monologue.halt() if is_paused else self._monologue.reconsider()

    async def release(self) -> str | None:
        """Let it think again though it rests after a trip: why it rested; None where it did not."""
        rest = self._monologue.cool_down.current_hold()
        if rest is None:
            return None
        await self._log.put_release(rest.why)
        self._monologue.release()
        return self._monologue.cool_down.because

    async def pin(self, thought_id: str) -> str:
        """Let memory hold on to a thought; its whole id. Raises NotFoundError."""
        return await self._log.pin(thought_id)

    async def drop(self, thought_id: str) -> str:
        """Let memory make nothing of a thought; its whole id. Raises NotFoundError."""
        dropped = await self._log.drop(thought_id)
        self._monologue.forget(dropped)
        return dropped
