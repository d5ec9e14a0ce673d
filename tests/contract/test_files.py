"""Models in files: every estimator comes back as it was and goes on as if it had never stopped; what is refused."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import zoo
from contract.registered import rings
from contract.stored import digest, file_name, missing, predictions, report
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel.errors import FileFormatError, InputError, KindError
from onkel.files import Summary
from onkel.files.container import CODES
from onkel.kernels import RBF, Custom

TESTS = Path(__file__).parents[1]
each = pytest.mark.parametrize("name", zoo.SPECIMENS)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Files of everything, written by another process, and what that process says of them."""
    folder = tmp_path_factory.mktemp("written")
    command = [sys.executable, "-m", "contract.stored", str(folder)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(TESTS)}, stdout=subprocess.PIPE, check=True)
    return folder, json.loads(done.stdout)


@pytest.fixture
def machine():
    return onkel.KernelPerceptron(gamma=1.0, random_state=0).fit(*rings())


# ---------------------------------------------------------------- every estimator


def test_every_estimator_of_the_registry_can_be_stored():
    assert missing() == set()


@each
def test_what_another_process_wrote_is_the_same_to_the_bit_and_goes_on_the_same(name, written):
    folder, said = written
    loaded = onkel.load(folder / file_name(name))
    assert report(zoo.SPECIMENS[name], loaded) == said[name]


@each
def test_the_model_of_a_file_predicts_what_the_estimator_predicts(name, written):
    folder, said = written
    path, estimator, probes = folder / file_name(name), zoo.made(name), zoo.SPECIMENS[name].data.probes
    if not hasattr(estimator, "model_"):
        with pytest.raises(InputError, match="model_"):
            onkel.load(path, model=True)
        return
    model = onkel.load(path, model=True)
    assert type(model) is type(estimator.model_)
    assert predictions(model, probes) == said[name]["predicts"]
    onkel.save(model, folder / "model.onkel")
    again = onkel.load(folder / "model.onkel")
    assert predictions(again, probes) == said[name]["predicts"]
    assert digest(again) == digest(model)
    assert type(onkel.load(folder / "model.onkel", model=True)) is type(model)


@each
def test_a_file_is_described_without_its_arrays(name, written, monkeypatch):
    folder, _ = written
    monkeypatch.setattr("onkel.files.container.read", None)
    found = onkel.inspect(folder / file_name(name))
    assert isinstance(found, Summary)
    estimator = zoo.made(name)
    assert found.kind == f"estimator/{type(estimator).__name__}"
    assert found.size == (folder / file_name(name)).stat().st_size
    assert type(estimator).__name__ in str(found)
    assert found.onkel_version == onkel.__version__
    assert set(found.params) == set(estimator.get_params(deep=False))
    if hasattr(estimator, "classes_"):
        assert found.about["n_classes"] == len(estimator.classes_)


def test_the_safetensors_library_reads_every_file(written):
    from safetensors.numpy import load_file

    folder, _ = written
    for name in zoo.SPECIMENS:
        path = folder / file_name(name)
        arrays = load_file(path)
        shown = onkel.inspect(path).arrays
        assert {key: (a.dtype.name, a.shape) for key, a in arrays.items()} == dict(shown)


def test_equal_estimators_make_equal_files(written, tmp_path):
    folder, _ = written
    for name in ("KernelPerceptron", "SVC", "tagger, templates", "a random state"):
        onkel.save(zoo.made(name), tmp_path / "again.onkel")
        assert (tmp_path / "again.onkel").read_bytes() == (folder / file_name(name)).read_bytes()


def test_no_file_holds_a_pickle(written):
    folder, _ = written
    for path in folder.glob("*.onkel"):
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        document = json.loads(header.pop("__metadata__")["onkel"])
        assert set(document) >= {"format", "onkel_version", "state", "encodings", "summary"}
        assert {entry["dtype"] for entry in header.values()} <= set(CODES)


# ---------------------------------------------------------------- what is seen of a file


def test_print_shows_what_a_file_holds(machine, tmp_path):
    onkel.save(machine, tmp_path / "rings.onkel")
    shown = str(onkel.inspect(tmp_path / "rings.onkel"))
    assert "KernelPerceptron" in shown
    assert "RBF(gamma=1.0)" in shown
    assert f"{len(machine.support_)}" in shown
    assert "0, 1" in shown
    assert str(machine.certificate_).splitlines()[0] in shown
    assert " kB" in shown


def test_loaded_arrays_of_a_model_are_views_of_the_file(machine, tmp_path):
    onkel.save(machine.model_, tmp_path / "model.onkel")
    model = onkel.load(tmp_path / "model.onkel")
    array = model.coef
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(array.base, memoryview)
    assert not model.coef.flags.writeable


# ---------------------------------------------------------------- writing


