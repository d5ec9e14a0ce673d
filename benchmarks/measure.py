"""Honest timing: every contender in the same run, on the same data, repeats interleaved.

This file knows nothing of kernels: it times functions in turn and prints Markdown tables.
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
    """Best seconds of each contender; all are warmed up once, then take turns."""
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
    """Multiply-adds a second of BLAS on this machine, now.

    The best of some seconds: a rate that a neighbour slowed down would lengthen the floors and flatter us.
    """
    rng = np.random.default_rng(0)
    A, B = rng.random((n, d)).astype(dtype), rng.random((n, d)).astype(dtype)
    out = np.empty((n, n), dtype=dtype)
    return n * n * d / interleaved({"gemm": lambda: np.dot(A, B.T, out=out)}, repeats=30)["gemm"]


def machine() -> str:
    from onkel._core import simd_target, thread_count

    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{model}, {thread_count()} threads, {simd_target()}, {versions}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(name: str, text: str, figures: dict[str, Any]) -> None:
    """Prints the text and keeps the figures as JSON."""
    sys.stdout.write(text + "\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")


def memory_above(run: Callable[[], Any]) -> int | None:
    """Bytes that the process held at most during a call, above what it held before; None off Linux."""
    if not Path("/proc/self/clear_refs").exists():
        return None
    Path("/proc/self/clear_refs").write_text("5")  # forgets the earlier peak
    before = _status("VmRSS")
    run()
    return _status("VmHWM") - before


def _status(key: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def data(name: str) -> Path | None:
    """The folder of a data set, if ONKEL_DATA names one that has it."""
    root = os.environ.get("ONKEL_DATA")
    folder = Path(root) / name if root else None
    return folder if folder is not None and folder.is_dir() else None
