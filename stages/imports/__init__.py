"""Passages and questions that others wrote -> the files of a dataset. Opens no file."""
