"""Pages that are made to break a reader: a fuzzer, and shapes whose cost might grow faster than their size."""
