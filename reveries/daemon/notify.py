"""Telling systemd how it goes (sd_notify): a datagram to the socket that it names."""

import os
import socket


def tell_service_manager(state: str) -> bool:
    """Send `state` ("READY=1", "WATCHDOG=1", "STOPPING=1"). False when nobody asked to be told, or does
    not listen: nobody waits for that."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as channel:
            channel.setblocking(False)
            channel.connect(address)
            channel.sendall(state.encode("utf-8"))
    except OSError:
        return False
    return True
