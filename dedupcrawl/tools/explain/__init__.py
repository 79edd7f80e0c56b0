"""Explanation of a verdict, and of the settings that would change it."""
