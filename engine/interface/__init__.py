"""What both databases offer: transactions, faults, clock and cache. Neither database imports the other."""
