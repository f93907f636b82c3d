"""Tests of unmodified client libraries against a running service."""
