"""What has a value in a text: days, times, sums, measures, open ends, and what of it does not go together. Pure.

No model reads here: a small one invents dates and pads sums. Rules over words of seven languages (`vocabulary.toml`)
find less than a person would, and what they report stands in the text.
"""
