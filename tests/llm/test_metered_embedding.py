import asyncio
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest

from reveries.config import load_settings
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.errors import BudgetExceededError, ModelUnavailableError
from reveries.llm.base import Embedder, Role
from reveries.llm.budget import Ledger
from reveries.llm.caps import Span
from reveries.llm.hosted_embedding import EmbeddingRefusedError
from reveries.llm.metered_embedding import EmbeddingCache, MeteredEmbedder
from reveries.llm.prices import price_of
from tests.fakes.clock import HandClock, settle
from tests.fakes.scripted import HashingEmbedder
from tests.llm.embedding_contract import EmbedderContract
from tests.llm.embedding_fakes import FailingEmbedder, FakeEmbeddingWire
from tests.llm.test_remote_embedding import hosted

BUDGET = load_settings(None).budget


def metered(
    database: Database, clock: HandClock, embedder: Embedder, *, tokens_per_day: int | None = None, max_rows: int = 1000
) -> MeteredEmbedder:
    role = BUDGET.embedding
    if tokens_per_day is not None:
        role = msgspec.structs.replace(role, tokens_per_day=tokens_per_day)
    ledger = Ledger(database, clock, lambda: msgspec.structs.replace(BUDGET, embedding=role))
    return MeteredEmbedder(embedder, ledger, EmbeddingCache(database, max_rows))


async def _used(database: Database, clock: HandClock) -> tuple[int, int]:
    """Calls and tokens of embedding today."""
    [use] = [u for u in await Ledger(database, clock, lambda: BUDGET).usage_today() if u.role == Role.EMBEDDING.value]
    return use.calls, use.prompt_tokens


class TestMeteredLocally(EmbedderContract):
    @pytest.fixture
    def embedder(self, database: Database, clock: HandClock) -> Embedder:
        return metered(database, clock, HashingEmbedder())


class TestMeteredHosted(EmbedderContract):
    @pytest.fixture
    def embedder(self, database: Database, clock: HandClock) -> Embedder:
        return metered(database, clock, hosted(FakeEmbeddingWire()))


def test_the_prices_of_the_hosted_embedders_of_the_docs_are_known() -> None:
    assert price_of("openai/text-embedding-3-small").is_known


@pytest.mark.requirement("R-49", "G1")
async def test_a_paid_batch_is_reserved_and_settled_and_the_same_text_never_paid_twice(
    database: Database, clock: HandClock
) -> None:
    wire = FakeEmbeddingWire()
    embedder = metered(database, clock, hosted(wire))
    first = await embedder.embed(["a cello", "a garden", "a cello"])
    assert await _used(database, clock) == (1, 6)
    again = metered(database, clock, hosted(wire))  # as after a restart
    assert np.allclose(await again.embed(["a garden", "a cello"]), first[[1, 0]])
    assert len(wire.calls) == 1
    assert await _used(database, clock) == (1, 6)


async def test_the_cache_is_of_one_model_and_bounded(database: Database) -> None:
    cache = EmbeddingCache(database, max_rows=3)
    row = np.ones(4, np.float32)
    await cache.keep("m", {str(n): row for n in range(5)})
    assert set(await cache.find("m", map(str, range(5)))) == {"2", "3", "4"}
    assert await cache.find("other", ["4"]) == {}


@pytest.mark.requirement("G1")
async def test_beyond_the_budget_nothing_is_asked(database: Database, clock: HandClock) -> None:
    wire = FakeEmbeddingWire()
    embedder = metered(database, clock, hosted(wire), tokens_per_day=10)
    with pytest.raises(BudgetExceededError):
        await embedder.embed(["far too many words for what is left of today, all in one single text"])
    assert not wire.calls
    await embedder.embed(["cue"])
    assert len(wire.calls) == 1


@pytest.mark.requirement("G1")
@pytest.mark.parametrize(("status", "kept_reserved"), [(429, False), (401, False), (None, True)])
async def test_only_what_may_have_been_billed_stays_reserved(
    database: Database, clock: HandClock, status: int | None, kept_reserved: bool
) -> None:
    error = (
        EmbeddingRefusedError(httpx.Response(status))
        if status is not None
        else httpx.ReadError("reset after it was asked")
    )
    embedder = metered(database, clock, hosted(FakeEmbeddingWire(error=error)))
    with pytest.raises(ModelUnavailableError):
        await embedder.embed(["x"])
    assert ((await _used(database, clock))[1] > 0) is kept_reserved


