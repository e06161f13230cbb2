"""`reveries questions`: the open questions of projects, and the owner's answers."""

import time

import click

from reveries import protocol
from reveries.client.answers import json_option, print_answer
from reveries.client.features.project_pages import answered_page, questions_page


@click.group("questions", short_help="Questions that your projects ask you.", invoke_without_command=True)
@json_option(protocol.OpenQuestions)
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the open questions of all projects. Other tasks continue meanwhile."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(protocol.AskOpenQuestions, protocol.OpenQuestions)
    print_answer(answer, as_json, lambda: questions_page(answer.questions, time.time()))


@command.command("answer")
@click.argument("question_id", metavar="ID")
@click.argument("text")
@json_option(protocol.QuestionAnswered)
def answer_question_command(question_id: str, text: str, as_json: bool) -> None:
    """Answer a question: reveries questions answer 3f9a "Blue Bossa". A capable model goes on with
    what waited for it."""
    from reveries.client.sync_call import ask_mind

    answered = ask_mind(
        lambda new_id: protocol.AnswerQuestion(new_id, question_id, text), protocol.QuestionAnswered, seconds=None
    )
    print_answer(answered, as_json, lambda: answered_page(answered))
