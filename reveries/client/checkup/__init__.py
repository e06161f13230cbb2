"""The checks of `reveries doctor` from outside: each module here with a `check` is one.

It yields `Finding`s of the `Fault`s that the module defines; `REPAIRS` says what --fix does about them.
"""
