"""Calls of models with many names, each without a schema and with one, through the real litellm, of a provider on
loopback that says no usage. To be run where the network is loopback alone (`unshare -rn`); prints what the kernel
counted, as JSON."""

import asyncio
import fcntl
import json
import socket
import struct
import sys
from dataclasses import replace
from pathlib import Path

from reveries.config import load_settings
from reveries.llm.hosted import HostedModel, HostedOptions
from tests.llm.contract import a_prompt, play
from tests.llm.servers import model_server

NAMES = (
    "openai/llama-3-8b-instruct", "openai/llama-2-7b", "openai/command-r", "openai/gpt-4o", "openai/o3-mini",
    "openai/claude-3-haiku", "openrouter/meta-llama/llama-3.1-70b-instruct", "anthropic/claude-haiku-4-5",
)  # fmt: skip
_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
_SIOCSIFFLAGS = 0x8914
_UP_AND_RUNNING = 0x41


def loopback_up() -> None:
    """Set the loopback device up, as `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))


def counted() -> dict[str, int]:
    """What the kernel counted in this network namespace."""
    counts: dict[str, int] = {}
    lines = Path("/proc/self/net/snmp").read_text(encoding="ascii").splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind = names.split(":")[0]
        counts |= {f"{kind}.{n}": int(v) for n, v in zip(names.split()[1:], values.split()[1:], strict=True)}
    return counts


async def _call_all() -> None:
    async with model_server() as server:
        server.gives_usage = False
        for name in NAMES:
            options = HostedOptions(name, "sk-x", f"{server.url}/v1", load_settings(None).llm.limits)
            for prompt in (a_prompt(), replace(a_prompt(), schema=_SCHEMA)):
                await play(HostedModel(options), prompt)


def main() -> None:
    """See above."""
    loopback_up()
    asyncio.run(_call_all())
    counts = counted()
    keys = ("Tcp.ActiveOpens", "Udp.OutDatagrams", "Ip.OutNoRoutes")
    sys.stdout.write(json.dumps({key: counts[key] for key in keys}) + "\n")


if __name__ == "__main__":
    main()
