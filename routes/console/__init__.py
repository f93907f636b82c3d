"""/console: pages for people at a desk and a board on the wall, over the same rule and engine as the API."""
