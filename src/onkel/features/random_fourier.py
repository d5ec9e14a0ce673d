"""Random Fourier features: waves whose inner products approximate a kernel of the difference x − z.

By Bochner's theorem such a kernel with k(x, x) = 1 is the characteristic function of a probability distribution of
frequencies, its spectrum:

    k(x, z) = E cos(ω·(x − z)) = E [cos(ω·x) cos(ω·z) + sin(ω·x) sin(ω·z)]

The mean over D frequencies that are drawn from the spectrum is an inner product of 2D features. It is unbiased, and the
variance of one cosine, (1 + k(2δ))/2 − k(δ)² with δ = x − z, gives its root mean square error,

    √((1 + k(2δ) − 2k(δ)²) / (2D)),          which is (1 − k²)/√(2D) for the Gaussian.

The spectra of onkel's kernels, with g standard normal in d dimensions and G(a) a gamma variable of shape a:

    RBF(γ)                    √(2γ) g
    Laplacian(γ)              γ times independent Cauchy variables
    Matern(ν, ℓ)              g/ℓ · √(ν/G(ν)), Student's t with 2ν degrees of freedom; g/ℓ for ν = ∞
    RationalQuadratic(α, ℓ)   g/ℓ · √(G(α)/α)
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel.checks import check_integer
from onkel.errors import ParameterError, ValuesError
from onkel.estimators.base.estimator import set_params, undo_on_error
from onkel.estimators.base.input import FLOATS
from onkel.estimators.base.parameters import SCIKIT_LEARN, check_kernel, resolved_kernel
from onkel.estimators.state.checks import refuse
from onkel.features.map_state import check_vectors, from_map_state, map_state, read_kernel
from onkel.kernels import RBF, Kernel, Laplacian, Matern, RationalQuadratic, prepare
from onkel.kernels.combine import Multiple
from onkel.states.state import Setting, State

__all__ = ["RandomFourierMap"]

Floats = NDArray[np.float64]
TILE_VALUES = 1 << 18  # phases that are in memory at once: 2 MB
# The largest frequency of a Matérn kernel is about this, divided by ℓ. For small ν there are larger ones, but all waves
# beyond have the mean 0 except for rows nearer than 1e-8 ℓ, and rounding errors of ω·x would be seen in their phases.
LARGEST = 1e8


def draw_frequencies(kernel: Kernel, d: int, n: int, random: np.random.RandomState) -> Floats | None:
    """n frequencies from the spectrum of a kernel on d features, shape (d, n); None if it has no known spectrum."""
    match kernel:
        case RBF(gamma=gamma):
            return math.sqrt(2.0 * gamma) * random.standard_normal((d, n))
        case Laplacian(gamma=gamma):
            return gamma * random.standard_cauchy((d, n))
        case Matern(nu=nu, length_scale=length):
            return random.standard_normal((d, n)) * (_student_factor(nu, n, random) / length)
        case RationalQuadratic(alpha=alpha, length_scale=length):
            return random.standard_normal((d, n)) * (np.sqrt(random.standard_gamma(alpha, n) / alpha) / length)
    return None


def _student_factor(nu: float, n: int, random: np.random.RandomState) -> Floats:
    """√(ν/G(ν)), with which a normal vector becomes one of Student's t with 2ν degrees of freedom; 1 for ν = ∞."""
    if math.isinf(nu):
        return np.ones(n)
    # G(ν) = G(ν + 1) U^(1/ν) in distribution, with U uniform; in logarithms, because G(ν) underflows for small ν
    log_gamma = np.log(random.standard_gamma(nu + 1.0, n)) + np.log1p(-random.random_sample(n)) / nu
    factor: Floats = np.exp(np.minimum(0.5 * (math.log(nu) - log_gamma), math.log(LARGEST)))
    return factor


class RandomFourierMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Random waves whose inner products approximate a Gaussian, Laplacian or Matérn kernel.

    With D frequencies ω₁, …, ω_D drawn from the spectrum of the kernel, the features of x are

        φ(x) = √(1/D) (cos ω₁·x, …, cos ω_D·x, sin ω₁·x, …, sin ω_D·x),        E φ(x)·φ(z) = k(x, z)

    The root mean square error of an inner product is √((1 + k(2δ) − 2k(δ)²)/(2D)) with δ = x − z, whatever the number
    of features and rows: ten times the accuracy takes a hundred times the columns. k(x, x) is exact. A linear model on
    φ(x) takes time and memory in D, while a kernel model grows with its support vectors. `NystroemMap` adapts to the
    data and often needs fewer columns, which cost more each.

    Parameters
    ----------
    n_components : D ≥ 1 (default 100), the number of frequencies; the map has 2D columns.
    kernel : "rbf" (default), "laplacian", or a kernel object: RBF, Laplacian, Matern (with any ν), RationalQuadratic,
        or a positive multiple of one of these. ``kernel__gamma`` and the like set the parameters of an object.
    gamma : γ > 0 of a kernel that is given by its name; None (default): 1 / number of features. "scale", "auto" and
        "median" take it from the rows, in `partial_fit` from those of the first chunk.
    random_state : None (default), a number or a RandomState: which frequencies are drawn.

    Attributes
    ----------
    kernel_ : the kernel in use.
    frequencies_ : the frequencies as columns, shape (features, D).
    factor_ : the factor of all columns, √(1/D), or √(c/D) for the kernel c · k.
    n_features_in_ : number of columns of X in `fit`.
    feature_names_in_ : column names of X in `fit`, if it is a data frame with names that are strings.

    Cost: per row D times d multiply-adds (of a sparse row, its non-zeros), a cosine and a sine. Phases are computed in
    float64; float32 input gives float32 output. The output is dense.

    >>> import numpy as np
    >>> from onkel import features, kernels
    >>> X, k = np.array([[0.0], [1.0], [2.0]]), kernels.RBF(gamma=0.5)
    >>> Phi = features.RandomFourierMap(5000, kernel=k, random_state=0).fit_transform(X)
    >>> bool(np.abs(Phi @ Phi.T - k(X)).max() < 0.03)
    True

    Source: Rahimi and Recht 2007, Random features for large-scale kernel machines; for cosines and sines in pairs,
    Sutherland and Schneider 2015, On the error of random Fourier features.
    """

    KERNEL_DEFAULTS = SCIKIT_LEARN

    set_params = set_params

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: str | Kernel = "rbf",
        gamma: float | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draws the frequencies; X gives the number of columns, and gamma if it depends on the rows. y is ignored."""
        n = check_integer(self.n_components, "n_components", "RandomFourierMap", at_least=1)
        with undo_on_error(self):
            kernel = self._resolved_kernel(X)
            factor, base = (kernel.factor, kernel.kernel) if isinstance(kernel, Multiple) else (1.0, kernel)
            drawn = draw_frequencies(base, self.n_features_in_, n, check_random_state(self.random_state))
            if drawn is None or factor < 0:
                raise ParameterError(
                    "RandomFourierMap: kernel must be RBF, Laplacian, Matern or RationalQuadratic, or a positive "
                    f"multiple of one of these, whose spectrum is known; got {kernel!r}. "
                    "NystroemMap takes any positive semi-definite kernel."
                )
            self.kernel_, self.frequencies_, self.factor_ = kernel, drawn, math.sqrt(factor / n)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """The first chunk fits the map; later ones are only checked to have the same columns. y is ignored."""
        if not hasattr(self, "frequencies_"):
            return self.fit(X)
        validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        return self

    def _resolved_kernel(self, X: Any) -> Kernel:
        """Checks X, remembers its columns, and returns the kernel that the parameters name for it."""
        check_kernel(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        return resolved_kernel(self, prepare(RBF(), X))[0]

    def transform(self, X: Any) -> Any:
        """φ(x) of each row, shape (rows, 2D): the D cosines, then the D sines."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        n, D = X.shape[0], self.frequencies_.shape[1]
        out = np.empty((n, 2 * D), dtype=X.dtype)
        step = max(1, TILE_VALUES // D)
        for start in range(0, n, step):
            rows = slice(start, start + step)
            with np.errstate(over="ignore", invalid="ignore"):
                phases = X[rows] @ self.frequencies_
            if not np.isfinite(phases).all():
                raise ValuesError(
                    "RandomFourierMap: the products of X and the frequencies must be finite; got values of "
                    f"{abs(X[rows]).max():.3g} in X, which are too large. Scale X."
                )
            np.multiply(np.cos(phases), self.factor_, out=out[rows, :D], casting="same_kind")
            np.multiply(np.sin(phases), self.factor_, out=out[rows, D:], casting="same_kind")
        return out

    @property
    def _n_features_out(self) -> int:
        return 2 * self.frequencies_.shape[1]  # type: ignore[no-any-return]

    def state(self) -> State:
        """The parameters and, if the map was fitted, the kernel, the frequencies and their factor, as a `State`."""
        fitted = None
        if hasattr(self, "frequencies_"):
            settings: dict[str, Setting] = {"kernel": self.kernel_, "factor": self.factor_}
            fitted = State("map/random-fourier", 1, settings, {"frequencies": self.frequencies_.copy()})
        return map_state(self, self.get_params(deep=False), fitted)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The map that has this state; it maps alike, to the bit."""
        made, columns, fitted = from_map_state(cls, state, "map/random-fourier")
        if fitted is not None:
            d = check_vectors(state, columns)
            made.kernel_, made.factor_ = (
                read_kernel(state, fitted, columns),
                fitted.setting("factor", float, at_least=0),
            )
            made.frequencies_ = fitted.array("frequencies", np.float64, (d, None)).copy()
            if made.kernel_.takes != "vectors" or made.frequencies_.shape[1] == 0:
                raise refuse(state, "there must be a frequency, and a kernel on vectors", made.kernel_)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
