"""Pairs of image and caption -> checkpoint -> vectors of images and texts in one space."""
