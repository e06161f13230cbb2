"""What keeps erased content from coming back: keyed hashes of it, never the content, in the memory and in a file beside
it; and a marker file with what an erasure that was broken off has left to do.

The file outlives the memory: when an old backup takes the memory's place, it knows what the backup does not. Whoever
has the key, which stands there too, can try words of which they suspect that they were erased, as with any hash.
"""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from reveries.errors import StorageDamagedError
from reveries.memory.forgetting.needles import words_in
from reveries.own_files import sync_to_disk, write_in_its_place

_KEY_BYTES = 32
_HASH_BYTES = 16
ID, TEXT, WORDS = "id", "text", "words"


class Tombstone(msgspec.Struct, frozen=True):
    """One hash. `words`: of how many words in a row, for those of words."""

    kind: str
    hash: bytes
    words: int = 0


class Erasure(msgspec.Struct, frozen=True):
    """One erasure as it is written down: no content, only what it was of and the hashes."""

    id: str
    at: float
    chosen_by: str
    key: bytes
    counts: dict[str, int]
    tombstones: list[Tombstone]


@dataclass(frozen=True)
class Tombstones:
    """All hashes of one mind, to be asked."""

    key: bytes = field(repr=False)
    ids: frozenset[bytes] = frozenset()
    texts: frozenset[bytes] = frozenset()
    words: dict[int, frozenset[bytes]] = field(default_factory=dict)

    def has_id(self, name: str) -> bool:
        return bool(self.ids) and hash_of(self.key, ID, name) in self.ids

    def __call__(self, text: str) -> bool:
        """Whether a text is one that was erased, or holds words for which texts were."""
        words = words_in(text)
        if self.texts and text_hash(self.key, words) in self.texts:
            return True
        return any(
            hash_of(self.key, WORDS, " ".join(run)) in known
            for length, known in self.words.items()
            for run in zip(*(words[place:] for place in range(length)), strict=False)
        )


def new_key() -> bytes:
    return secrets.token_bytes(_KEY_BYTES)


def hash_of(key: bytes, kind: str, text: str) -> bytes:
    """BLAKE2b-128 under the mind's key."""
    return hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), key=key, digest_size=_HASH_BYTES).digest()


def text_hash(key: bytes, words: Sequence[str]) -> bytes:
    """Of a whole text, by its words."""
    return hash_of(key, TEXT, " ".join(words))


def tombstones_for(
    key: bytes, ids: Iterable[str], texts: Iterable[str], spans: Iterable[tuple[str, ...]]
) -> list[Tombstone]:
    """The hashes for what goes: its ids, its whole texts, and the words by which it was chosen."""
    found = {Tombstone(ID, hash_of(key, ID, name)) for name in ids}
    found |= {Tombstone(TEXT, text_hash(key, words)) for text in texts if (words := words_in(text))}
    found |= {Tombstone(WORDS, hash_of(key, WORDS, " ".join(span)), len(span)) for span in spans}
    return sorted(found, key=lambda one: (one.kind, one.hash))


def merge_tombstones(erasures: Collection[Erasure]) -> Tombstones | None:
    """The hashes of all of them; None when nothing was ever erased. They share one key."""
    if not erasures:
        return None
    stones = [stone for erasure in erasures for stone in erasure.tombstones]
    lengths = {stone.words for stone in stones if stone.kind == WORDS}
    return Tombstones(
        key=next(iter(erasures)).key,
        ids=frozenset(stone.hash for stone in stones if stone.kind == ID),
        texts=frozenset(stone.hash for stone in stones if stone.kind == TEXT),
        words={
            length: frozenset(s.hash for s in stones if s.kind == WORDS and s.words == length) for length in lengths
        },
    )


def file_beside(database: Path) -> Path:
    """Where the erasures stand beside the memory."""
    return database.with_name(f"{database.name}.forgotten")


def read_erasures(file: Path) -> list[Erasure]:
    """What the file says; nothing where there is none. A last line that a crash cut off is passed over.

    Raises StorageDamagedError where another line cannot be read: what was erased might come back unseen.
    """
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")
    found: list[Erasure] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=Erasure))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break
            raise StorageDamagedError(
                f"Line {number} of {file}, which says what was erased, cannot be read.",
                advice="Put back a good copy of it, or move it away: then no old backup is erased again.",
            ) from error
    return found


def write_erasures(file: Path, erasures: Sequence[Erasure]) -> None:
    """Put the file there, whole or not at all, for the owner alone. Raises OSError."""
    write_in_its_place(file, b"".join(msgspec.json.encode(erasure) + b"\n" for erasure in erasures))


def counts_json(counts: dict[str, int]) -> str:
    return json.dumps(counts, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """All that is left of an erasure in the home, or, where that is done, the memory's file to be written anew."""

    is_file_alone: bool = False
    receipt_id: str = ""
    """Of that erasure: where the memory has no such receipt it was broken off before anything was erased. Empty where
    nobody knows."""


FILE_ALONE: Final = Unfinished(is_file_alone=True)
_FILE_ALONE: Final = b"the file alone"


def left_to_do(marker: Path) -> Unfinished | None:
    """None: nothing. Reads the disk. Raises OSError."""
    try:
        content = marker.read_bytes()
    except FileNotFoundError:
        return None
    return FILE_ALONE if content == _FILE_ALONE else Unfinished(receipt_id=content.decode(errors="replace"))


def leave_to_do(marker: Path, what: Unfinished | None) -> None:
    """On the disk when this returns; until then what was left before. Raises OSError."""
    if what is None:
        marker.unlink(missing_ok=True)
        sync_to_disk(marker.parent)
    else:
        write_in_its_place(marker, _FILE_ALONE if what.is_file_alone else what.receipt_id.encode())
