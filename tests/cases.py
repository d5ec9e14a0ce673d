"""Many small cases of one promise in one test, where a test for each would cost more than what it does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from pairwise import name_of

__all__ = ["grouped"]


def grouped(names: str, cases: Iterable[Sequence[Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize(names, cases)`, but with one test for all cases that have an equal first value.

    The test tries all of its cases, also after one that fails; what each of them raises says which case it was. What a
    case patches by `monkeypatch` is undone before the next.
    """
    first, *others = (name.strip() for name in names.split(","))
    groups: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
    for value, *rest in cases:
        groups.setdefault(name_of(value), (value, []))[1].append(dict(zip(others, rest, strict=True)))

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def try_all(**given: Any) -> None:
            failed: list[BaseException] = []
            rest = given.pop("rest")
            for case in rest:
                try:
                    test(**given, **case)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in the case {', '.join(f'{name}={value!r}' for name, value in case.items())}")
                    failed.append(error)
                if "monkeypatch" in given:
                    given["monkeypatch"].undo()
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(rest)} cases failed", failed)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in others]
        rest = inspect.Parameter("rest", inspect.Parameter.KEYWORD_ONLY)
        try_all.__signature__ = signature.replace(parameters=[*kept, rest])  # type: ignore[attr-defined]
        return pytest.mark.parametrize((first, "rest"), list(groups.values()), ids=list(groups))(try_all)

    return decorate
