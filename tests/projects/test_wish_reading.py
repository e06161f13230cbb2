"""What the owner's words in a conversation want changed: only what is sure, and never from a question or a denial."""

from datetime import date

import pytest

from reveries.projects.model import Project, TaskKind, TaskStatus, WorkTask
from reveries.projects.wish_reading import read_wish
from reveries.projects.wishes import Wish
from tests.rows import check_rows

SATURDAY = date(2026, 11, 28)
FAIR = Project("p1", "Harbour", "active", 0.0, None, None, "", ())
BATH = Project("p2", "Bathroom", "active", 0.0, None, None, "", ())


def task(project: Project, title: str, due: str = "") -> WorkTask:
    return WorkTask(
        title, "", TaskKind.OTHER, goal_id=None, id=title, project_id=project.id, status=TaskStatus.READY, due=due
    )


TASKS = {
    "p1": [
        task(FAIR, "Fair", "2027-03-05"),
        task(FAIR, "Draft the budget"),
        task(FAIR, "Messe aufbauen"),
        task(FAIR, "Réserver la salle"),
        task(FAIR, "Llamar al fontanero"),
        task(FAIR, "Prenotare il furgone"),
        task(FAIR, "Zaal versieren"),
        task(FAIR, "Bestille teltet"),
    ],
    "p2": [task(BATH, "Buy the tiles"), task(BATH, "Call the plumber", "2026-12-09")],
}


def read(words: str) -> Wish | None:
    return read_wish(words, [FAIR, BATH], TASKS, SATURDAY)


def shown(words: str) -> tuple[str, str, str]:
    wish = read(words)
    assert wish is not None
    return wish.action.value, wish.task.title if wish.task is not None else wish.title, wish.due


@pytest.mark.requirement("V-12")
@check_rows(
    ("words", "wish"),
    [
        ("The fair moves to 6 March.", ("move", "Fair", "2027-03-06")),
        ("skip the tiles", ("drop", "Buy the tiles", "")),
        ("Please start on the budget now", ("start", "Draft the budget", "")),
        ("The budget is due next Friday", ("move", "Draft the budget", "2026-12-04")),
        ("postpone the plumber to tomorrow", ("move", "Call the plumber", "2026-11-29")),
        ("the plumber for the bathroom is done", ("done", "Call the plumber", "")),
        ("Die Messe verschiebt sich auf den 6. März", ("move", "Messe aufbauen", "2027-03-06")),
        ("Streich bitte die Messe", ("drop", "Messe aufbauen", "")),
        ("Reporte la salle au 12 janvier", ("move", "Réserver la salle", "2027-01-12")),
        ("Cancela el fontanero", ("drop", "Llamar al fontanero", "")),
        ("Sposta il furgone al 3 febbraio", ("move", "Prenotare il furgone", "2027-02-03")),
        ("Verplaats de zaal naar 3 februari", ("move", "Zaal versieren", "2027-02-03")),
        ("Teltet utsettes til 3. februar", ("move", "Bestille teltet", "2027-02-03")),
        ("add to Bathroom: call the electrician by Friday", ("add", "Call the electrician", "2026-12-04")),
        ("Neue Aufgabe Harbour: Plakate drucken bis 9. Dezember", ("add", "Plakate drucken", "2026-12-09")),
    ],
)
def test_a_wish_is_read_where_it_names_one_task_and_what_is_to_change(words: str, wish: tuple[str, str, str]) -> None:
    assert shown(words) == wish


@check_rows(
    "words",
    [
        "Should we skip the tiles?",
        "Don't skip the tiles",
        "If the fair moves to 6 March we are too late",
        "We won't move the fair to 6 March",
        "I talked with Anna about the budget on Friday",
        "skip the rest",
        "the party moves to 6 March",
        "I bought tiles and a budget book",
        "add salt to the soup",
        "add: call the electrician",
        "My aunt cancelled the fair in Bristol",
        "The fair moves",
        "Was ist mit der Messe",
        "The fair on 5 March was nice",
        "skip the tiles and start on the budget",
        "",
    ],
)
def test_what_is_no_sure_wish_is_none(words: str) -> None:
    assert read(words) is None


def test_the_question_names_task_project_and_both_days() -> None:
    wish = read("The fair moves to 6 March.")
    assert wish is not None
    assert wish.ask() == "Shall I change the due date of “Fair” (Harbour) from 5 March 2027 to 6 March 2027? yes/no"
