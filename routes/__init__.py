"""The HTTP interface and the command line. `register.py` installs all routes and commands."""
