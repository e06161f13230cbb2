"""Every fault for the fourth role: an embedder over HTTP fails in every way, and memory goes on by words (D1, D3)."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from reveries.config import load_settings
from reveries.db.database import Database
from reveries.errors import ReveriesError
from reveries.llm.circuit import PROBE_SECONDS
from reveries.llm.circuits import Circuits, open_circuits
from reveries.llm.hosted_embedding import HostedEmbedder, HostedEmbedderOptions
from reveries.llm.ollama_client import OllamaEmbedder
from reveries.llm.remote_embedding import GuardedEmbedder, RemoteEmbedder
from reveries.memory.memory import Memory
from tests.fakes.clock import HandClock
from tests.fakes.provider import Provider, provider
from tests.fakes.provider_faults import FAULTS, ProviderFault
from tests.faults.kit import KEY, Dialect
from tests.faults.test_provider_matrix import check_sentence
from tests.memory.kit import open_memory, talk

PLANTED = "I planted a quince tree behind the mill."
_LIMITS = msgspec.structs.replace(
    load_settings(None).llm.limits, first_token_seconds=1.0, idle_seconds=1.0, total_seconds=1.0
)
"""A provider that is well answers within them, too, however busy the machine is."""


@pytest.fixture
async def circuits(database: Database, clock: HandClock) -> Circuits:
    return await open_circuits(database, clock, Random(1))


def _embedder(dialect: Dialect, url: str) -> RemoteEmbedder:
    if dialect == "ollama":
        return OllamaEmbedder("nomic-embed-text", url, _LIMITS)
    return HostedEmbedder(HostedEmbedderOptions("openai/text-embedding-3-small", KEY, f"{url}/v1", _LIMITS))


@pytest.fixture
async def there() -> AsyncIterator[Provider]:
    async with provider() as running:
        yield running


@pytest.mark.requirement("D1", "D3", "R-94")
@pytest.mark.parametrize("dialect", ["ollama", "openai"])
async def test_recall_goes_by_words_through_every_fault_and_by_meaning_after_it(
    tmp_path: Path, there: Provider, circuits: Circuits, clock: HandClock, dialect: Dialect
) -> None:
    faults = [fault for fault in FAULTS if fault.is_openai or dialect == "ollama"]
    embedder = GuardedEmbedder(_embedder(dialect, there.url), circuits)
    wrong: list[str] = []
    async with open_memory(tmp_path, clock=clock, embedder=embedder) as memory:
        await talk(memory, (PLANTED, "How lovely."))
        await memory.light_sleep()
        for fault in faults:
            if fault.url:
                continue
            try:
                await _live_through(memory, there, clock, fault)
            except (AssertionError, ReveriesError, OSError, ValueError, TypeError) as error:
                wrong.append(f"{fault}: {error!r:.300}")
            await there.heal()
            await circuits.record_answer(f"{embedder.model_id} (embedding)")
    await embedder.aclose()
    assert not wrong, "\n".join(wrong)
    assert len(faults) >= 40


async def _live_through(memory: Memory, there: Provider, clock: HandClock, fault: ProviderFault) -> None:
    there.requests.clear()
    await there.inject(fault)
    cue = f"quince tree {fault}"
    recall = await memory.search(cue, 5)
    assert recall.turns[0].turn.text == PLANTED
    assert len(there.requests) <= 1, "it was asked again"
    if not memory.no_vector_reason:
        return  # a fault that leaves vectors what they are
    check_sentence(memory.no_vector_reason)
    await there.heal()
    await clock.advance(max(PROBE_SECONDS, _asked_seconds(fault)))
    vector = await memory.embed_cue(f"{cue}, again")
    assert not memory.no_vector_reason, memory.no_vector_reason
    assert np.isclose(np.linalg.norm(vector), 1.0, atol=1e-3)


def _asked_seconds(fault: ProviderFault) -> float:
    """What a provider asked for is kept: then it is the owner's word after that which finds it well."""
    return 25 * 3600.0 if "retry_after" in fault.name or fault.name.startswith("429") else 0.0


@pytest.mark.requirement("D1")
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.url], ids=str)
async def test_an_address_where_nobody_embeds_costs_the_meaning_and_nothing_else(
    tmp_path: Path, there: Provider, circuits: Circuits, clock: HandClock, fault: ProviderFault
) -> None:
    embedder = GuardedEmbedder(_embedder("openai", fault.url.format(port=there.port)), circuits)
    async with open_memory(tmp_path, clock=clock, embedder=embedder) as memory:
        await talk(memory, (PLANTED, "How lovely."))
        await memory.light_sleep()
        recall = await memory.search("quince tree", 5)
    await embedder.aclose()
    assert recall.turns[0].turn.text == PLANTED
    check_sentence(memory.no_vector_reason)
