"""Helpers that know nothing of pages: files, iteration, formatting, progress."""
