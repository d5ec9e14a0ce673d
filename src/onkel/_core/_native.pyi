# The functions of the compiled core. The headers in cpp/ that the comments name say what their arguments mean.
# Rows and kernel values are float32 or float64, all those of one call of the same dtype.
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

# SIMD targets: cpp/target/dispatch.h
def simd_targets() -> list[str]: ...
def simd_target() -> str: ...
def select_simd(name: str) -> bool: ...

# Changes that take effect together or not at all, for onkel._core.transaction
def commit(
    attributes: list[tuple[dict[str, Any], dict[str, Any]]],
    copies: list[tuple[NDArray, NDArray, NDArray]],
    packs: list[tuple[NDArray, NDArray, NDArray]],
    rights: list[tuple[Right32, int, NDArray]],
) -> None: ...
def replace_all(target: dict[str, Any], source: dict[str, Any]) -> None: ...

# cpp/bind/lock.cpp
class Lock:
    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, error: object, traceback: object) -> None: ...

# Products. The right-hand side: a kernel (op, map and params) and packed rows, bound once for many products:
# cpp/product/types.h. `values` computes the kernel values of one dense row; `can_replace` says whether a transaction
# can write row `place` of its panels. `least` and `most` are the least squared norm that is not 0, and the largest, of
# the rows given; of a single row the core computes them. A product returns False, and has computed nothing, if float32
# does not have the range for the rows: then it is to be computed in float64.
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
        least: float,
        most: float,
    ) -> bool: ...
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
        least: float,
        most: float,
    ) -> bool: ...
    def values(self, x: NDArray, out: NDArray) -> bool: ...
    def can_replace(self, place: int) -> bool: ...

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
    least: float,
    most: float,
) -> Right32: ...

# Preparing rows for products: cpp/product/pack.h
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
def squared_norms_dense(X: NDArray, sums: NDArray) -> None: ...
def squared_norms_csr(indptr: NDArray, indices: NDArray, data: NDArray, sums: NDArray) -> None: ...
def row_sums_dense(X: NDArray, sums: NDArray) -> None: ...
def row_sums_csr(indptr: NDArray, indices: NDArray, data: NDArray, sums: NDArray) -> None: ...
def count_nonzeros(X: NDArray, counts: NDArray) -> None: ...
def all_finite(X: NDArray) -> bool: ...
def compress_rows(X: NDArray, indptr: NDArray, indices: NDArray, data: NDArray) -> None: ...

# A map on its own, for tests
def apply_map(map: int, params: Sequence[float], values: NDArray) -> None: ...

