"""The bytes of a file: a safetensors container, written atomically and read with limits.

    8 bytes     length of the header, a little-endian whole number
    header      JSON: {"__metadata__": {"onkel": document}, name: {"dtype", "shape", "data_offsets"}, …}, padded with
                spaces so that the data starts at a multiple of 64
    data        the arrays one after another, without gaps; wider dtypes first, so that every array is aligned

The safetensors library reads these files. We write and read them ourselves, because it writes strided arrays silently
wrong, takes duplicate keys, and copies what it reads.

The document has two SHA-256 checksums: `data_sha256` of the data, and `header_sha256` of the bytes of the header, in
which the 64 digits of this checksum itself are 0. A file that was cut off or whose bits have changed is refused. A
checksum is no signature: whoever writes a file can compute it, so the contents are checked as well.

The version of this format is in the document, too, and is read before anything else that a later one may change.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.errors import FileFormatError, InputError, KindError
from onkel.files.document import MAX_VALUES, canonical, is_small, parse

__all__ = ["Contents", "read", "read_header", "write"]

DTYPES = {
    np.dtype(name).newbyteorder("<"): code
    for code, name in {
        "F64": "f8", "I64": "i8", "U64": "u8", "F32": "f4", "I32": "i4", "U32": "u4",
        "F16": "f2", "I16": "i2", "U16": "u2", "I8": "i1", "U8": "u1", "BOOL": "?",
    }.items()
}  # fmt: skip
CODES = {code: dtype for dtype, code in DTYPES.items()}
FORMAT = 1  # the version of this format: that of the container and of the document, not of the states in it
KEY, METADATA = "onkel", "__metadata__"
NO_CHECKSUM = "0" * 64
LENGTH = 8  # bytes of the length of the header
ALIGNMENT = 64
MAX_HEADER = 8 * 2**20
MAX_TENSORS = 20_000
MAX_DIMENSIONS = 32
MAX_BYTES = 2**62  # of an array, were its axes of length 0 of length 1


class Contents(NamedTuple):
    """What a file holds: the document, the dtype and shape of each array, and the size of the file in bytes."""

    document: dict[str, Any]
    tensors: dict[str, tuple[np.dtype, tuple[int, ...]]]
    size: int


# ---------------------------------------------------------------- writing


def write(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Writes a file, at once: whatever happens, the path names the whole old file or the whole new one."""
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    ordered = sorted(plain.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    table, end, data_hash = {}, 0, hashlib.sha256()
    for name, array in ordered:
        start, end = end, end + array.nbytes
        table[name] = {"dtype": DTYPES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
        data_hash.update(_bytes(array))
    checksums = {"data_sha256": data_hash.hexdigest(), "header_sha256": NO_CHECKSUM}
    signed = {"format": FORMAT, **document, **checksums}
    header = canonical({METADATA: {KEY: canonical(signed)}, **table}).encode()
    header += b" " * (-(LENGTH + len(header)) % ALIGNMENT)
    header = _with_checksum(header)
    if len(header) > MAX_HEADER or len(table) > MAX_TENSORS or not is_small(signed):
        raise InputError(
            f"save: the settings must fit into {MAX_HEADER} bytes, {MAX_VALUES} values and {MAX_TENSORS} arrays; got "
            f"{len(header)} bytes and {len(table)} arrays."
        )
    with _replacing(path) as file:
        file.write(len(header).to_bytes(LENGTH, "little"))
        file.write(header)
        for _, array in ordered:
            file.write(_bytes(array))


def _plain(name: str, array: NDArray) -> NDArray:
    """The array with contiguous values in little-endian order."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if plain.dtype not in DTYPES:
        raise KindError(f"save: the array {name!r} must hold plain numbers; got {array.dtype}.")
    return plain


def _bytes(array: NDArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _with_checksum(header: bytes) -> bytes:
    """The header with its checksum in place of the zeros."""
    name = b'header_sha256\\":\\"'  # JSON within JSON
    return header.replace(name + NO_CHECKSUM.encode(), name + hashlib.sha256(header).hexdigest().encode(), 1)


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file in the folder of `path` that takes its place once it is whole and on the disk."""
    given = os.fsdecode(path)
    target = os.path.realpath(given)  # the file behind a link, not the link
    mode = _mode_of(target)
    if given.endswith(("/", os.sep)):
        raise InputError(f"save: path must name a file; {given} names a folder.")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:  # the folder does not exist, or is not ours
            raise type(error)(error.errno, error.strerror, given) from None
        raise
    _sync_folder(folder)


def _mode_of(target: str) -> int | None:
    """The permissions of the file that is replaced; None if there is none."""
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise InputError(f"save: path must name a file; {target} is none, but a folder or a device.")
    return stat.S_IMODE(found) & 0o777


def _sync_folder(folder: str) -> None:
    """Puts the new name on the disk; some file systems cannot, and have none to put."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---------------------------------------------------------------- reading


def read_header(path: str | os.PathLike[str]) -> Contents:
    """What the header says, checked; the arrays are not read."""
    with open(path, "rb", opener=_opened) as file:
        document, table, size, _ = _header(file, path)
    return Contents(document, {name: (entry.dtype, entry.shape) for name, entry in table.items()}, size)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The document and the arrays of a file. The arrays are read-only views of the mapped file."""
    with open(path, "rb", opener=_opened) as file:
        document, table, size, start = _header(file, path)
        try:
            data = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))[start:]
        except ValueError:
            raise FileFormatError(path, "it became shorter while it was read") from None
    if hashlib.sha256(data).hexdigest() != document["data_sha256"]:
        raise FileFormatError(path, "its arrays do not have the checksum that it names: it was damaged or changed")
    return document, {name: _view(data, entry) for name, entry in table.items()}


