"""Showing the result of a long job without taking the keyboard from the owner."""

from collections.abc import Callable

from reveries.client.render import Page, page_columns
from reveries.client.tui.conversation_app import ConversationApp
from reveries.client.tui.panes import PagePane, columns_for
from reveries.client.tui.turns import Remark


async def show_result(app: ConversationApp, title: str, make: Callable[[], Page]) -> None:
    """Show a result as a pane, or in the conversation if a pane is open or the owner is writing."""
    with page_columns(columns_for(app.size.width)):
        page = make()
    if app.screen.is_modal or app.composer.text:
        rows = ["".join(part.text for part in row).rstrip() for row in page]
        await app.chat.mount(Remark("\n".join([f"{title}:", *rows]).rstrip(), classes="result"))
        app.hint(f"{title}: the result is in the conversation")
    else:
        app.show_pane(PagePane(title, page))
