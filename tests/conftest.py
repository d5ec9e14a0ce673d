"""One thread of BLAS per process, one hypothesis profile for all tests, the paths of the compiled core as a fixture."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pairwise import FULL

# Before NumPy is imported: pytest-xdist has a process for each core, and the BLAS threads of all of them would wait for
# each other. onkel's own threads are not meant.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from onkel._core import simd, simd_targets

settings.register_profile("onkel", max_examples=200 if FULL else 40, deadline=None, derandomize=True)
settings.register_profile("few", settings.get_profile("onkel"), max_examples=8)  # make sanitize
settings.load_profile("onkel")


@pytest.fixture(params=simd_targets())
def simd_path(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test on each SIMD path that this machine has."""
    with simd(request.param):
        yield request.param
