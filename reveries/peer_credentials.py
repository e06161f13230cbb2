"""Who is at the other end of a unix socket, as the kernel says: asked by the daemon of clients, and by them of it."""

import os
import socket
import struct
from pathlib import Path

from reveries.own_files import owner_of

_ROOT = 0


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end of a unix socket; None where the system does not tell."""
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


def is_the_owner(uid: int | None) -> bool:
    """Whether the user at the other end may come in: whoever runs the daemon, and root, who can read everything anyway.

    Where the system does not tell who it is, the socket's mode alone decides.
    """
    return uid is None or uid in (os.getuid(), _ROOT)


def may_serve(uid: int | None, home: Path) -> bool:
    """Whether that user may be the mind in `home`: whoever asks, whose the home is where root asks, and root."""
    return is_the_owner(uid) or uid == owner_of(home)
