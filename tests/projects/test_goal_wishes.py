"""Goals, new projects and answers that are said in a conversation: only what is sure, in seven languages."""

import pytest

from reveries.projects.goal_wishes import read_answer_wish, read_goal_wish
from reveries.projects.model import OwnerQuestion, Project, QuestionKind, QuestionStatus
from tests.rows import check_rows

BATH = Project("p1", "Bathroom", "active", 0.0, None, None, "", ())
BOAT = Project("p2", "Boat", "active", 0.0, None, None, "", ())
PROJECTS = [BATH, BOAT]
WHOLE = "all that was said"
"""Where the verb is no infinitive, the sentence itself is the goal."""


def asked(text: str, project: Project = BATH, kind: QuestionKind = QuestionKind.QUESTION) -> OwnerQuestion:
    return OwnerQuestion(
        text,
        kind,
        id=text,
        project_id=project.id,
        status=QuestionStatus.OPEN,
        answer="",
        asked_at=0.0,
        answered_at=None,
        noted_at=None,
    )


@check_rows(
    ("words", "wish"),
    [
        ("I want you to find out which boiler fits.", ("pursue", "", "Find out which boiler fits")),
        ("I'd like you to compare three electricity contracts", ("pursue", "", "Compare three electricity contracts")),
        ("I want you to find out which sail fits the boat.", ("add", "Boat", "Find out which sail fits the boat")),
        ("Make a project of the garden", ("begin", "", "Garden")),
        ("Start a project for Tom's eightieth: a party", ("begin", "", "Tom's eightieth: A party")),
        ("The goal of the bathroom is now a shower without a step", ("goal", "Bathroom", "A shower without a step")),
        ("new goal for Boat: sail to Ystad in July", ("goal", "Boat", "Sail to Ystad in July")),
        ("Ich möchte, dass du herausfindest, welcher Kessel passt.", ("pursue", "", WHOLE)),
        ("Mach ein Projekt aus dem Garten", ("begin", "", "Garten")),
        ("Das Ziel für das Bad ist jetzt: eine Dusche ohne Stufe", ("goal", "Bathroom", "Eine Dusche ohne Stufe")),
        ("Je veux que tu trouves quelle chaudière convient", ("pursue", "", WHOLE)),
        ("Fais un projet du potager", ("begin", "", "Potager")),
        ("Quiero que averigües qué caldera encaja", ("pursue", "", WHOLE)),
        ("Haz un proyecto del huerto", ("begin", "", "Huerto")),
        ("Voglio che tu scopra quale caldaia va bene", ("pursue", "", WHOLE)),
        ("Maak een project van de tuin", ("begin", "", "Tuin")),
        ("Ik wil dat je uitzoekt welke ketel past", ("pursue", "", WHOLE)),
        ("Lag et prosjekt av hagen", ("begin", "", "Hagen")),
        ("Jeg vil at du skal finne ut hvilken kjele som passer", ("pursue", "", "Finne ut hvilken kjele som passer")),
    ],
)
def test_a_goal_or_a_project_that_is_asked_for_is_read(words: str, wish: tuple[str, str, str]) -> None:
    found = read_goal_wish(words, PROJECTS)
    assert found is not None
    title = WHOLE if found.title == words.rstrip(".") else found.title
    assert (found.action.value, found.project.name if found.project is not None else "", title) == wish


