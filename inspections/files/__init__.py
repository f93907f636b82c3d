"""Photographs and other files of inspections, findings and buildings.

A file is a row of `files` and bytes in FILES_DIR. It is visible as far as the row that it belongs to. `records.py`
parses names and writes the rows under the caller's rule; `listing.py` lists them. `store.py` keeps the bytes.
`images.py` and `thumbnails.py` read them. `links.py` signs links. `uploads.py` joins these steps.
"""
