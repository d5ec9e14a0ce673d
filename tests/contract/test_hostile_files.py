"""Files that are cut off, foreign, newer or hostile: each is refused with its name and the reason, in little memory."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import pickle
import tracemalloc

import numpy as np
import pytest
from contract.registered import rings

import onkel
from onkel.errors import FileFormatError, OnkelError
from onkel.files import container
from onkel.files.document import canonical
from onkel.kernels import RBF


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "m.onkel"
    onkel.save(onkel.KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(*rings()), found)
    return found


def refused(path, message=None):
    with pytest.raises(FileFormatError, match=message) as caught:
        onkel.load(path)
    error = caught.value
    assert isinstance(error, OnkelError)
    assert isinstance(error, ValueError)
    assert error.path == str(path)
    assert str(error) == f"{path} cannot be loaded: {error.reason}."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# ---------------------------------------------------------------- bytes


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


METADATA = {"__metadata__": {"onkel": "{}"}}
FOREIGN = {
    "empty": (b"", "not an onkel file, or it was cut off"),
    "seven bytes": (b"1234567", "not an onkel file, or it was cut off"),
    "a pickle": (pickle.dumps([1, 2, 3] * 100), "not an onkel file"),
    "a zip": (b"PK\x03\x04" + bytes(200), "not an onkel file"),
    "compressed": (gzip.compress(bytes(1000)), "not an onkel file"),
    "text": (b"hello, this is not a model at all, but a letter", "not an onkel file"),
    "a header longer than the file": (raw(b"{}")[:8] + b"{", "cut off"),
    "a header of 2**64 - 1 bytes": (b"\xff" * 8 + b"{}", "cut off"),
    "no metadata": (raw({}), 'no key "onkel"'),
    "metadata of somebody else": (raw({"__metadata__": {"format": "pt"}}), 'no key "onkel"'),
    "metadata that is no text": (raw({"__metadata__": {"onkel": 1}}), 'no key "onkel"'),
    "a header that is a list": (raw([]), 'no key "onkel"'),
    "a document that is no object": (raw({"__metadata__": {"onkel": "[]"}}), "JSON object"),
    "a key twice": (raw(b'{"a": 1, "a": 2}'), "a key twice"),
    "deep JSON": (raw(b"[" * 5000 + b"]" * 5000), "JSON"),
    "deep JSON in the document": (raw({"__metadata__": {"onkel": "[" * 101 + "]" * 101}}), "nested"),
    "NaN in JSON": (raw(b'{"a": NaN}'), "NaN"),
    "infinity in JSON": (raw(b'{"a": 1e999}'), "1e999"),
    "half a character": (raw(rb'{"__metadata__": {"onkel": "\ud800"}}'), "JSON"),
    "too many values": (raw(b'{"a": [' + b"[]," * 300_000 + b"[]]}"), "at most 250000 values"),
    "no UTF-8": (raw(b'{"\xff": 1}'), "JSON"),
    "a number of a million digits": (raw(b'{"a": ' + b"9" * 10**6 + b"}"), "JSON"),
    "no format": (raw(METADATA), "format must be a whole number"),
    "no checksum": (raw({"__metadata__": {"onkel": '{"format": 1}'}}), "checksum"),
    "a newer format, of which nothing else is known": (
        raw({"__metadata__": {"onkel": '{"format": 2}', "more": "x"}, "array": {"dtype": "F8_E4M3"}}, b"?"),
        "update onkel",
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_file_of_onkel_is_refused(what, tmp_path):
    content, message = FOREIGN[what]
    path = tmp_path / "x.onkel"
    path.write_bytes(content)
    refused(path, message)
    with pytest.raises(FileFormatError):
        onkel.inspect(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "a pipe or a device")


@pytest.mark.parametrize("left", [0, 1, 7, 8, 9, 100, 0.3, 0.5, 0.99, -1])
def test_a_file_that_was_cut_off_is_refused_wherever_that_was(path, left):
    content = path.read_bytes()
    path.write_bytes(content[: int(left * len(content)) if isinstance(left, float) else left])
    refused(path, "cut off|without gaps")


def test_every_changed_byte_is_noticed(path):
    content = path.read_bytes()
    for place in range(0, len(content), 37):
        changed = bytearray(content)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        refused(path)


# ---------------------------------------------------------------- headers that lie, with right checksums


def signed(path, document, table, data):
    """Writes a file with right checksums, whatever is in it."""
    document = {**document, "data_sha256": hashlib.sha256(data).hexdigest(), "header_sha256": "0" * 64}
    header = canonical({"__metadata__": {"onkel": canonical(document)}, **table}).encode()
    path.write_bytes(raw(header.replace(b"0" * 64, hashlib.sha256(header).hexdigest().encode()), data))


def parts(path):
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    table = json.loads(content[8:start])
    document = json.loads(table.pop("__metadata__")["onkel"])
    for key in ("data_sha256", "header_sha256"):
        del document[key]
    return document, table, content[start:]


def first(table):
    return table[min(table, key=lambda name: table[name]["data_offsets"])]


LIES = {
    "negative offsets": (lambda t: first(t).update(data_offsets=[-8, 0]), "offsets of whole numbers"),
    "offsets that are floats": (lambda t: first(t).update(data_offsets=[0.0, 8.0]), "offsets of whole numbers"),
    "one offset": (lambda t: first(t).update(data_offsets=[0]), "two offsets"),
    "a gap": (lambda t: [e.update(data_offsets=[n + 8 for n in e["data_offsets"]]) for e in t.values()], "gaps"),
    "arrays on top of each other": (lambda t: t.update(other=copy.deepcopy(first(t))), "gaps and overlaps"),
    "a shape that needs more bytes": (lambda t: first(t).update(shape=[10**6, 10**6]), "as many bytes"),
    "a shape that overflows": (lambda t: first(t).update(shape=[2**61, 8]), "as large as its shape says"),
    "a negative shape": (lambda t: first(t).update(shape=[-1, -8]), "whole numbers >= 0"),
    "a shape without entries that overflows": (
        lambda t: t.update(x={"dtype": "F64", "shape": [2**61, 2**61, 0], "data_offsets": [0, 0]}),
        "as large as its shape says",
    ),
    "a shape of 33 axes": (lambda t: first(t).update(shape=[1] * 33), "whole numbers"),
    "a shape of truth values": (lambda t: first(t).update(shape=[True]), "whole numbers"),
    "an unknown dtype": (lambda t: first(t).update(dtype="C64"), "one of the dtypes"),
    "a dtype that is a list": (lambda t: first(t).update(dtype=["F64"]), "one of the dtypes"),
    "an entry too many": (lambda t: first(t).update(more=1), "must have dtype, shape"),
    "an entry that is a number": (lambda t: t.update(x=1), "must have dtype, shape"),
    "an empty array behind the end": (
        lambda t: t.update(x={"dtype": "U8", "shape": [0], "data_offsets": [10**9, 10**9]}),
        "without gaps",
    ),
    "no array at all": (lambda t: t.clear(), "cut off or extended"),
}


@pytest.mark.parametrize("what", LIES)
def test_a_header_that_lies_about_its_arrays_is_refused(what, path):
    change, message = LIES[what]
    document, table, data = parts(path)
    change(table)
    signed(path, document, table, data)
    refused(path, message)


def test_misaligned_arrays_are_copied_and_unknown_ones_ignored(path):
    document, table, data = parts(path)
    names = sorted(table, key=lambda name: table[name]["data_offsets"])
    shifted = {name: {**table[name], "data_offsets": [n + 1 for n in table[name]["data_offsets"]]} for name in names}
    document["encodings"]["text"] = {"as": "text", "kind": "S"}
    shifted["text"] = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
    before = onkel.load(path).predict(rings()[0])
    signed(path, document, shifted, b"x" + data)
    _, arrays = container.read(path)
    assert all(array.flags.aligned for array in arrays.values())
    np.testing.assert_array_equal(onkel.load(path).predict(rings()[0]), before)


DOCUMENTS = {
    "a newer format": (lambda d: d.update(format=2), "update onkel"),
    "no format": (lambda d: d.pop("format"), "whole number"),
    "a format that is text": (lambda d: d.update(format="1"), "whole number"),
    "a newer state": (lambda d: d["state"].update(version=99), "newer onkel"),
    "a newer learner": (lambda d: d["state"]["settings"]["learner"].update(version=99), "newer onkel"),
    "an unknown kind": (lambda d: d["state"].update(kind="estimator/Skynet"), "this onkel knows"),
    "a kind that names code": (lambda d: d["state"].update(kind="os:system"), "this onkel knows"),
    "a kind that is a part": (lambda d: d["state"].update(kind="decision/number"), "this onkel knows"),
    "another kind": (lambda d: d["state"].update(kind="estimator/SVC"), "parameters of SVC"),
    "no settings": (lambda d: d["state"].pop("settings"), "must have kind"),
    "settings that are a list": (lambda d: d["state"].update(settings=[]), "JSON object"),
    "an unknown kernel": (
        lambda d: d["state"]["settings"]["params"]["kernel"].update({"$kernel": {"kernel": "Evil"}}),
        "kernel must be one of",
    ),
    "a kernel out of range": (
        lambda d: d["state"]["settings"]["params"]["kernel"]["$kernel"].update(gamma=-1.0),
        "gamma",
    ),
    "a parameter of another class": (
        lambda d: d["state"]["settings"]["params"].update(__class__="x"),
        "must hold parameters",
    ),
    "encodings that are a list": (lambda d: d.update(encodings=[]), "JSON object"),
    "an unknown encoding": (lambda d: d.update(encodings={"x": {"as": "pickle"}}), "one of the encodings"),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_document_that_lies_is_refused(what, path):
    change, message = DOCUMENTS[what]
    document, table, data = parts(path)
    change(document)
    signed(path, document, table, data)
    refused(path, message)


@pytest.mark.parametrize("name", ["learner/support/coef", "learner/sq_norms", "learner/support/block-0/data"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(name, value, path):
    document, _, _ = parts(path)
    arrays = {key: np.array(array) for key, array in container.read(path)[1].items()}
    arrays[name].flat[0] = value
    container.write(path, document, arrays)
    refused(path, "finite")


# ---------------------------------------------------------------- memory


def peak(call):
    tracemalloc.start()
    with pytest.raises(FileFormatError):
        call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("claim", [2**20, 2**34, 2**63])
def test_a_header_that_claims_to_be_long_takes_no_memory(claim, tmp_path):
    (tmp_path / "x.onkel").write_bytes(claim.to_bytes(8, "little") + b"{}")
    assert peak(lambda: onkel.load(tmp_path / "x.onkel")) < 1e6


def test_a_header_as_long_as_allowed_takes_bounded_memory(tmp_path, monkeypatch):
    assert container.MAX_HEADER <= 8 * 2**20
    monkeypatch.setattr(container, "MAX_HEADER", 2**20)
    text = b"[" + b"[]," * (container.MAX_HEADER // 3 - 2) + b"[]]"
    (tmp_path / "x.onkel").write_bytes(raw(text))
    assert peak(lambda: onkel.load(tmp_path / "x.onkel")) < 40 * container.MAX_HEADER
    with (tmp_path / "y.onkel").open("wb") as file:  # a sparse file: 10 GB that are not there
        file.write((10 * 2**30 - 8).to_bytes(8, "little"))
        file.truncate(10 * 2**30)
    assert peak(lambda: onkel.load(tmp_path / "y.onkel")) < 1e6


def test_long_lists_of_parameters_are_arrays_in_a_file(tmp_path):
    X, y = rings()
    centers = np.random.default_rng(0).normal(size=(700, 2))
    estimator = onkel.KernelRidge(kernel="rbf", solver="nystrom", centers=centers, alpha=1.0).fit(X, y)
    onkel.save(estimator, tmp_path / "m.onkel")
    content = (tmp_path / "m.onkel").read_bytes()
    assert int.from_bytes(content[:8], "little") < 2e5
    loaded = onkel.load(tmp_path / "m.onkel")
    np.testing.assert_array_equal(loaded.centers, centers)
    assert loaded.state() == estimator.state()
