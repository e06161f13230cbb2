"""The checks of `reveries doctor` from inside: each module here with a `check` is one.

It yields `Finding`s of the `Fault`s that the module defines, or a sentence about what it left out. None loads or calls
a model.
"""
