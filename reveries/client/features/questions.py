"""`reveries questions`: what projects want to know, and the owner's answers."""

import time

import click


@click.group("questions", short_help="What your projects ask you.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What all projects want to know from you. None of them stops for it: other tasks go on."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.features.project_pages import questions_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    answer = ask(protocol.AskOpenQuestions, protocol.OpenQuestions)
    show_json(answer) if as_json else show(questions_page(answer.questions, time.time()))


@command.command("answer")
@click.argument("question_id", metavar="ID")
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def answer_command(question_id: str, text: str, as_json: bool) -> None:
    """Answer one: reveries questions answer 3f9a "Blue Bossa". What waits for it goes on."""
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask
    from reveries.safe_text import one_line

    answered = ask(
        lambda new_id: protocol.AnswerQuestion(new_id, question_id, text), protocol.QuestionAnswered, seconds=None
    )
    if as_json:
        show_json(answered)
    else:
        say(f"Noted for {one_line(answered.project)}. What waited for it goes on when nobody talks.")
