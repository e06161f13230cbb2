"""Whether a help text stands beside the reply: the rules at once, and beside them what the words mean (S2, S3)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog

from reveries.config import CrisisSettings
from reveries.errors import ReveriesError
from reveries.llm.base import Embedder, Vectors
from reveries.safety.crisis.likeness import CrisisLikeness, english_pieces
from reveries.safety.crisis.rules import QUICK_CHARS, find_crisis, help_text

log = structlog.get_logger("danger")

_MOST_SECONDS: Final = 0.5
"""A busy or broken embedder holds a turn up so long at most; then the rules alone have spoken."""


@dataclass(frozen=True, slots=True)
class Danger:
    """Without an embedder on this machine, or without weights for it, the rules alone decide."""

    embedder: Embedder | None = None
    likeness: CrisisLikeness | None = None
    most_seconds: float = _MOST_SECONDS

    async def help_for(self, words: str, settings: CrisisSettings) -> str | None:
        """What to show beside the reply to `words`; None where there is no need, or where it is switched off."""
        if not settings.enabled:
            return None
        if not await _has_words(words) and not await self._sounds_like_it(words):
            return None
        return help_text(settings.contacts)

    async def warm(self) -> None:
        """Have the embedder loaded before the first words come: loading takes longer than a turn waits."""
        if self.embedder is not None and self.likeness is not None:
            try:
                await self.embedder.embed(["Good morning."])
            except (ReveriesError, OSError, RuntimeError, ValueError) as error:
                log.debug("not_warm", why=str(error))

    async def _sounds_like_it(self, words: str) -> bool:
        if self.embedder is None or self.likeness is None or self.embedder.model_id != self.likeness.model_id:
            return False
        if not (pieces := english_pieces(words)):
            return False
        try:
            async with asyncio.timeout(self.most_seconds):
                vectors = await _vectors_of(pieces, self.embedder)
        except (ReveriesError, TimeoutError, OSError, RuntimeError, ValueError) as error:
            log.debug("not_weighed", why=str(error) or type(error).__name__)
            return False
        return self.likeness.sounds_like_it(pieces, vectors)


async def _has_words(words: str) -> bool:
    found = find_crisis(words) if len(words) <= QUICK_CHARS else await asyncio.to_thread(find_crisis, words)
    return found is not None


async def _vectors_of(pieces: Sequence[str], embedder: Embedder) -> Vectors:
    """One a row. The message itself is asked for alone, for so it is known when memory is asked with it next."""
    whole = await embedder.embed(pieces[:1])
    return np.concatenate([whole, await embedder.embed(pieces[1:])]) if len(pieces) > 1 else whole
