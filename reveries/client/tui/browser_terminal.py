"""The process behind one browser window: runs the terminal interface; started and fed by the server."""

import os

from reveries.own_process import protect_process


def main() -> None:
    """Run the interface. Standard error is discarded because no one reads it; the interface shows its problems."""
    protect_process()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    os.close(quiet)
    from reveries.client.tui.textual_switches import remove_textual_switches

    remove_textual_switches(os.environ, is_in_browser=True)
    from reveries.client.tui.app import ReveriesApp
    from reveries.config import find_home, load_settings

    home = find_home()
    ReveriesApp(home, settings=load_settings(home.config).client).run()


if __name__ == "__main__":
    main()
