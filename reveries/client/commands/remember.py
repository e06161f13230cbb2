"""`reveries remember`."""

import click


@click.command("remember", short_help="Tell it something to remember.")
@click.argument("text", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(text: tuple[str, ...], as_json: bool) -> None:
    """Let it remember TEXT (or what comes on stdin) as your words, without a reply. It can be recalled at once."""
    from reveries import protocol
    from reveries.client.calling import call
    from reveries.client.commands.say import words_given
    from reveries.client.render import say, show_json
    from reveries.client.wording import plural

    words = words_given(text, "There is nothing to remember.", 'For example: reveries remember "Marta likes tea"')
    done = call(
        lambda mind: mind.ask(lambda new_id: protocol.Remember(new_id, words), protocol.Remembered, seconds=None)
    )
    if as_json:
        show_json(done)
    elif done.stored:
        say(f"It will remember that ({plural(done.episodes, 'episode')} made of it).")
    else:
        say("It knew that already, in these words and of this second.")
