"""The second engine: a PostgreSQL server, through psycopg's public API. Nothing else imports psycopg.

`replication_positions` is the one module here that is loaded without the driver: the look-up of a caller names it.
"""
