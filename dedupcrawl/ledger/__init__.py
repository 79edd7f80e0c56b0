"""The ledger of a run: what happened to each page, as rows of an SQLite file."""
