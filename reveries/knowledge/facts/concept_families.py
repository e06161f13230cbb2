"""Which concepts exclude each other, which any thing may have, and which mark a part of something. Read once from
`concept_families.toml`."""

import tomllib
from collections.abc import Iterable, Set
from importlib import resources
from typing import Final

from reveries.knowledge.facts.subjects import concepts_of


def _concepts(words: Iterable[str]) -> frozenset[int]:
    return frozenset(number for word in words for number in concepts_of(word))


def _keys(words: Iterable[str]) -> frozenset[str]:
    return frozenset(f"={number}" for number in _concepts(words))


_RAW: Final = tomllib.loads(resources.files(__package__).joinpath("concept_families.toml").read_text(encoding="utf-8"))
_FAMILIES: Final = [_concepts(words) for words in _RAW["families"].values()]
_COMMON: Final = frozenset[str]().union(*map(_keys, _RAW["common"].values()))
MARKS: Final = _concepts(_RAW["marks"]["words"])
"""Concepts of a part of something, or of another such thing."""
PAPERS: Final = _keys(_RAW["papers"]["words"]) | frozenset(_RAW["papers"]["keys"])
"""Keys of words for letters and notes."""
UNITS_OF_RATE: Final = _concepts(_RAW["rates"]["words"])
"""What a sum may be for each of."""


def is_common(keys: Set[str]) -> bool:
    """Whether the keys of a word are those of something that any thing may have, or that is done with any."""
    concepts = {key for key in keys if key.startswith("=")}
    return bool(concepts) and concepts <= _COMMON


def exclude_each_other(a: Set[int], b: Set[int]) -> bool:
    """Whether two sets of concepts name members of one family, and no common one."""
    return any(a & family and b & family and not a & b & family for family in _FAMILIES)
