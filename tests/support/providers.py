"""What GoTrue says in `app_metadata` of a user who signs in with an e-mail address."""

PROVIDERS = {"provider": "email", "providers": ["email"]}
