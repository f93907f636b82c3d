"""The PostgreSQL engine, on psycopg's public API. No other package imports psycopg."""
