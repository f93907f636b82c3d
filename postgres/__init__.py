"""The same on PostgreSQL: an implementation of the engine's interface, its dialect and its triggers.

`engine.open` and the registries of dialects and schemas load it for a URL of PostgreSQL. Nothing else imports it.
"""
