"""Laws of files: what is written comes back, whoever stops it; what is damaged is refused; what lies does no harm.

The number of damaged files is 500, or the one in the environment as ONKEL_FUZZ (`make fuzz`).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import zoo
from contract.registered import CLASSIFIERS, DETECTORS, ONLINE, data, new, part
from contract.stored import digest, file_name, predictions
from hypothesis import given
from hypothesis import strategies as st
from interruptions import lines_of, stop_at_line
from mutate import Mutant, mutants

import onkel
from onkel.errors import FileFormatError, KindError, OnkelError
from onkel.files import container, document, tensors

TESTS = Path(__file__).parents[1]
N_FUZZ = int(os.environ.get("ONKEL_FUZZ", "500"))
PATH = "somewhere.onkel"  # only named in messages


# ---------------------------------------------------------------- arrays

numbers = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
plain_dtypes = st.sampled_from(["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">i4"])
text = st.text(st.characters(codec=None), max_size=5)
arrays = st.one_of(
    hnp.arrays(plain_dtypes, numbers),
    hnp.arrays(st.sampled_from(["U3", "S4", "M8[D]", "m8[s]", "M8[25ns]"]), numbers),
    hnp.arrays(object, numbers, elements=st.one_of(text), fill=st.nothing()),
    hnp.arrays(
        object,
        numbers,
        elements=st.one_of(text, st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.none()),
        fill=st.nothing(),
    ),
)


def same(a: Any, b: Any) -> bool:
    if a.dtype.newbyteorder("=") != b.dtype.newbyteorder("=") or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return [(type(x), repr(x)) for x in a.ravel()] == [(type(x), repr(x)) for x in b.ravel()]
    return a.astype(a.dtype.newbyteorder("=")).tobytes() == b.astype(b.dtype.newbyteorder("=")).tobytes()


@given(st.dictionaries(st.text("abc/_", min_size=1, max_size=4), arrays, max_size=4), st.booleans())
def test_arrays_of_every_kind_come_back_from_a_file(tmp_path_factory, named, turned):
    if turned:  # strided and in Fortran order
        named = {name: np.asfortranarray(a)[::-1] if a.ndim else a for name, a in named.items()}
    path = tmp_path_factory.mktemp("arrays") / "a.onkel"
    plain, encodings = tensors.encoded(named)
    container.write(path, {"encodings": encodings}, plain)
    found, mapped = container.read(path)
    back = tensors.decoded(mapped, found["encodings"], path)
    assert back.keys() == named.keys()
    assert all(same(back[name], array) for name, array in named.items())
    assert not any(array.flags.writeable for array in mapped.values())
    assert all(array.flags.aligned for array in mapped.values())


@pytest.mark.parametrize(
    "array", [np.zeros(2, complex), np.zeros(2, "f16"), np.zeros(2, "i8,f8"), np.array([{}, 1], object)]
)
def test_other_arrays_are_refused(array):
    with pytest.raises(KindError, match="'a'"):
        tensors.encoded({"a": array})


@pytest.mark.parametrize(
    "wrong",
    [
        b"[1",
        b"NaN",
        b'{"a": 1, "a": 2}',
        b"[" * 200 + b"]" * 200,
        b"[" * 10**6,
        b"1" * 10**5,
        b"\xff",
        b"",
        b'"\\ud800',
    ],
)
def test_json_that_is_none_is_refused(wrong):
    with pytest.raises(FileFormatError, match=PATH):
        document.parse(wrong, PATH)


# ---------------------------------------------------------------- streams that are stopped, saved, loaded and gone on


@pytest.mark.parametrize("cls", ONLINE)
def test_stopped_at_random_lines_saved_and_loaded_it_goes_on_as_if_it_had_not_been_saved(cls, tmp_path):
    rng = random.Random(cls.__name__)
    X, y = data(cls, n=140, classes=3)
    y = None if cls in DETECTORS else y
    machine = new(cls)
    if cls in CLASSIFIERS:
        machine.partial_fit(X[:6], y[:6], classes=[0, 1, 2])
    else:
        machine.partial_fit(X[:6], part(y, slice(6)))
    stops = 0
    while machine.n_rounds_ < 110:
        rows = slice(machine.n_rounds_, machine.n_rounds_ + rng.randint(1, 20))
        learn = functools.partial(machine.partial_fit, X[rows], part(y, rows))
        n_lines = len(lines_of(functools.partial(copy.deepcopy(machine).partial_fit, X[rows], part(y, rows))))
        stops += stop_at_line(learn, rng.randrange(n_lines), KeyboardInterrupt) is not None
        onkel.save(machine, tmp_path / "m.onkel")
        loaded = onkel.load(tmp_path / "m.onkel")
        assert digest(loaded) == digest(machine)
        more = slice(machine.n_rounds_, machine.n_rounds_ + 5)
        twin = copy.deepcopy(machine).partial_fit(X[more], part(y, more))
        assert digest(loaded.partial_fit(X[more], part(y, more))) == digest(twin)
        machine = loaded
    assert stops > 2


# ---------------------------------------------------------------- kill −9

KILLED = """
import os, random, signal, sys, time
import numpy as np, onkel
folder, times = sys.argv[1], int(sys.argv[2])
path, rng = os.path.join(folder, "m.onkel"), random.Random(0)
X = np.random.default_rng(0).standard_normal((3000, 20))
machines = [onkel.KernelPerceptron(gamma=0.1 + k, max_iter=1).fit(X, X[:, 0] > 0) for k in range(2)]
states = [machine.state() for machine in machines]
onkel.save(machines[0], path)
seen = [0, 0]
start = time.perf_counter(); onkel.save(machines[0], path); one = time.perf_counter() - start
for i in range(times):
    child = os.fork()
    if child == 0:
        k = i
        while True:
            k += 1
            onkel.save(machines[k % 2], path)
    time.sleep(rng.uniform(0, 6 * one))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    state = onkel.load(path).state()
    seen[states.index(state)] += 1
