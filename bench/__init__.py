"""How fast is the service, beside a PostgREST over the same rows? `bench/run` says; nothing here is served."""
