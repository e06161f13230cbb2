"""The input field. Enter sends; Shift+Enter, Alt+Enter, Ctrl+J insert a line break; Up recalls earlier messages."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from reveries.client.slash_parsing import CommandCall, is_meant_private, may_become_private, parse_command
from reveries.client.tui.history import History
from reveries.client.tui.outgoing_text import OutgoingText, join_texts, texts_off_record, texts_on_record
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.typed_text import typed_text
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

    class Submitted(Message):
        """The owner pressed Enter. The text is out of the composer; the application sends it or gives it back."""

        def __init__(self, text: str, *, is_private: bool) -> None:
            super().__init__()
            self.text = text
            self.is_private = is_private

    class KeyTyped(Message):
        """The owner typed a character of a message, not of a command."""

    class PrivacyChanged(Message):
        """Off the record was switched on or off."""

    def __init__(self, menu: SlashMenu) -> None:
        super().__init__(id="composer", soft_wrap=True, highlight_cursor_line=False, compact=True)
        self.past = History()
        self.is_private = False
        self._is_answering = False
        self._menu = menu
        self._recalled: str | None = None
        self._abbreviated: dict[str, str] = {}
        self._submitted: list[Composer.Submitted] = []
        self._set_aside: list[str] = []
        self._is_draft_private = False

    @property
    def draft(self) -> str:
        """The whole draft, with long texts in full."""
        text = self.text
        for mark, whole in self._abbreviated.items():
            text = text.replace(mark, whole, 1)
        return text

    @property
    def draft_to_save(self) -> str:
        """What may be saved to disk: the draft and submitted text, without anything off the record."""
        submitted = texts_on_record(
            OutgoingText(submitted.text, submitted.is_private or may_become_private(submitted.text))
            for submitted in self._submitted
        )
        return join_texts([*submitted, *self._set_aside, "" if self.is_off_record else self.draft])

    @property
    def is_off_record(self) -> bool:
        """Whether the current draft is off the record."""
        return self.is_private or self._is_draft_private or may_become_private(self.text)

    def on_mount(self) -> None:
        self.cursor_blink = False
        self.set_private(self.is_private)

    def set_private(self, is_private: bool) -> None:
        """Set whether new text is off the record. The current draft keeps its own state."""
        self._is_draft_private = bool(self.text) and (self._is_draft_private or self.is_private)
        self.is_private = is_private
        if not self.text:
            self.history.clear()
        self._restore_set_aside()
        self._update_hints()

    def toggle_private(self) -> None:
        """Toggle off the record. A draft that is on the record is set aside."""
        if self.text and not self.is_off_record:
            self._set_aside.append(self.draft)
            self.load_text("")
            self._abbreviated.clear()
        self.set_private(not self.is_private)
        self.post_message(self.PrivacyChanged())

    def show_answering(self, *, is_answering: bool) -> None:
        """Show whether a reply is awaited or streaming, which Esc would stop."""
        if is_answering != self._is_answering:
            self._is_answering = is_answering
            self._update_hints()

    def _update_hints(self) -> None:
        self.set_class(self.is_private or self._is_draft_private, "private")
        if self.is_private:
            rest = " and restores your draft" if self._set_aside else ""
            self.border_subtitle = f"off the record: nothing is kept · /private ends it{rest}"
        elif self._is_draft_private:
            self.border_subtitle = "this draft is off the record · enter sends"
        elif self._is_answering:
            self.border_subtitle = "esc stops it · new messages wait · f1 help"
        else:
            self.border_subtitle = "enter sends · / commands · f1 help"

    def restore_texts(self, words: Sequence[OutgoingText]) -> None:
        """Insert undelivered texts before the draft. If some are off the record, only those are shown; the others are
        set aside until that ends."""
        here = [OutgoingText(self.draft, self.is_off_record)] if self.text else []
        private = texts_off_record(words)
        if private or self.is_off_record:
            self._set_aside += texts_on_record([*words, *here])
            self.set_private(self.is_private or bool(private))
            if private:
                self.write(join_texts([*private, *texts_off_record(here)]))
        else:
            self.write(join_texts(texts_on_record([*words, *here])))

    def restore_refused(self, submitted: Submitted, *, with_rest: bool = False) -> None:
        """Restore a submitted text that was refused; `with_rest`: also the texts submitted after it, in order, which
        would be refused too."""
        self.release(submitted)
        rest = [other for other in self._submitted if _is_message(other.text)] if with_rest else []
        if self.text or rest:
            self.restore_texts([OutgoingText(unsent.text, unsent.is_private) for unsent in (submitted, *rest)])
        else:
            self.write(submitted.text)
            self._is_draft_private = submitted.is_private
            self._update_hints()
        for message in rest:
            self._discard(message)

    def remove_received(self, received: Iterable[str]) -> None:
        """Remove texts that the daemon turned out to have received from the start of submitted, set-aside and draft
        text, each once."""
        for text in received:
            if text.strip():
                self._remove_received(text.strip())

    def _remove_received(self, received: str) -> None:
        for submitted in self._submitted:
            if not submitted.is_private and (rest := _strip_received(submitted.text, received)) is not None:
                submitted.text = rest
                if not rest:
                    self._discard(submitted)
                return
        for index, text in enumerate(self._set_aside):
            if (rest := _strip_received(text, received)) is not None:
                self._set_aside[index : index + 1] = [rest] if rest else []
                self._update_hints()
                return
        if not self.is_off_record and (rest := _strip_received(self.draft, received)) is not None:
            self.write(rest)

    def _discard(self, submitted: Submitted) -> None:
        """Empty a submitted text that the application has not handled yet."""
        submitted.text = ""
        self.release(submitted)

    def apply_edit(self, before: str, after: str) -> None:
        """Replace `before` with the text from an editor, also if it was set aside or text was restored meanwhile."""
        if before and before in self._set_aside:
            self._set_aside[self._set_aside.index(before)] = after
        elif self.is_off_record:
            self.restore_texts([OutgoingText(after)])
        elif self.draft == before:
            self.write(after)
        else:
            self.write(join_texts([self.draft.removesuffix(before).rstrip(), after]))

    def _restore_set_aside(self) -> None:
        """Restore the set-aside text once no private text is left."""
        if self._set_aside and not self.is_private and not self.text:
            text, self._set_aside = join_texts(self._set_aside), []
            self.write(text)
            self._update_hints()

    def write(self, text: str) -> None:
        """Replace the draft with `text`, with the cursor at its end."""
        self.text = self._abbreviate(plain(text))
        self.move_cursor(self.document.end)

    def release(self, submitted: Submitted) -> None:
        """Forget a submitted text: the application has handled it."""
        if submitted in self._submitted:
            self._submitted.remove(submitted)

    def _submit(self, text: str) -> None:
        """Submit the text and clear the draft at once: keys pressed after Enter belong to the next text."""
        self._menu.close()
        if self.is_off_record:
            # Also clears the undo history.
            self.load_text("")
        else:
            self.clear()
        self._abbreviated.clear()
        parsed = parse_command(text)
        if isinstance(parsed, CommandCall) and parsed.command.name == "/private" and not parsed.words:
            self.toggle_private()
            return
        # A typo of /private is only kept off the disk: a message tells how to send it on the record.
        is_private = self.is_private or self._is_draft_private or is_meant_private(text)
        submitted = self.Submitted(text, is_private=is_private)
        self._is_draft_private = False
        self._submitted.append(submitted)
        self.post_message(submitted)

    def _abbreviate(self, text: str) -> str:
        if len(text) <= LONGEST_SHOWN_CHARS:
            return text
        mark = f"[text {len(self._abbreviated) + 1}: {len(text):,} characters]"
        self._abbreviated[mark] = text
        return mark

    def action_newline(self) -> None:
        """Insert a line break."""
        self.insert("\n")

    def on_text_area_changed(self) -> None:
        """Update the slash menu, and end browsing the history once the recalled text is edited."""
        if not self.text:
            if self._is_draft_private:
                self._is_draft_private = False
                self._update_hints()
            self._restore_set_aside()
        if self.text == self._recalled:
            self._menu.close()
            return
        self._recalled = None
        self.past.reset_position()
        self._menu.show_matches(self.text)

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        if event.key in _NEWLINE_KEYS:
            self.action_newline()
        elif event.key == "enter":
            self._enter()
        elif not (self._handle_menu_key(event.key) or self._handle_history_key(event.key)):
            text = typed_text(event)
            if (event.is_printable or text) and not f"{self.text}{event.character}".startswith("/"):
                self.post_message(self.KeyTyped())
            if not text:
                return
            self._replace_via_keyboard(text, *self.selection)
        event.stop()
        event.prevent_default()

    def _enter(self) -> None:
        if self._menu.is_open:
            # After fast typing the menu may not be up to date.
            self._menu.show_matches(self.text)
        command = self._menu.command_to_run
        if command is not None and command.needs_words:
            self.write(f"{command.name} ")
            return
        # Not stripped at the start: a blank before a slash makes it text.
        text = command.name if command is not None else self.draft.rstrip()
        if text:
            self._submit(text)

    def _handle_menu_key(self, key: str) -> bool:
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

    def _handle_history_key(self, key: str) -> bool:
        if key == "up" and self._cursor_row == 0:
            text = self.past.older(self.draft)
        elif key == "down" and self._cursor_row >= self.wrapped_document.height - 1:
            text = self.past.newer()
        else:
            return False
        if text is None:
            return False
        self._recalled = self._abbreviate(plain(text))
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
        event.text = self._abbreviate(plain(event.text))


def _is_message(text: str) -> bool:
    """Whether `text` is sent to the daemon as a message, not run as a command."""
    parsed = parse_command(text)
    return not isinstance(parsed, CommandCall) or parsed.command.name == "/private"


def _strip_received(text: str, received: str) -> str | None:
    """Return `text` without `heard` at its start; None if it does not start with it."""
    if text.strip() == received:
        return ""
    return text[len(received) :].lstrip() if text.startswith(f"{received}\n\n") else None
