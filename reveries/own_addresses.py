"""Which addresses are of this machine. Pure."""

import ipaddress
from urllib.parse import urlsplit


def is_this_machine(url: str) -> bool:
    """Whether `url` ("http://127.0.0.1:11434", "localhost:11434") is an address of this machine."""
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        # The whole host is parsed: "127.0.0.1.example" is an ordinary name.
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
