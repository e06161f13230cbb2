"""The owner's hand on thinking: pause, resume, a nudge, a step; pin and drop; notes. With what else holds it back."""

from collections.abc import Callable
from datetime import tzinfo

from reveries import protocol
from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.owner_notes import OwnerNote, OwnerNotes
from reveries.daemon.thought_log import ThoughtLog
from reveries.errors import ConfigError, ReveriesError
from reveries.monologue.loop import Monologue
from reveries.monologue.permission import Held, held_back, quiet_span
from reveries.monologue.thought import Reactivation, Reason
from reveries.plaintext import one_line, plain

ThinkingRequest = (
    protocol.ControlThinking
    | protocol.ReleaseThinking
    | protocol.NudgeThinking
    | protocol.MarkThought
    | protocol.AskNotes
    | protocol.DismissNote
)


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

    def held(self) -> Held | None:
        """None: it may think."""
        monologue = self._settings().monologue
        spans = [span for text in monologue.quiet_hours if (span := quiet_span(text)) is not None]
        return held_back(
            is_paused=self.is_paused,
            spans=spans,
            is_on_battery=self._is_on_battery() and not monologue.on_battery,
            now=self._clock.now(),
            zone=self._zone,
            no_room=self._no_room(),
        )


class ThinkingControl:
    """Does what the owner says, and answers."""

    def __init__(
        self,
        monologue: Monologue,
        log: ThoughtLog,
        notes: OwnerNotes,
        permission: Permission,
        settings: Callable[[], Settings],
        state: Callable[[], tuple[str, str]],
    ) -> None:
        """`state` says what the mind does now, and a few words more."""
        self._state = state
        self._monologue = monologue
        self._log = log
        self._notes = notes
        self._permission = permission
        self._settings = settings

    async def restore(self) -> None:
        """A pause of the owner's lasts over restarts, and so does what they asked for."""
        self._permission.is_paused = await self._log.paused_at() is not None
        for why in await self._log.asked():
            self._monologue.ask(why)

    async def answer(self, request: ThinkingRequest) -> protocol.Frame:
        """Raises ReveriesError."""
        number = request.request_id
        match request:
            case protocol.ControlThinking(do="step"):
                await self._ask(Reactivation(Reason.STEP))
            case protocol.ControlThinking():
                await self._pause(is_paused=request.do == "pause")
            case protocol.ReleaseThinking():
                return await self._release(number)
            case protocol.NudgeThinking():
                await self._ask(Reactivation(Reason.NUDGE, plain(request.about)))
            case protocol.MarkThought():
                return await self._mark(number, request)
            case protocol.AskNotes():
                return self._frame(number, await self._notes.latest(request.limit))
            case protocol.DismissNote():
                return self._frame(number, [await self._notes.dismiss(request.note_id)])
        state, detail = self._state()
        return protocol.ThinkingControlled(number, state, one_line(detail), self._permission.is_paused)

    async def notes_to_show(self) -> list[str]:
        """Those that nobody has seen yet, a line each; from now on somebody has."""
        return [
            f"A note from {self._settings().mind.name}: {note.text} ({note.reason} Not wanted: reveries notes dismiss"
            f" {note.id[:8]})"
            for note in await self._notes.show(self._settings().monologue.notes_per_day)
        ]

    async def _ask(self, why: Reactivation) -> None:
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

    async def _pause(self, *, is_paused: bool) -> None:
        await self._log.put_paused(is_paused=is_paused)
        self._permission.is_paused = is_paused
        self._monologue.halt() if is_paused else self._monologue.reconsider()

    async def _release(self, number: int) -> protocol.ThinkingReleased:
        rest = self._monologue.cool_down.held()
        if rest is not None:
            await self._log.put_release(rest.why)
            self._monologue.release()
        return protocol.ThinkingReleased(
            number, rest is not None, self._monologue.cool_down.because if rest is not None else ""
        )

    async def _mark(self, number: int, request: protocol.MarkThought) -> protocol.ThoughtMarked:
        if request.mark == "pin":
            return protocol.ThoughtMarked(number, await self._log.pin(request.thought_id), "pinned")
        thought_id = await self._log.drop(request.thought_id)
        self._monologue.forget(thought_id)
        return protocol.ThoughtMarked(number, thought_id, "dropped")

    def _frame(self, number: int, notes: list[OwnerNote]) -> protocol.Notes:
        shown = [
            protocol.Note(
                note_id=note.id,
                thought_id=note.thought_id,
                written_at=note.written_at,
                text=plain(note.text),
                reason=note.reason,
                shown_at=note.shown_at or 0.0,
                dismissed_at=note.dismissed_at or 0.0,
            )
            for note in notes
        ]
        return protocol.Notes(number, shown, self._settings().monologue.notes_per_day)
