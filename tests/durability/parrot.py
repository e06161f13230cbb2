"""A model that says one word wherever it can, as long as the word stands in what it was told; else it speaks of bread.

So a word that it still says is a word that something still tells it.
"""

import json
from collections.abc import Mapping

from tests.fakes.provider import Asked, Provider, instance_of

_OTHERWISE = "the bread that was baked"


class Parrot(Provider):
    """A provider whose every model is that parrot."""

    word: str = ""

    def _pieces(self, asked: Asked) -> list[str]:
        told = json.dumps(asked.body, ensure_ascii=False)
        word = self.word if self.word in told else _OTHERWISE
        if asked.schema is not None:
            text = json.dumps(_filled(instance_of(asked.schema), asked.schema, word))
        elif asked.model == "thinker":
            text = f"I think of {word} again. Note to Ana: {word} is what matters today."
        else:
            text = f"I keep {word} in mind."
        return [f" {piece}" if number else piece for number, piece in enumerate(text.split(" "))]


def _filled(value: object, schema: Mapping[str, object], word: str) -> object:
    """`value` with a sentence about the word for every text that may be any."""
    if isinstance(value, dict):
        inner = schema.get("properties")
        assert isinstance(inner, dict)
        return {name: _filled(one, inner[name], word) for name, one in value.items()}
    if isinstance(value, list):
        inner = schema.get("items")
        return [_filled(one, inner, word) for one in value] if isinstance(inner, dict) else value
    return f"It is about {word}." if isinstance(value, str) and "enum" not in schema else value
