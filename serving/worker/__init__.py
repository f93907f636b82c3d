"""The gunicorn worker: it buffers each request in its main loop and runs the application in threads."""
