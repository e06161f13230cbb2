"""Light sleep: makes turns recallable at once without a model, links and chains them, and can be stopped."""

import asyncio
from pathlib import Path

import pytest

from reveries.memory.importing import PastTurn
from reveries.memory.model import LinkType
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory, talk


@pytest.mark.requirement("R-42", "R-70", "R-71", "R-107")
async def test_what_was_just_said_is_recalled_with_a_verbatim_quote_and_its_source(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta moved to Lisbon.", "How does she like it?"))
        slept = await memory.light_sleep()
        assert (slept.experiences, slept.episodes) == (1, 1)
        (found,) = (await memory.search("Marta Lisbon", 5)).episodes
        assert found.episode.depth == "light"
        assert found.episode.confidence == 1.0
        quoted = found.episode.exemplars[0]
        assert quoted.quote == "My sister Marta moved to Lisbon."
        assert quoted.turn_id == found.turns[0].turn.id
        assert found.turns[0].turn.experience_id == quoted.experience_id


async def test_what_is_new_is_more_salient_than_what_is_said_again(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        for _ in range(2):
            await talk(memory, ("My sister Marta moved to Lisbon.", "How does she like it?"))
            await memory.light_sleep()
            clock.step_wall(13 * 3600.0)
        new, again = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
        assert new.salience > again.salience


@pytest.mark.requirement("R-74", "R-78", "R-80")
async def test_episodes_are_chained_and_linked_both_ways(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My boat Sole sank in the harbour.", "Oh."), ("Bread recipe: flour, yeast, salt.", "Good."))
        await memory.light_sleep()
        first, second = sorted(memory.live.graph.episodes(), key=lambda one: one.id)
        assert (first.after, second.before) == ((second.id,), (first.id,))
        assert [(link.target_id, link.type) for link in memory.live.graph.links_of(first.id)] == [
            (second.id, LinkType.TEMPORAL)
        ]
        assert [link.target_id for link in memory.live.graph.links_of(second.id)] == [first.id]


@pytest.mark.requirement("R-80")
async def test_what_is_near_in_meaning_is_linked_across_conversations(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.begin_import("a").add([PastTurn(NOW - 9e6, "Bea", "The wooden boat needs blue paint.")])
        await memory.begin_import("b").add([PastTurn(NOW - 5e6, "Bea", "Blue paint on the wooden boat needs time.")])
        await memory.light_sleep()
        first, _ = memory.live.graph.episodes()
        thematic = [link for link in memory.live.graph.links_of(first.id) if link.type is LinkType.THEMATIC]
        assert [round(link.strength, 1) >= 0.7 for link in thematic] == [True]


async def test_an_episode_grows_while_the_conversation_stays_with_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("The boat needs blue paint.", "Blue paint for the boat."))
        await memory.light_sleep()
        (before,) = memory.live.graph.episodes()
        await talk(memory, ("Blue paint for the boat is expensive.", "Paint for the boat is."))
        slept = await memory.light_sleep()
        (after,) = memory.live.graph.episodes()
        assert slept.episodes == 0
        assert after.id == before.id
        assert len(after.experience_ids) == 2
        assert after.exemplars[: len(before.exemplars)] == before.exemplars


@pytest.mark.requirement("R-102")
async def test_it_stops_between_batches_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        past = [PastTurn(NOW + place * 8 * 3600, "Bea", f"word{place} again") for place in range(300)]
        await memory.begin_import("long").add(past)
        stop = asyncio.Event()
        seen: list[tuple[int, int]] = []

        def progress(done: int, total: int) -> None:
            seen.append((done, total))
            stop.set()

        slept = await memory.light_sleep(progress, stop)
        assert seen == [(slept.experiences, 300)]
        assert slept.left == 300 - slept.experiences > 0
        assert (await memory.light_sleep()).left == 0
        assert len(memory.live.graph) == 300


async def test_two_at_once_do_the_work_once(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My boat Sole sank.", "Oh."))
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            one = group.create_task(memory.light_sleep(), name="one")
            two = group.create_task(memory.light_sleep(), name="two")
        assert sorted([one.result().experiences, two.result().experiences]) == [0, 1]


async def test_what_is_taken_back_before_it_was_read_does_not_break_a_sleep_off(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        past = [PastTurn(NOW - 9e7 + place * 8 * 3600, "Bea", f"word{place}") for place in range(501)]
        await memory.begin_import("long").add(past)
        conversation = await talk(memory, ("My boat Sole sank.", "Oh."))
        seen = list[tuple[int, int]]()
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:

            def progress(done: int, total: int) -> None:
                if not seen:  # The exchange stands on the second page, which is not read yet.
                    group.create_task(memory.past_talk.delete_last_exchange(conversation), name="take-back")
                seen.append((done, total))

            slept = await memory.light_sleep(progress)
        [run] = await memory.sleep_log(1)
        assert (run.outcome, slept.left, seen[-1]) == ("done", 0, (502, 502))
        assert len(memory.live.graph) == 501
