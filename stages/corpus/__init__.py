"""Originals -> entries: every PNG and Markdown file as words, sections and fields that know where they came from."""
