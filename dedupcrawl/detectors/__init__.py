"""Detectors: features in, keys and a sketch out; two sketches in, a match out. One file per method."""
