"""Recall: which turns answer a cue - the turn index, features, ranking, and what supersedes what."""
