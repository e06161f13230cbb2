"""`reveries web`: the terminal interface in a browser of this machine."""

import click


@click.command("web", short_help="Open the conversation in a browser on this machine.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8399, show_default=True, help="The port; 0: any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address; others are refused.")
def command(port: int, host: str) -> None:
    """Serve the conversation to a browser on this machine until Ctrl+C, and print the address to open.

    The address contains a token: the first browser that opens it can talk with the mind and read what it remembers. It
    works once, for one browser; run the command again for another. Nothing is loaded from other hosts. Needs the extra
    reveries[web].
    """
    import asyncio
    import secrets

    from reveries.client.features.wake import probe_daemon
    from reveries.client.render import say
    from reveries.client.web.access import AccessRules, loopback_address
    from reveries.config import find_home
    from reveries.errors import AsleepError, UsageError

    address = loopback_address(host)
    try:
        from reveries.client.web.server import serve_until_stopped
    except ImportError as error:
        raise UsageError(
            "The web server is not installed.",
            advice="Install it, in the folder that you installed Reveries from: make web",
        ) from error
    home = find_home()
    home.check()
    if probe_daemon(home) is None:
        raise AsleepError("The mind is asleep.", advice="Wake it: reveries wake")

    def make_door(number: int) -> AccessRules:
        return AccessRules(address, number, *(secrets.token_urlsafe(32) for _ in range(3)))

    def print_address(access: AccessRules) -> None:
        say(f"Open it in a browser on this machine: {access.address}")
        say(
            "It works for one browser, and shows everything remembered. Ctrl+C stops it; the mind stays awake.",
            "dim",
        )

    try:
        asyncio.run(serve_until_stopped(make_door, address, port, print_address))
    except OSError as error:
        raise UsageError(
            f"{address}:{port} cannot be used: {error.strerror or error}.", advice="Use another port: --port 0"
        ) from error
