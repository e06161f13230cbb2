from random import Random

import pytest

from reveries.db.database import Database
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Embedder
from reveries.llm.circuit import OPEN_AFTER_FAILURES, PROBE_SECONDS
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.remote_embedding import GuardedEmbedder
from tests.fakes.clock import HandClock
from tests.llm.embedding_contract import EmbedderContract
from tests.llm.embedding_fakes import FailingEmbedder

DOWN = ModelUnavailableError("It does not answer.", fault=ModelFault.TIMED_OUT)


class TestGuardedEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self, database: Database, clock: HandClock) -> Embedder:
        return GuardedEmbedder(FailingEmbedder(), await open_circuits(database, clock, Random(1)))


@pytest.fixture
async def circuits(database: Database, clock: HandClock) -> Circuits:
    return await open_circuits(database, clock, Random(1))


@pytest.mark.requirement("D1", "D3")
async def test_an_embedder_that_is_down_is_not_met_by_every_turn(circuits: Circuits, clock: HandClock) -> None:
    inner = FailingEmbedder(error=DOWN)
    embedder = GuardedEmbedder(inner, circuits)
    for _ in range(OPEN_AFTER_FAILURES):
        with pytest.raises(ModelUnavailableError):
            await embedder.embed(["a cue"])
    inner.error = None
    with pytest.raises(ModelUnavailableError) as told:
        await embedder.embed(["a cue, at once"])
    assert told.value.retry_after_seconds is not None
    assert told.value.retry_after_seconds > 60, "what fills in vectors comes again much later"
    await clock.advance(PROBE_SECONDS)
    assert (await embedder.embed(["a cue, some seconds later"])).shape[0] == 1
    assert circuits.problems() == []


@pytest.mark.requirement("D3")
async def test_a_refused_key_for_embeddings_is_no_refused_key_for_talk(circuits: Circuits) -> None:
    refused = ModelUnavailableError("The key was refused.", fault=ModelFault.KEY_REFUSED)
    with pytest.raises(ModelUnavailableError):
        await GuardedEmbedder(FailingEmbedder(error=refused), circuits).embed(["a cue"])
    assert circuits.get("openai").is_healthy
    assert len(circuits.problems()) == 1
