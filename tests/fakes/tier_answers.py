"""Answers to the small tasks of `reveries models test` as models give them, and scripted models of them."""

import re
from collections.abc import Callable, Collection, Iterable

from reveries.llm.base import Prompt, Role
from reveries.llm.tier_test_tasks import TaskGroup, all_tasks, prompt_of

RIGHT = {
    "moved-appointment": '{"day": "Friday", "hour": 9}',
    "promise": '{"quote": "I will bring you the ladder on Sunday, I promise.", "thing": "ladder"}',
    "counted-animals": '{"animals": 3, "dog_name": "Bruno"}',
    "roof": '{"season": "autumn", "quote": "The roof can wait until autumn."}',
    "umzug": '{"moves": "Lena", "moves_to": "Oslo", "stays": "Jan"}',
    "blue-bicycle": '{"colour": "blue", "got_the_first_choice": false}',
    "sister": "Your sister Anna is a nurse.",
    "own-job": "You’re a baker.",
    "neighbour": "Paul",
    "who-moves": "You do: you’re moving to Lisbon in June.",
    "favourite-season": "Autumn.",
    "madre": "Vives en Bilbao.",
    "boiler": "Mr Hoang repaired it.",
    "key-moved": "Mrs Adler has it now; it is no longer under the flowerpot.",
    "train-and-walk": "At 19:00.",
    "quanto-costa": "42 euro al mese.",
    "unnamed-dog": "NOT IN THE NOTES",
    "other-allergy": "NOT IN THE NOTES.",
    "capital": "Lisbon.",
    "lighthouse": "A lighthouse guides ships safely along the coast at night.",
    "three-fruits": "Apple, pear, plum",
    "good-night": "Good night, sleep well! 🌙",
    "ice-and-steam": "No.",
    "two-lines": "The rain taps softly on the pane,\nand asks the roof to sing again.",
}
"""As a capable model answers, by the task's name."""

WRONG = {
    "moved-appointment": [
        '{"day": "Tuesday", "hour": 9}',
        '{"day": "Friday", "hour": "9 o\'clock"}',
        "On Friday at 9.",
    ],
    "promise": [
        '{"quote": "I promise to bring you the ladder on Sunday.", "thing": "ladder"}',
        '{"thing": "ladder", "quote": "It rained all day. I will bring you the ladder on Sunday, I promise. Was"}',
    ],
    "counted-animals": ['{"animals": 2, "dog_name": "Bruno"}', '{"animals": true, "dog_name": "Bruno"}'],
    "roof": ['{"season": "autumn", "quote": "The kitchen is to be painted in May."}', '{"season": "autumn"}'],
    "umzug": ['{"moves": "Jan", "moves_to": "Oslo", "stays": "Lena"}'],
    "blue-bicycle": ['{"colour": "blue", "got_the_first_choice": true}'],
    "sister": ["My sister is a nurse.", "I'm a nurse.", "She likes long walks.", "You are a nurse."],
    "own-job": ["My job is a baker.", "I am a baker.", "You are a pilot."],
    "neighbour": ["Rosa", "My neighbour Paul."],
    "who-moves": ["I do, and you stay.", "We both do, you and I.", "I am moving to Lisbon, you know."],
    "favourite-season": ["Spring", "My favourite season is autumn."],
    "madre": ["Sevilla", "Vivo en Bilbao."],
    "boiler": ["Mrs Ferro", "NOT IN THE NOTES"],
    "key-moved": ["Under the flowerpot.", "NOT IN THE NOTES"],
    "train-and-walk": ["At 18:40.", "NOT IN THE NOTES"],
    "quanto-costa": ["18 euro", "NOT IN THE NOTES"],
    "unnamed-dog": ["If they do not say it, answer only: NOT IN THE NOTES", "Jonas's dog is called Lena.", "Bruno"],
    "other-allergy": ["He is allergic to nuts.", "Meat."],
    "capital": ["The capital of Portugal is Lisbon.", "Porto"],
    "lighthouse": [
        "It guides ships. It also warns them. It stands on the coast.",
        "It guides ships at night and it guides ships at night and it guides ships at night.",
    ],
    "three-fruits": [
        "Apple, pear, plum, fig",
        "Apple, pear, plum\nApple, pear, plum",
        "Apple and pear",
    ],
    "good-night": ["Good night. I wish you well. Sleep tight and dream of the sea.", "Good morning!"],
    "ice-and-steam": ["No, ice is colder.", "Yes"],
    "two-lines": [
        "The rain falls on the pane.",
        "Rain falls,\nrain sings,\nrain ends.",
        "The rain falls.\nThe rain falls.",
    ],
}
"""What smaller ones say in its place."""


def plays(right: Collection[str]) -> Callable[[Prompt], Iterable[str]]:
    """The script of a model that does the tasks with these names right, and the others wrong."""
    names = {prompt_of(task, Role.CONVERSATION).messages: task.name for task in all_tasks()}

    def answer(prompt: Prompt) -> list[str]:
        name = names[prompt.messages]
        return re.findall(r"\s*\S+", RIGHT[name] if name in right else WRONG[name][0])

    return answer


def named(*groups: TaskGroup) -> list[str]:
    """The tasks of `groups`, or of all."""
    return [task.name for task in all_tasks() if task.group in (groups or tuple(TaskGroup))]
