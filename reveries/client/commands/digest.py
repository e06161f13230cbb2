"""`reveries digest`: what it thought and learned since yesterday."""

import time

import click


@click.command("digest", short_help="What it thought and learned since yesterday.")
@click.option("--since", "since_text", default="1d", show_default=True, help="How long ago (12h, 3d), or an ISO time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(since_text: str, as_json: bool) -> None:
    """What happened in the mind meanwhile: its thoughts, its notes to you, its sleep, what changed in how it takes you
    and itself, and what waits for your word. Reading it changes nothing."""
    from reveries.client.calling import call
    from reveries.client.digest_page import digest_page
    from reveries.client.digesting import gathered
    from reveries.client.render import show, write_struct
    from reveries.client.wording import since

    now = time.time()
    began = since(since_text, now)
    digest = call(lambda mind: gathered(mind.ask, began))
    if as_json:
        write_struct(digest)
    else:
        show(digest_page(digest, now))
