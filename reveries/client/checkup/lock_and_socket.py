"""Checks the daemon's lock and its socket, and that nothing is in the way."""

import errno
import stat
from collections.abc import Iterator
from pathlib import Path

from reveries.client.checkup.place import Place, connect_error, hold_lock
from reveries.config import Settings
from reveries.protocol import FIX, Fault, Finding

_WAIT = "It may still be waking. If it stays so, end the process, then: reveries wake"
_MOVE_AWAY = "Move it away, then: reveries wake"

IN_THE_WAY = Fault("in-the-way", "wrong", "Something is in the way of the mind.", _MOVE_AWAY, hides_memory=True)
STALE = Fault("socket-stale", "watch", "A crashed daemon left its socket.", FIX)
FOREIGN = Fault("socket-foreign", "wrong", "Another program listens on the mind's socket.", "End that program.")
GONE = Fault("socket-gone", "wrong", "The daemon runs, but its socket is missing.", _WAIT)


def check(place: Place) -> Iterator[Finding]:
    """Yield what is wrong with the two, and what is in the way of them or of the memory."""
    home, path = place.home, place.home.socket
    if not place.is_usable:
        return
    for file in (home.lock, home.database(place.settings) if isinstance(place.settings, Settings) else home.lock):
        if (file.exists() and not file.is_file()) or (file == home.lock and file.is_symlink()):
            yield IN_THE_WAY.found(where=file)
            return
    try:
        socket_stat = path.lstat()
    except OSError:
        if place.is_running:
            yield GONE.found(where=path)
        return
    if not stat.S_ISSOCK(socket_stat.st_mode):
        yield IN_THE_WAY.found(where=path)
        return
    if not place.is_running and (error := connect_error(path)) in (None, errno.ECONNREFUSED):
        yield (FOREIGN if error is None else STALE).found(where=path)


def _remove_socket(path: Path, place: Place) -> Iterator[str]:
    """Remove the stale socket, holding the daemon's lock so that none can create it meanwhile."""
    with hold_lock(place.home.lock) as is_ours:
        if is_ours and stat.S_ISSOCK(path.lstat().st_mode) and connect_error(path) == errno.ECONNREFUSED:
            path.unlink()
            yield f"Removed the stale socket {path}."
        else:
            yield "Kept the socket: a daemon is starting."


REPAIRS = {STALE.id: _remove_socket}
