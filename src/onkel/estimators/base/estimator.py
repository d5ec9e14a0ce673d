"""The base of all estimators: parameters, the kernel that they name, tags, and the undoing of a refused call."""

from __future__ import annotations

import contextlib
from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from onkel._core.transaction import restore
from onkel.bounds.equal_rows import conflicts
from onkel.errors import InputError, KindError, ParameterError, warn
from onkel.estimators.base.parameters import check_kernel, kernel_of, resolved_kernel
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Estimator", "set_params", "undo_on_error", "warn_of_conflicts"]


def set_params(self: Any, **params: Any) -> Any:
    """Sets parameters of the estimator and, as ``kernel__<name>``, of its kernel.

    Kernels are frozen, so ``kernel__gamma=2.0`` replaces the kernel by a new one; if the same call also sets the
    kernel, it applies to that one. On an error nothing is set. Returns the estimator.
    """
    changes: dict[str, dict[str, Any]] = {}
    for key in [key for key in params if "__" in key]:
        name, _, rest = key.partition("__")
        part = params.get(name, getattr(self, name, None))
        if isinstance(part, Kernel):
            changes.setdefault(name, {})[rest] = params.pop(key)
        elif hasattr(self, name) and not hasattr(part, "set_params"):
            raise ParameterError(
                f"{type(self).__name__}: {key} needs {name} to be a kernel object; it is {part!r}. "
                f"Set both: set_params({name}=RBF(), {key}=…)."
            )
    for name, change in changes.items():
        params[name] = params.get(name, getattr(self, name)).with_params(**change)
    with undo_on_error(self):
        BaseEstimator.set_params(self, **params)
    return self


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]
    """The base of onkel's classifiers, regressors and outlier detectors; not for use by itself.

    Most have the parameters kernel, gamma, degree and coef0; one without the parameter kernel has the linear kernel.
    """

    KERNEL_DEFAULTS: ClassVar[dict[str, Any]] = {"gamma": "scale", "degree": 3, "coef0": 1.0}

    @property
    def _name(self) -> str:
        """The name of the class, for messages."""
        return type(self).__name__

    # ---------------------------------------------------------------- parameters

    set_params = set_params

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        built_with = vars(self).get("_built_with")
        if built_with is not None:  # what was set may be a parameter that the learner was built with
            built_with.checked = False

    def _check_params(self) -> None:
        """Refuses parameters that cannot be used."""
        check_kernel(self)

    # ---------------------------------------------------------------- the kernel

    def _named_kernel(self, gamma: float = 1.0) -> Kernel:
        """The kernel that the parameters name, with this gamma; it says what kind of data the estimator takes."""
        return kernel_of(self, gamma)

    def _resolved_kernel(self, rows: Rows) -> dict[str, Any]:
        """`kernel_`, and `gamma_` where it is used, for the first data of a fit."""
        _, gamma = resolved_kernel(self, rows)
        return {"kernel_": self.kernel} if gamma is None else {"kernel_": self._named_kernel(gamma), "gamma_": gamma}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            takes = self._named_kernel().takes
        except (InputError, KindError):  # `fit` refuses this kernel; here that would end a whole GridSearchCV
            takes = "vectors"
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = takes in ("vectors", "anything")
        tags.input_tags.two_d_array = takes != "objects"
        return tags

    # ---------------------------------------------------------------- fitted attributes

    def _unfitted(self) -> dict[str, Any]:
        """The attributes of the estimator that a new fit keeps: parameters, and what is not onkel's."""
        params = self.get_params(deep=False)
        return {name: value for name, value in vars(self).items() if name in params or not _is_fitted_name(name)}

    def _view(self) -> Self:
        """The estimator with its attributes as they are now, whatever another thread fits meanwhile; no copies."""
        view: Self = object.__new__(type(self))
        view.__dict__.update(self.__dict__)  # holds the GIL
        return view

    def _anew(self) -> Self:
        """The estimator without what it has learned: a new fit works on it, while this one keeps what it has."""
        new: Self = object.__new__(type(self))
        new.__dict__.update(self._unfitted())
        return new

    def _become(self, fitted: Self) -> None:
        """Takes what another estimator has learned in place of all that this one has, at once."""
        restore(self, vars(fitted) | self._unfitted())


# Private attributes that a fit sets.
FITTED_ONLINE = {"_running", "_draw", "_is_psd", "_certified", "_built_with"}
FITTED_AT_ONCE = {"_scorer", "_columns"}  # by SVMs and ridge regression
FITTED_SVM = {"_high", "_sparse", "_on_objects"}
FITTED_RIDGE = {"_several", "_posterior", "_sums", "_solved_alpha"}
FITTED = FITTED_ONLINE | FITTED_AT_ONCE | FITTED_SVM | FITTED_RIDGE


def _is_fitted_name(name: str) -> bool:
    """Whether an attribute is set by a fit: some private ones, and names that end in an underscore, like n_iter_."""
    return name in FITTED or (name.endswith("_") and not name.startswith("_"))


@contextlib.contextmanager
def undo_on_error(estimator: object, only: type[BaseException] = BaseException) -> Iterator[None]:
    """Restores the attributes of the estimator if the block raises, or raises an error of this kind only."""
    before = vars(estimator).copy()
    try:
        yield
    except only:
        restore(estimator, before)
        raise


def warn_of_conflicts(rows: Rows, y: NDArray, who: str) -> None:
    """Warns of equal rows with different labels: no kernel separates them, so every epoch has a mistake."""
    if not isinstance(rows, VectorRows):
        return
    count = len(conflicts(rows, y))
    if count:
        warn(
            f"{who}: {count} row(s) are equal to another row with another label. No kernel can separate these, so "
            "training cannot end without a mistake; it stopped after max_iter epochs.",
            ConvergenceWarning,
        )
