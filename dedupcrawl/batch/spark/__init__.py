"""The batch on Spark: the same fingerprints and the same rule, in tasks instead of processes."""
