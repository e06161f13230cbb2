"""Questions how a project stands: read in seven languages where they are sure, and never out of other talk."""

from datetime import date

import pytest

from reveries.projects.model import Project
from reveries.projects.status_questions import StatusQuestion, read_status_question
from tests.rows import check_rows

SATURDAY = date(2026, 11, 28)
NAMES = ("Bathroom", "Trip to Lisbon", "Boat", "Choir fair", "Steuererklärung", "Huerto")
PROJECTS = [Project(f"p{number}", name, "active", 0.0, None, None, "", ()) for number, name in enumerate(NAMES)]


def read(words: str) -> StatusQuestion | None:
    return read_status_question(words, PROJECTS, SATURDAY)


@check_rows(
    ("words", "kind", "language", "project"),
    [
        ("How is the bathroom going?", "standing", "en", "Bathroom"),
        ("Hi! How far are we with the choir fair?", "standing", "en", "Choir fair"),
        ("Is the bathroom finished yet?", "standing", "en", "Bathroom"),
        ("status of the boat", "standing", "en", "Boat"),
        ("How are my projects going?", "standing", "en", ""),
        ("What's next on the boat?", "next", "en", "Boat"),
        ("What are you waiting for on the boat?", "waiting", "en", "Boat"),
        ("what is due this week?", "due", "en", ""),
        ("Wie läuft das Bad?", "standing", "de", "Bathroom"),
        ("Was ist bei der Steuererklärung als Nächstes dran?", "next", "de", "Steuererklärung"),
        ("Was ist nächste Woche fällig?", "due", "de", ""),
        ("Où en est le bateau ?", "standing", "fr", "Boat"),
        ("Qu’est-ce qu’il reste à faire pour le bateau ?", "next", "fr", "Boat"),
        ("¿cómo va el viaje?", "standing", "es", "Trip to Lisbon"),
        ("¿Qué toca ahora en el huerto?", "next", "es", "Huerto"),
        ("¿Qué vence esta semana?", "due", "es", ""),
        ("A che punto siamo con il viaggio?", "standing", "it", "Trip to Lisbon"),
        ("Cosa scade questa settimana?", "due", "it", ""),
        ("Hoe gaat het met de badkamer?", "standing", "nl", "Bathroom"),
        ("Wat is de volgende stap bij de boot?", "next", "nl", "Boat"),
        ("Hvordan går det med båten?", "standing", "nb", "Boat"),
        ("Hva er neste for båten?", "next", "nb", "Boat"),
    ],
)
def test_a_question_how_a_project_stands_is_read_in_its_language(
    words: str, kind: str, language: str, project: str
) -> None:
    question = read(words)
    assert question is not None
    name = question.project.name if question.project is not None else ""
    assert (question.kind.value, question.language.code, name) == (kind, language, project)


@check_rows(
    "words",
    [
        "How is Marta?",
        "How is it going?",
        "How are you?",
        "What's next?",
        "The bathroom is done.",
        "I finished the bathroom today.",
        "Is the bathroom free?",
        "How is the boat made?",
        "How much is the boat?",
        "Where is the boat?",
        "How was the trip with Marta?",
        "Is my baby due this week?",
        "How is the weather in Lisbon?",
        "How far is it to Lisbon?",
        "When is the trip to Lisbon?",
        "How is the bathroom going? My father died today.",
        "Are you done?",
        "Wie geht es dir?",
        "Wie sieht das Bad aus?",
        "¿Cómo estás?",
        "¿Cómo se llama el barco?",
        "Comment vas-tu ?",
        "Hoe ver is het naar Lissabon?",
        "Hvordan har du det?",
        "",
    ],
)
def test_other_talk_asks_nothing_of_a_project(words: str) -> None:
    assert read(words) is None


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("What is due today?", ("2026-11-28", "2026-11-28")),
        ("What is due next week?", ("2026-11-30", "2026-12-06")),
        ("What's due by Friday for the bathroom?", ("2026-11-28", "2026-12-04")),
        ("Was ist diesen Monat fällig?", ("2026-11-28", "2026-11-30")),
        ("¿Qué vence el próximo mes?", ("2026-12-01", "2026-12-31")),
    ],
)
def test_the_days_that_a_question_is_about_are_counted_from_today(words: str, days: tuple[str, str]) -> None:
    question = read(words)
    assert question is not None
    assert question.period is not None
    assert (str(question.period.first), str(question.period.last)) == days
