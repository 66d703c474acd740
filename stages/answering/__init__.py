"""Candidates -> an answer with citations, or a refusal with its reason."""
