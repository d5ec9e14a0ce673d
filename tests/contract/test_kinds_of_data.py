"""What data every estimator learns from: frames, memory maps, sparse rows, objects, Gram matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import (
    BUDGETED,
    CLASSIFIERS,
    DETECTORS,
    FRAMES,
    ONLINE,
    ONLINE_WITH_KERNEL,
    REGRESSORS,
    WITH_KERNEL,
    assert_same,
    data,
    each,
    each_online,
    each_with_kernel,
    exact,
    new,
    part,
    rings,
    scores,
    shown,
    state,
)

from onkel import KernelPerceptron, Projectron
from onkel.errors import GramError, KindError, ShapeError
from onkel.kernels import RBF, Custom, Precomputed

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize("frame", FRAMES)
@each
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_frames_give_the_names_of_the_features_and_other_columns_are_refused(cls, frame):
    X, y = data(cls)
    table, turned = frame({"age": X[:, 0], "size": X[:, 1]}), frame({"size": X[:, 1], "age": X[:, 0]})
    for learn in ("fit", "partial_fit") if cls in ONLINE else ("fit",):
        machine = getattr(new(cls), learn)(table, y)
        assert machine.feature_names_in_.tolist() == ["age", "size"]
        assert machine.n_features_in_ == 2
        np.testing.assert_array_equal(scores(machine, table), scores(getattr(new(cls), learn)(X, y), X))
        calls = [lambda m=machine: m.predict(turned)]
        calls += [lambda m=machine: m.partial_fit(turned, y)] if cls in ONLINE else []
        for call in calls:
            with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
                call()
        if cls in ONLINE:
            machine.learn_one({"age": 0.1, "size": -0.2}, 0)
            assert machine.n_features_in_ == 2
    assert not hasattr(new(cls).fit(X, y), "feature_names_in_")


@each
def test_read_only_memory_maps_are_learned_from_as_arrays_are(cls, tmp_path):
    X, y = data(cls)
    w = np.linspace(1.0, 2.0, len(X))
    maps = []
    for name, array in (("X", X), ("y", np.zeros(1) if y is None else y), ("w", w)):
        np.save(tmp_path / f"{name}.npy", array)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    U, v, u = maps
    assert not U.flags.writeable
    v = None if y is None else v
    mapped = new(cls).fit(U, v, sample_weight=u)
    expected = new(cls).fit(X, y, sample_weight=w)
    assert shown(mapped, U) == shown(expected, X)
    if cls in ONLINE:
        mapped.partial_fit(U, v, sample_weight=u).learn_one(U[0], part(v, 0))
        expected.partial_fit(X, y, sample_weight=w).learn_one(X[0], part(y, 0))
        assert shown(mapped, U) == shown(expected, X)
        assert mapped.predict_one(U[1]) == expected.predict_one(X[1])


@each
def test_read_only_sparse_rows_teach_what_dense_ones_do(cls):
    X, y = data(cls, classes=3)
    X = np.round(X)  # some zeros
    rows = sp.csr_array(X)
    for array in (rows.data, rows.indices, rows.indptr):
        array.setflags(write=False)
    once = {"shuffle": False, "max_iter": 1} if cls in ONLINE else {}
    dense, sparse = new(cls, **once).fit(X, y), new(cls, **once).fit(rows, y)
    np.testing.assert_allclose(scores(sparse, rows), scores(dense, X), rtol=1e-9, atol=1e-9)
    if cls in WITH_KERNEL:
        assert sp.issparse(sparse.support_vectors_)
        assert isinstance(dense.support_vectors_, np.ndarray)
        np.testing.assert_array_equal(dense.support_vectors_, X[dense.support_])
        np.testing.assert_array_equal(sparse.support_vectors_.toarray(), X[sparse.support_])


@each_online
def test_dense_and_sparse_rows_may_take_turns(cls):
    X, y = data(cls, classes=3)
    X = np.round(X)
    rows = sp.csr_array(X)
    known = {"classes": [0, 1, 2]} if cls in CLASSIFIERS else {}
    plain, *mixed = (new(cls).partial_fit(start, part(y, slice(15)), **known) for start in (X[:15], X[:15], rows[:15]))
    for i, start in enumerate(range(15, 60, 15)):
        where = slice(start, start + 15)
        plain.partial_fit(X[where], part(y, where)).learn_one(X[3], 0)
        for turn, one in enumerate(mixed):
            one.partial_fit(rows[where] if i % 2 == turn else X[where], part(y, where))
            one.learn_one(rows[[3]] if i % 2 != turn else X[3], 0)
    for one in mixed:
        assert_same(one, plain, X, 1e-9)
        fields = ["round", "row", "class"]
        np.testing.assert_array_equal(one.mistakes_[fields], plain.mistakes_[fields])
        np.testing.assert_allclose(scores(one, rows), scores(plain, X), atol=1e-9)


def test_support_vectors_are_dense_where_the_data_was():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 40)) * (rng.random((80, 40)) < 0.1)).astype(np.float32)  # multiplied as sparse rows
    y = rng.integers(0, 2, 80)
    fitted = KernelPerceptron(RBF(gamma=0.5), max_iter=2, random_state=0).fit(X, y)
    assert isinstance(fitted.support_vectors_, np.ndarray)
    np.testing.assert_array_equal(fitted.support_vectors_, X[fitted.support_])
    from_csr = KernelPerceptron(RBF(gamma=0.5), max_iter=2, random_state=0).fit(sp.csr_array(X), y)
    assert sp.issparse(from_csr.support_vectors_)
    np.testing.assert_array_equal(from_csr.support_vectors_.toarray(), X[from_csr.support_])


@pytest.mark.parametrize("given", [np.arange(40) % 2, np.full(40, np.nan), np.ones(3), np.ones((40, 2)), "y", 7])
@pytest.mark.parametrize("cls", DETECTORS)
def test_a_detector_of_novelty_does_not_look_at_y(cls, given):
    X, _ = data(cls)
    for rows in (X, X.tolist(), sp.csr_array(X)):
        found = []
        for y in (given, None):
            machine = new(cls).fit(rows, y)
            if cls in ONLINE:
                machine.set_params(warm_start=True).partial_fit(rows, y).fit(rows, y).learn_one(X[0], y)
            found.append(scores(machine, rows).tolist())
        assert found[0] == found[1]


# ---------------------------------------------------------------- objects


def shared_letters(a, b):
    """A cosine of sets of letters: 1 for equal ones."""
    one, other = set(a), set(b)
    return len(one & other) / np.sqrt(len(one) * len(other))


WORDS = ["aab", "abb", "xyz", "xxy", "ab", "zy", "b", "xz"]


@each_with_kernel
def test_strings_are_learned_from_by_a_kernel_that_takes_objects(cls):
    kernel = Custom(shared_letters, pairwise=True, takes="objects", psd=True)
    late = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    y = np.array(["early", "late"])[late] if cls in CLASSIFIERS else late.astype(float)
    own = {"budget": 5} if cls in BUDGETED else {"eta": 0.3} if cls is Projectron else {}
    own |= {"max_iter": 10} if cls in ONLINE else {}
    machine = new(cls, kernel=kernel, **own).fit(WORDS, None if cls in DETECTORS else y)
    answer = machine.predict(["ba", "zx"])
    if cls in CLASSIFIERS:
        assert answer.tolist() == ["early", "late"]
    elif cls in REGRESSORS:
        assert answer[0] < 0.5 < answer[1]
    if cls in ONLINE:
        assert machine.predict_one("ba") == answer[0]
        seen = machine.n_rounds_
        machine.learn_one("q", y[0]).partial_fit(WORDS, None if cls in DETECTORS else y)
        assert machine.n_rounds_ == seen + 9
    assert set(machine.support_vectors_) <= {*WORDS, "q"}
    if cls not in DETECTORS:
        with pytest.raises(ShapeError, match=r"y must give a label per object, shape \(8,\); got \(7,\)"):
            machine.fit(WORDS, y[:7])


# ---------------------------------------------------------------- precomputed

GRAM_ADVICE = r"a precomputed Gram matrix cannot grow.*Use fit without warm_start, or a kernel on the points"


@each_with_kernel
@pytest.mark.filterwarnings("error")
def test_a_precomputed_matrix_is_learned_from_as_the_kernel_is(cls):
    X, y = data(cls)
    kernel, fresh = RBF(gamma=0.5), X + 0.1
    machine = new(cls, kernel="precomputed", **exact(cls)).fit(kernel(X), y)
    expected = new(cls, kernel=kernel, **exact(cls)).fit(X, y)
    np.testing.assert_array_equal(machine.support_, expected.support_)
    np.testing.assert_allclose(scores(machine, kernel(fresh, X)), scores(expected, fresh), rtol=1e-9, atol=1e-9)
    if cls in ONLINE:
        fields = ["round", "row", "class"]
        np.testing.assert_array_equal(machine.mistakes_[fields], expected.mistakes_[fields])
        for i in range(5):
            assert machine.predict_one(kernel(fresh, X)[i]) == pytest.approx(expected.predict_one(fresh[i]))
    with pytest.raises(ValueError, match="expecting 60 features"):
        machine.predict(np.ones((4, 2)))


@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_a_precomputed_matrix_is_learned_from_only_by_fit(cls):
    X, y = data(cls)
    K = RBF(gamma=0.5)(X)
    machine = new(cls, kernel="precomputed").fit(K, y)
    before = state(machine)
    for call in (
        lambda: machine.partial_fit(K, y),
        lambda: machine.learn_one(K[0], 0),
        lambda: machine.learn_one(K[0], 1),  # whether it errs or not
        lambda: new(cls, kernel=Precomputed()).partial_fit(K, y),
        lambda: new(cls, kernel=Precomputed()).learn_one(K[0], 0),
        lambda: new(cls, kernel=Precomputed(), warm_start=True).fit(K, y).fit(K, y),
    ):
        with pytest.raises(KindError, match=GRAM_ADVICE):
            call()
    assert state(machine) == before


@each_with_kernel
def test_a_precomputed_matrix_that_is_none_is_refused(cls):
    X, y = data(cls, n=8)
    K = RBF(gamma=0.5)(X)
    K[0, 1] += 0.3
    machine = new(cls, kernel="precomputed")
    with pytest.raises(GramError, match=r"must be symmetric; got .*K_ij and K_ji that differ by 0\.3.*\(K \+ K"):
        machine.fit(K, y)
    assert vars(machine) == vars(new(cls, kernel="precomputed"))
    with pytest.raises(ValueError, match="square"):
        machine.fit(K[:, :5], y)


@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_a_small_precomputed_matrix_that_is_not_valid_is_told_of(cls):
    K = 0.5 * np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 1.5 and −0.5
    with pytest.warns(UserWarning, match=r"not positive semi-definite, so no theorem.*nearest_psd\(K\) repairs it"):
        new(cls, kernel="precomputed").fit(K, part(data(cls)[1], slice(2)))


@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_rows_of_no_weight_are_absent_from_a_precomputed_matrix_too(cls):
    X, y = data(cls, n=30)
    w = np.where(np.arange(30) % 3 == 0, 0.0, 1.0)
    K = RBF(gamma=0.5)(X)
    K[0, 1] = 10.0  # neither symmetric nor valid, were row 0 there
    machine = new(cls, kernel="precomputed").fit(K, y, sample_weight=w)
    expected = new(cls, kernel=RBF(gamma=0.5)).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(machine.mistakes_["row"], expected.mistakes_["row"])
    np.testing.assert_allclose(scores(machine, K)[w > 0], scores(expected, X)[w > 0], atol=1e-9)


def test_rows_of_no_weight_do_not_count_in_the_certificate_of_a_precomputed_matrix():
    X, y = rings(30)
    w = np.where(np.arange(30) % 3 == 0, 0.0, 1.0)
    K = RBF(gamma=1.0)(X)
    K[0, 1] = 10.0
    machine = KernelPerceptron("precomputed", random_state=0).fit(K, y, sample_weight=w)
    expected = KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    assert machine.certificate_.bound == pytest.approx(expected.certificate_.bound, rel=1e-9)
