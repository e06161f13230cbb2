"""Reveries: a mind that stays awake on its owner's machine."""

__version__ = "0.1.0"
