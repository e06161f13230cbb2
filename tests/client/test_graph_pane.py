"""The graph pane: drawn, navigated with the keyboard, and a list on a small screen."""

import asyncio
import itertools

import msgspec
import pytest

from reveries import protocol
from reveries.client.features.memory_views import graph_page
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.browser import Browser
from reveries.client.tui.graph_drawing import draw_graph, lay_out_graph, list_ties, nearest_node
from reveries.client.tui.graph_pane import GraphPane
from reveries.client.tui.panes import PagePane
from reveries.config import Home
from tests.client.draw_screens import recorded
from tests.client.screen_text import text_of, until
from tests.client.test_cli import DETAIL, FOUND
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import NOW, Script, awake


def recorded_graph() -> protocol.Neighbourhood:
    shown = recorded()["AskNeighbourhood"]
    assert isinstance(shown, protocol.Neighbourhood)
    return shown


@pytest.mark.parametrize(("columns", "rows"), [(109, 24), (70, 14), (200, 60), (10, 3), (1, 1)])
def test_every_node_has_a_place_of_its_own_inside_the_canvas(columns: int, rows: int) -> None:
    shown = recorded_graph()
    plan = lay_out_graph(shown, columns, rows)
    assert all(0 <= column < columns and 0 <= row < rows for column, row in plan.positions)
    if columns * rows > 10 * len(shown.nodes):
        assert len(set(plan.positions)) == len(shown.nodes)
    for chosen in range(len(shown.nodes)):
        lines = draw_graph(shown, plan, chosen)
        assert len(lines) == rows
        assert all(line.cell_length == columns for line in lines)


def test_the_arrows_lead_from_any_node_to_any_other() -> None:
    shown = recorded_graph()
    plan = lay_out_graph(shown, 109, 24)
    reached, waiting = {0}, [0]
    while waiting:
        place = waiting.pop()
        for across, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            other = nearest_node(plan, place, across, down)
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    assert reached == set(range(len(shown.nodes)))


def test_links_are_told_from_both_ends_the_strongest_first() -> None:
    shown = recorded_graph()
    told = {node.episode_id: list_ties(shown, node.episode_id) for node in shown.nodes}
    assert sum(map(len, told.values())) == 2 * len(shown.ties)
    for ties in told.values():
        assert all(one[0].strength >= two[0].strength for one, two in itertools.pairwise(ties))


def test_the_list_has_every_episode_and_nothing_that_a_terminal_obeys() -> None:
    shown = recorded_graph()
    hostile = msgspec.structs.replace(shown.nodes[0], label=HOSTILE, summary=HOSTILE)
    page = graph_page(msgspec.structs.replace(shown, title=HOSTILE, nodes=[hostile, *shown.nodes[1:]]), NOW)
    text = "\n".join("".join(part.text for part in row) for row in page)
    assert all(node.episode_id[:8] in text for node in shown.nodes)
    assert not {char for char in text if ord(char) < 32 and char != "\n"}


async def test_the_graph_is_walked_and_left_with_the_keyboard(home: Home) -> None:
    shown = recorded_graph()
    app = ReveriesApp(home)
    script = Script(episode=DETAIL, found=FOUND, looks={"AskNeighbourhood": shown})
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/graph the library")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, GraphPane) and app.screen.chosen is not None)
        pane = app.screen
        assert isinstance(pane, GraphPane)
        await until(pilot, lambda: shown.title in text_of(app))
        first = pane.chosen
        await pilot.press("left")
        assert pane.chosen is not None
        assert pane.chosen != first
        walked_to = pane.chosen.episode_id
        await pilot.press("enter")
        await until(pilot, lambda: len(mind.requests(protocol.AskNeighbourhood)) == 2)
        await pilot.press("backspace")
        await until(pilot, lambda: len(mind.requests(protocol.AskNeighbourhood)) == 3)
        asked = [one for one in mind.received if isinstance(one, protocol.AskNeighbourhood)]
        assert [(one.around, one.cue) for one in asked] == [("", "the library"), (walked_to, ""), ("", "the library")]
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PagePane))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not app.screen.is_modal)


async def test_a_narrow_terminal_gets_a_list_and_any_size_is_survived(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(episode=DETAIL, found=FOUND, looks={"AskNeighbourhood": recorded_graph()})
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(50, 20)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/memory tea")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.marked is not None)
        await pilot.press("g")
        await until(pilot, lambda: isinstance(app.screen, GraphPane) and "▸" in text_of(app))
        pane = app.screen
        assert isinstance(pane, GraphPane)
        before = pane.chosen
        await pilot.press("down")
        assert pane.chosen != before
        for size in ((120, 40), (1, 1), (5, 3), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.press("right")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Browser))


async def test_what_the_mind_cannot_draw_is_said(home: Home) -> None:
    app = ReveriesApp(home)
    none = protocol.Failed(0, "not_found", f"There is no episode yet.{HOSTILE}", "Talk with it.")
    script = Script(failures={"AskNeighbourhood": none})
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("f9")
        await until(pilot, lambda: "no episode yet" in text_of(app))
        await pilot.press("f9")
        await until(pilot, lambda: not app.screen.is_modal)
