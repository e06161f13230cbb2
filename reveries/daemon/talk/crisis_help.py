"""Decides whether a help text is shown next to the reply, by rules and by the meaning of the words (S2, S3)."""

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
"""Time limit for the embedder; then only the rules decide."""


@dataclass(frozen=True, slots=True)
class CrisisDetector:
    """Detects that a person may be in danger. Without a local embedder or its trained weights, only the rules
    decide."""

    embedder: Embedder | None = None
    likeness: CrisisLikeness | None = None
    most_seconds: float = _MOST_SECONDS

    async def help_for(self, words: str, settings: CrisisSettings) -> str | None:
        """Return the help text for `words`; None if there is no need, or if it is switched off."""
        if not settings.enabled:
            return None
        if not await _matches_rules(words) and not await self._matches_by_meaning(words):
            return None
        return help_text(settings.contacts)

    async def preload(self) -> None:
        """Load the embedder before the first words come, because loading takes longer than the time limit."""
        if self.embedder is not None and self.likeness is not None:
            try:
                await self.embedder.embed(["Good morning."])
            except (ReveriesError, OSError, RuntimeError, ValueError) as error:
                log.debug("crisis_embedder.preload_failed", why=str(error))

    async def _matches_by_meaning(self, words: str) -> bool:
        if self.embedder is None or self.likeness is None or self.embedder.model_id != self.likeness.model_id:
            return False
        if not (pieces := english_pieces(words)):
            return False
        try:
            async with asyncio.timeout(self.most_seconds):
                vectors = await _embed_pieces(pieces, self.embedder)
        except (ReveriesError, TimeoutError, OSError, RuntimeError, ValueError) as error:
            log.debug("crisis_embedding.failed", why=str(error) or type(error).__name__)
            return False
        return self.likeness.sounds_like_it(pieces, vectors)


async def _matches_rules(words: str) -> bool:
    match = find_crisis(words) if len(words) <= QUICK_CHARS else await asyncio.to_thread(find_crisis, words)
    return match is not None


async def _embed_pieces(pieces: Sequence[str], embedder: Embedder) -> Vectors:
    """Embed `pieces`, one row each. The whole message is a call of its own, so that recall finds it in the cache."""
    whole = await embedder.embed(pieces[:1])
    return np.concatenate([whole, await embedder.embed(pieces[1:])]) if len(pieces) > 1 else whole
