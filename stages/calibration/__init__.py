"""Signals and labels -> a frozen threshold that knows what it was measured on."""
