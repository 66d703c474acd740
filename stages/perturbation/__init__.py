"""Pixels of an image -> the same image damaged, and a PNG file of it; whole numbers throughout."""
