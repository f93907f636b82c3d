"""How the service starts, serves connections, logs and stops. It knows processes and files, but no table."""
