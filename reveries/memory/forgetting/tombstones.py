"""Keeps erased content from coming back: stores keyed hashes of it (never the content) in the memory and in a file next
to it. Also the marker file of an unfinished erasure.

The file outlives the memory: if an old backup replaces the memory, the file still knows the later erasures. The key is
stored with the hashes, so a reader of the file can test guesses at erased words, as with any hash.
"""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from reveries.db.database import Reader, Transaction
from reveries.errors import StorageDamagedError
from reveries.memory.forgetting.needles import words_in
from reveries.own_files import sync_to_disk, write_private_file_atomically

_KEY_BYTES = 32
_HASH_BYTES = 16
ID, TEXT, WORDS = "id", "text", "words"


class Tombstone(msgspec.Struct, frozen=True):
    """One hash. `words`: number of consecutive words, for kind WORDS."""

    kind: str
    hash: bytes
    words: int = 0


class Erasure(msgspec.Struct, frozen=True):
    """The record of one erasure: counts and hashes, no content."""

    id: str
    at: float
    chosen_by: str
    key: bytes
    counts: dict[str, int]
    tombstones: list[Tombstone]


@dataclass(frozen=True)
class Tombstones:
    """All tombstones of one mind, for lookup."""

    key: bytes = field(repr=False)
    ids: frozenset[bytes] = frozenset()
    texts: frozenset[bytes] = frozenset()
    words: dict[int, frozenset[bytes]] = field(default_factory=dict)

    def has_id(self, name: str) -> bool:
        return bool(self.ids) and keyed_hash(self.key, ID, name) in self.ids

    def __call__(self, text: str) -> bool:
        """Whether a text was erased, or contains words by which texts were erased."""
        words = words_in(text)
        if self.texts and text_hash(self.key, words) in self.texts:
            return True
        return any(
            keyed_hash(self.key, WORDS, " ".join(run)) in hashes
            for length, hashes in self.words.items()
            for run in zip(*(words[place:] for place in range(length)), strict=False)
        )


def new_key() -> bytes:
    return secrets.token_bytes(_KEY_BYTES)


def keyed_hash(key: bytes, kind: str, text: str) -> bytes:
    """BLAKE2b-128 with the mind's key."""
    return hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), key=key, digest_size=_HASH_BYTES).digest()


def text_hash(key: bytes, words: Sequence[str]) -> bytes:
    """Hash a whole text by its words."""
    return keyed_hash(key, TEXT, " ".join(words))


def tombstones_for(
    key: bytes, ids: Iterable[str], texts: Iterable[str], spans: Iterable[tuple[str, ...]]
) -> list[Tombstone]:
    """Create the tombstones of an erasure: for its ids, its texts, and the words by which it was selected."""
    tombstones = {Tombstone(ID, keyed_hash(key, ID, name)) for name in ids}
    tombstones |= {Tombstone(TEXT, text_hash(key, words)) for text in texts if (words := words_in(text))}
    tombstones |= {Tombstone(WORDS, keyed_hash(key, WORDS, " ".join(span)), len(span)) for span in spans}
    return sorted(tombstones, key=lambda tombstone: (tombstone.kind, tombstone.hash))


def merge_tombstones(erasures: Collection[Erasure]) -> Tombstones | None:
    """Merge the tombstones of erasures, which share one key; None if there are no erasures."""
    if not erasures:
        return None
    tombstones = [tombstone for erasure in erasures for tombstone in erasure.tombstones]
    lengths = {tombstone.words for tombstone in tombstones if tombstone.kind == WORDS}
    return Tombstones(
        key=next(iter(erasures)).key,
        ids=frozenset(tombstone.hash for tombstone in tombstones if tombstone.kind == ID),
        texts=frozenset(tombstone.hash for tombstone in tombstones if tombstone.kind == TEXT),
        words={
            length: frozenset(t.hash for t in tombstones if t.kind == WORDS and t.words == length) for length in lengths
        },
    )


def erasures_path(database: Path) -> Path:
    """Return the path of the file with the erasures, next to the database."""
    return database.with_name(f"{database.name}.forgotten")


def read_erasures(file: Path) -> list[Erasure]:
    """Read the erasures in the file; empty if there is none. A last line that a crash cut off is ignored.

    Raises StorageDamagedError if another line cannot be read, because erased content might come back unnoticed.
    """
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")
    erasures: list[Erasure] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            erasures.append(msgspec.json.decode(line, type=Erasure))
        except msgspec.MsgspecError as error:
            if number == len(lines):
                break
            raise StorageDamagedError(
                f"Line {number} of {file}, the record of erasures, cannot be read.",
                advice="Restore a good copy of the file, or move it away. Without it, erasures are not repeated when "
                "an old backup is restored.",
            ) from error
    return erasures


def write_erasures(file: Path, erasures: Sequence[Erasure]) -> None:
    """Write the file, whole or not at all, readable only by the owner. Raises OSError."""
    write_private_file_atomically(file, b"".join(msgspec.json.encode(erasure) + b"\n" for erasure in erasures))


async def read_stored_erasures(reader: Reader) -> dict[str, Erasure]:
    """Read the erasures recorded in the memory, by id."""
    tombstones: dict[str, list[Tombstone]] = {}
    for row in await reader.rows("forget.tombstones"):
        tombstone = Tombstone(row["kind"], bytes(row["hash"]), row["words"])
        tombstones.setdefault(row["erasure_id"], []).append(tombstone)
    return {
        row["id"]: Erasure(
            row["id"],
            row["erased_at"],
            row["chosen_by"],
            bytes(row["hash_key"]),
            json.loads(row["counts"]),
            tombstones.get(row["id"], []),
        )
        for row in await reader.rows("forget.erasures")
    }


async def put_erasure(transaction: Transaction, erasure: Erasure) -> None:
    """Record an erasure in the memory."""
    await transaction.run(
        "forget.put_erasure",
        {
            "id": erasure.id,
            "erased_at": erasure.at,
            "chosen_by": erasure.chosen_by,
            "hash_key": erasure.key,
            "counts": json.dumps(erasure.counts, sort_keys=True),
        },
    )
    await transaction.run_many(
        "forget.put_tombstone",
        [
            {"kind": tombstone.kind, "hash": tombstone.hash, "words": tombstone.words, "erasure_id": erasure.id}
            for tombstone in erasure.tombstones
        ],
    )


@dataclass(frozen=True, slots=True)
class UnfinishedErasure:
    """What an erasure has left to do: clean the home and rewrite the memory's file, or only the latter."""

    is_file_only: bool = False
    receipt_id: str = ""
    """Receipt of the erasure. If the memory has no such receipt, nothing was erased yet. Empty if unknown."""


FILE_ONLY: Final = UnfinishedErasure(is_file_only=True)
_FILE_ONLY: Final = b"the file alone"


def read_marker(marker: Path) -> UnfinishedErasure | None:
    """Read the marker file; None if there is none. Blocking. Raises OSError."""
    try:
        content = marker.read_bytes()
    except FileNotFoundError:
        return None
    return FILE_ONLY if content == _FILE_ONLY else UnfinishedErasure(receipt_id=content.decode(errors="replace"))


def write_marker(marker: Path, unfinished: UnfinishedErasure | None) -> None:
    """Write the marker file atomically, or remove it for None; on the disk when this returns. Raises OSError."""
    if unfinished is None:
        marker.unlink(missing_ok=True)
        sync_to_disk(marker.parent)
    else:
        write_private_file_atomically(marker, _FILE_ONLY if unfinished.is_file_only else unfinished.receipt_id.encode())
