"""What the owner said before, to be called back with Up and Ctrl+R. Pure: it holds texts, and writes none."""

from collections.abc import Iterable

KEPT_TEXTS = 500


class History:
    """Texts, oldest first, each once, and where in them the owner stands."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._place: int | None = None
        self._draft = ""

    def __len__(self) -> int:
        return len(self._texts)

    def fill(self, texts: Iterable[str]) -> None:
        """Put the texts of a conversation before what was written in this terminal."""
        own = self._texts
        self._texts = []
        for text in (*texts, *own):
            self.add(text)

    def add(self, text: str) -> None:
        """The newest; the same words further up are taken out."""
        text = text.strip()
        if not text:
            return
        if text in self._texts:
            self._texts.remove(text)
        self._texts.append(text)
        del self._texts[:-KEPT_TEXTS]
        self._place = None

    def older(self, draft: str) -> str | None:
        """The text before the one that stands there; `draft` is kept for the way back. None at the oldest."""
        place = len(self._texts) if self._place is None else self._place
        if place == 0:
            return None
        if self._place is None:
            self._draft = draft
        self._place = place - 1
        return self._texts[self._place]

    def newer(self) -> str | None:
        """The text after it; after the newest the draft. None when the owner stands at the draft already."""
        if self._place is None:
            return None
        self._place += 1
        if self._place >= len(self._texts):
            self._place = None
            return self._draft
        return self._texts[self._place]

    def leave(self) -> None:
        """What stands there is a draft of its own now."""
        self._place = None

    def with_words(self, words: str) -> list[str]:
        """The texts that hold each of `words`, newest first."""
        wanted = words.casefold().split()
        return [text for text in reversed(self._texts) if all(word in text.casefold() for word in wanted)]
