# The functions of the compiled core. The headers in cpp/ that the comments name say what their arguments mean.
# Rows and kernel values are float32 or float64, all those of one call of the same dtype.
from collections.abc import Sequence
from typing import Any, Self

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
def norm_range(sq_norms: NDArray) -> tuple[float, float]: ...
def compress_rows(X: NDArray, indptr: NDArray, indices: NDArray, data: NDArray) -> None: ...

# A map on its own, for tests
def apply_map(map: int, params: Sequence[float], values: NDArray) -> None: ...

# What learners of rows count: cpp/learn/counts.h. `add` counts some rounds at once; `count_next` a round with the next
# row, and returns its id.
class Counts:
    n_seen: int
    n_mistakes: int
    n_updates: int
    next_row_id: int
    def copy(self) -> Self: ...
    def add(self, rounds: int, last_row_id: int, mistakes: int = 0, updates: int = 0) -> None: ...
    def count_next(self) -> int: ...
    def skip_to(self, row_id: int) -> None: ...

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
    counts: Counts,
    entries: NDArray,
    n_entries: NDArray,
    F: NDArray,
) -> None: ...
def prank_dual_pass(K: NDArray, y: NDArray, f: NDArray, b: NDArray, tau: NDArray, sums: NDArray, F: NDArray) -> int: ...
def prank_primal_pass(
    data: NDArray,
    indptr: NDArray | None,
    indices: NDArray | None,
    y: NDArray,
    row_ids: NDArray,
    w: NDArray,
    b: NDArray,
    counts: Counts,
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

# A learner with a budget: cpp/learn/budget.h. `rule` and `policy` are names of its tables.
class BudgetSettings: ...

class BudgetRecord(Counts):
    scale: float
    support_scale: float
    Q: float
    M: float
    shrink: float
    size: int
    head: int
    random: int

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
    record: BudgetRecord,
    y: NDArray,
    w: NDArray,
    row_ids: NDArray,
    entries: NDArray,
    n_entries: NDArray,
    F: NDArray,
) -> None: ...

# The same for single examples, bound to all arrays of the learner, its slots and its ledger. `learn` returns False if
# it cannot learn from the example, and has then changed nothing.
class BudgetOne32:
    def learn(self, x: NDArray, y: NDArray, kxx: float, longer: NDArray | None) -> bool: ...

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
    record: BudgetRecord,
    slot_row_ids: NDArray,
    entered: NDArray,
    room: NDArray,
    norms: NDArray,
    panels: NDArray,
    rows: dict[str, Any],
    kept: dict[Any, Any],
    entries: NDArray,
    n_entries: NDArray,
) -> BudgetOne32: ...

# What the core has, for tests: name → (signs, regularised, widens); name → needs_gram
def budget_rules() -> dict[str, tuple[bool, bool, bool]]: ...
def budget_policies() -> dict[str, bool]: ...

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
class ProjectronRecord(Counts):
    size: int
    beta_error: float
    alpha_error: float

def project_rows(L: NDArray, size: int, K: NDArray, Z: NDArray, threads: int) -> None: ...

# Single examples by their exact scores
class Exact32:
    def all_right(self, y: NDArray) -> bool: ...

class Exact64(Exact32): ...

def exact(K: NDArray, A: NDArray, record: ProjectronRecord) -> Exact32: ...

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
    entries: NDArray,
    n_entries: NDArray,
    F: NDArray,
    added: NDArray,
) -> bool: ...
def coefficients(L: NDArray, beta: NDArray, A: NDArray) -> None: ...

# LASVM: cpp/learn/lasvm.h has the arrays and records; those of Python are in onkel.learners.lasvm.solution and
# onkel.learners.storage.kernel_rows.
# Structured arrays (outputs, slots, places, taken, position) are passed as their bytes.
class LasvmRecord(Counts):
    n_slots: int
    n_free: int

class LasvmSolution:
    def assign(self, other: LasvmSolution) -> None: ...

