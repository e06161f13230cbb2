"""What is known of damage and must outlive a kill: a file beside the memory.

It says that damage was seen, so that the next wake looks at everything first; and it keeps what the owner is to be told
of the file until a life has come as far as telling it. What was found is found once: then the log is folded, the index
made anew, and nothing on the disk would say it again.
"""

import contextlib
from pathlib import Path

import msgspec

from reveries.own_files import write_private_file_atomically


class DamageNote(msgspec.Struct, frozen=True):
    """What stands in the file."""

    why: str = ""
    tell: str = ""
    """Sentences for the owner that no life has told yet."""


def damage_note_path(database: Path) -> Path:
    """Where it is written down: while it is there, a wake looks at all of the memory."""
    return database.with_name(f"{database.name}.damaged")


def note_damage(database: Path, why: str) -> None:
    """Leave that word for the next wake. What is untold stays so."""
    with contextlib.suppress(OSError):
        write_damage_note(database, why)


def write_damage_note(database: Path, why: str) -> None:
    """The same, for whoever cannot go on without it. Raises OSError."""
    write_private_file_atomically(
        damage_note_path(database), msgspec.json.encode(DamageNote(why, read_pending_notice(database)))
    )


def add_pending_notice(database: Path, tell: str) -> None:
    """Let `tell` be told by the first life that comes as far as that; on the disk when this returns. What cannot be
    written down is told by this life alone."""
    found = _read_damage_note(database)
    if not tell or tell in found.tell:
        return
    with contextlib.suppress(OSError):
        kept = DamageNote(found.why or "something was found when it was opened", f"{found.tell} {tell}".strip())
        write_private_file_atomically(damage_note_path(database), msgspec.json.encode(kept))


def remove_pending_notice(database: Path, tell: str) -> None:
    """It is not so."""
    found = _read_damage_note(database)
    if tell and tell in found.tell:
        with contextlib.suppress(OSError):
            left = DamageNote(found.why, " ".join(found.tell.replace(tell, "").split()))
            write_private_file_atomically(damage_note_path(database), msgspec.json.encode(left))


def read_pending_notice(database: Path) -> str:
    """What the owner is to be told of the file, and was not."""
    return _read_damage_note(database).tell


def clear_pending_notice(database: Path) -> None:
    """The owner can see it now. That the file is to be looked at stays until it is closed properly."""
    found = _read_damage_note(database)
    if found.tell:
        with contextlib.suppress(OSError):
            write_private_file_atomically(damage_note_path(database), msgspec.json.encode(DamageNote(found.why)))


def clear_damage_note(database: Path) -> None:
    """The memory was looked at and closed properly. What nobody told yet stays. Raises OSError."""
    if not read_pending_notice(database):
        damage_note_path(database).unlink(missing_ok=True)


def _read_damage_note(database: Path) -> DamageNote:
    """Earlier versions wrote the reason alone, and nobody reads that."""
    try:
        return msgspec.json.decode(damage_note_path(database).read_bytes(), type=DamageNote)
    except (OSError, msgspec.MsgspecError):
        return DamageNote()
