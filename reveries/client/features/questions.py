"""`reveries questions`: the open questions of projects, and the owner's answers."""

import time

import click


@click.group("questions", short_help="Questions that your projects ask you.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the open questions of all projects. Other tasks continue meanwhile."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.features.project_pages import questions_page
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(protocol.AskOpenQuestions, protocol.OpenQuestions)
    show_json(answer) if as_json else show(questions_page(answer.questions, time.time()))


@command.command("answer")
@click.argument("question_id", metavar="ID")
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def answer_question_command(question_id: str, text: str, as_json: bool) -> None:
    """Answer a question: reveries questions answer 3f9a "Blue Bossa". The tasks that wait for it continue."""
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.safe_text import one_line

    answered = ask_mind(
        lambda new_id: protocol.AnswerQuestion(new_id, question_id, text), protocol.QuestionAnswered, seconds=None
    )
    if as_json:
        show_json(answered)
    else:
        say(f"Noted for {one_line(answered.project)}. The tasks that wait for it continue between conversations.")