@pytest.mark.requirement("G1")
async def test_usage_that_nobody_told_keeps_its_worst_case(database: Database, clock: HandClock) -> None:
    embedder = metered(database, clock, hosted(FakeEmbeddingWire(gives_usage=False)))
    await embedder.embed(["a cello"])
    assert (await _used(database, clock))[1] >= 3


async def test_what_runs_here_writes_nothing_into_the_ledger(database: Database, clock: HandClock) -> None:
    await metered(database, clock, HashingEmbedder()).embed(["x"])
    assert await _used(database, clock) == (0, 0)


async def test_who_waits_at_the_same_time_is_served_by_one_call(database: Database, clock: HandClock) -> None:
    inner = FailingEmbedder()
    embedder = metered(database, clock, inner)
    inner.gate.clear()
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(embedder.embed(["first"]), name="first")
        await settle()
        others = [tasks.create_task(embedder.embed([f"{n}", "both"]), name=f"other {n}") for n in range(6)]
        await settle()
        inner.gate.set()
    assert len(await first) == 1
    assert [len(one.result()) for one in others] == [2] * 6
    assert [len(batch) for batch in inner.batches] == [1, 7]


async def test_a_cue_waits_for_one_batch_of_a_long_list_and_not_for_the_list(
    database: Database, clock: HandClock
) -> None:
    inner = FailingEmbedder()
    embedder = metered(database, clock, inner)
    inner.gate.clear()
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(embedder.embed([f"old {n}" for n in range(500)]), name="long")
        await settle()
        tasks.create_task(embedder.embed(["the cue"]), name="cue")
        await settle()
        inner.gate.set()
    assert "the cue" in inner.batches[1]


async def test_a_caller_that_is_cancelled_takes_nobody_with_it(database: Database, clock: HandClock) -> None:
    inner = FailingEmbedder()
    embedder = metered(database, clock, inner)
    inner.gate.clear()
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        leader = tasks.create_task(embedder.embed(["leader"]), name="leader")
        await settle()
        follower = tasks.create_task(embedder.embed(["leader", "follower"]), name="follower")
        await settle()
        leader.cancel()
        await settle()
        inner.gate.set()
    assert len(follower.result()) == 2


async def test_a_failure_is_told_to_everybody_who_waited_and_to_nobody_later(
    database: Database, clock: HandClock
) -> None:
    inner = FailingEmbedder(error=ModelUnavailableError("gone"))
    embedder = metered(database, clock, inner)
    async with asyncio.timeout(300):
        told = await asyncio.gather(*(embedder.embed([f"{n}"]) for n in range(4)), return_exceptions=True)
    assert all(isinstance(one, ModelUnavailableError) for one in told)
    inner.error = None
    assert len(await embedder.embed(["0"])) == 1


async def test_an_interrupted_paid_call_keeps_its_worst_case(tmp_path: Path, clock: HandClock) -> None:
    database = await open_database(tmp_path / "memory.db")
    wire = _Hanging()
    embedder = metered(database, clock, hosted(wire))
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(embedder.embed(["x"]), name="asking")
        await wire.asked.wait()
        asking.cancel()
    assert (await _used(database, clock))[1] > 0
    await database.aclose()


class _Hanging(FakeEmbeddingWire):
    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def aembedding(self, **options: object) -> object:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.requirement("G4")
async def test_vectors_of_this_machine_are_counted_and_never_refused(database: Database, clock: HandClock) -> None:
    budget = load_settings(None).budget
    nothing = msgspec.structs.replace(budget.embedding, tokens_per_day=0)
    ledger = Ledger(database, clock, lambda: msgspec.structs.replace(budget, embedding=nothing))
    embedder = MeteredEmbedder(HashingEmbedder(), ledger, EmbeddingCache(database))
    assert (await embedder.embed(["eight ch", "four"])).shape == (2, embedder.dimensions)
    await embedder.aclose()
    (used,) = await ledger.usage_since(Span.DAY)
    assert (used.role, used.calls, used.prompt_tokens, used.dollars) == ("embedding", 1, 3, 0.0)
