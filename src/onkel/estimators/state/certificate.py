"""Certificates as settings of a state, and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from onkel.bounds.theorems import Certificate, Form
from onkel.errors import InputError
from onkel.estimators.online.certificate import Certified
from onkel.states.state import Setting, State

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["certified_settings", "read_certified"]

EXAMPLES = ("rows", "queries", "sentences")


def certified_settings(certified: Certified) -> dict[str, Setting]:
    """A certificate, and what it is about, as settings."""
    about: Any = certified.about
    return {"about": about, **_settings(certified.certificate)}


def _settings(certificate: Certificate) -> dict[str, Setting]:
    found = {field.name: getattr(certificate, field.name) for field in dataclasses.fields(certificate)}
    return found | {"parts": [_settings(part) for part in certificate.parts]}


def read_certified(state: State) -> Certified | None:
    """The certificate of a state; None if there is none."""
    settings = state.settings.get("certificate")
    if settings is None:
        return None
    if not isinstance(settings, Mapping) or not _is_count(settings.get("about")):
        raise InputError(
            f"the state of kind {state.kind!r}: a certificate must say how many examples or mistakes it is about; got "
            f"{str(settings)[:200]}."
        )
    given = {name: value for name, value in settings.items() if name != "about"}
    return Certified(settings["about"], _certificate(given, state.kind, parts=True))


def _certificate(settings: Mapping[str, Setting], kind: str, *, parts: bool) -> Certificate:
    """The certificate of settings; `parts` says whether it may have parts, which have none themselves."""
    wanted = {field.name for field in dataclasses.fields(Certificate)}
    if set(settings) != wanted:
        raise InputError(
            f"the state of kind {kind!r}: a certificate must have {sorted(wanted)}; got {str(sorted(settings))[:300]}."
        )
    for name, is_right in CHECKS.items():
        if not is_right(settings[name]):
            raise InputError(
                f"the state of kind {kind!r}: the {name} of a certificate cannot be {str(settings[name])[:100]!r}."
            )
    given: dict[str, Any] = dict(settings)
    if not isinstance(given["parts"], tuple) or not all(isinstance(part, Mapping) for part in given["parts"]):
        raise InputError(f"the state of kind {kind!r}: the parts of a certificate must be certificates.")
    if given["parts"] and not parts:
        raise InputError(f"the state of kind {kind!r}: the parts of a certificate have no parts themselves.")
    given["parts"] = tuple(_certificate(part, kind, parts=False) for part in given["parts"])
    bounded = given["form"] is not None
    if bounded and (given["bound"] is None or given["radius_sq"] is None):  # `print` shows them
        raise InputError(f"the state of kind {kind!r}: a certificate with a form must have a bound and a radius_sq.")
    if bounded and any(part.bound is None for part in given["parts"]):
        raise InputError(f"the state of kind {kind!r}: the parts of a certificate with a bound must have bounds.")
    return Certificate(**given)


def _is_count(value: Setting) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_number(value: Setting) -> bool:
    return type(value) is float and not math.isnan(value)


def _is_ratio(value: Setting) -> bool:
    return type(value) is float and 1.0 <= value <= 1e150  # its square is shown


def _is_number_or_none(value: Setting) -> bool:
    return value is None or _is_number(value)


def _is_text(value: Setting) -> bool:
    return type(value) is str


def _are_constants(value: Setting) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and _is_text(pair[0]) and _is_number(pair[1]) for pair in value
    )


def _is_conflict(value: Setting) -> bool:
    return value is None or (isinstance(value, tuple) and len(value) == 2 and all(map(_is_count, value)))


CHECKS: dict[str, Callable[[Setting], bool]] = {
    "mistakes": _is_count,
    "radius_sq": _is_number_or_none,
    "margin": _is_number_or_none,
    "comparator": _is_text,
    "bound": _is_number_or_none,
    "form": lambda value: value is None or (_is_text(value) and value in get_args(Form)),
    "epochs": _is_count,
    "reason": _is_text,
    "target": _is_number_or_none,
    "weight_ratio": _is_ratio,
    "constants": _are_constants,
    "conflict": _is_conflict,
    "rounding": _is_number,
    "examples": lambda value: _is_text(value) and value in EXAMPLES,
}
