"""A fictional portfolio for the demo: rows of every table, generated from a seed."""
