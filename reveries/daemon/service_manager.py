"""Telling systemd how it goes (sd_notify): a datagram to the socket that it names."""

import asyncio
import os
import socket

_MOMENT_SECONDS = 1.0
"""Well within the 5 s in which each signal ends the mind."""


def tell_service_manager(state: str, seconds: float = 0.0) -> bool:
    """Send `state` ("WATCHDOG=1"). False when nobody asked to be told, or does not listen: nobody waits for that, or
    `seconds` at most."""
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


async def tell_at_length(state: str, seconds: float = _MOMENT_SECONDS) -> bool:
    """Send `state` ("READY=1", "STOPPING=1"), which is said once: a service manager that is behind is waited for,
    beside the loop. Whether it was sent."""
    return await asyncio.to_thread(tell_service_manager, state, seconds)
