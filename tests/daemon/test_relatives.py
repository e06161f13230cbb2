"""A relative who was never mentioned is not made up by a small model."""

from pathlib import Path

from reveries.daemon.talk.personal_answers import told_texts
from reveries.daemon.talk.relatives import asks_for_unmentioned_relative
from tests.daemon.kit import talking
from tests.rows import check_rows

BAKERY = "Hi, I'm Marit. I run a bakery in Bodø with my brother Jonas."


@check_rows(
    ("question", "told"),
    [
        ("What is the name of my sister?", BAKERY),
        ("What's my dear late aunt's name?", BAKERY),
        ("Wie heißt meine Schwester?", "Mein Bruder Jonas backt mit mir."),
        ("Wie alt ist meine jüngste Tochter?", "Ich habe eine Katze."),
        ("Comment s'appelle ma sœur ?", "Mon frère Luc est boulanger."),
        ("¿Cómo se llama mi marido?", "Mi perro se llama Toby."),
        ("Come si chiama mia nonna?", "Mio zio vive a Bari."),
        ("Hoe heet mijn broer?", "Mijn hond heet Bram."),
        ("Hva heter onkelen min, og hva heter min søster?", "Jeg bor i Tromsø."),
        ("When is our daughter's birthday?", "How is my daughter?"),
    ],
)
def test_a_relative_whom_no_statement_mentions_is_unmentioned(question: str, told: str) -> None:
    assert asks_for_unmentioned_relative(question, [told])


@check_rows(
    ("question", "told"),
    [
        ("What is the name of my brother?", BAKERY),
        ("Wie heißt meine Schwester?", "My sister Lena rang."),
        ("How old is my son?", "The lad turns nine on Friday."),
        ("What is my husband called?", "Tor and I got married in May."),
        ("Come si chiama mia sorella?", "Siamo tre gemelli: Ada, Lia e io."),
        ("What do my children eat?", "Both boys hate peas."),
        ("What does my mother do?", "My parents have a farm. Isn't that nice?"),
        ("What is the name of my dog?", BAKERY),
        ("Where did my song go?", BAKERY),
        ("Who is your sister?", BAKERY),
        ("What is my brother's son called?", BAKERY),
    ],
)
def test_a_relative_of_whom_something_was_told_in_any_words_is_left_to_the_model(question: str, told: str) -> None:
    assert not asks_for_unmentioned_relative(question, [told])


async def test_the_owners_own_name_is_not_shown_as_the_name_of_a_sister(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], [" your sister's name.", " She is Marit."]) as talk:
        talk.model.first_token = {"1": 0.99}
        await talk.say(BAKERY)
        assert (await talk.say("What is the name of my sister?")).text == "You haven't told me your sister's name."


async def test_what_the_mind_made_up_of_a_sister_before_does_not_count_as_told(tmp_path: Path) -> None:
    asked = "What is the name of my sister?"
    async with talking(tmp_path, ["Lovely."], ["Your sister's name is Marit."]) as talk:
        await talk.say(BAKERY)
        await talk.say(asked)
        await talk.memory.light_sleep()
        recall = await talk.memory.recall(asked, talk.memory.recall_context(asked, 4))
        assert "sister" in str([recalled.episode.summary for recalled in recall.episodes])
        assert asks_for_unmentioned_relative(asked, told_texts(recall, exchanges=()))


async def test_a_sister_who_was_told_of_in_an_earlier_conversation_is_known_by_recall(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."]) as talk:
        await talk.say("My sister Ines keeps three goats near Bergen.")
        await talk.memory.light_sleep()
        asked = "What is the name of my sister?"
        recall = await talk.memory.recall(asked, talk.memory.recall_context(asked, 4))
        assert not asks_for_unmentioned_relative(asked, told_texts(recall, exchanges=()))
