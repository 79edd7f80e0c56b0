"""Main text in, features out."""
