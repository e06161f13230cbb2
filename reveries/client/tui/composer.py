"""The input field. Enter sends; Shift+Enter, Alt+Enter, Ctrl+J insert a line break; Up recalls earlier messages."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from reveries.client.tui.commands import Called, called, is_meant_private, may_become_private
from reveries.client.tui.history import History
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.words import Words, joined, off_record, on_record
from reveries.safe_text import plain

LONGEST_SHOWN_CHARS = 20_000
"""Longer texts are shown as a placeholder with their length: the widget takes minutes to lay out a megabyte."""
_NEWLINE_KEYS = frozenset({"shift+enter", "ctrl+j", "alt+enter"})


class Composer(TextArea):
    """The draft. Only sending clears it; text that could not be sent is restored.

    It never mixes text that is off the record with text that is not: while it holds the one, the other is set aside.
    """

    BINDINGS: ClassVar = [
        Binding("ctrl+j", "newline", "New line", show=False),
        Binding("pageup", "app.page(-1)", show=False),
        Binding("pagedown", "app.page(1)", show=False),
    ]
    HELP_TITLE = "writing"

    class Sent(Message):
        """The owner pressed Enter. The text is out of the composer; the application sends it or gives it back."""

        def __init__(self, text: str, *, is_private: bool) -> None:
            super().__init__()
            self.text = text
            self.is_private = is_private

    class PrivacyTurned(Message):
        """Off the record was switched on or off."""

    def __init__(self, menu: SlashMenu) -> None:
        super().__init__(id="composer", soft_wrap=True, highlight_cursor_line=False, compact=True)
        self.past = History()
        self.is_private = False
        self._is_answering = False
        self._menu = menu
        self._recalled: str | None = None
        self._folded: dict[str, str] = {}
        self._handed_over: list[Composer.Sent] = []
        self._aside: list[str] = []
        self._was_written_privately = False

    @property
    def draft(self) -> str:
        """The whole draft, with long texts in full."""
        text = self.text
        for mark, whole in self._folded.items():
            text = text.replace(mark, whole, 1)
        return text

    @property
    def draft_to_keep(self) -> str:
        """What may be saved to disk: the draft and submitted text, without anything off the record."""
        handed = on_record(
            Words(sent.text, sent.is_private or may_become_private(sent.text)) for sent in self._handed_over
        )
        return joined([*handed, *self._aside, "" if self.is_off_record else self.draft])

    @property
    def is_off_record(self) -> bool:
        """Whether the current draft is off the record."""
        return self.is_private or self._was_written_privately or may_become_private(self.text)

    def on_mount(self) -> None:
        self.cursor_blink = False
        self.set_private(self.is_private)

    def set_private(self, is_private: bool) -> None:
        """Set whether new text is off the record. The current draft keeps its own state."""
        self._was_written_privately = bool(self.text) and (self._was_written_privately or self.is_private)
        self.is_private = is_private
        if not self.text:
            self.history.clear()
        self._bring_back()
        self._tell_keys()

    def turn_private(self) -> None:
        """Toggle off the record. A draft that is on the record is set aside."""
        if self.text and not self.is_off_record:
            self._aside.append(self.draft)
            self.load_text("")
            self._folded.clear()
        self.set_private(not self.is_private)
        self.post_message(self.PrivacyTurned())

    def show_answering(self, *, is_answering: bool) -> None:
        """Show whether a reply is awaited or streaming, which Esc would stop."""
        if is_answering != self._is_answering:
            self._is_answering = is_answering
            self._tell_keys()

    def _tell_keys(self) -> None:
        self.set_class(self.is_private or self._was_written_privately, "private")
        if self.is_private:
            rest = " and brings the rest back" if self._aside else ""
            self.border_subtitle = f"off the record: nothing is kept · /private ends it{rest}"
        elif self._was_written_privately:
            self.border_subtitle = "these words are off the record · enter sends"
        elif self._is_answering:
            self.border_subtitle = "esc stops it · what you send waits · f1 help"
        else:
            self.border_subtitle = "enter sends · / commands · f1 help"

    def take_back(self, words: Sequence[Words]) -> None:
        """Insert undelivered texts before the draft. If some are off the record, only those are shown; the others are
        set aside until that ends."""
        here = [Words(self.draft, self.is_off_record)] if self.text else []
        private = off_record(words)
        if private or self.is_off_record:
            self._aside += on_record([*words, *here])
            self.set_private(self.is_private or bool(private))
            if private:
                self.write(joined([*private, *off_record(here)]))
        else:
            self.write(joined(on_record([*words, *here])))

    def give_back(self, sent: Sent, *, with_rest: bool = False) -> None:
        """Restore a submitted text that was refused; `with_rest`: also the texts submitted after it, in order, which
        would be refused too."""
        self.delivered(sent)
        rest = [one for one in self._handed_over if _is_said(one.text)] if with_rest else []
        if self.text or rest:
            self.take_back([Words(one.text, one.is_private) for one in (sent, *rest)])
        else:
            self.write(sent.text)
            self._was_written_privately = sent.is_private
            self._tell_keys()
        for one in rest:
            self._void(one)

    def take_out(self, heard: Iterable[str]) -> None:
        """Remove texts that the daemon turned out to have received from the start of submitted, set-aside and draft
        text, each once."""
        for text in heard:
            if text.strip():
                self._take_out(text.strip())

    def _take_out(self, heard: str) -> None:
        for sent in self._handed_over:
            if not sent.is_private and (rest := _strip_heard(sent.text, heard)) is not None:
                sent.text = rest
                if not rest:
                    self._void(sent)
                return
        for place, text in enumerate(self._aside):
            if (rest := _strip_heard(text, heard)) is not None:
                self._aside[place : place + 1] = [rest] if rest else []
                self._tell_keys()
                return
        if not self.is_off_record and (rest := _strip_heard(self.draft, heard)) is not None:
            self.write(rest)

    def _void(self, sent: Sent) -> None:
        """Empty a submitted text that the application has not handled yet."""
        sent.text = ""
        self.delivered(sent)

    def edited(self, before: str, after: str) -> None:
        """Replace `before` with the text from an editor, also if it was set aside or text was restored meanwhile."""
        if before and before in self._aside:
            self._aside[self._aside.index(before)] = after
        elif self.is_off_record:
            self.take_back([Words(after)])
        elif self.draft == before:
            self.write(after)
        else:
            self.write(joined([self.draft.removesuffix(before).rstrip(), after]))

    def _bring_back(self) -> None:
        """Restore the set-aside text once no private text is left."""
        if self._aside and not self.is_private and not self.text:
            text, self._aside = joined(self._aside), []
            self.write(text)
            self._tell_keys()

    def write(self, text: str) -> None:
        """Replace the draft with `text`, with the cursor at its end."""
        self.text = self._fold(plain(text))
        self.move_cursor(self.document.end)

    def delivered(self, sent: Sent) -> None:
        """Forget a submitted text: the application has handled it."""
        if sent in self._handed_over:
            self._handed_over.remove(sent)

    def _hand_over(self, text: str) -> None:
        """Submit the text and clear the draft at once: keys pressed after Enter belong to the next text."""
        self._menu.close()
        if self.is_off_record:
            # Also clears the undo history.
            self.load_text("")
        else:
            self.clear()
        self._folded.clear()
        what = called(text)
        if isinstance(what, Called) and what.command.name == "/private" and not what.words:
            self.turn_private()
            return
        # A typo of /private is only kept off the disk: a message tells how to send it on the record.
        is_private = self.is_private or self._was_written_privately or is_meant_private(text)
        sent = self.Sent(text, is_private=is_private)
        self._was_written_privately = False
        self._handed_over.append(sent)
        self.post_message(sent)

    def _fold(self, text: str) -> str:
        if len(text) <= LONGEST_SHOWN_CHARS:
            return text
        mark = f"[text {len(self._folded) + 1}: {len(text):,} characters]"
        self._folded[mark] = text
        return mark

    def action_newline(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def on_text_area_changed(self) -> None:
        """Update the slash menu, and end browsing the history once the recalled text is edited."""
        if not self.text:
            if self._was_written_privately:
                self._was_written_privately = False
                self._tell_keys()
            self._bring_back()
        if self.text == self._recalled:
            self._menu.close()
            return
        self._recalled = None
        self.past.leave()
        self._menu.show_for(self.text)

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        if event.key in _NEWLINE_KEYS:
            self.action_newline()
        elif event.key == "enter":
            self._enter()
        elif not (self._moves_in_menu(event.key) or self._moves_in_history(event.key)):
            return
        event.stop()
        event.prevent_default()

    def _enter(self) -> None:
        if self._menu.is_open:
            # After fast typing the menu may not be up to date.
            self._menu.show_for(self.text)
        command = self._menu.runs
        if command is not None and command.needs_words:
            self.write(f"{command.name} ")
            return
        # Not stripped at the start: a blank before a slash makes it text.
        text = command.name if command is not None else self.draft.rstrip()
        if text:
            self._hand_over(text)

    def _moves_in_menu(self, key: str) -> bool:
        if not self._menu.is_open:
            return False
        match key:
            case "up" | "down":
                self._menu.move(1 if key == "down" else -1)
            case "escape":
                self._menu.close()
            case "tab":
                if (command := self._menu.chosen) is not None:
                    self.write(f"{command.name} " if command.words else command.name)
            case _:
                return False
        return True

    def _moves_in_history(self, key: str) -> bool:
        if key == "up" and self._cursor_row == 0:
            text = self.past.older(self.draft)
        elif key == "down" and self._cursor_row >= self.wrapped_document.height - 1:
            text = self.past.newer()
        else:
            return False
        if text is None:
            return False
        self._recalled = self._fold(plain(text))
        self.text = self._recalled
        self.move_cursor(self.document.end)
        if key == "up":
            # With the cursor in the first row, the next Up goes further back.
            self.move_cursor((0, len(self.document.get_line(0))))
        return True

    @property
    def _cursor_row(self) -> int:
        """The cursor's row on the screen, counting wrapped lines."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _on_paste(self, event: events.Paste) -> None:  # type: ignore[override]
        # Pasted text may contain escape sequences, which the widget would write to the terminal.
        event.text = self._fold(plain(event.text))


def _is_said(text: str) -> bool:
    """Whether `text` is sent to the daemon as a message, not run as a command."""
    what = called(text)
    return not isinstance(what, Called) or what.command.name == "/private"


def _strip_heard(text: str, heard: str) -> str | None:
    """Return `text` without `heard` at its start; None if it does not start with it."""
    if text.strip() == heard:
        return ""
    return text[len(heard) :].lstrip() if text.startswith(f"{heard}\n\n") else None