def test_a_project_that_is_asked_for_politely_or_in_other_words_is_begun() -> None:
    asked_for = {
        "Please make a project of the garden": "Garden",
        "Make a project for the garden please": "Garden",
        "Could you start a project for the greenhouse?": "Greenhouse",
        "Let's begin a project about learning Norwegian": "Learning Norwegian",
        "Mach bitte ein Projekt aus dem Garten": "Garten",
        "Lege ein Projekt Dachboden an": "Dachboden",
        "Leg ein Projekt für den Dachboden an": "Dachboden",
        "Leg bitte ein neues Projekt an: Dachboden": "Dachboden",
        "Haz un proyecto de la cocina": "Cocina",
        "¿Puedes crear un proyecto para la boda?": "Boda",
        "Crée un projet pour le jardin, s'il te plaît": "Jardin",
        "Start een project voor de zolder": "Zolder",
        "Fai un progetto per il tetto": "Tetto",
        "Kan du starte et prosjekt for hagen?": "Hagen",
        "Start a new project called Chicken coop": "Chicken coop",
        "New project: Bee hives: find a place for the hives": "Bee hives: Find a place for the hives",
        "Create a project: Attic": "Attic",
    }
    assert {
        words: wish.title for words in asked_for if (wish := read_goal_wish(words, PROJECTS)) is not None
    } == asked_for


def test_talk_about_projects_begins_none() -> None:
    talk = [
        "I started a project at work today",
        "We had a project about rivers in school",
        "Can you make a projection of my costs?",
        "Could you help me with a project for school?",
        "Make a project plan for the garden",
        "Start the project on Monday",
        "I want you to be careful",
        "Did you begin a project for me?",
        "Please tell me about the project",
        "Open project",
        "make the project about twice as large",
        "Mein Sohn macht ein Projekt über Vulkane",
        "Please",
        "Let's start a project someday",
        "Can you open the project for me?",
    ]
    assert [words for words in talk if read_goal_wish(words, PROJECTS) is not None] == []


@check_rows(
    "words",
    [
        "I want you to listen to me.",
        "I want you to be honest",
        "I want you to tell me what you think",
        "Should I make a project of the garden?",
        "Her goal is to find out who did it",
        "The goal of the game is now clear",
        "I want to find out which boiler fits",
        "Make a project of the bathroom",
        "My son has a new project at school",
        "We talked about the goal of the bathroom",
        "Ich möchte, dass du mir zuhörst",
        "Je veux que tu m'écoutes",
        "Quiero que me escuches",
        "",
    ],
)
def test_other_sentences_begin_nothing(words: str) -> None:
    assert read_goal_wish(words, [BATH, BOAT, Project("p3", "Bathroom", "active", 0.0, None, None, "", ())][:2]) is None


@pytest.mark.parametrize(
    ("words", "questions", "answer"),
    [
        ("The answer is: guilders", [asked("Which currency do you use?")], ("guilders", "Which currency do you use?")),
        ("My answer is two metres.", [asked("How wide is the door?")], ("two metres.", "How wide is the door?")),
        (
            "The report should use guilders only",
            [asked("Which currency should the report use?"), asked("Who paints the hull?", BOAT)],
            ("The report should use guilders only", "Which currency should the report use?"),
        ),
        (
            "Paul streicht den Rumpf im April",
            [asked("Wer streicht den Rumpf?", BOAT), asked("Welche Fliesen?")],
            ("Paul streicht den Rumpf im April", "Wer streicht den Rumpf?"),
        ),
    ],
)
def test_an_answer_to_a_waiting_question_is_read(
    words: str, questions: list[OwnerQuestion], answer: tuple[str, str]
) -> None:
    found = read_answer_wish(words, PROJECTS, questions)
    assert found is not None
    assert found.question is not None
    assert (found.title, found.question.question) == answer


@pytest.mark.parametrize(
    ("words", "questions"),
    [
        ("The answer is blue", [asked("Which tiles?"), asked("Which paint?", BOAT)]),
        ("I like reports", [asked("Which currency should the report use?")]),
        ("Which currency should the report use?", [asked("Which currency should the report use?")]),
        ("The answer is: always", [asked("May it do this? fetch", kind=QuestionKind.APPROVAL)]),
        ("I had no time today", [asked("How much time?")]),
        ("The answer is blue", []),
    ],
)
def test_what_may_answer_several_questions_or_none_is_no_answer(words: str, questions: list[OwnerQuestion]) -> None:
    assert read_answer_wish(words, PROJECTS, questions) is None
