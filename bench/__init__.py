"""The benchmark: measures Walkthrough beside PostgREST with the same rows. Not part of the service."""
