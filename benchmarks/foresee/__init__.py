"""Crawls of made sites whose truth is known: what is saved, and what is lost, by foreseeing duplicates."""
