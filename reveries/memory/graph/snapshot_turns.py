"""The index of turns as sections of a snapshot, and back. Pure."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Int64
from reveries.index.words import PackedWords
from reveries.memory.model import Turn
from reveries.memory.recall.surface import SURFACE
from reveries.memory.recall.turn_packing import MARKS, PackedNames, PackedTurns, unpack_turn

Numbers = NDArray[np.generic]
_PREFIX = "turns."
_LOOK_AGAIN_ROWS = 1024
_KEPT_READ = 4096


class FoldedTurns:
    """Turns as they stand in the file."""

    def __init__(self, text: memoryview, ends: Int64) -> None:
        self._text = text
        self._ends = ends
        self._read: dict[int, Turn] = {}
        """What was read lately: a recall asks for its best turns several times."""

    def __call__(self, row: int) -> Turn:
        turn = self._read.get(row)
        if turn is None:
            if len(self._read) >= _KEPT_READ:
                self._read.clear()
            turn = self._read[row] = unpack_turn(self.raw(row))
        return turn

    def raw(self, row: int) -> bytes:
        return bytes(self._text[self._ends[row - 1] if row else 0 : self._ends[row]])


def turn_sections(
    turns: PackedTurns, episode_ids: Sequence[str], is_wanted: Callable[[], bool]
) -> list[tuple[str, Numbers]] | None:
    """Arrays by name; None when they are not wanted any more."""
    raws: list[bytes] = []
    for row in range(len(turns.ids)):
        if not row % _LOOK_AGAIN_ROWS and not is_wanted():
            return None
        raws.append(turns.shelf.raw(row))
    places = dict(zip(episode_ids, range(len(episode_ids)), strict=True))
    homes = np.fromiter((places.get(home, -1) for home in turns.homes), dtype=np.int32, count=len(turns.homes))
    words = turns.words
    sections: dict[str, Numbers] = {
        "values": turns.values.reshape(-1),
        "scales": turns.scales,
        "live": turns.live,
        "previous": turns.previous,
        "following": turns.following,
        "window_lengths": turns.window_lengths,
        "marks": turns.marks.view(np.uint8),
        "surface": turns.surface.view(np.uint8),
        "homes": homes,
        "ids": _pack_text("\n".join(turns.ids).encode()),
        "raw_ends": np.cumsum([len(raw) for raw in raws], dtype=np.int64),
        "raws": _pack_text(b"".join(raws)),
        "vocabulary": _pack_text("\n".join(words.vocabulary).encode()),
        "term_ends": words.term_ends,
        "word_rows": words.rows,
        "word_counts": words.counts,
        "terms": words.terms,
        "ends": words.ends,
        "names": _pack_text(msgspec.msgpack.encode(turns.names)),
    }
    return [(f"{_PREFIX}{name}", values) for name, values in sections.items()]


def turns_of_sections(found: Mapping[str, Numbers], episode_ids: Sequence[str], dimensions: int) -> PackedTurns:
    """The index that `turn_sections` took apart. Raises ValueError or KeyError where something does not fit."""
    own = {name.removeprefix(_PREFIX): values for name, values in found.items() if name.startswith(_PREFIX)}
    ids, vocabulary = _lines(own["ids"]), _lines(own["vocabulary"])
    named = [*episode_ids, ""]  # -1 is nobody's.
    ends, text = own["raw_ends"].view(np.int64), own["raws"].data
    if len(ends) != len(ids) or (len(ids) and ends[-1] != len(text)):
        raise ValueError("The turns end elsewhere than they say.")
    return PackedTurns(
        ids=ids,
        homes=[named[place] for place in own["homes"].view(np.int32).tolist()],
        shelf=FoldedTurns(text, ends),
        values=own["values"].view(np.int8).reshape(len(ids), dimensions),
        scales=own["scales"].view(np.float32),
        live=own["live"].view(np.bool_),
        previous=own["previous"].view(np.int32),
        following=own["following"].view(np.int32),
        window_lengths=own["window_lengths"].view(np.float32),
        marks=own["marks"].view(MARKS),
        surface=own["surface"].view(SURFACE),
        words=PackedWords(
            vocabulary,
            own["term_ends"].view(np.int64),
            own["word_rows"].view(np.int32),
            own["word_counts"].view(np.int16),
            own["terms"].view(np.int32),
            own["ends"].view(np.int64),
        ),
        names=msgspec.msgpack.decode(own["names"].tobytes(), type=PackedNames),
    )


def _pack_text(raw: bytes) -> Numbers:
    return np.frombuffer(raw, dtype=np.uint8)


def _lines(raw: Numbers) -> list[str]:
    return raw.tobytes().decode().split("\n") if len(raw) else []
