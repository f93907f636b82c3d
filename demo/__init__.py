"""A made-up portfolio to look around in: what the service keeps, believable and about nobody."""