# The perceptron without a budget: cpp/learn/perceptron.h
def least_margins(
    place: NDArray, first: int, y: NDArray, F: NDArray, offsets: NDArray, lengths: NDArray | None, margin: NDArray
) -> int: ...
def perceptron_pass(
    K: NDArray,
    place: NDArray,
    first: int,
    y: NDArray,
    w: NDArray,
    bias: float,
    F: NDArray,
    offsets: NDArray,
    steps: NDArray,
    sq_norms: NDArray,
) -> int: ...
def primal_pass(
    data: NDArray,
    indptr: NDArray | None,
    indices: NDArray | None,
    y: NDArray,
    w: NDArray,
    row_ids: NDArray,
    eta: float,
    bias: bool,
    V: NDArray,
    moments: NDArray,
    counts: NDArray,
    entries: NDArray,
    n_entries: NDArray,
    F: NDArray,
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

# A learner with a budget: cpp/learn/budget.h. `rule` and `policy` are names of its tables, `record` the bytes of
# onkel.learners.policies.RECORD.
class BudgetSettings: ...

def budget_settings(
    rule: str,
    policy: str,
    budget: int | None,
    C: float,
    epsilon: float,
    eta: float,
    lam: float,
    nu: float,
    root_schedule: bool,
    intercept: bool,
) -> BudgetSettings: ...
def budget_pass(
    settings: BudgetSettings,
    K: NDArray,
    K_chunk: NDArray,
    K_slots: NDArray | None,
    coef: NDArray,
    k_ss: NDArray,
    row_in_slot: NDArray,
    base: NDArray | None,
    sq_norms: NDArray,
    margin: NDArray,
    offset: NDArray,
    record: NDArray,
    y: NDArray,
    w: NDArray,
    F: NDArray,
    steps: NDArray,
) -> None: ...

# The same for single examples, bound to all arrays of the learner, its slots and its ledger. `learn` returns False if
# it cannot learn from the example, and has then changed nothing.
class BudgetOne32:
    def learn(self, x: NDArray, y: NDArray, kxx: float, row_id: int, longer: NDArray | None) -> bool: ...

class BudgetOne64(BudgetOne32): ...

def budget_one(
    settings: BudgetSettings,
    K: NDArray,
    K_slots: NDArray | None,
    coef: NDArray,
    k_ss: NDArray,
    sq_norms: NDArray,
    margin: NDArray,
    offset: NDArray,
    record: NDArray,
    slot_row_ids: NDArray,
    entered: NDArray,
    room: NDArray,
    norms: NDArray,
    panels: NDArray,
    rows: dict[str, Any],
    kept: dict[Any, Any],
    ledger_room: NDArray,
    ledger_count: NDArray,
) -> BudgetOne32: ...

# What the core has, for tests: name → (signs, regularised, widens); name → needs_gram; field → offset
def budget_rules() -> dict[str, tuple[bool, bool, bool]]: ...
def budget_policies() -> dict[str, bool]: ...
def budget_record() -> dict[str, int]: ...

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

# The Projectron: cpp/learn/projectron.h
class ProjectronRecord:
    n_seen: int
    n_mistakes: int
    n_updates: int
    next_row_id: int
    size: int
    beta_error: float
    alpha_error: float
    def copy(self) -> ProjectronRecord: ...

def project_rows(L: NDArray, size: int, K: NDArray, Z: NDArray, threads: int) -> None: ...

# Single examples by their exact scores
class Exact32:
    def all_right(self, y: NDArray, row_id: int) -> bool: ...

class Exact64(Exact32): ...

def exact(K: NDArray, A: NDArray, record: ProjectronRecord) -> Exact32: ...

# Screening of single examples for the Projectron, in single precision: cpp/learn/screen.h
class Screen32:
    def by_projection(self, kxx: float, y: NDArray, row_id: int) -> int: ...
    def by_coefficients(self, kxx: float, y: NDArray, row_id: int) -> int: ...
    def score(self, K: NDArray, kxx: float) -> float: ...

class Screen64(Screen32): ...

def screen(
    eta: float,
    budget: int,
    aggressive: bool,
    kol: bool,
    K: NDArray,
    L_inv: NDArray,
    norm: float,
    beta: NDArray,
    deferred: NDArray | None,
    F: NDArray,
    steps: NDArray,
    record: ProjectronRecord,
    entries: NDArray,
    n_entries: NDArray,
) -> Screen32: ...
def apply_deferred(L: NDArray, size: int, deferred: NDArray, beta: NDArray) -> None: ...
def invert_rows(
    L: NDArray, first: int, last: int, L_inv: NDArray, sq_norm: float, sq_norm_of_L: float
) -> tuple[float, float]: ...

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
    record: ProjectronRecord,
    y: NDArray,
    w: NDArray,
    row_ids: NDArray,
    F: NDArray,
    steps: NDArray,
    added: NDArray,
) -> bool: ...
def coefficients(L: NDArray, beta: NDArray, A: NDArray) -> None: ...

# LASVM: cpp/learn/lasvm.h has the arrays and records, onkel.learners.lasvm_solution and kernel_cache those of Python.
# Records (counters, outputs, slots, places, taken, position) are passed as their bytes.
class LasvmSolution:
    def assign(self, other: LasvmSolution) -> None: ...

def lasvm_solution(
    counters: NDArray,
    outputs: NDArray,
    slots: NDArray,
    freed: NDArray,
    alpha: NDArray,
    gradient: NDArray,
    can_grow: NDArray,
    can_shrink: NDArray,
    sign: NDArray,
    listed: NDArray,
    zeros: NDArray,
) -> LasvmSolution: ...

# A solution, kernel rows and a chunk, bound once for all passes over it. `process` and `finish` return the slot whose
# kernel row is missing, or -1, after about `work` entries of gradients.
class Lasvm32:
    def process(
        self,
        targets: NDArray,
        box: NDArray,
        row_ids: NDArray,
        kept_in: NDArray,
        scores: NDArray,
        steps: NDArray,
        work: int,
    ) -> int: ...
    def finish(self, work: int) -> int: ...
    def end_chunk(self, open: int, threads: int) -> None: ...

class Lasvm64(Lasvm32): ...

def lasvm(
    solution: LasvmSolution,
    tol: float,
    rows: NDArray,
    places: NDArray,
    place_of: NDArray,
    area: int,
    clock: NDArray,
    K_chunk: NDArray,
    taken: NDArray,
    position: NDArray,
) -> Lasvm32: ...