print(*seen, len(os.listdir(folder)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes that are killed are forked")
def test_a_hundred_saves_that_are_killed_leave_a_hundred_whole_files(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path), "100"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    old, new_one, files = map(int, done.stdout.split())
    assert old + new_one == 100
    assert min(old, new_one) > 0
    assert files > 1  # some were killed in the middle of writing


# ---------------------------------------------------------------- damaged files

SEEDS = ["KernelPerceptron", "Forgetron", "SVC", "tagger, templates", "sparse dicts", "strings", "ridge on centres"]


@functools.cache
def original(name: str) -> tuple[bytes, Any, Any]:
    """The bytes of a file, what it predicts, and data to predict."""
    path, probes = Path(folder_of_files(), file_name(name)), zoo.SPECIMENS[name].data.probes
    onkel.save(zoo.made(name), path)
    return path.read_bytes(), predictions(zoo.made(name), probes), probes


@functools.cache
def folder_of_files() -> str:
    import tempfile

    return tempfile.mkdtemp()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bits or bytes changed, moved, left out or added."""
    changed, header = bytearray(content), 8 + int.from_bytes(content[:8], "little")
    place = rng.randrange(header if rng.random() < 0.6 else len(content))
    match rng.randrange(7):
        case 0:
            changed[place] ^= 1 << rng.randrange(8)
        case 1:
            changed[place : place + rng.randint(1, 8)] = rng.randbytes(rng.randint(1, 8))
        case 2:
            del changed[place:]
        case 3:
            del changed[place : place + rng.randint(1, 64)]
        case 4:
            changed[place:place] = rng.randbytes(rng.randint(1, 64))
        case 5:
            other = rng.randrange(len(content))
            changed[place : place + 16], changed[other : other + 16] = (
                changed[other : other + 16],
                changed[place : place + 16],
            )
        case 6:
            changed[:8] = rng.choice([0, 1, 2**63, 2**64 - 1, len(content), len(content) - 8]).to_bytes(8, "little")
    return bytes(changed)


@pytest.mark.parametrize("part_of", range(4))
def test_a_damaged_file_is_refused(part_of, tmp_path):
    rng, path = random.Random(part_of), tmp_path / "damaged.onkel"
    for _ in range(N_FUZZ // 8):
        content, _, _ = original(rng.choice(SEEDS))
        mutant = damaged(content, rng)
        if mutant == content:
            continue
        path.write_bytes(mutant)
        with pytest.raises(FileFormatError, match=r"damaged\.onkel cannot be loaded"):
            onkel.load(path)
        with contextlib.suppress(FileFormatError):  # it does not read the arrays, nor see what happened to them
            onkel.inspect(path)


# ---------------------------------------------------------------- files that lie, with right checksums


@functools.cache
def lies(name: str) -> tuple[dict[str, Any], list[Mutant]]:
    """The document of a file, and all changes of one place of its state, its encodings and its arrays."""
    original(name)
    found, mapped = container.read(Path(folder_of_files(), file_name(name)))
    kept = {key: value for key, value in found.items() if key not in ("data_sha256", "header_sha256")}
    return kept, mutants({key: kept[key] for key in ("state", "encodings")}, mapped)


def write_lie(path: Path, name: str, rng: random.Random) -> None:
    """Writes a file with a change that a file can hold, with right checksums."""
    kept, found = lies(name)
    while True:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed, arrays = rng.choice(found).make()
        with contextlib.suppress(KindError, ValueError):  # JSON has no NaN, and arrays in files hold plain numbers
            return container.write(path, kept | changed, arrays)


def attempt(path: Path) -> tuple[Any, FileFormatError | None]:
    """What is loaded, or how it is refused."""
    try:
        return onkel.load(path), None
    except FileFormatError as error:
        return None, error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part_of", range(4))
def test_a_file_that_lies_is_refused_or_holds_something_that_works(part_of, tmp_path):
    rng, path = random.Random(100 + part_of), tmp_path / "lying.onkel"
    names, refused = sorted(zoo.SPECIMENS)[part_of::4], 0  # the changes of a file are listed in one part only
    for _ in range(N_FUZZ // 8):
        specimen = zoo.SPECIMENS[rng.choice(names)]
        write_lie(path, specimen.name, rng)
        loaded, error = attempt(path)
        if error is not None:
            assert "lying.onkel cannot be loaded" in str(error)
            assert error.__cause__ is None or isinstance(error.__cause__, OnkelError), error.__cause__
            refused += 1
            continue
        try:
            predictions(loaded, specimen.data.probes)
            if specimen.goes_on and type(loaded).__name__ == specimen.estimator:
                specimen.go_on(loaded)
        except (OnkelError, ValueError, TypeError):
            pass  # another number of features, other labels, a parameter that is out of its range
    assert refused > N_FUZZ // 40
