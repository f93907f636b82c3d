"""Photographs and other files of inspections, findings and buildings.

A file is a row of `files` and bytes in FILES_DIR. It is visible as far as the row that it belongs to.
`keys.py` parses names. `store.py` keeps the bytes. `content.py` and `thumbnails.py` read them. `records.py` and
`listing.py` write and read the rows under the caller's rule. `links.py` signs links. `uploads.py` joins these steps.
"""
