"""What each request does: a thin translation between the wire and the mind. Nothing is decided here."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec
import structlog

from reveries import protocol
from reveries.daemon.backup_answers import make_backup
from reveries.daemon.chat_context import Told
from reveries.daemon.episode_answers import answer_by_hand
from reveries.daemon.forgetting import forget
from reveries.daemon.looking import Looking
from reveries.daemon.mind import Mind, Progress
from reveries.daemon.models_overview import answer_frame
from reveries.daemon.past import answer_about_talk
from reveries.daemon.replying import ReplyStop
from reveries.daemon.safe_mode import require_allowed
from reveries.daemon.server import Session
from reveries.daemon.settings_in_force import masked_toml
from reveries.daemon.sleep_answers import SleepQuestion, answer_about_sleep, preview_frame
from reveries.daemon.thinking_control import ThinkingRequest
from reveries.daemon.turn import TurnResult, falls_asleep
from reveries.daemon.usage import usage_report
from reveries.daemon.wire import (
    detail_frame,
    found_frame,
    recalled_frame,
    said_turn,
    said_turns,
    stats_frame,
    wellbeing_frame,
)
from reveries.errors import DiskFullError, StorageLostError
from reveries.llm.base import Role, Usage
from reveries.memory.forgetting.forgetting import Told as ToldOfErasing
from reveries.memory.importing import PastTurn
from reveries.memory.model import Recall, Turn
from reveries.plaintext import one_line, plain
from reveries.safety.wellbeing import wellbeing_report

_SCROLLBACK_TURNS = 200
_MOST_SCROLLBACKS = 4
"""Made at a time: a hundred at once took megabytes that the process kept (E4)."""

log = structlog.get_logger("requests")

T = TypeVar("T")

_Answered = (
    protocol.LookRequest
    | protocol.AskWellbeing
    | protocol.AskCheckup
    | protocol.Remember
    | protocol.HandRequest
    | ThinkingRequest
)
_LookOrThink = _Answered | protocol.TalkRequest | protocol.MakeBackup


class Handlers:
    """Answers requests. Replies run in `tasks`, the daemon's own group: a client that leaves does not end them."""

    def __init__(
        self,
        mind: Mind,
        tasks: asyncio.TaskGroup,
        fall_asleep: Callable[[Progress], Awaitable[None]],
        on_storage_lost: Callable[[StorageLostError], None],
    ) -> None:
        self._mind = mind
        self._tasks = tasks
        self._fall_asleep = fall_asleep
        self._on_storage_lost = on_storage_lost
        self._attached: dict[int, Session] = {}
        self._scrolling_back = asyncio.Semaphore(_MOST_SCROLLBACKS)

    async def handle(self, session: Session, request: protocol.Request) -> None:
        """Answer one request. Raises ReveriesError; the server turns it into a `Failed`."""
        require_allowed(request, self._mind.safe_because)
        if isinstance(request, _LookOrThink):
            await self._look_or_think(session, request)
            return
        match request:
            case protocol.Attach() | protocol.Detach():
                await self._attach_or_detach(session, request)
            case protocol.Say():
                await self._say(session, request)
            case protocol.Observe():
                await self._observe(session, request)
            case protocol.Consolidate() | protocol.PreviewSleep():
                await self._deep_sleep(session, request)
            case protocol.Import():
                await self._import(session, request)
            case protocol.ProbeModels() | protocol.Forget():
                await self._take_time(session, request)
            case protocol.Sleep():
                await self._fall_asleep(self._progress(session, request.request_id, "sleeping on it"))
                session.outbox.send(protocol.Ok(request.request_id))
            case protocol.Hello() | protocol.Cancel():
                raise AssertionError("the server answers these itself")
            case _:
                await self._answer_question(session, request)

    async def _answer_question(
        self,
        session: Session,
        request: protocol.AskStatus
        | protocol.AskThoughts
        | protocol.AskMemory
        | protocol.Search
        | protocol.Inspect
        | protocol.AskConfig
        | protocol.ApplyConfig
        | protocol.AskModels
        | protocol.AskUsage
        | SleepQuestion,
    ) -> None:
        mind, number = self._mind, request.request_id
        match request:
            case protocol.AskStatus():
                answer: protocol.Frame = await mind.status(number)
            case protocol.AskThoughts():
                answer = protocol.Thoughts(number, await mind.thoughts(request.since, request.limit))
            case protocol.AskMemory():
                answer = stats_frame(number, await mind.memory.stats())
            case protocol.Search():
                began = mind.clock.monotonic()
                recall = await self._looking.search(request)
                deep = await mind.memory.search_deep(request.query, request.limit) if request.deep is True else None
                seconds = mind.clock.monotonic() - began
                answer = found_frame(number, recall, seconds, deep, is_explained=request.explain is True)
            case protocol.Inspect():
                answer = detail_frame(number, await mind.memory.inspect(request.episode_id))
            case protocol.AskConfig():
                answer = protocol.Config(number, masked_toml(mind.settings), str(mind.config_file))
            case protocol.AskUsage():
                answer = await usage_report(number, mind.ledger, request.days)
            case protocol.ApplyConfig():
                changed, needs_restart = mind.apply_settings()
                answer = protocol.ConfigApplied(number, changed, needs_restart)
            case protocol.AskModels():
                answer = msgspec.structs.replace(await mind.models_overview(), request_id=number)
            case _:
                answer = await answer_about_sleep(mind, request)
        session.outbox.send(answer)

    def gone(self, session: Session) -> None:
        """A client left, with or without a word."""
        if self._attached.pop(session.number, None) is not None:
            self._mind.conversation.detach(session.number)

    def tell_attached(self, frame: protocol.Frame, but: int | None = None) -> None:
        """Send `frame` to everybody who is attached, but not to client number `but`."""
        for number, session in list(self._attached.items()):
            if number != but:
                session.outbox.tell(frame)

    def turn_stored(self, turn: Turn) -> None:
        self.tell_attached(protocol.Spoken(0, said_turn(turn)))

    def state_changed(self, state: str, detail: str) -> None:
        self.tell_attached(protocol.StateChanged(0, state, one_line(detail)))

    def trouble_changed(self, problems: list[str]) -> None:
        self.tell_attached(protocol.Trouble(0, [plain(problem) for problem in problems]))

    def progressed(self, what: str, done: int, total: int, but: int | None = None) -> None:
        """Long work goes on: whoever is attached may show how far it is. A slow client is told less."""
        for number, session in list(self._attached.items()):
            if number != but:
                session.outbox.send_piece(protocol.Progress(0, what, done, total))

    def _progress(self, session: Session, request_id: int, what: str) -> Callable[[int, int], None]:
        """Tells who asked for the work, and the others who are attached."""

        def report(done: int, total: int) -> None:
            session.outbox.send_piece(protocol.Progress(request_id, what, done, total))
            self.progressed(what, done, total, but=session.number)

        return report

    def _tell(self, session: Session, request_id: int, what: str, done: int, total: int) -> None:
        session.outbox.send_piece(protocol.Progress(request_id, what, done, total))

    @property
    def _looking(self) -> Looking:
        return Looking(self._mind.memory, self._mind.conversation, self._mind.clock)

    async def _look_or_think(self, session: Session, request: _LookOrThink) -> None:
        if isinstance(request, protocol.TalkRequest):
            await self._about_talk(session, request)
        elif isinstance(request, protocol.MakeBackup):
            tell = partial(self._tell, session, request.request_id)
            session.outbox.send(await make_backup(request.request_id, self._mind, tell))
        else:
            session.outbox.send(await self._answered(request))

    async def _answered(self, request: _Answered) -> protocol.Frame:
        match request:
            case protocol.Remember():
                return await self._mind.remember(request.request_id, request.text)
            case _ if isinstance(request, protocol.HandRequest):
                return await answer_by_hand(self._mind.memory, request)
            case protocol.AskCheckup():
                return await self._mind.checkup(request.request_id)
            case protocol.AskWellbeing():
                report = await wellbeing_report(self._mind.database, self._mind.clock, request.excerpts)
                return wellbeing_frame(request.request_id, report)
            case _ if isinstance(request, ThinkingRequest):
                return await self._mind.thinking.answer(request)
            case _:
                return await self._looking.answer(request)

    async def _about_talk(self, session: Session, request: protocol.TalkRequest) -> None:
        conversation = self._mind.conversation
        session.outbox.send(await answer_about_talk(self._mind.memory, conversation, request))
        if isinstance(request, protocol.NewConversation | protocol.ResumeConversation | protocol.TakeBack):
            self.tell_attached(protocol.Switched(0, conversation.conversation_id))

    async def _attach_or_detach(self, session: Session, request: protocol.Attach | protocol.Detach) -> None:
        if isinstance(request, protocol.Attach):
            await self._attach(session, request)
            return
        self.gone(session)
        session.outbox.send(protocol.Ok(request.request_id))

    async def _attach(self, session: Session, request: protocol.Attach) -> None:
        mind = self._mind
        with contextlib.suppress(DiskFullError):  # Then it goes on with the one that there is.
            await mind.conversation.open()
        # First: a turn that is stored while the earlier ones are read is told of, and not lost between the two.
        self._attached[session.number] = session
        mind.conversation.attach(session.number)
        async with self._scrolling_back:
            turns = await mind.memory.recent_turns(mind.conversation.conversation_id, _SCROLLBACK_TURNS)
            session.outbox.send(
                protocol.Attached(
                    request_id=request.request_id,
                    conversation_id=mind.conversation.conversation_id,
                    began_at=mind.conversation.began_at,
                    turns=said_turns(turns),
                    earlier_count=turns[0].position if turns else 0,
                    notices=await mind.notices(),
                )
            )

    async def _say(self, session: Session, request: protocol.Say) -> None:
        mind = self._mind
        events, stop = _TurnToSession(session, request.request_id), ReplyStop()

        def turn() -> Coroutine[None, None, TurnResult]:
            return mind.conversation.say(request.text, events, off_record=request.off_record is True, stop=stop)

        reply = self._begin(session, turn, "turn")
        try:
            await asyncio.wait((reply,))
        except asyncio.CancelledError:
            # Cancelled by its client: stop the reply. Gone without a word: let it go on, and be stored.
            if session.is_gone:
                raise
            stop.ask()
            await asyncio.wait((reply,))
        result = reply.result()
        if isinstance(result, Exception):
            raise result
        session.outbox.send(_replied(request.request_id, result, mind.models.conversation.name))

    def _begin(
        self, session: Session, work: Callable[[], Coroutine[None, None, T]], name: str
    ) -> asyncio.Task[T | Exception]:
        """A task of the daemon's, which outlives its client. Raises AsleepError."""
        outcome = self._outcome(session, work)
        try:
            return self._tasks.create_task(outcome, name=name)
        except RuntimeError as error:  # The daemon's tasks are ending: they take nothing more in.
            outcome.close()
            raise falls_asleep() from error

    async def _outcome(self, session: Session, work: Callable[[], Coroutine[None, None, T]]) -> T | Exception:
        """What came of it, or what it raised: the request hands that on, and if the client is gone nobody does."""
        try:
            return await work()
        except StorageLostError as error:
            self._on_storage_lost(error)
            return error
        except Exception as error:  # A named boundary: handed to the request, which reports it ...
            if session.is_gone:  # ... and who left asks nobody.
                log.exception("task.failed")
            return error

    async def _observe(self, session: Session, request: protocol.Observe) -> None:
        number = request.request_id
        async for frame in self._mind.watch_thought(number):
            if isinstance(frame, protocol.ThoughtToken):
                session.outbox.send_piece(frame)
            else:
                session.outbox.send(frame)

    async def _deep_sleep(self, session: Session, request: protocol.Consolidate | protocol.PreviewSleep) -> None:
        if isinstance(request, protocol.PreviewSleep):
            await self._preview_sleep(session, request)
        else:
            await self._consolidate(session, request)

    async def _consolidate(self, session: Session, request: protocol.Consolidate) -> None:
        report = await self._mind.consolidate(
            request.limit, trigger="owner", progress=self._progress(session, request.request_id, "consolidating")
        )
        session.outbox.send(
            protocol.Consolidated(
                request_id=request.request_id,
                run_id=report.run_id,
                processed=report.processed,
                created=report.created,
                merged=report.merged,
                fallbacks=report.fallbacks,
                left=report.left,
                seconds=report.seconds,
                was_interrupted=report.was_interrupted,
                log=[plain(line) for line in report.log],
                question=plain(report.question),
            )
        )

    async def _preview_sleep(self, session: Session, request: protocol.PreviewSleep) -> None:
        ledger = self._mind.ledger
        before = {use.role: use for use in await ledger.usage_today()}[Role.CONSOLIDATION]
        progress = self._progress(session, request.request_id, "looking at what waits")
        preview = await self._mind.preview_sleep(request.limit, progress)
        after = {use.role: use for use in await ledger.usage_today()}[Role.CONSOLIDATION]
        session.outbox.send(preview_frame(request.request_id, preview, before, after))

    async def _take_time(self, session: Session, request: protocol.ProbeModels | protocol.Forget) -> None:
        if isinstance(request, protocol.Forget):
            await self._forget(session, request)
        else:
            await self._test_models(session, request)

    async def _test_models(self, session: Session, request: protocol.ProbeModels) -> None:
        tell = partial(self._tell, session, request.request_id)
        with_tiers = request.tiers is True
        probes, tiers = await self._mind.test_models(request.role, tell, with_tiers=with_tiers)
        answers = [answer_frame(count) for count in await self._mind.answers.counts()]
        tested = protocol.ModelsProbed(request.request_id, probes, answers, tiers if with_tiers else msgspec.UNSET)
        session.outbox.send(tested)

    async def _forget(self, session: Session, request: protocol.Forget) -> None:
        told = ToldOfErasing()
        work = partial(self._forgotten, session, request, told)
        is_erasing = request.erase and not request.dry_run and not request.bring_back
        session.outbox.send(await (self._erased(session, work, told) if is_erasing else work()))

    async def _forgotten(self, session: Session, request: protocol.Forget, told: ToldOfErasing) -> protocol.Forgotten:
        is_done = False
        try:
            answer = await forget(self._mind, request, partial(self._tell, session, request.request_id), told)
            is_done = not request.dry_run
            return answer
        finally:
            if is_done or told.is_gone:  # Whoever shows the conversation reads it anew, whatever comes of the rest.
                self.tell_attached(protocol.Switched(0, self._mind.conversation.conversation_id))

    async def _erased(
        self, session: Session, work: Callable[[], Coroutine[None, None, protocol.Forgotten]], told: ToldOfErasing
    ) -> protocol.Forgotten:
        """Once something of it may be gone it goes on to its end, whether or not somebody waits for it (F10)."""
        erasing = self._begin(session, work, "erasing")
        while not erasing.done():
            try:
                await asyncio.wait((erasing,))
            except asyncio.CancelledError:
                if not told.may_be_gone:
                    told.is_given_up = True
                    erasing.cancel()  # It puts back what it has noted.
                elif session.is_gone:
                    raise
        answer = erasing.result()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _import(self, session: Session, request: protocol.Import) -> None:
        past = [PastTurn(turn.said_at, turn.speaker, turn.text, turn.is_owner is True) for turn in request.turns]
        under_way = session.imports.setdefault(request.source, self._mind.memory.begin_import(request.source))
        report = await under_way.add(past)
        episodes = 0
        if request.is_last:
            session.imports.pop(request.source, None)
            slept = await self._mind.light_sleep(self._progress(session, request.request_id, "light sleep"))
            episodes = slept.episodes
        erased = report.erased or msgspec.UNSET
        session.outbox.send(
            protocol.Imported(request.request_id, report.stored, report.known_already, episodes, erased)
        )


@dataclass(frozen=True, slots=True)
class _TurnToSession:
    """The events of one turn as frames to the client that asked for it."""

    session: Session
    request_id: int

    def recalled(self, recall: Recall, told: Sequence[Told]) -> None:
        self.session.outbox.send(recalled_frame(self.request_id, recall, told))

    def help(self, text: str) -> None:
        self.session.outbox.send(protocol.Help(self.request_id, text))

    def token(self, text: str) -> None:
        # Not made plain here: an escape sequence can be cut in two by a token's end. The client does it on the whole.
        self.session.outbox.send_piece(protocol.Token(self.request_id, text))

    def stored(self, what: str, turn_id: str) -> None:
        self.session.outbox.send(protocol.Stored(self.request_id, what, turn_id))


def _replied(request_id: int, result: TurnResult, model: str) -> protocol.Replied:
    draft = result.draft
    usage = draft.usage or Usage(0, 0)
    return protocol.Replied(
        request_id=request_id,
        turn_id=result.reply_turn.id if result.reply_turn else "",
        text=draft.text,
        reason=draft.reason,
        explanation=plain(draft.explanation),
        model=model,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        first_token_seconds=result.first_token_seconds,
        seconds=result.seconds,
    )
