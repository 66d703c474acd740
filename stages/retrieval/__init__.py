"""Question -> ranked candidates."""