def lasvm_solution(
    record: LasvmRecord,
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

# The columns of a CoNLL file: cpp/sequence/conll.h. `read` returns whether there is more to read; `malformed` describes
# the line at which reading stopped: what is wrong with it, its number, its first and last byte, and what came.
class ConllReader:
    text: bytes
    n_columns: int
    n_tokens: int
    n_starts: int
    def __init__(
        self, text: bytes, n_columns: int, separator: str, comment: str, conllu: bool, kept: Sequence[int]
    ) -> None: ...
    def read(self, most: int) -> bool: ...
    def codes(self, column: int, out: NDArray) -> None: ...
    def starts(self, out: NDArray) -> None: ...
    def values(self, column: int) -> list[str] | None: ...
    def malformed(self) -> tuple[str, int, int, int, int] | None: ...

# Features by templates: cpp/sequence/templates.h. `add` and `find` return the number of ids that they wrote.
class FeatureIndex:
    size: int
    n_codes: int
    def __init__(
        self, parts: Sequence[Sequence[tuple[int, int]]], inside: Sequence[bool], n_columns: int, reach: int
    ) -> None: ...
    def add(
        self,
        codes: NDArray,
        sizes: NDArray,
        starts: NDArray,
        skip_first: bool,
        base: int,
        indptr: NDArray,
        ids: NDArray,
    ) -> int: ...
    def find(
        self,
        codes: NDArray,
        sizes: NDArray,
        starts: NDArray,
        skip_first: bool,
        base: int,
        indptr: NDArray,
        ids: NDArray,
    ) -> int: ...
    def load(self, templates: NDArray, codes: NDArray, sizes: NDArray) -> None: ...
    def export_to(self, templates: NDArray, codes: NDArray) -> None: ...
    def copy(self) -> FeatureIndex: ...

def hash_features(
    parts: Sequence[Sequence[tuple[int, int]]],
    inside: Sequence[bool],
    seeds: NDArray,
    n_bits: int,
    edges: NDArray,
    hashes: NDArray,
    starts: NDArray,
    skip_first: bool,
    base: int,
    indptr: NDArray,
    ids: NDArray,
) -> int: ...

# Features that are strings: cpp/sequence/string_table.h. Each token is a list or a tuple of strings.
class StringTable:
    size: int
    def add(self, tokens: list[Any], ids: NDArray) -> None: ...
    def find(self, tokens: list[Any], ids: NDArray) -> None: ...
    def names(self) -> list[str]: ...
    def selected(self, ids: NDArray) -> StringTable: ...
    def copy(self) -> StringTable: ...
    def bytes(self) -> bytes: ...
    def ends(self, out: NDArray) -> None: ...
    @staticmethod
    def load(bytes: NDArray, ends: NDArray) -> StringTable: ...

def hash_tokens(tokens: list[Any], n_bits: int, ids: NDArray) -> None: ...
def hash_strings(strings: list[str], out: NDArray) -> None: ...

# Sequences: cpp/sequence/types.h. Tables of weights are float32 or float64, all of one call of the same dtype, and are
# changed in place with their moments, which are float64, and with `counts`. With `replay` the labellings z are given,
# and only the updates are made.
class TagCounts:
    n_seen: int
    n_updates: int
    n_rows: int
    norm_sq: float
    radius_sq: float
    def copy(self) -> Self: ...

def learn_sentences(
    starts: NDArray,
    indptr: NDArray,
    ids: NDArray,
    values: NDArray | None,
    observed_indptr: NDArray | None,
    observed_ids: NDArray | None,
    order: NDArray,
    y: NDArray,
    margin: float,
    replay: bool,
    labels: int,
    rows: NDArray,
    features: NDArray,
    features_moment: NDArray,
    transitions: NDArray,
    transitions_moment: NDArray,
    second: NDArray | None,
    second_moment: NDArray | None,
    observed: NDArray | None,
    observed_moment: NDArray | None,
    counts: TagCounts,
    z: NDArray,
    updated: NDArray,
) -> None: ...
def decode(
    E: NDArray,
    labels: int,
    starts: NDArray,
    transitions: NDArray,
    second: NDArray | None,
    y: NDArray,
    scores: NDArray,
    threads: int,
) -> None: ...
def k_best(
    E: NDArray, labels: int, transitions: NDArray, second: NDArray | None, y: NDArray, scores: NDArray
) -> int: ...
def add_sparse_rows(
    w_indptr: NDArray,
    w_places: NDArray,
    w: NDArray,
    indptr: NDArray,
    ids: NDArray,
    values: NDArray | None,
    E: NDArray,
    threads: int,
) -> None: ...
