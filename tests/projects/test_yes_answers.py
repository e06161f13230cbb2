"""A yes in natural English is a yes, and only to what was asked; a refusal or a condition is none."""

import pytest

from reveries.projects.yes_answers import YesTo, is_yes, what_is_beyond_yes
from tests.rows import check_rows

YES_TO_ANYTHING = (
    "Yes, it is.", "Yes it is", "Yes, it is!", "Yes, we are", "Yes, we did", "Yes, I did", "Yes, it does",
    "Yes it did",
    "Yes, it has been reached", "Yes, I\u2019ve reached it", "Yes, we have reached it", "Yes, they have",
    "Yes, I do",
    "Yes, we have", "Yes, it has", "Yes, fully", "Yes, fully reached", "Yes, completely", "Yes, completely done",
    "Yes, entirely", "Yes, definitely", "Yes, finally!", "Yes, it finally is", "Yes, at last", "Yes, for sure",
    "Yes, great work", "Great work!", "Good job", "Yes, good job, thank you", "Yes, well done!",
    "Yes, fantastic work",
    "Yes, thanks for asking", "Yes, thank you for asking", "Yes, thanks for all your help", "Yes, cheers",
    "Yes \u2705", "\U0001f44d", "\U0001f44d\U0001f3fd", "\U0001f44d\U0001f44d", "\u2705", "\U0001f44c",
    "Yes \U0001f389", "Yes \u2764\ufe0f", "Yes, I am happy with that", "I'm happy with it",
    "I am very happy with everything",
    "Yes, that was it", "That was it", "It is", "It is.", "We did it", "We did it!", "I have", "I do", "We have.",
    "They have", "It has been reached", "Yes, all of it", "Yes, every bit of it", "Yes, everything is done",
    "Yes, that is true", "Yes, that's exactly it", "Yes, you did it", "We made it", "We made it, thank you!",
    "Yes, it was", "Yes, they are all done", "Sure, it is", "Yeah, we did", "Indeed, it is",
    "Amazing", "Awesome, thanks", "Brilliant!", "Yes, beautiful", "Cool, thanks", "Looks great",
    "This looks great, thanks",
    "Yes, I think it is", "I think we are done", "Yes, I believe so", "I'd say so", "Yes, I would say so",
    "Yes, without a doubt", "Yes, no doubt", "Yes, 100%", "Yes, no changes", "Good, nothing to add",
    "OK, no changes.",
    "Yes, nothing else", "Yes, nothing more, thanks", "Perfect, nothing to change", "Yes, no changes needed",
    "Yes, that would be great", "That would be lovely", "Yes, I love it", "Yes, you have", "It really is",
    "Good to go", "Sounds like a plan", "Yes, I would like that", "I'd love that", "Very happy with it", "Totally",
    "Affirmative", "Yes, that's all", "Yes, as it is", "Yes, you've done it", "Yes, it's all good",
)  # fmt: skip
YES_TO_REACHED = (
    "Nothing is missing", "Nothing missing.", "There is nothing missing", "Nothing is missing, thank you",
    "Goal reached!", "The goal has been reached", "Yes, the goal was reached", "Reached, thanks",
    "Mission accomplished",
)  # fmt: skip
NO_BARE_YES = (
    "Yes, it is too long", "It is too long", "It is missing the roof", "Yes, we are nearly there",
    "Yes, we did half",
    "Yes, it will be", "Yes, if it rains", "Yes, save it on Tuesday", "Yes, save it as notes.md", "Save half of it",
    "Yes, write it shorter", "Yes, go ahead once the date is right", "Yes, we have to fix the roof",
    "Yes, we are on it",
    "Yes, add the booking", "Yes, make it warmer", "Yes, I have one more wish", "Yes, it is done except the roof",
    "It is, but the roof is missing", "Yes, everything but the roof", "Yes, until May",
    "Yes, instead of the old one",
    "Yes, it could be", "Yes, that would be better", "Yes, we are still waiting", "Yes, it is being done", "Is it?",
    "It is, isn't it?", "Yes, is it?", "Looks great, ship it on Monday", "Yes, all of it except the title",
    "Yes, send it to Anna", "We did it wrong", "I have no idea", "I do not", "It has flaws", "We made it worse",
    "Yes \U0001f44e", "\U0001f44e", "\u274c", "Yes, only the first half", "Yes, great work is missing",
    "You may not",
    "Yes, the text again", "Save it for later", "Yes, save it later", "I like the old one", "Yes, nothing works",
    "Yes, no changes to the title", "Let's do the roof first", "Yes, it is not", "Yes, it isn't", "Yes, I would",
    "I was", "It was", "Yes, with that", "All I have",
    "Yes, all I have", "Yes, I would like it shorter", "Yes, mostly", "Complete the roof", "Nice try",
)  # fmt: skip
REFUSALS = (
    "Yes, actually no", "Yes, or rather not", "Yes, I mean no", "Absolutely nothing", "\U0001f44d no",
    "Absolutely not.", "Of course not", "Definitely not!", "Certainly not", "Please do not",
    "Please don\u2019t", "Ok, no",
    "OK, not now", "No changes to my folder, please", "Yes and no", "Sure, but no", "Yes, but not yet",
    "Sure, never",
    "Ok, thanks, no", "Well, yes, but no", "Absolutely no changes", "Of course no changes", "OK please no changes",
    "Okay, nope", "Good, but don't write it", "Sure, no changes to my folder", "No changes.",
    "Nothing else", "No change",
)  # fmt: skip


@check_rows("about", YesTo)
@check_rows("answer", YES_TO_ANYTHING)
def test_a_natural_yes_is_one_to_every_question(answer: str, about: YesTo) -> None:
    assert is_yes(answer, about)
    assert what_is_beyond_yes(answer, about) == ""


@check_rows("answer", YES_TO_REACHED)
def test_what_repeats_the_question_is_a_yes_to_it(answer: str) -> None:
    assert is_yes(answer, YesTo.REACHED)
    assert what_is_beyond_yes(answer, YesTo.REACHED) == ""


@pytest.mark.parametrize("about", YesTo)
def test_a_change_a_condition_or_what_is_missing_is_no_bare_yes(about: YesTo) -> None:
    assert is_yes("Yes, please.", about)
    assert not [one for one in NO_BARE_YES if is_yes(one, about) or not what_is_beyond_yes(one, about)]


@pytest.mark.parametrize("about", YesTo)
def test_a_refusal_is_no_yes(about: YesTo) -> None:
    assert not [one for one in REFUSALS if is_yes(one, about)]


@pytest.mark.parametrize("answer", ["Go on", "Proceed", "Yes, go on", "Yes, proceed"])
def test_to_go_on_is_no_yes_to_whether_the_goal_is_reached(answer: str) -> None:
    assert not is_yes(answer, YesTo.REACHED)


@pytest.mark.parametrize(
    "answer",
    [
        "Good, now complete it",
        "Nice. Now complete this.",
        "Great, now complete the goal",
        "Go ahead",
        "Please do",
        "Do it now",
    ],
)
def test_an_order_to_go_on_does_not_end_a_goal(answer: str) -> None:
    assert not is_yes(answer, YesTo.REACHED)
    assert what_is_beyond_yes(answer, YesTo.REACHED)


@pytest.mark.parametrize(
    "answer", ["Nothing, thanks", "Nothing really", "nothing else is missing", "No, nothing is missing", "Nothing"]
)
def test_of_a_goal_of_which_nothing_is_missing_that_is_a_yes(answer: str) -> None:
    assert is_yes(answer, YesTo.REACHED)
    assert not is_yes(answer)
