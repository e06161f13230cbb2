"""What a client was told is stored, kept outside the mind: a line an acknowledgement, on the disk before it counts."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Acknowledged:
    """An outside ledger. `said` is everything that was ever sent, acknowledged or not."""

    path: Path
    turns: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each acknowledged turn's text, by the turn's id."""
    imported: dict[str, str] = field(default_factory=dict)
    """Of each acknowledged imported line, by itself."""
    self_edits: list[str] = field(default_factory=list)
    """Statements about the mind that the owner wrote."""
    passes: dict[str, int] = field(default_factory=dict)
    """Passes of deep sleep that were reported as ended, with how many experiences they worked through."""
    said: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def turn(self, turn_id: str, text: str) -> None:
        self.turns[turn_id] = _hash(text)
        self._write("turn", turn_id, self.turns[turn_id])

    def lines(self, texts: list[str]) -> None:
        for text in texts:
            self.imported[text] = _hash(text)
        self._write("import", *(self.imported[text] for text in texts))

    def self_edit(self, statement: str) -> None:
        self.self_edits.append(statement)
        self._write("self", _hash(statement))

    def slept(self, run_id: str, processed: int) -> None:
        self.passes[run_id] = processed
        self._write("slept", run_id, str(processed))

    @property
    def count(self) -> int:
        return len(self.turns) + len(self.imported) + len(self.self_edits) + len(self.passes)

    def close(self) -> None:
        os.close(self._file)

    def _write(self, *entry: str) -> None:
        os.write(self._file, json.dumps(entry).encode() + b"\n")
        os.fsync(self._file)


def hash_of(text: str) -> str:
    """As the ledger keeps it."""
    return _hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
