"""PocketBase as a server of the benchmark: its collections, its files, its dialect."""
