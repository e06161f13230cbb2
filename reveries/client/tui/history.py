"""The owner's earlier messages, recalled with Up and Ctrl+R. In memory only."""

from collections.abc import Iterable

KEPT_TEXTS = 500


class History:
    """Distinct texts, oldest first, and the current position in them."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._index: int | None = None
        self._draft = ""

    def __len__(self) -> int:
        return len(self._texts)

    def prepend(self, texts: Iterable[str]) -> None:
        """Insert the texts of a conversation before those written in this terminal."""
        own = self._texts
        self._texts = []
        for text in (*texts, *own):
            self.add(text)

    def add(self, text: str) -> None:
        """Add a text as the newest, removing an earlier copy."""
        text = text.strip()
        if not text:
            return
        if text in self._texts:
            self._texts.remove(text)
        self._texts.append(text)
        del self._texts[:-KEPT_TEXTS]
        self._index = None

    def older(self, draft: str) -> str | None:
        """Move to the previous text and return it; None at the oldest. `draft` is kept for the way back."""
        index = len(self._texts) if self._index is None else self._index
        if index == 0:
            return None
        if self._index is None:
            self._draft = draft
        self._index = index - 1
        return self._texts[self._index]

    def newer(self) -> str | None:
        """Move to the next text and return it, after the newest the draft; None if already there."""
        if self._index is None:
            return None
        self._index += 1
        if self._index >= len(self._texts):
            self._index = None
            return self._draft
        return self._texts[self._index]

    def reset_position(self) -> None:
        """Leave the history: the text in the composer is a new draft."""
        self._index = None

    def find_texts(self, words: str) -> list[str]:
        """Find the texts that contain every one of `words`, newest first."""
        wanted = words.casefold().split()
        return [text for text in reversed(self._texts) if all(word in text.casefold() for word in wanted)]
