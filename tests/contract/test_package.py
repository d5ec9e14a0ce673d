"""The package as a whole: its names, what importing it costs, its settings, its compiled border."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onkel
from onkel import registry
from onkel._core import Map, Op, _native, aligned_empty, simd_targets, thread_count
from onkel.errors import ParameterError
from onkel.kernels import RBF, Kernel, Linear, expand

PINNED = Path(__file__).with_name("public_paths.txt").read_text("utf-8")


def test_the_public_names_are_those_that_are_pinned():
    pinned = set(re.findall(r"^onkel\.(\w+)", PINNED, re.MULTILINE))
    assert sorted({*onkel.__all__, "river"}) == sorted(pinned)
    assert pinned <= set(dir(onkel))  # also river, which a star import leaves out, since it needs another package
    for name in onkel.__all__:
        assert getattr(onkel, name) is not None


def test_the_registry_names_things_that_exist():
    names = [entry.name for entry in registry.ENTRIES]
    assert len(names) == len(set(names))
    for entry in registry.ENTRIES:
        module = importlib.import_module(entry.module)
        if entry in registry.estimators():
            assert getattr(module, entry.name) is getattr(onkel, entry.name)


@pytest.mark.parametrize("module", [entry.module for entry in registry.ENTRIES if entry.task == "module"])
def test_every_public_object_says_what_it_is(module):
    for name in importlib.import_module(module).__all__:
        assert getattr(importlib.import_module(module), name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Perceptronn'"):
        onkel.Perceptronn  # noqa: B018


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_importing_onkel_loads_the_standard_library_only():
    code = (
        "import sys; before = set(sys.modules); import onkel; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    assert run(code).stdout.split() == ["onkel"]


def test_a_star_import_needs_no_optional_package():
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "river", "pandas", "polars", "tqdm"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from onkel import *
import onkel
assert KernelPerceptron is onkel.KernelPerceptron
assert plot.GramDisplay is onkel.plot.GramDisplay
assert "river" in dir(onkel) and "river" not in globals()
try:
    onkel.river
except ImportError as error:
    print(error)
"""
    found = run(code)
    assert 'pip install "onkel[river]"' in found.stdout, found.stderr


def test_importing_the_kernels_does_not_load_matplotlib_or_pandas():
    code = "import sys, onkel.kernels, onkel.gram, onkel.plot; print({'matplotlib', 'pandas'} & set(sys.modules))"
    assert run(code).stdout.strip() == "set()"


@pytest.mark.parametrize("name", simd_targets())
def test_onkel_simd_forces_a_path(name):
    assert run("from onkel._core import simd_target; print(simd_target())", ONKEL_SIMD=name).stdout.strip() == name


def test_an_unknown_simd_path_is_refused():
    assert "ONKEL_SIMD must be one of" in run("import onkel.kernels", ONKEL_SIMD="mmx").stderr


def test_the_number_of_threads_follows_the_environment(monkeypatch):
    monkeypatch.delenv("ONKEL_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count() >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert thread_count() == 3
    monkeypatch.setenv("ONKEL_NUM_THREADS", "5")
    assert thread_count() == 5
    monkeypatch.setenv("ONKEL_NUM_THREADS", "many")
    with pytest.raises(
        ParameterError, match="ONKEL_NUM_THREADS must be a whole number of threads, 1 or more; got 'many'"
    ):
        thread_count()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_products_work_in_a_forked_child():
    code = """
import os, warnings
import numpy as np
from onkel.kernels import RBF, expand
warnings.simplefilter("ignore")
X = np.random.default_rng(0).random((2000, 30))
expected = expand(RBF(), X, X, np.ones(2000))
child = os.fork()
if child == 0:
    os._exit(0 if (expand(RBF(), X, X, np.ones(2000)) == expected).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(code, ONKEL_NUM_THREADS="2").stdout.strip() == "0"


# ---------------------------------------------------------------- the compiled border


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_panels_hold_the_rows_feature_by_feature(dtype):
    rng = np.random.default_rng(0)
    S = (rng.random((70, 9)) * (rng.random((70, 9)) < 0.4)).astype(dtype)
    width = 128 // np.dtype(dtype).itemsize
    count = -(-70 // width)
    twin = np.zeros((count, 9, width), dtype=dtype)
    for i in range(70):
        twin[i // width, :, i % width] = S[i]
    panels = aligned_empty(twin.shape, dtype)
    assert panels.ctypes.data % 64 == 0
    panels.fill(7)
    _native.pack_dense(S, panels)
    np.testing.assert_array_equal(panels, twin)
    counts = np.empty(70, dtype=np.int64)
    _native.count_nonzeros(S, counts)
    np.testing.assert_array_equal(counts, (S != 0).sum(axis=1))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(indptr[-1] + 1, dtype=np.int32), np.empty(indptr[-1] + 1, dtype=dtype)
    _native.compress_rows(S, indptr, indices, data)
    np.testing.assert_array_equal(indices[:-1], np.nonzero(S)[1])
    np.testing.assert_array_equal(data[:-1], S[np.nonzero(S)])
    panels.fill(7)
    _native.pack_csr(indptr, indices[:-1], data[:-1], None, panels)
    np.testing.assert_array_equal(panels, twin)
    dense, csr = np.empty(70), np.empty(70)
    _native.squared_norms_dense(S, dense)
    _native.squared_norms_csr(indptr, indices[:-1], data[:-1], csr)
    np.testing.assert_array_equal(dense, csr)
    np.testing.assert_allclose(dense, (S.astype(np.float64) ** 2).sum(axis=1), rtol=1e-14)


def test_the_border_refuses_to_convert():
    with pytest.raises(TypeError):
        _native.squared_norms_dense(np.ones((2, 2), dtype=int), np.empty(2))
    with pytest.raises(TypeError):
        _native.squared_norms_dense(np.ones((2, 2)).T[::-1], np.empty(2))
    with pytest.raises(TypeError):
        _native.squared_norms_dense(np.ones((2, 2)), np.empty(2, dtype=np.float32))


def test_the_codes_of_the_border_are_those_of_the_kernels():
    forms = {kernel()._form for kernel in _vector_kernels()}
    assert {form.op for form in forms} <= set(Op)
    assert {form.map for form in forms} <= set(Map)


def _vector_kernels() -> list[type[Kernel]]:
    from onkel.kernels import vector

    return [getattr(vector, name) for name in vector.__all__]


def test_a_long_product_can_be_interrupted():
    """Ctrl-C is heard between two native calls, each a fraction of a second."""
    code = """
import _thread, threading, time
import numpy as np
from onkel.kernels import RBF, expand
X = np.random.default_rng(0).random((60_000, 200))
threading.Timer(0.5, _thread.interrupt_main).start()
start = time.monotonic()
try:
    for _ in range(100):
        expand(RBF(), X, X, np.ones(60_000))
except KeyboardInterrupt:
    print("heard", time.monotonic() - start < 10)
"""
    assert run(code).stdout.strip() == "heard True"


def test_read_only_memory_maps_are_used_as_they_are(tmp_path):
    X = np.random.default_rng(0).random((50, 12))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(expand(RBF(), mapped, mapped, np.ones(50)), expand(RBF(), X, X, np.ones(50)))
    np.testing.assert_array_equal(Linear()(mapped), Linear()(X))
