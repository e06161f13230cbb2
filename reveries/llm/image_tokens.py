"""Upper estimate of the tokens that a picture takes in a prompt, by the rule of its provider.

Each rule is the largest of what the provider's own documents say for its models (`sources` in provider_rules.toml): a
reservation that is too high is corrected when the call is settled, one that is too low lets a call exceed the budget.
"""

import math
from enum import StrEnum
from typing import Final

from reveries.llm.base import ChatMessage, ChatModel, ImagePart
from reveries.llm.provider_rules import find_rules

_TILE: Final = 512
_OPENAI_LONGEST: Final = 2048
_OPENAI_SHORTEST: Final = 768
_OPENAI_BASE_TOKENS, _OPENAI_TILE_TOKENS = 85, 170
_OPENAI_4O_MINI: Final = ("gpt-4o-mini", 2833, 5667)
"""Its name, base and tile: 33 times the tokens of gpt-4o, at a price a token that makes a picture cost the same."""
_OPENAI_PATCH: Final = 32
_OPENAI_MOST_PATCHES: Final = 1536
_OPENAI_DEAREST_PATCH: Final = 2.46
"""Tokens of a patch for the smallest models ("nano"); 1.62 for "mini"."""
_ANTHROPIC_PIXELS_A_TOKEN: Final = 750
_ANTHROPIC_MOST: Final = 4784
"""Of the models with the highest resolution; older ones scale a picture down to about 1,600."""
_GOOGLE_TILE: Final = 768
_GOOGLE_TILE_TOKENS: Final = 258
_GOOGLE_HIGH_RESOLUTION: Final = 1120
_LOCAL_PATCH: Final = 28
_LOCAL_LEAST: Final = 576
"""Models of a fixed size read any picture as 256 (Gemma 3) or 576 (LLaVA) tokens."""


class ImageRule(StrEnum):
    """How a provider counts a picture."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GOOGLE = "google"
    PATCHES = "patches"
    """A token for each 28 pixels square, as Qwen's and Mistral's models do."""
    ANY = "any"
    """Not documented, or handed on to models of several makers: the largest of all rules."""


def image_tokens(model: str, image: ImagePart) -> int:
    """Return the tokens of a picture for `model` ("provider/name")."""
    rule = ImageRule(find_rules(model).provider.image_rule)
    if _OPENAI_4O_MINI[0] in model:
        return _openai_tiles(image, *_OPENAI_4O_MINI[1:])
    if rule is ImageRule.ANY:
        return max(count(image) for count in _COUNTS.values())
    return _COUNTS[rule](image)


async def count_message(model: ChatModel, message: ChatMessage) -> int:
    """Return the tokens of a message's text and pictures."""
    return await model.count_tokens(message.text) + sum(image_tokens(model.name, image) for image in message.images)


def _openai(image: ImagePart) -> int:
    """The larger of the two ways: tiles, or patches."""
    patches = min(_OPENAI_MOST_PATCHES, _squares(image, _OPENAI_PATCH))
    tiles = _openai_tiles(image, _OPENAI_BASE_TOKENS, _OPENAI_TILE_TOKENS)
    return max(tiles, math.ceil(patches * _OPENAI_DEAREST_PATCH))


def _openai_tiles(image: ImagePart, base_tokens: int, tile_tokens: int) -> int:
    """Of a picture scaled down to 2048 pixels at its longer side, then to 768 at its shorter one."""
    scale = min(1.0, _OPENAI_LONGEST / max(image.width, image.height))
    scale *= min(1.0, _OPENAI_SHORTEST / (min(image.width, image.height) * scale))
    tiles = math.ceil(image.width * scale / _TILE) * math.ceil(image.height * scale / _TILE)
    return base_tokens + tile_tokens * tiles


def _anthropic(image: ImagePart) -> int:
    return min(_ANTHROPIC_MOST, math.ceil(image.width * image.height / _ANTHROPIC_PIXELS_A_TOKEN) + 1)


def _google(image: ImagePart) -> int:
    return max(_GOOGLE_HIGH_RESOLUTION, _GOOGLE_TILE_TOKENS * _squares(image, _GOOGLE_TILE))


def _patches(image: ImagePart) -> int:
    return max(_LOCAL_LEAST, _squares(image, _LOCAL_PATCH) + 2)


def _squares(image: ImagePart, side: int) -> int:
    return math.ceil(image.width / side) * math.ceil(image.height / side)


_COUNTS: Final = {
    ImageRule.OPENAI: _openai,
    ImageRule.ANTHROPIC: _anthropic,
    ImageRule.GOOGLE: _google,
    ImageRule.PATCHES: _patches,
}
