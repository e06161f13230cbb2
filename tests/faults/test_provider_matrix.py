"""Every fault of a provider, in every role, over both wire formats, against a whole mind that lives through them (D1).
In OpenAI's format, which takes litellm's time, CI has one of each outcome.

Whatever the provider does: nothing is raised that nobody handles, the words are kept, the person is told in plain words
and never the key, nobody storms the provider, and when it is well again so is the mind.
"""

import importlib.util
import re
from collections.abc import Awaitable, Callable, Sequence

import pytest

from reveries.config import Home
from reveries.daemon.talk.turn import TurnResult
from reveries.errors import ModelError, ModelFault
from reveries.llm.base import Role
from reveries.llm.hosted import load_litellm
from reveries.llm.role_model import CONVERSATION_TRIES
from reveries.monologue.observers import ThoughtEnd
from reveries.monologue.ports import ThoughtState
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safe_text import plain
from tests.daemon.kit import Events
from tests.fakes.prose import new_words
from tests.fakes.provider import provider
from tests.fakes.provider_faults import FAULTS, Becomes, Found, ProviderFault
from tests.faults.kit import FIRST_TOKEN_SECONDS, IDLE_SECONDS, KEY, THINKER, TOTAL_SECONDS, Dialect, Living, living
from tests.memory.kit import talk

TOLD_WITHIN_SECONDS = 2.0
"""By the loop's time: what is waited for, not what a busy machine adds. A real daemon: bench/soak/faults.py."""
WELL_WITHIN_SECONDS = 10.0
HAS_LITELLM = importlib.util.find_spec("litellm") is not None
WORDS = "Where did Marta move?"
NO_LANGUAGE_FOR_PEOPLE = re.compile(
    r"Traceback|litellm|Exception|\w+Error\b|pydantic|validation error|<\w+|status code|[{}]|None\b|object has"
)


needs_litellm = pytest.mark.skipif(not HAS_LITELLM, reason="litellm is not installed")
"""It takes most of a minute for all the faults: `make test-system` has one for each outcome, `make soak
PART=long_tests` has them all."""
OPENAI = pytest.param("openai", marks=[pytest.mark.system, needs_litellm])
OPENAI_LONG = pytest.param("openai", marks=[pytest.mark.system, pytest.mark.long, needs_litellm])
Cell = Callable[[Living, ProviderFault, Becomes], Awaitable[None]]

pytestmark = [
    pytest.mark.requirement("D1", "R-40", "R-93", "F6"),
    pytest.mark.filterwarnings("ignore"),  # litellm's and its libraries' own
]


def faults_of(dialect: Dialect) -> list[ProviderFault]:
    faults = [fault for fault in FAULTS if (fault.is_openai if dialect == "openai" else fault.is_ollama)]
    assert len({fault.name for fault in faults}) == len(faults) >= 40
    return faults


def one_for_each_outcome(dialect: Dialect) -> list[ProviderFault]:
    """And one of the address."""
    chosen = {(becomes(fault, dialect), fault.heals, bool(fault.url)): fault for fault in faults_of(dialect)}
    assert {outcome for outcome, _, _ in chosen} == set(Becomes)
    assert any(is_of_address for _, _, is_of_address in chosen)
    return list(chosen.values())


async def live_through(home: Home, dialect: Dialect, cell: Cell, faults: Sequence[ProviderFault]) -> None:
    """One mind, the faults one after the other; those of the address are a mind's own from its waking on."""
    if dialect == "openai":
        await load_litellm()  # some seconds, once: they are not the provider's
    wrong = await _in_one_mind(home, dialect, [fault for fault in faults if not fault.url], cell)
    for fault in faults:
        if fault.url:
            wrong += await _in_one_mind(Home(home.path.with_name(fault.name[:3])), dialect, [fault], cell)
    assert not wrong, "\n".join(wrong)


async def _in_one_mind(home: Home, dialect: Dialect, faults: Sequence[ProviderFault], cell: Cell) -> list[str]:
    wrong: list[str] = []
    async with provider() as there:
        url = faults[0].url.format(port=there.port)
        async with living(home, there, dialect, url=url) as alive:
            for fault in faults:
                there.requests.clear()
                await there.inject(fault)
                try:
                    await cell(alive, fault, becomes(fault, dialect))
                    assert alive.is_whole, alive.unhandled
                except (AssertionError, TimeoutError) as error:
                    wrong.append(f"{fault}: {error!r:.600}")
                    alive.unhandled.clear()
                await alive.forgive()
    return wrong


