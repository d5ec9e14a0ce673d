"""Parameters that several estimators have: their checks, what follows from them, and which may change.

The kernel is an object, or a name with gamma, degree and coef0. The defaults of these are `KERNEL_DEFAULTS` of a class;
gamma=None there stands for scikit-learn's default. A class without the parameter kernel has the linear one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils import check_random_state

from onkel.checks import check_integer
from onkel.errors import ParameterError
from onkel.kernels import Kernel, Linear
from onkel.kernels.named import default_gamma, named_kernel, refuse_unused, resolve_gamma
from onkel.kernels.rows import Rows

__all__ = [
    "FREE",
    "SCIKIT_LEARN",
    "BuiltWith",
    "bytes_of",
    "check_budget",
    "check_kernel",
    "kernel_of",
    "resolved_kernel",
    "seed_of",
]

# Parameters that every call of a learning method reads anew. All others are built into the learner by the first one.
FREE = frozenset({"max_iter", "shuffle", "random_state", "class_weight", "warm_start", "verbose"})
MOST_BUDGET = 1 << 62  # which the compiled core can count
MOST_BYTES = 1 << 62
SCIKIT_LEARN: dict[str, Any] = {"gamma": None, "degree": 3, "coef0": 1}  # the defaults of its ridge and its maps


def check_budget(budget: Any, name: str, *, none: bool = False) -> None:
    """Refuses a budget that is not a whole number ≥ 1; with `none`, None is allowed, too."""
    if (budget is not None or not none) and check_integer(budget, "budget", name, at_least=1) > MOST_BUDGET:
        raise ParameterError(f"{name}: budget must be at most {MOST_BUDGET}; got {budget!r}.")


def seed_of(random_state: Any) -> int:
    """A seed for the learner's own random numbers."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def bytes_of(cache_size: float) -> int:
    """The bytes of a `cache_size` in MB, which are 2²⁰ bytes each, as in LIBSVM and so in scikit-learn."""
    return int(min(float(cache_size) * 2**20, MOST_BYTES))


# ---------------------------------------------------------------- the kernel


def check_kernel(estimator: Any) -> None:
    """Refuses gamma, degree or coef0 beside a kernel object, which has its own."""
    if hasattr(estimator, "kernel"):
        defaults = estimator.KERNEL_DEFAULTS
        given = {name: getattr(estimator, name, default) for name, default in defaults.items()}
        refuse_unused(estimator.kernel, given, defaults, type(estimator).__name__)


def kernel_of(estimator: Any, gamma: float = 1.0) -> Kernel:
    """The kernel with this gamma; before gamma is known, it says what kind of data the estimator takes."""
    if not hasattr(estimator, "kernel"):
        return Linear()
    degree, coef0 = (getattr(estimator, name, estimator.KERNEL_DEFAULTS[name]) for name in ("degree", "coef0"))
    return named_kernel(estimator.kernel, gamma, degree, coef0, type(estimator).__name__)


def resolved_kernel(estimator: Any, rows: Rows) -> tuple[Kernel, float | None]:
    """The kernel for the first data of a fit, and gamma; None for a kernel object."""
    if isinstance(estimator.kernel, Kernel):
        return estimator.kernel, None
    gamma = estimator.gamma
    if gamma is None and estimator.KERNEL_DEFAULTS["gamma"] is None:
        gamma = default_gamma(estimator.kernel)
    gamma = resolve_gamma(gamma, rows, type(estimator).__name__)
    return kernel_of(estimator, gamma), gamma


# ---------------------------------------------------------------- changes of parameters


class BuiltWith:
    """The parameters that a learner was built with: another value has no effect on it, so learning on is refused.

    `checked` says that no parameter was set since they were compared, so that `learn_one` need not compare them.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params, self.checked = dict(params), False

    @classmethod
    def of(cls, estimator: Any) -> BuiltWith:
        """The present parameters of an estimator, except those that may change."""
        params, free = estimator.get_params(deep=False), FREE | estimator.FREE_PARAMS
        return cls({name: value for name, value in params.items() if name not in free})

    def copy(self) -> BuiltWith:
        """The same for another estimator, whose parameters change independently."""
        return BuiltWith(self.params)

    def __reduce__(self) -> tuple[type[BuiltWith], tuple[dict[str, Any]]]:
        return BuiltWith, (self.params,)

    def refuse_changed(self, estimator: Any) -> None:
        """Raises ParameterError if a parameter has another value now."""
        for name, built in self.params.items():
            value = getattr(estimator, name)
            if value is not built and not _equal(value, built):
                raise ParameterError(
                    f"{type(estimator).__name__}: {name} was {built!r} when learning began, and {value!r} cannot take "
                    f"its place in what was learned. Go on with set_params({name}={built!r}), or start anew with a fit "
                    "without warm_start or with a clone."
                )
        self.checked = True


def _equal(value: Any, other: Any) -> bool:
    """Whether two values are equal; False if they cannot be compared."""
    try:
        return bool(value == other)
    except (TypeError, ValueError):
        return False
