"""Labelled sets in, precision, recall and F1 out."""
