"""Labelling: a person says which pairs of a run are the same article."""
