"""The wire. `ls routes` is the API; `mount.py` puts all of it on an application."""
