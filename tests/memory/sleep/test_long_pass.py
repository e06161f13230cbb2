"""A pass over a thousand experiences: it reports progress, a conversation interrupts it at once, and the next pass
continues where it stopped."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from reveries.llm.base import Prompt
from reveries.memory.importing import PastTurn
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Pause, Piece, ScriptedModel
from tests.memory.kit import NOW, deep_answer, memory_settings, open_memory

COUNT = 1000
DONE_BEFORE = 40


@pytest.mark.requirement("R-102", "R-103", "R-107")
async def test_a_thousand_experiences_are_slept_on_with_progress_and_a_word_of_the_owner_interrupts(
    tmp_path: Path,
) -> None:
    past = [
        PastTurn(NOW - (COUNT - place) * 3600 + later, speaker, words)
        for place in range(COUNT)
        for later, speaker, words in ((0, "Bea", f"Gull {place % 97} sat on post {place}."), (9, "Cem", "Noted."))
    ]
    async with open_memory(tmp_path, HandClock(NOW), memory=memory_settings(merge_cosine=1.0)) as memory:
        await memory.begin_import("a log").add(past)
        light: list[tuple[int, int]] = []
        await memory.light_sleep(lambda done, total: light.append((done, total)))
        waiting = await memory.unprocessed_count()
        assert waiting == COUNT
        assert light[-1] == (COUNT, COUNT)
        assert len(light) > 4
        asked, stop = asyncio.Event(), asyncio.Event()

        def hangs(_: Prompt) -> Iterable[Piece]:
            asked.set()
            return [Pause(1e9)]

        model = ScriptedModel([*[deep_answer(0.4)] * DONE_BEFORE, hangs, *[deep_answer(0.4)] * 5], clock=HandClock())
        deep: list[tuple[int, int]] = []
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            sleeping = group.create_task(
                memory.deep_sleep(model, stop=stop, progress=lambda done, total: deep.append((done, total))),
                name="sleep",
            )
            await asked.wait()
            in_hand = model.prompts[-1].messages[-1].text
            stop.set()
            async with asyncio.timeout(300):
                slept = await sleeping
        assert slept.was_interrupted
        assert (slept.processed, slept.left) == (DONE_BEFORE, COUNT - DONE_BEFORE)
        assert deep == [(done, COUNT) for done in range(1, DONE_BEFORE + 1)]
        assert (await memory.sleep_log(1))[0].outcome == "interrupted"
        again = await memory.deep_sleep(model, limit=5)
        assert (again.processed, again.left) == (5, COUNT - DONE_BEFORE - 5)
        assert model.prompts[DONE_BEFORE + 1].messages[-1].text == in_hand
