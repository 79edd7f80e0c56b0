"""Precision, recall, F1 and costs on labelled data, and the search for better constants."""
