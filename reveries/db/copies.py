"""Copying the database: on a connection of its own, looked at, and only then under its name."""

import contextlib
from pathlib import Path

from reveries.db.backups import Looked, look_at
from reveries.db.driver import dbapi, load_vector_search
from reveries.db.failpoints import Step, reached
from reveries.db.seals import seal, unseal
from reveries.errors import StorageError
from reveries.own_files import sync_to_disk


def connect_beside(path: Path, with_vector_search: bool) -> "dbapi.Connection":
    """One more connection to the file at `path`, that reads only and is used in one thread at a time."""
    connection = dbapi.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0, check_same_thread=False)
    if with_vector_search:
        load_vector_search(connection)
    return connection


def vacuum_into(connection: "dbapi.Connection", target: Path) -> None:
    """Copy what it reads, and close it. Breaks off when it is interrupted."""
    with contextlib.closing(connection):
        connection.execute("VACUUM INTO ?", (str(target),))


def is_on_another_disk(copy: Path, memory: Path) -> bool:
    """Whether what fails where `copy` is to be says nothing of the disk of `memory`: so does a disk that is gone."""
    try:
        return copy.parent.stat().st_dev != memory.stat().st_dev
    except OSError:
        return True


def verify_and_publish(partial: Path, target: Path) -> Looked:
    """Look at the copy `partial`, sync it, and give it its name. Raises StorageError when it is not whole."""
    reached(Step.BACKUP_COPIED)
    looked = look_at(partial)
    if looked.problems:
        partial.unlink()
        raise StorageError(
            f"The backup {target} did not verify: {looked.problems[0]}", advice="The memory itself is in use."
        )
    partial.chmod(0o600)
    unseal(target)
    sync_to_disk(partial)
    reached(Step.BACKUP_VERIFIED)
    partial.replace(target)
    reached(Step.BACKUP_NAMED)
    sync_to_disk(target.parent)
    seal(target)
    return looked
