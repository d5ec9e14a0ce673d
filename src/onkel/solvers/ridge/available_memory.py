"""How much memory there is, so that what cannot fit is refused before it is allocated."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["available_bytes"]

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # the limit of a container (version 2)


def available_bytes() -> int | None:
    """The bytes that can be allocated without swapping; None if the system does not say.

    On Linux the memory that the kernel calls available, within the limit of a container; elsewhere all memory.
    """
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError, LookupError):
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text("ascii").splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
        limit, used = (int((CGROUP / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
        found.append(max(0, limit - used))
    if not found:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)
