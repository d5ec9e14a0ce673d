"""Data: streams of examples, and toy streams."""

from __future__ import annotations

from onkel.data.stream import Stream
from onkel.data.toy import drifting

__all__ = ["Stream", "drifting"]
