"""A keyboard-driven view of the memory graph: a picture, or a list on a small screen."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from reveries import protocol
from reveries.client.render import Page, page_columns
from reveries.client.tui.graph_drawing import (
    TIE_STYLES,
    GraphLayout,
    draw_graph,
    lay_out_graph,
    list_ties,
    nearest_node,
)
from reveries.client.tui.mind_queries import MindQueries
from reveries.client.tui.panes import PagePane, columns_for
from reveries.client.wording import ago
from reveries.errors import ReveriesError
from reveries.safe_text import one_line

_LEAST_COLUMNS: Final = 70
_LEAST_ROWS: Final = 14
_ABOUT_ROWS: Final = 5
_OTHER_ROWS: Final = 14
_CELLS_A_NODE: Final = 90
_FEWEST, _MOST = 6, 24
_KEPT_STEPS: Final = 50


class GraphPane(ModalScreen[None]):
    """Shows the neighbourhood of an episode, of what a cue recalls, or of the most salient episodes."""

    HELP_TITLE = "the graph"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape,q", "dismiss", "Close"),
        Binding("up,k", "move(0, -1)", show=False),
        Binding("down,j", "move(0, 1)", show=False),
        Binding("left,h", "move(-1, 0)", show=False),
        Binding("right,l", "move(1, 0)", show=False),
        Binding("tab", "next(1)", show=False, priority=True),
        Binding("shift+tab", "next(-1)", show=False, priority=True),
        Binding("enter", "walk", show=False),
        Binding("backspace", "back", show=False),
        Binding("i", "inspect", show=False),
        Binding("w", "why", show=False),
        Binding("question_mark", "app.help", show=False),
    ]

    def __init__(self, queries: MindQueries, *, around: str = "", cue: str = "") -> None:
        super().__init__()
        self._queries = queries
        self._path = [(around, cue)]
        self._shown: protocol.Neighbourhood | None = None
        self._plan: GraphLayout | None = None
        self._chosen = 0
        self._problem = ""
        # Attributes, not queries: an answer may arrive while the pane is being torn down.
        self._title = Static("", classes="title", markup=False)
        self._picture = Static("…", id="graph-picture", markup=False)
        self._about = Static("", id="graph-about", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="graph"):
            yield self._title
            yield self._picture
            yield self._about
            yield Static(_hint_line(), id="hints", markup=False)

    def on_mount(self) -> None:
        self._load()

    def on_resize(self) -> None:
        self._plan = None
        self.call_after_refresh(self._draw)

    @property
    def chosen(self) -> protocol.GraphNode | None:
        """The selected node."""
        shown = self._shown
        return shown.nodes[self._chosen] if shown is not None and shown.nodes else None

    # --- walking -----------------------------------------------------------------------------------------------------

    def action_move(self, across: int, down: int) -> None:
        """Select the nearest node in a direction; in the list, the previous or next one."""
        if self._shown is None:
            return
        if self._plan is None:
            self.action_next(down or across)
            return
        self._chosen = nearest_node(self._plan, self._chosen, across, down)
        self._draw()

    def action_next(self, steps: int) -> None:
        """Select the node `steps` further in the list, wrapping around."""
        if self._shown is not None and self._shown.nodes:
            self._chosen = (self._chosen + steps) % len(self._shown.nodes)
            self._draw()

    def action_walk(self) -> None:
        """Go to the neighbourhood of the selected node."""
        if (node := self.chosen) is not None:
            self._path = [*self._path[-_KEPT_STEPS:], (node.episode_id, "")]
            self._load()

    def action_back(self) -> None:
        """Go back to the previous neighbourhood."""
        if len(self._path) > 1:
            self._path.pop()
            self._load()

    def action_inspect(self) -> None:
        """Show everything about the selected episode."""
        if (node := self.chosen) is not None:
            self._open_page("episode", lambda: self._queries.episode_page(node.episode_id))

    def action_why(self) -> None:
        """Show why the selected episode is recalled, for the cue that was opened first or for the last turn."""
        if (node := self.chosen) is not None:
            cue = self._path[0][1]
            self._open_page("why", lambda: self._queries.why_page(node.episode_id, cue))

    @work(exclusive=True, group="graph", name="tui.graph", exit_on_error=True)
    async def _load(self) -> None:
        around, cue = self._path[-1]
        limit = max(_FEWEST, min(_MOST, self.size.width * max(0, self.size.height - _OTHER_ROWS) // _CELLS_A_NODE))
        try:
            self._shown = await self._queries.ask(
                lambda number: protocol.AskNeighbourhood(number, around, cue, limit), protocol.Neighbourhood
            )
            self._problem = ""
        except ReveriesError as error:
            self._problem = str(error)
        self._plan = None
        nodes = self._shown.nodes if self._shown is not None else []
        self._chosen = next((place for place, node in enumerate(nodes) if node.episode_id == around), 0)
        self._draw()

    @work(exclusive=True, group="graph-page", name="tui.graph.page", exit_on_error=True)
    async def _open_page(self, title: str, ask: Callable[[], Awaitable[Page]]) -> None:
        try:
            with page_columns(columns_for(self.app.size.width)):
                page = await ask()
        except ReveriesError as error:
            self._problem = str(error)
            self._draw()
            return
        self.app.push_screen(PagePane(title, page))

    # --- drawing -----------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        shown = self._shown
        if shown is None:
            self._picture.update(Content(one_line(self._problem, 400) or "…"))
            return
        self._title.update(Content(one_line(shown.title, max(10, self.size.width - 8))))
        columns, rows = self._picture.size
        self._picture.update(self._render_picture(shown, columns, rows))
        self._about.update(self._describe_chosen(shown))

    def _render_picture(self, shown: protocol.Neighbourhood, columns: int, rows: int) -> Content:
        if not shown.nodes:
            return Content("Nothing to show.")
        if columns < _LEAST_COLUMNS or rows < _LEAST_ROWS:
            self._plan = None
            return _node_list(shown, self._chosen, max(1, rows))
        if self._plan is None:
            self._plan = lay_out_graph(shown, columns, rows)
        return Content("\n").join(draw_graph(shown, self._plan, self._chosen))

    def _describe_chosen(self, shown: protocol.Neighbourhood) -> Content:
        node = self.chosen
        if node is None:
            return Content("")
        if self._problem:
            return Content.styled(one_line(self._problem, 400), "$warning")
        now = self._queries.clock.now()
        share = f"energy {node.energy:.2f}, salience {node.salience:.2f}, {ago(node.happened_at, now)}"
        parts: list[str | tuple[str, str]] = [
            (one_line(node.summary, 2 * max(20, self._about.size.width - 10)), "bold"),
            (f"\n{share}\n", "$foreground 60%"),
        ]
        for tie, other in list_ties(shown, node.episode_id)[: _ABOUT_ROWS - 3]:
            style = TIE_STYLES.get(tie.type, "$foreground 60%")
            label = one_line(other.label, max(10, self._about.size.width - 20))
            parts += [(f"{one_line(tie.type, 12)} {tie.strength:.2f}", style), f"  {label}\n"]
        return Content.assemble(*parts)


def _node_list(shown: protocol.Neighbourhood, chosen: int, rows: int) -> Content:
    """Render the nodes as a list; if not all fit, those around the selected one."""
    first = max(0, min(chosen - rows // 2, len(shown.nodes) - rows))
    parts: list[str | tuple[str, str]] = []
    for place, node in list(enumerate(shown.nodes))[first : first + rows]:
        is_chosen = place == chosen
        full = round(4 * max(0.0, min(1.0, node.energy)))
        parts += [
            ("▸ " if is_chosen else "  ", "$primary"),
            ("━" * full, "$accent"),
            ("━" * (4 - full), "$foreground 20%"),
            (f" {one_line(node.label, 120)}\n", "bold" if is_chosen else "$foreground 70%"),
        ]
    return Content.assemble(*parts)


def _hint_line() -> Content:
    parts: list[str | tuple[str, str]] = []
    for key, description in (
        ("arrows, tab", "select"),
        ("enter", "go there"),
        ("backspace", "back"),
        ("i", "details"),
        ("w", "why"),
        ("esc", "close"),
    ):
        parts += [(key, "$accent"), (f" {description}   ", "$foreground 60%")]
    for name in ("causal", "thematic", "temporal", "emotional"):
        parts += [("⠶⠶ ", TIE_STYLES[name]), (f"{name}   ", "$foreground 60%")]
    return Content.assemble(*parts)
