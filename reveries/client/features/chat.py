"""`reveries` without a command: the conversation in the terminal."""

import gc
import os
import sys


def open_chat(*, is_plain: bool = False) -> None:
    """Open the terminal interface on the mind that is awake, or the conversation line by line. Raises AsleepError when
    none is."""
    from reveries.client.features.wake import probe
    from reveries.config import find_home, load_settings
    from reveries.errors import AsleepError, UsageError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The conversation needs a terminal.", advice='Without one: reveries say "Good morning", or reveries --help'
        )
    home = find_home()
    home.check()
    if probe(home) is None:
        raise AsleepError("The mind is asleep.", advice="Wake it: reveries wake")
    settings = load_settings(home.config).client
    if is_plain or settings.plain or os.environ.get("TERM") == "dumb":
        from reveries.client.plain_chat import chat_plainly
        from reveries.clock import SystemClock

        chat_plainly(home, SystemClock())
        return
    from reveries.client.tui.textual_switches import remove_textual_switches

    remove_textual_switches(os.environ)
    gc.disable()  # Until the screen stands; the application goes on with it.
    from reveries.client.render import say
    from reveries.client.tui.app import ReveriesApp

    app = ReveriesApp(home, settings=settings)
    app.run()
    if app.crash is not None:
        raise app.crash
    if app.ended_by is not None:
        raise SystemExit(128 + app.ended_by)
    say("You left; the mind stays awake. Back to it: reveries", "dim")
