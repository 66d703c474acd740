"""Decisions and labels -> numbers."""
