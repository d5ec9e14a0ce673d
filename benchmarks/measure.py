"""Honest timing: all contenders are timed in the same run, on the same data, with interleaved repeats.

This file has nothing to do with kernels: it times functions in turn and prints Markdown tables.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"


def interleaved(contenders: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, float]:
    """The shortest time of each contender in seconds; all run once to warm up, and then take turns."""
    for run in contenders.values():
        run()
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def gemm_rate(dtype: type, d: int = 784, n: int = 3000) -> float:
    """Multiply-adds per second of BLAS on this computer at present.

    The best of several runs is taken: if other processes slowed BLAS down, the floors would be too long, and our times
    would look better than they are.
    """
    rng = np.random.default_rng(0)
    A, B = rng.random((n, d)).astype(dtype), rng.random((n, d)).astype(dtype)
    out = np.empty((n, n), dtype=dtype)
    return n * n * d / interleaved({"gemm": lambda: np.dot(A, B.T, out=out)}, repeats=30)["gemm"]


def machine() -> str:
    """The computer and the versions in one line: processor, threads, SIMD target, Python and NumPy."""
    from onkel._core import simd_target, thread_count

    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{model}, {thread_count()} threads, {simd_target()}, {versions}"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(name: str, text: str, figures: dict[str, Any]) -> None:
    """Prints the text, and writes the figures as JSON to results/{name}.json."""
    sys.stdout.write(text + "\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")


def memory_above(run: Callable[[], Any]) -> int | None:
    """The peak memory of the process during a call, in bytes above its memory before; None except on Linux."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _status("VmRSS")
    run()
    return _status("VmHWM") - before


def _status(key: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def data(name: str) -> Path | None:
    """The folder of a data set within the folder that ONKEL_DATA names; None if there is no such folder."""
    root = os.environ.get("ONKEL_DATA")
    folder = Path(root) / name if root else None
    return folder if folder is not None and folder.is_dir() else None
