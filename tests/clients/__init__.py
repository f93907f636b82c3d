"""Real consumers, unmodified, against the running gunicorn: what they are promised, in their own words."""
