"""The benchmark: measures Walkthrough beside PostgREST and PocketBase with the same rows. Not part of the service."""
