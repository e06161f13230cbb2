"""The user at the other end of a unix socket, from the kernel; checked by the daemon and by its clients."""

import os
import socket
import struct
from pathlib import Path

from reveries.own_files import expected_owner

_ROOT = 0


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user at the other end of a unix socket; None if the system does not say."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            size = struct.calcsize("3i")
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            return int(uid)
        # macOS: struct xucred {u_int version; uid_t uid; short ngroups; gid_t groups[16]} under LOCAL_PEERCRED (1).
        raw = connection.getsockopt(0, 1, 76)
        return int(struct.unpack_from("2I", raw)[1])
    except (OSError, struct.error):
        return None


def may_connect(uid: int | None) -> bool:
    """Whether the user at the other end may connect: the user of this process, or root, who can read everything anyway.

    If the system does not say who it is, only the socket's mode protects it.
    """
    return uid is None or uid in (os.getuid(), _ROOT)


def may_serve(uid: int | None, home: Path) -> bool:
    """Whether that user may run the daemon of `home`: the caller's user, root, or for root the owner of the home."""
    return may_connect(uid) or uid == expected_owner(home)
