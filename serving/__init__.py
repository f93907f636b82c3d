"""How is the service started, guarded and stopped? This room knows processes and files, no table."""
