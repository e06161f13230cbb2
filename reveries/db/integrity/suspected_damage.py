"""What is known about damage and must survive a kill: a file next to the memory.

It makes the next wake check everything first, and it keeps notices until the owner has been shown them. Each problem is
found only once: afterwards the log is checkpointed or the index rebuilt, and the disk shows no trace of it.
"""

import contextlib
from pathlib import Path

import msgspec

from reveries.own_files import write_private_file_atomically


class DamageNote(msgspec.Struct, frozen=True):
    """The content of the file."""

    why: str = ""
    tell: str = ""
    """Sentences for the owner that have not been shown yet."""


def damage_note_path(database: Path) -> Path:
    """Return the path of the damage note: while it exists, a wake checks all of the memory."""
    return database.with_name(f"{database.name}.damaged")


def note_damage(database: Path, why: str) -> None:
    """Write the damage note for the next wake, keeping pending notices. A failure is ignored."""
    with contextlib.suppress(OSError):
        write_damage_note(database, why)


def write_damage_note(database: Path, why: str) -> None:
    """Like `note_damage`. Raises OSError."""
    write_private_file_atomically(
        damage_note_path(database), msgspec.json.encode(DamageNote(why, read_pending_notice(database)))
    )


def add_pending_notice(database: Path, tell: str) -> None:
    """Add `tell` to the notices for the owner, durably. On failure only this run can show it."""
    note = _read_damage_note(database)
    if not tell or tell in note.tell:
        return
    with contextlib.suppress(OSError):
        kept = DamageNote(note.why or "something was found when it was opened", f"{note.tell} {tell}".strip())
        write_private_file_atomically(damage_note_path(database), msgspec.json.encode(kept))


def remove_pending_notice(database: Path, tell: str) -> None:
    """Remove a notice that turned out to be wrong."""
    note = _read_damage_note(database)
    if tell and tell in note.tell:
        with contextlib.suppress(OSError):
            left = DamageNote(note.why, " ".join(note.tell.replace(tell, "").split()))
            write_private_file_atomically(damage_note_path(database), msgspec.json.encode(left))


def read_pending_notice(database: Path) -> str:
    """Return what has not been shown to the owner yet."""
    return _read_damage_note(database).tell


def clear_pending_notice(database: Path) -> None:
    """Clear the notices: the owner can see them now. The check of the file stays due until it is closed properly."""
    note = _read_damage_note(database)
    if note.tell:
        with contextlib.suppress(OSError):
            write_private_file_atomically(damage_note_path(database), msgspec.json.encode(DamageNote(note.why)))


def clear_damage_note(database: Path) -> None:
    """Remove the note after the memory was checked and closed properly, unless notices are pending. Raises OSError."""
    if not read_pending_notice(database):
        damage_note_path(database).unlink(missing_ok=True)


def _read_damage_note(database: Path) -> DamageNote:
    """Return the damage note. Earlier versions wrote only the reason, which counts as an empty note."""
    try:
        return msgspec.json.decode(damage_note_path(database).read_bytes(), type=DamageNote)
    except (OSError, msgspec.MsgspecError):
        return DamageNote()
