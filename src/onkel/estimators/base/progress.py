"""The progress bar of `fit`, drawn on stderr if the user sets `verbose`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(what: str, total: int, verbose: int) -> Iterator[Callable[[int, str], None]]:
    """Yields a function of (done, remark) that moves the bar; without `verbose` it does nothing."""
    if not verbose:
        yield lambda done, remark: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    text, remarks = TextColumn("{task.description}"), TextColumn("{task.fields[remark]}")
    with Progress(text, BarColumn(), remarks, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, remark="")
        yield lambda done, remark: bar.update(task, completed=done, remark=remark)
