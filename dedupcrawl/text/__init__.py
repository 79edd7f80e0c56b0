"""Text in, features out: normalisation, words, shingles and keywords."""
