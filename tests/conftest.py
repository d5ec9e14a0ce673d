"""One hypothesis profile for all tests, and the paths of the compiled core as a fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from onkel._core import simd, simd_targets

settings.register_profile("onkel", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("onkel")


@pytest.fixture(params=simd_targets())
def simd_path(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test on each SIMD path that this machine has."""
    with simd(request.param):
        yield request.param
