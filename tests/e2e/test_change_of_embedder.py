"""Another embedder is chosen, and the mind killed while it embeds its memory anew: recall finds all along."""

import pytest

from reveries import protocol
from tests.e2e.living import Client, Living
from tests.llm.embedding_fakes import embed_server

pytestmark = [pytest.mark.e2e, pytest.mark.system]

_TURNS = 300
_CUES = {"topic7": "topic7 ", "topic150": "topic150 ", "topic299": "topic299 "}


async def _finds(client: Client) -> None:
    for cue, said in _CUES.items():
        found = await client.search(f"What of {cue} in the garden?")
        assert any(said in turn.text for turn in found.turns[:3]), (cue, [turn.text for turn in found.turns[:3]])


async def _import(client: Client) -> None:
    turns = [
        protocol.ImportedTurn(1.6e9 + 60.0 * n, "Bo" if n % 2 else "Ana", f"Here is topic{n} of the garden at length.")
        for n in range(_TURNS)
    ]
    client.send(protocol.Import(client.number(), "old.jsonl", turns, is_last=True))
    assert (await client.next_of(protocol.Imported)).stored == _TURNS


@pytest.mark.requirement("R-3", "R-119")
async def test_another_embedder_takes_over_through_a_kill_while_recall_finds(living: Living) -> None:
    await living.wake()
    async with living.client() as client:
        await _import(client)
        await _finds(client)
        status = await client.status()
        assert status.embedding_model == status.embedding_serving == "all-minilm-l6-v2-int8"
    assert await living.end() == 0

    async with embed_server() as server:
        chosen = f'[llm]\nembedding_model = "ollama/new"\nollama_url = "{server.url}"\n'
        living.settings = living.settings.replace("[llm]\n", chosen, 1)
        server.status, server.raw = 503, b'{"error": "not yet"}'
        await living.wake()
        async with living.client() as client:
            await client.until(lambda: _is_waiting(client))
            status = await client.status()
            assert status.embedding_serving == "all-minilm-l6-v2-int8"
            assert (status.embedding_done, status.embedding_total > _TURNS) == (0, True)
            await _finds(client)
        living.kill()

        server.status, server.raw = 200, None
        await living.wake()
        async with living.client() as client:
            await client.until(lambda: _has_begun(client))
            await _finds(client)
            living.kill()

        await living.wake()
        async with living.client() as client:
            await _finds(client)
            await client.until(lambda: _is_done(client))
            await _finds(client)
            status = await client.status()
            assert status.embedding_done == status.embedding_total > _TURNS
            assert status.health == "ok"
            assert any("ollama/new" in notice for notice in status.notices)
            # The service goes away: what was said is found all the same, and the mind says how.
            server.status, server.raw = 500, b'{"error": "gone"}'
            found = await client.search("topic42 that nobody asked for yet")
            assert "topic42 " in found.turns[0].text
            status = await client.status()
            assert any("words only" in problem for problem in status.problems)
    assert await living.end() == 0


async def _is_waiting(client: Client) -> bool:
    return bool((await client.status()).embedding_waits)


async def _has_begun(client: Client) -> bool:
    return (await client.status()).embedding_done > 0


async def _is_done(client: Client) -> bool:
    return (await client.status()).embedding_serving == "ollama/new"
