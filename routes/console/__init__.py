"""The console: web pages for users and kiosk displays, with the same rule and engine as the API."""
