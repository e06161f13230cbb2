"""Checks the home folder: kind, place, file system."""

from collections.abc import Iterator

from reveries.client.checkup.place import Place
from reveries.errors import HomeError
from reveries.own_files import find_open_ancestor
from reveries.protocol import Fault, Finding

_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.rclone", "davfs")
_ELSEWHERE = "choose another REVERIES_HOME."

TOO_DEEP = Fault("home-too-deep", "wrong", "The path of the home is too long for a socket.", "Set REVERIES_HOME=~/r")
MISSING = Fault("home-missing", "note", "No mind was ever started here: there is no home.", "Start with: reveries init")
NOT_FOLDER = Fault("home-not-folder", "wrong", "The path of the home is not a folder.", f"Move it, or {_ELSEWHERE}")
IN_OPEN_FOLDER = Fault(
    "home-in-open-folder", "wrong", "Others could replace the home.", "Remove their access.", hides_memory=True
)
NOT_WRITABLE = Fault("home-not-writable", "wrong", "The home is not writable.", f"Make it writable, or {_ELSEWHERE}")
ON_NETWORK = Fault(
    "home-on-network", "wrong", "Locks and the log are not safe on a network.", "Move it to a local disk."
)


def check(place: Place) -> Iterator[Finding]:
    """Yield what is wrong with the folder."""
    home, machine, path = place.home, place.machine, place.home.path
    try:
        home.check()
    except HomeError as error:
        yield TOO_DEEP.found(error.message, error.advice, path)
        return
    if not path.is_dir():
        yield (NOT_FOLDER if path.exists() else MISSING).found(where=path)
        return
    if above := find_open_ancestor(path, machine.uid):
        yield IN_OPEN_FOLDER.found(above.fault, above.advice("REVERIES_HOME=~/elsewhere reveries wake"), path)
    if not machine.may_write(path):
        yield NOT_WRITABLE.found(where=path)
    if (kind := machine.file_system(path)).startswith(_NETWORK):
        yield ON_NETWORK.found(f"The home {path} is on {kind}.", where=path)
