"""The documents against the product: their examples run, their names exist."""