def becomes(fault: ProviderFault, dialect: Dialect) -> Becomes:
    return fault.openai_becomes if dialect == "openai" and fault.openai_becomes else fault.becomes


# --- conversation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["ollama", OPENAI_LONG])
async def test_the_owner_is_told_and_the_words_are_kept(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_turn, faults_of(dialect))


@pytest.mark.parametrize("dialect", [OPENAI])
async def test_the_owner_is_told_of_a_fault_of_each_outcome(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_turn, one_for_each_outcome(dialect))


async def _a_turn(alive: Living, fault: ProviderFault, outcome: Becomes) -> None:
    began = alive.clock.monotonic()
    words = f"{WORDS} {fault}"
    result, events = await alive.say(words)
    seconds = alive.clock.monotonic() - began
    tries = len(alive.provider.generations)
    not_again = (ModelFault.KEY_REFUSED, ModelFault.FORBIDDEN, ModelFault.BAD_REQUEST)
    is_worth_another = fault.kind not in not_again and not fault.is_missing
    assert tries <= (CONVERSATION_TRIES if is_worth_another else 1), f"{tries} tries"
    limit = CONVERSATION_TRIES * seconds_to_find(fault) + TOLD_WITHIN_SECONDS
    assert seconds <= limit, f"told after {seconds:.1f} s"
    assert events.told[0] == "stored words"
    check_reply(result, events, outcome)
    recent = await alive.memory.conversations.recent_turns(alive.mind.conversation.conversation_id, 4)
    assert words in [turn.text for turn in recent]
    if fault.heals:
        await is_served_again(alive)


def check_reply(result: TurnResult, events: Events, outcome: Becomes) -> None:
    """What was told, and what was stored, of a reply that had this outcome."""
    draft, turn = result.draft, result.reply_turn
    assert plain(draft.text) == draft.text
    match outcome:
        case Becomes.ANSWERED | Becomes.CAPPED:
            assert draft.reason == ("stop" if outcome is Becomes.ANSWERED else "length"), draft
            assert turn is not None
            # A reply that reached its limit is stored as cut.
            assert turn.is_partial is (outcome is Becomes.CAPPED)
            assert "INTRUDER" not in turn.text
            assert "AFTER THE END" not in turn.text
        case Becomes.CUT:
            assert draft.reason == "failed", draft
            assert turn is not None, draft
            assert turn.is_partial
            check_sentence(draft.explanation)
        case Becomes.REFUSED | Becomes.WORDLESS:
            assert draft.reason == "failed", draft
            assert turn is None, draft
            assert "stored exchange" not in events.told
            check_sentence(draft.explanation)


def check_sentence(told: str) -> None:
    """Plain words for a person: no traceback, no key, no library's own language, not long."""
    assert 20 < len(told) <= 400, told
    assert plain(told) == told
    assert "\n" not in told
    assert KEY not in told
    assert not NO_LANGUAGE_FOR_PEOPLE.search(told), told


def seconds_to_find(fault: ProviderFault) -> float:
    """How long the limits of this test let the fault go on, in one try."""
    match fault.found:
        case Found.AT_ONCE:
            return 0.0
        case Found.IDLE:
            return IDLE_SECONDS
        case Found.TOTAL:
            return TOTAL_SECONDS
        case Found.FIRST_TOKEN | Found.CONNECT:
            return FIRST_TOKEN_SECONDS


async def is_served_again(alive: Living) -> None:
    """Once the provider is well, and any pause that it asked for is over, the owner waits ten seconds at most."""
    await alive.provider.heal()
    circuit = alive.circuits.get(alive.dialect)
    await alive.clock.advance(max(0.0, circuit.asked_until - alive.clock.now()))
    wait = alive.circuits.wait_seconds(alive.dialect, Role.CONVERSATION)
    assert wait <= WELL_WITHIN_SECONDS, f"not asked for {wait:.0f} s"
    await alive.clock.advance(wait)
    result, _ = await alive.say("And now?")
    assert result.draft.reason == "stop", result.draft
    assert alive.circuits.get(alive.dialect).is_healthy


