"""The size of the content of issued reports and letters."""

import pytest

from inspections.faults import ContentTooLarge
from inspections.reports.frozen import CONTENT_BYTES_MAX, require_size


@pytest.mark.parametrize("text", ["x" * CONTENT_BYTES_MAX, "ü" * (CONTENT_BYTES_MAX // 2)])
def test_content_of_the_largest_size(text: str) -> None:
    require_size(text)

    with pytest.raises(ContentTooLarge, match="at most 16 MiB"):
        require_size(text + "x")
