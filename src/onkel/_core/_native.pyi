# The functions of the compiled core. The headers in cpp/ that the comments name say what their arguments mean.
# Rows and kernel values are float32 or float64, all those of one call of the same dtype.
from collections.abc import Sequence

from numpy.typing import NDArray

# SIMD targets: cpp/target/dispatch.h
def simd_targets() -> list[str]: ...
def simd_target() -> str: ...
def select_simd(name: str) -> bool: ...

# Products. The right-hand side: a kernel (op, map and params) and packed rows, bound once for many products:
# cpp/product/types.h. `values` computes the kernel values of one dense row; `replace` updates the right-hand side after
# row `place` of its panels was overwritten.
class Right32:
    def dense(
        self,
        X: NDArray,
        aux: NDArray | None,
        A: NDArray | None,
        scores: NDArray | None,
        gram: NDArray | None,
        below: bool,
        threads: int,
    ) -> None: ...
    def csr(
        self,
        indptr: NDArray,
        indices: NDArray,
        data: NDArray,
        d: int,
        aux: NDArray | None,
        A: NDArray | None,
        scores: NDArray | None,
        gram: NDArray | None,
        below: bool,
        threads: int,
    ) -> None: ...
    def values(self, x: NDArray, out: NDArray) -> None: ...
    def replace(self, place: int, x: NDArray) -> None: ...

class Right64(Right32): ...

def right(
    op: int,
    map: int,
    params: Sequence[float],
    panels: NDArray,
    columns: int,
    aux: NDArray | None,
    slots: NDArray | None,
    features: NDArray | None,
) -> Right32: ...

# Preparing rows for products: cpp/product/pack.h
def place_row(x: NDArray, place: int, rows: NDArray, norms: NDArray, panels: NDArray) -> None: ...
def pack_dense(S: NDArray, panels: NDArray) -> None: ...
def pack_csr(indptr: NDArray, indices: NDArray, data: NDArray, slots: NDArray | None, panels: NDArray) -> None: ...
def take_csr(
    indptr: NDArray,
    indices: NDArray,
    data: NDArray,
    chosen: NDArray,
    out_indptr: NDArray,
    out_indices: NDArray,
    out_data: NDArray,
    threads: int,
) -> None: ...
def squared_norms_dense(X: NDArray, norms: NDArray) -> None: ...
def squared_norms_csr(indptr: NDArray, indices: NDArray, data: NDArray, norms: NDArray) -> None: ...
def count_nonzeros(X: NDArray, counts: NDArray) -> None: ...
def all_finite(X: NDArray) -> bool: ...
def compress_rows(X: NDArray, indptr: NDArray, indices: NDArray, data: NDArray) -> None: ...

# A map on its own, for tests
def apply_map(map: int, params: Sequence[float], values: NDArray) -> None: ...

# The perceptron without a budget: cpp/learn/perceptron.h
def least_margins(
    place: NDArray, first: int, y: NDArray, F: NDArray, lengths: NDArray | None, margin: NDArray
) -> int: ...
def perceptron_pass(
    K: NDArray,
    place: NDArray,
    first: int,
    y: NDArray,
    w: NDArray,
    bias: float,
    F: NDArray,
    steps: NDArray,
    sq_norms: NDArray,
) -> int: ...
def primal_pass(
    data: NDArray,
    indptr: NDArray | None,
    indices: NDArray | None,
    y: NDArray,
    w: NDArray,
    eta: float,
    bias: bool,
    first_round: int,
    V: NDArray,
    moments: NDArray,
    steps: NDArray,
) -> None: ...
def add_columns(columns: NDArray, which: NDArray, A: NDArray, F: NDArray, threads: int) -> None: ...
def vote(
    K: NDArray,
    support: NDArray,
    output: NDArray,
    step: NDArray,
    weight: NDArray,
    start: NDArray,
    bias: float,
    out: NDArray,
) -> None: ...

# A learner with a budget, bound to the arrays of a chunk for many passes: cpp/learn/budget.h
class Budget32:
    def learn(self, y: NDArray, w: NDArray, t: int) -> int: ...

class Budget64(Budget32): ...

def budget(
    rule: int,
    policy: int,
    settings: Sequence[float],
    root_schedule: bool,
    intercept: bool,
    K: NDArray,
    K_chunk: NDArray,
    K_slots: NDArray | None,
    coef: NDArray,
    k_ss: NDArray,
    row_in_slot: NDArray,
    base: NDArray | None,
    sq_norms: NDArray,
    scalars: NDArray,
    places: NDArray,
    random: NDArray,
    margin: NDArray,
    offset: NDArray,
    F: NDArray,
    steps: NDArray,
    counts: NDArray,
) -> Budget32: ...

# Sequential minimal optimization on one block of variables; returns its steps and its last gap: cpp/learn/smo.h
def smo(
    K: NDArray,
    size: int,
    low: NDArray,
    high: NDArray,
    b: NDArray,
    v: NDArray,
    pairs: bool,
    tol: float,
    most: int,
) -> tuple[int, float]: ...

# The Projectron: cpp/learn/projectron.h (all_right: whether no output errs on a single example)
def project_rows(L: NDArray, size: int, K: NDArray, Z: NDArray, threads: int) -> None: ...
def all_right(K: NDArray, A: NDArray, y: NDArray, F: NDArray) -> bool: ...

# Screening of single examples for the Projectron, in single precision: cpp/learn/screen.h
class Screen32:
    def by_projection(self, kxx: float, y: NDArray) -> int: ...
    def by_coefficients(self, kxx: float, y: NDArray) -> int: ...
    def score(self, K: NDArray, kxx: float) -> float: ...

class Screen64(Screen32): ...

def screen(
    eta: float,
    budget: int,
    aggressive: bool,
    kol: bool,
    K: NDArray,
    size: int,
    L_inv: NDArray,
    norm: float,
    beta: NDArray,
    deferred: NDArray | None,
    error_bound: NDArray,
    F: NDArray,
    steps: NDArray,
    counts: NDArray,
) -> Screen32: ...
def apply_deferred(L: NDArray, size: int, deferred: NDArray, beta: NDArray) -> None: ...
def invert_rows(L: NDArray, first: int, last: int, L_inv: NDArray, sq_norms: NDArray) -> None: ...

# The pass of the Projectron over a chunk, and its coefficients: cpp/learn/projectron.h
def project_pass(
    eta: float,
    budget: int,
    aggressive: bool,
    kol: bool,
    K: NDArray,
    K_chunk: NDArray,
    Z: NDArray,
    known: int,
    L: NDArray,
    beta: NDArray,
    size: NDArray,
    y: NDArray,
    w: NDArray,
    F: NDArray,
    steps: NDArray,
    added: NDArray,
    counts: NDArray,
) -> bool: ...
def coefficients(L: NDArray, beta: NDArray, A: NDArray) -> None: ...

# LASVM: cpp/learn/lasvm.h. The first arguments of all three functions are its state: tau, rows, held, place, area,
# kept, sizes, values, marks, zeros, ends, level, tally, K_chunk, log (cpp/bind/svm.cpp lists the fields of each array).
# Then come, for lasvm_pass: y, C, row_ids, at, position, F, steps, counts, work
def lasvm_pass(*args: NDArray | float) -> int: ...

# for lasvm_finish: position, work
def lasvm_finish(*args: NDArray | float) -> int: ...

# for lasvm_end_chunk: places, threads
def lasvm_end_chunk(*args: NDArray | float) -> None: ...
