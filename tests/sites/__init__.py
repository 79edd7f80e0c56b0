"""Small sites built by seed, of which the content of every page is known. ``python -m tests.sites`` measures them."""
