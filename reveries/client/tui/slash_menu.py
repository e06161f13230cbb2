"""The list of commands above the composer, shown while the text begins with a slash."""

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from reveries.client.slash_commands import Command
from reveries.client.slash_parsing import complete_command, name_contains

SHOWN_COMMANDS = 8
_NARROW_COLUMNS = 50
_USAGE_COLUMNS = 24
"""A command with many arguments must leave room for what each does, in 80 columns too; /help shows it whole."""


class SlashMenu(OptionList):
    """Never focused: the composer handles its keys."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="slash", classes="hidden", markup=False)
        self._commands: list[Command] = []
        self._name_matches = 0
        self._is_picked = False

    @property
    def is_open(self) -> bool:
        return bool(self._commands)

    @property
    def chosen(self) -> Command | None:
        """The highlighted command."""
        index = self.highlighted
        return self._commands[index] if self._commands and index is not None else None

    @property
    def command_to_run(self) -> Command | None:
        """The command that Enter runs: one that the owner moved to, or whose name contains the typed text. A match in
        the description alone is not enough."""
        index = self.highlighted
        return self.chosen if self._is_picked or (index is not None and index < self._name_matches) else None

    def show_matches(self, text: str) -> None:
        """Show the commands that `text` may become; hide the menu if there are none."""
        commands = complete_command(text)
        self._name_matches = sum(name_contains(command, text) for command in commands)
        if commands == self._commands:
            return
        self._commands = commands
        self._is_picked = False
        self.clear_options()
        if commands:
            columns = min(_USAGE_COLUMNS, max(len(command.usage) for command in commands))
            self.add_options([Option(self._row(command, columns)) for command in commands])
            self.highlighted = 0
        self.set_class(not commands, "hidden")

    def move(self, steps: int) -> None:
        """Move the highlight, wrapping around."""
        if self._commands:
            self._is_picked = True
            self.highlighted = ((self.highlighted or 0) + steps) % len(self._commands)

    def close(self) -> None:
        """Hide the menu until the text changes."""
        self._commands = []
        self.clear_options()
        self.add_class("hidden")

    def _row(self, command: Command, columns: int) -> Content:
        if self.app.size.width < _NARROW_COLUMNS:
            return Content.styled(command.usage, "$accent")
        usage = command.usage if len(command.usage) <= columns else f"{command.usage[: columns - 1]}…"
        return Content.assemble((f"{usage:<{columns + 2}}", "$accent"), (command.description, "$foreground 70%"))
