"""Frostline: evaluate question answering over images and documents that knows when to say "I don't know"."""
