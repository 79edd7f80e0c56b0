"""Labelling: a person decides which pairs of a run are the same article."""
