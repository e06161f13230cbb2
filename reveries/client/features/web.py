"""`reveries web`: the terminal interface in a browser of this machine."""

import click


@click.command("web", short_help="The conversation in a browser of this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=8399, show_default=True, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address; no other is taken.")
def command(port: int, host: str) -> None:
    """Serve the conversation to a browser on this machine until Ctrl+C, and print the address to open.

    The address holds a token: whoever opens it first can talk with the mind and read what it remembers. It lets one
    browser in, once, until that is closed; for another browser print another. Nothing is loaded from other hosts. The
    extra reveries[web] is needed.
    """
    import asyncio
    import secrets

    from reveries.client.features.wake import probe
    from reveries.client.render import say
    from reveries.client.web.access import AccessRules, loopback_address
    from reveries.config import find_home
    from reveries.errors import AsleepError, UsageError

    address = loopback_address(host)
    try:
        from reveries.client.web.server import serve_until_stopped
    except ImportError as error:
        raise UsageError(
            "What serves the browser is not installed.",
            advice="Install the extra: pip install 'reveries[web]', or in a checkout: make web",
        ) from error
    home = find_home()
    home.check()
    if probe(home) is None:
        raise AsleepError("The mind is asleep.", advice="Wake it: reveries wake")

    def make(number: int) -> AccessRules:
        return AccessRules(address, number, *(secrets.token_urlsafe(32) for _ in range(3)))

    def tell(access: AccessRules) -> None:
        say(f"Open it in a browser on this machine: {access.address}")
        say("It lets one browser in, once, to all that is remembered. Ctrl+C ends it; the mind stays awake.", "dim")

    try:
        asyncio.run(serve_until_stopped(make, address, port, tell))
    except OSError as error:
        raise UsageError(
            f"{address}:{port} cannot be listened on: {error.strerror or error}.", advice="Another one: --port 0"
        ) from error
