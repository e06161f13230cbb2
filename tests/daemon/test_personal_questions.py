"""Which words ask for a fact of the owner's life, in seven languages."""

from reveries.daemon.talk.personal_questions import LANGUAGES, read_personal_question
from tests.rows import check_rows

SAID = [
    "My brother Ola builds boats.",
    "Mein Sohn Till spielt Geige.",
    "we flew to Peru, tess hated it",
    "We live in Norway, I eat an apple.",
]


@check_rows(
    ("words", "untold"),
    [
        ("What is my landlady's name?", "You haven't told me"),
        ("Morning! How old did I say my aunt is?", "You haven't told me"),
        ("whats my shoe size again", "You haven't told me"),
        ("Where does Ola live?", "You haven't told me"),
        ("WHERE DO I LIVE?", "You haven't told me"),
        ("When did Ola and I meet?", "You haven't told me"),
        ("When does Till visit Ola?", "You haven't told me"),
        ("What did I do on 14 May?", "You haven't told me"),
        ("Dove sono nato?", "Non mi hai detto"),
        ("what is tess's surname?", "You haven't told me"),
        ("Wie heißt meine Vermieterin?", "Du hast mir nicht erzählt,"),
        ("Wie alt ist Till eigentlich?", "Du hast mir nicht erzählt,"),
        ("welche Schuhgröße habe ich", "Du hast mir nicht erzählt,"),
        ("Comment s'appelle ma propriétaire ?", "Vous ne m'avez pas dit"),
        ("¿Cuántos primos tengo?", "No me has dicho"),
        ("Quanti anni ha mio zio?", "Non mi hai detto"),
        ("Which seat is mine?", "You haven't told me"),
        ("Tell me, what is my sister called?", "You haven't told me"),
        ("Wie lang ist mein Arbeitsweg?", "Du hast mir nicht erzählt,"),
        ("Hoe heet mijn huisbaas?", "Je hebt me niet verteld"),
        ("Hva heter onkelen min?", "Du har ikke fortalt meg"),
        ("Who is our landlord?", "You haven't told me"),
        ("When did we move in?", "You haven't told me"),
        ("What time are we leaving tomorrow?", "You haven't told me"),
        ("How many boats do we have?", "You haven't told me"),
        ("Wie heißt unser Vermieter?", "Du hast mir nicht erzählt,"),
        ("Wann sind wir eingezogen?", "Du hast mir nicht erzählt,"),
        ("¿Dónde vivimos?", "No me has dicho"),
        ("Où avons-nous déménagé avec mon frère ?", "Vous ne m'avez pas dit"),
    ],
)
def test_a_question_for_a_fact_of_the_own_life_is_read_in_its_language(words: str, untold: str) -> None:
    question = read_personal_question(words, SAID)
    assert question is not None
    assert question.untold == untold


@check_rows(
    "words",
    [
        "What is the capital of Peru?",
        "Who wrote Faust?",
        "Translate 'my house is small' into French.",
        "What can I cook for my aunt tonight?",
        "What do you think I should wear?",
        "Which planet is the smallest of our solar system?",
        "My aunt asked who I was, imagine!",
        "I met Ola when I was ten.",
        "How do I get wine out of my carpet?",
        "Wie viele Gramm hat ein Kilo?",
        "Was kann ich meiner Tante schenken?",
        "Als ich kam, war meine Tante schon da.",
        "Quelle est la capitale du Pérou ?",
        "Écris un mot pour ma voisine.",
        "¿Quién pintó el Guernica?",
        "¿Qué puedo regalarle a mi tía?",
        "Wat is de hoofdstad van Peru?",
        "What is the capital of the US?",
        "When did World War I begin?",
        "Who was Elizabeth I married to?",
        "Who sang My Way?",
        "When was Apple founded?",
        "When did Norway become independent?",
        "What is \u201cmy dog\u201d in French?",
        "Where is the deepest gold mine?",
        "How much is a 15% tip on my bill of 80 euros?",
        "What is 12 times 14 for my homework?",
        "What does my name mean?",
        "What is my mother tongue called in French?",
        "What did you tell me to buy?",
        "Which book was it that you recommended to me?",
        "Was hast du mir für meinen Garten geraten?",
        "Quel livre m'as-tu conseillé ?",
        "¿Qué libro me recomendaste?",
        "Che libro mi hai consigliato?",
        "Welk boek heb je me aangeraden?",
        "Hvilken bok anbefalte du meg?",
        "How many teeth do we have?",
        "Which gas do we breathe in?",
        "What is our sun made of?",
        "How far away is our nearest star?",
        "When do we change the clocks?",
        "What do we call a group of crows?",
        "Wie viele Knochen haben wir?",
        "Wie heißt unsere Galaxie?",
        "Wann stellen wir die Uhren um?",
        "Combien de dents avons-nous ?",
        "Quel gaz respirons-nous ?",
        "¿Cuántos huesos tenemos?",
        "¿Cómo se llama nuestra galaxia?",
        "Quanti denti abbiamo?",
        "Hoeveel tanden hebben we?",
        "Hvor mange tenner har vi?",
        "Tell me who wrote Faust?",
        "Sag mir, wer Faust schrieb?",
        "What do you call a group of crows, my friend?",
        "Wie lang ist der Rhein?",
        "Wann wurde die Mir gebaut?",
        "Was bedeutet mein Vorname?",
        "Quanti giorni ci sono in un anno?",
        "Quali sono i pianeti?",
        "Chi era Guido Reni?",
        "Hei!",
        "What a day I had!",
        "Was für einen Tag ich hatte!",
        "Who did I meet today? Anna from school, she runs a bakery in Ghent now and has three cats and a boat.",
        "What can I cook? My sister is hungry.",
        "How long is the Rhine? My son asks.",
        "",
    ],
)
def test_common_knowledge_advice_tasks_and_statements_are_none(words: str) -> None:
    assert read_personal_question(words, SAID) is None


def test_somebody_famous_with_the_first_name_of_a_friend_is_no_friend_and_an_employer_no_person() -> None:
    told = ["We went to the cinema with Tom.", "My sister works at Apple.", "Yesterday we ate at Anna's."]
    assert read_personal_question("Who is Tom Hanks?", told) is None
    assert read_personal_question("When was Apple founded?", told) is None
    assert read_personal_question("Where does Tom live?", told) is not None
    assert read_personal_question("Where does Anna live?", told) is not None


def test_every_language_says_in_its_own_words_that_something_was_not_told() -> None:
    assert len(LANGUAGES) == 7
    assert len({words.untold_whole for words in LANGUAGES}) == len(LANGUAGES)
    assert all(words.untold_whole.endswith(".") and not words.untold.endswith(".") for words in LANGUAGES)