def _opened(path: str, flags: int) -> int:
    """Opens a file without waiting for somebody to write to it, should it be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _Tensor(NamedTuple):
    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    end: int


def _header(file: IO[bytes], path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, _Tensor], int, int]:
    """The document, the arrays, the size of the file and where its data starts."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise FileFormatError(path, "it is not a file, but a pipe or a device")
    size = status.st_size
    length = int.from_bytes(file.read(LENGTH), "little")
    if size < LENGTH or length > min(size - LENGTH, MAX_HEADER):
        raise FileFormatError(path, "it is not an onkel file, or it was cut off")
    text = file.read(length)
    header = parse(text, path)
    metadata = header.pop(METADATA, None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise FileFormatError(path, f'it is not an onkel file: the metadata has no key "{KEY}"')
    document = parse(metadata[KEY].encode("utf-8", "surrogatepass"), path)
    _check_document(document, text, path)
    return document, _table(header, size - LENGTH - length, path), size, LENGTH + length


def _check_document(document: Any, text: bytes, path: str | os.PathLike[str]) -> None:
    """Refuses a document of a newer format, and a header that does not have its checksum; `text` is the header."""
    if not isinstance(document, dict):
        raise FileFormatError(path, "its document must be a JSON object")
    version = document.get("format")
    if type(version) is not int or version < 1:
        raise FileFormatError(path, "its format must be a whole number >= 1")
    if version > FORMAT:
        raise FileFormatError(
            path, f"it has format {version}, and this onkel reads formats up to {FORMAT}; update onkel to read it"
        )
    checksum = document.get("header_sha256")
    is_one = isinstance(checksum, str) and len(checksum) == len(NO_CHECKSUM) and checksum.isalnum()
    unsigned = text.replace(str(checksum).encode(), NO_CHECKSUM.encode(), 1) if is_one else b""
    if not isinstance(document.get("data_sha256"), str) or hashlib.sha256(unsigned).hexdigest() != checksum:
        raise FileFormatError(path, "its header does not have the checksum that it names: it was damaged or changed")


def _table(header: Mapping[str, Any], n_bytes: int, path: str | os.PathLike[str]) -> dict[str, _Tensor]:
    """The arrays that a header lists. They must cover all the data, one after another, without gaps."""
    if len(header) > MAX_TENSORS:
        raise FileFormatError(path, f"it must have at most {MAX_TENSORS} arrays; it has {len(header)}")
    table = {name: _tensor(name, entry, path) for name, entry in header.items()}
    end = 0
    for tensor in sorted(table.values(), key=lambda tensor: (tensor.start, tensor.end)):
        if tensor.start != end:
            raise FileFormatError(path, "its arrays must follow one another without gaps and overlaps")
        end = tensor.end
    if end != n_bytes:
        raise FileFormatError(
            path, f"its arrays must have {end} bytes; there are {n_bytes}: it was cut off or extended"
        )
    return table


def _tensor(name: str, entry: Any, path: str | os.PathLike[str]) -> _Tensor:
    keys = ("dtype", "shape", "data_offsets")
    if not isinstance(entry, dict) or set(entry) != set(keys):
        raise FileFormatError(path, f"the array {name!r} must have dtype, shape and data_offsets")
    code, shape, offsets = (entry[key] for key in keys)
    if not isinstance(code, str) or code not in CODES:
        raise FileFormatError(path, f"the array {name!r} must have one of the dtypes {', '.join(CODES)}")
    if not _whole_numbers(shape) or len(shape) > MAX_DIMENSIONS or not _whole_numbers(offsets) or len(offsets) != 2:
        raise FileFormatError(path, f"the array {name!r} must have a shape and two offsets of whole numbers >= 0")
    if math.prod(n for n in shape if n) * CODES[code].itemsize >= MAX_BYTES:
        raise FileFormatError(path, f"the array {name!r} must not be as large as its shape says")
    if offsets[1] - offsets[0] != math.prod(shape) * CODES[code].itemsize:
        raise FileFormatError(path, f"the array {name!r} must have as many bytes as its shape and dtype need")
    return _Tensor(CODES[code], tuple(shape), *offsets)


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int and 0 <= number < 2**62 for number in value)


def _view(data: memoryview, tensor: _Tensor) -> NDArray:
    """The array over the mapped bytes; a copy if they are not aligned."""
    array = np.frombuffer(data[tensor.start : tensor.end], dtype=tensor.dtype).reshape(tensor.shape)
    if array.flags.aligned:
        return array
    copied = array.copy()
    copied.flags.writeable = False
    return copied
