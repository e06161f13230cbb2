"""Notifies systemd of the daemon's state (sd_notify): a datagram to the socket in NOTIFY_SOCKET."""

import asyncio
import os
import socket

_MOMENT_SECONDS = 1.0
"""Well within the 5 s in which a signal ends the mind."""


def notify_service_manager(state: str, seconds: float = 0.0) -> bool:
    """Send `state` ("WATCHDOG=1"), waiting `seconds` at most. False if there is no service manager or it does not
    read."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as channel:
            channel.settimeout(seconds)
            channel.connect(address)
            channel.sendall(state.encode("utf-8"))
    except OSError:
        return False
    return True


async def notify_waiting(state: str, seconds: float = _MOMENT_SECONDS) -> bool:
    """Send `state` ("READY=1", "STOPPING=1"), which is sent once, so wait in a thread for a slow service manager.
    Return whether it was sent."""
    return await asyncio.to_thread(notify_service_manager, state, seconds)