# --- thinking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["ollama", OPENAI_LONG])
async def test_thinking_pauses_says_why_and_goes_on(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_thought, faults_of(dialect))


@pytest.mark.parametrize("dialect", [OPENAI])
async def test_thinking_meets_a_fault_of_each_outcome(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_thought, one_for_each_outcome(dialect))


async def _a_thought(alive: Living, fault: ProviderFault, outcome: Becomes) -> None:
    fails = outcome in (Becomes.REFUSED, Becomes.CUT)
    ended = await _think(alive)
    assert (ended.reason == "failed") is fails, ended
    assert all(plain(thought.text) == thought.text for thought in await alive.mind.sources.entries(0.0, 1000))
    if fails:
        check_sentence(ended.explanation)
        await alive.let_pass(30)
    calls = len(alive.provider.generations)
    assert calls <= 6, f"{calls} calls in half a minute"
    if fails and fault.heals:
        await _pause(alive)  # A thought under way may still meet the fault, and be heard of when all is well.
        await is_served_again(alive)
        if fault.is_missing:  # A model that was not there is looked for again in a quarter of an hour.
            await alive.clock.advance(900)
        # The first may begin in the moment in which the circuit has not yet noted that the provider is well.
        again = [await _think(alive), await _think(alive)]
        assert again[-1].reason != "failed", again


async def _think(alive: Living) -> ThoughtEnd:
    """How a thought ends that a memory gave occasion to, and that began after this was called."""
    if "monologue" not in alive.children:
        alive.mind.monologue.pause()  # It would think about the talk by itself, and meet the fault.
        alive.start_thinking()
        await alive.clock.advance(0)
    await _pause(alive)  # What is under way may have begun before the provider was what it is now: it does not count.
    monologue = alive.mind.monologue
    before = len(alive.thoughts_ended)
    # Never the same twice: thoughts that come to the same again and again come less and less often.
    alive.provider.texts[THINKER] = f"I think of {new_words(before)}. That is all."
    monologue.resume(Reactivation(ThinkingReason.ASSOCIATION, "Marta"))
    await alive.until(lambda: len(alive.thoughts_ended) > before and monologue.state is not ThoughtState.THINKING)
    return alive.thoughts_ended[before]


async def _pause(alive: Living) -> None:
    monologue = alive.mind.monologue
    monologue.pause()
    await alive.until(lambda: monologue.state is ThoughtState.PAUSED)


# --- sleep -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["ollama", OPENAI_LONG])
async def test_sleep_loses_no_experience(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_sleep, faults_of(dialect))


@pytest.mark.parametrize("dialect", [OPENAI])
async def test_sleep_meets_a_fault_of_each_outcome(home: Home, dialect: Dialect) -> None:
    await live_through(home, dialect, _a_sleep, one_for_each_outcome(dialect))


async def _a_sleep(alive: Living, fault: ProviderFault, outcome: Becomes) -> None:
    await talk(alive.memory, (f"I planted {fault} in the garden.", "Did it grow?"))
    await alive.memory.light_sleep()
    before = await alive.memory.stats()
    told = ""
    processed = fallbacks = 0
    try:
        report = await alive.while_time_passes(alive.mind.sleep.consolidate(1, trigger="owner"))
        processed, fallbacks = report.processed, report.fallbacks
    except ModelError as error:
        told = str(error)
    after = await alive.memory.stats()
    assert after.unprocessed == before.unprocessed - processed
    if outcome in (Becomes.REFUSED, Becomes.CUT):
        assert not processed
        assert not fallbacks
        check_sentence(told)
    else:
        assert processed + fallbacks == 1, told
    if fault.heals:
        await alive.forgive()
        report = await alive.while_time_passes(alive.mind.sleep.consolidate(None, trigger="owner"))
        if report.left:  # What got no usable answer as part of a conversation is asked about alone in the next pass.
            report = await alive.while_time_passes(alive.mind.sleep.consolidate(None, trigger="owner"))
        assert not report.left
        assert not report.fallbacks
        assert not (await alive.memory.stats()).unprocessed
