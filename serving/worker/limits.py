"""Time and size limits of requests, per connection and per worker."""

from __future__ import annotations

REQUEST_LINE_BYTES_MAX = 65_535
HEADER_FIELDS_MAX = 100
HEADER_BYTES_MAX = 8_190
HEAD_BYTES_MAX = REQUEST_LINE_BYTES_MAX + HEADER_FIELDS_MAX * (HEADER_BYTES_MAX + 2) + 4

BODY_BYTES_MAX = 6 << 20  # the application has exact bounds; the largest is 5 MiB of CSV
BUFFERED_BYTES_MAX = 48 << 20  # of all requests of a worker that arrived in pieces
RECEIVE_BYTES_MAX = 65_536  # per recv
UPLOAD_MEMORY_BYTES_MAX = 1 << 20  # of an upload; a larger one is written to a file while it arrives
UPLOADED_BYTES_MAX = 1 << 30  # of all unfinished uploads of a worker on disk

HEAD_SECONDS_MAX = 10.0  # a head is one or two packets; 10 s allow for three lost ones
REQUEST_SECONDS_MAX = 60.0  # to receive a request, and again to send its response
BODY_GRACE_SECONDS = 5.0
BODY_BYTES_PER_SECOND_MIN = 1_024  # on average, after the grace period

LINGER_SECONDS_MAX = 1.0  # a client that is still sending needs it to read the refusal
STOP_KEEPALIVE_SECONDS = 2.0  # a client may be sending its next request when the worker stops