def test_a_file_keeps_its_permissions_and_a_new_one_has_those_of_the_umask(machine, tmp_path):
    path = tmp_path / "m.onkel"
    before = os.umask(0o027)
    try:
        onkel.save(machine, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    onkel.save(machine, os.fsencode(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link_and_its_file_is_replaced(machine, tmp_path):
    (tmp_path / "link.onkel").symlink_to(tmp_path / "real.onkel")
    onkel.save(machine, tmp_path / "link.onkel")
    assert (tmp_path / "link.onkel").is_symlink()
    assert digest(onkel.load(tmp_path / "real.onkel")) == digest(machine)


@pytest.mark.parametrize("failing", ["os.fsync", "os.replace", "os.fchmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(machine, tmp_path, monkeypatch, failing, error):
    path = tmp_path / "m.onkel"
    onkel.save(machine, path)
    old = path.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(f"onkel.files.container.{failing}", fail)
    with pytest.raises(type(error)):
        onkel.save(machine.partial_fit(*rings(seed=3)), path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["m.onkel"]


def test_a_file_that_is_mapped_may_be_replaced(machine, tmp_path):
    path, (X, y) = tmp_path / "m.onkel", rings()
    onkel.save(machine.model_, path)
    model = onkel.load(path)
    before = model.predict(X)
    onkel.save(onkel.SVC(kernel="linear").fit(X + 3, y), path)
    np.testing.assert_array_equal(model.predict(X), before)


def test_saving_while_another_thread_learns_writes_a_state_of_whole_examples(tmp_path):
    X, y = rings(400)
    machine, path = (
        onkel.Forgetron(budget=20, gamma=1.0, random_state=0).partial_fit(X[:5], y[:5]),
        tmp_path / "m.onkel",
    )
    twin, done = onkel.Forgetron(budget=20, gamma=1.0, random_state=0).partial_fit(X[:5], y[:5]), threading.Event()

    def learn():
        for x, label in zip(X[5:], y[5:], strict=True):
            machine.learn_one(x, label)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    rounds = 5
    while not done.is_set():
        onkel.save(machine, path)
        loaded = onkel.load(path)
        for i in range(rounds, loaded.n_rounds_):
            twin.learn_one(X[i], y[i])
        rounds = loaded.n_rounds_
        assert digest(loaded) == digest(twin)
    thread.join()


# ---------------------------------------------------------------- what is refused


def tuples(A, B):
    return np.array([[float(len(a) * len(b)) for b in B] for a in A])


def overflowing():
    X, y = rings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onkel.Perceptron(random_state=0).fit(1e307 * X, y)


def objects(*values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


REFUSED = {
    "a function that is not registered": (
        lambda: onkel.KernelPerceptron(Custom(lambda A, B: A @ B.T)).fit(*rings()),
        "onkel.kernels.register",
    ),
    "a function in place of a kernel": (
        lambda: onkel.KernelPerceptron(lambda A, B: A @ B.T).fit(*rings()),
        "onkel.kernels.register",
    ),
    "examples that are tuples": (
        lambda: onkel.KernelPerceptron(Custom(tuples, takes="objects")).fit(objects((1,), (1, 2)), [0, 1]),
        "strings, numbers",
    ),
    "weights that are infinite": (lambda: overflowing(), "such that it can be loaded: .*'V' must be finite"),
    "a label that is no date": (
        lambda: onkel.SVC().fit(rings()[0], np.array(["NaT", "2020"], "M8[D]")[rings()[1]]),
        "such that it can be loaded: .*'classes'",
    ),
    "a pipeline": (lambda: make_pipeline(StandardScaler(), onkel.SVC()).fit(*rings()), r"pipeline\[-1\]"),
    "a class": (lambda: onkel.SVC, "an estimator of onkel or its model_"),
    "an array": (lambda: np.zeros(3), "got ndarray"),
    "a part of an estimator": (
        lambda: onkel.SVC().fit(*rings()).model_.decision,
        "an estimator of onkel or its model_",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_stored_is_refused_and_no_file_is_made(what, tmp_path):
    make, message = REFUSED[what]
    with pytest.raises((InputError, KindError), match=message):
        onkel.save(make(), tmp_path / "m.onkel")
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_the_reader_does_not_know_is_refused_with_advice(tmp_path):
    code = (
        "import sys, numpy as np, onkel\n"
        "f = lambda A, B: A @ B.T\n"
        "onkel.kernels.register('only.there', f)\n"
        "onkel.save(onkel.KernelPerceptron(onkel.kernels.Custom(f)).fit([[0.0], [1.0]], [0, 1]), sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.onkel")], check=True)
    with pytest.raises(FileFormatError, match=r"only\.there.*register"):
        onkel.load(tmp_path / "m.onkel")
    assert "only.there" in str(onkel.inspect(tmp_path / "m.onkel"))


def test_a_folder_a_missing_file_and_a_pipe_are_refused(tmp_path, machine):
    with pytest.raises(FileNotFoundError):
        onkel.load(tmp_path / "none.onkel")
    with pytest.raises(IsADirectoryError):
        onkel.load(tmp_path)
    with pytest.raises(InputError, match="path must name a file"):
        onkel.save(machine, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no folder/m\.onkel"):
        onkel.save(machine, tmp_path / "no folder" / "m.onkel")
    with pytest.raises(InputError, match="names a folder"):
        onkel.save(machine, f"{tmp_path}/new/")
    with pytest.raises(FileFormatError, match="not a file"):
        onkel.load("/dev/null")


def test_the_kernel_of_a_file_is_shown_even_if_it_cannot_be_loaded(tmp_path):
    onkel.save(onkel.KernelPerceptron(RBF(gamma=0.25)).fit(*rings()), tmp_path / "m.onkel")
    assert onkel.inspect(tmp_path / "m.onkel").about["kernel"] == "RBF(gamma=0.25)"
