"""Helpers that know nothing of pages: formatting, iteration, files, progress."""
