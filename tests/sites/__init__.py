"""Small sites built by seed; the content of every page is known. ``python -m tests.sites`` measures them."""
