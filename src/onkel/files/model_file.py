"""Saving an estimator or a model to a file, and loading it.

The document of a file, one JSON object:

    format          the version of the format of the file (`container.FORMAT`)
    onkel_version   the version of onkel that wrote the file
    state           kind, version and settings of the `State`: parameters, kernel, counters, certificate
    encodings       how the arrays that do not hold plain numbers were written
    summary         what `inspect` shows: classes, feature names, size of the support, and the like
    data_sha256, header_sha256     checksums

All of it is made from the state and from public attributes: a new class can be saved once it has a state.
"""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

import onkel
from onkel.errors import FileFormatError, InputError, KindError
from onkel.files import container, tensors
from onkel.files.summary import summary_of
from onkel.registry import KINDS
from onkel.states.state import State, from_json, from_state, to_json

__all__ = ["load", "save"]

ESTIMATOR, MODEL = "estimator/", "model/"  # the kinds of state that a file may hold


def save(estimator_or_model: Any, path: str | os.PathLike[str]) -> None:
    """Writes an estimator or a model to a file, from which `onkel.load` makes it again, bit for bit.

    The file holds numbers and text, no code. An online estimator that is loaded goes on learning as if it had never
    stopped. The file is replaced at once: if the program or the machine stops in the middle, the old file is still
    there (and perhaps an unfinished one beside it, whose name starts with a dot and ends with ".tmp").

    Parameters
    ----------
    estimator_or_model : an estimator of onkel, fitted or not, or its ``model_``, which is smaller and all that
        predictions need.
    path : the file; its name usually ends with ".onkel". A file that is there is replaced.

    Functions, as in ``Custom(fn)``, ``k.scaled(f)`` and ``k.after(phi)``, are written by the name that
    `onkel.kernels.register` gave them, and must be registered under the same name where the file is loaded. Labels,
    feature names and examples that are objects must be strings, numbers, True, False or None.

    >>> import onkel, os, tempfile
    >>> machine = onkel.KernelPerceptron().fit([[0.0], [1.0]], ["low", "high"])
    >>> path = os.path.join(tempfile.mkdtemp(), "machine.onkel")
    >>> onkel.save(machine, path)
    >>> onkel.load(path).predict([[0.9]])
    array(['high'], dtype='<U4')
    """
    state = _state_of(estimator_or_model)
    arrays, encodings = tensors.encoded(state.arrays)
    settings = tensors.without_lists(to_json(state.settings), arrays)
    document = {
        "onkel_version": onkel.__version__,
        "state": {"kind": state.kind, "version": state.version, "settings": settings},
        "encodings": encodings,
        "summary": summary_of(estimator_or_model, settings, is_model=state.kind.startswith(MODEL)),
    }
    _check_that_it_loads(state)
    container.write(path, document, arrays)


def _check_that_it_loads(state: State) -> None:
    """Refuses a state that `load` would refuse, before it takes the place of a file that was good."""
    try:
        from_state(State(state.kind, state.version, from_json(to_json(state.settings)), state.arrays))
    except Exception as error:
        raise InputError(f"save: what is saved must be such that it can be loaded: {_reason(error)}.") from error


def _state_of(given: Any) -> State:
    state = None if isinstance(given, type) or not hasattr(given, "state") else given.state()
    if not isinstance(state, State) or state.kind not in KINDS or not state.kind.startswith((ESTIMATOR, MODEL)):
        raise KindError(
            f"save: an estimator of onkel or its model_ is needed; got {type(given).__name__}. Of a scikit-learn "
            "pipeline or search, save the estimator inside it: pipeline[-1], search.best_estimator_."
        )
    return state


def load(path: str | os.PathLike[str], *, model: bool = False) -> Any:
    """The estimator or model that `onkel.save` has written to a file.

    Loading runs no code from the file. Whatever is wrong with the file, a `FileFormatError` names the file and the
    reason. The arrays of a model are read once, to check them, but not copied: they stay in the file, which is mapped
    into memory, so that processes that load the same file share it. Replace such a file by `save` or by renaming. To
    change it in place, or to cut it off, would change the model, or end the program.

    Parameters
    ----------
    path : the file.
    model : True: return the frozen model only, which predicts and does not learn: that of the estimator, if the file
        holds an estimator. False (default): return what was saved.
    """
    document, plain = container.read(path)
    state = _state_in(document, plain, path)
    made = _made(state, path)
    if not model or state.kind.startswith(MODEL):
        return made
    if not hasattr(type(made), "model_"):
        raise InputError(
            f"load: {os.fspath(path)} must hold an estimator with a model_, which a {type(made).__name__} is not."
        )
    try:
        return made.model_  # type: ignore[attr-defined]
    except AttributeError as error:
        raise InputError(f"load: the {type(made).__name__} in {os.fspath(path)} has no model_: {error}") from None


def _state_in(document: dict[str, Any], plain: dict[str, NDArray], path: str | os.PathLike[str]) -> State:
    """The state that a document and the arrays of its file describe."""
    state = document.get("state")
    if not isinstance(state, dict) or set(state) != {"kind", "version", "settings"}:
        raise FileFormatError(path, "its state must have kind, version and settings")
    kind, settings = state["kind"], state["settings"]
    if not isinstance(kind, str) or kind not in KINDS or not kind.startswith((ESTIMATOR, MODEL)):
        raise FileFormatError(
            path,
            f"it must hold an estimator or a model that this onkel knows; got {str(kind)[:80]!r}. If a newer onkel has "
            "written it, update onkel",
        )
    if not isinstance(settings, dict):
        raise FileFormatError(path, "its settings must be a JSON object")
    try:
        arrays = tensors.decoded(plain, document.get("encodings"), path)
        settings = tensors.with_lists(settings, arrays, path)
        return State(kind, state["version"], from_json(settings), arrays)
    except FileFormatError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error


def _made(state: State, path: str | os.PathLike[str]) -> object:
    try:
        return from_state(state)
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | os.PathLike[str], error: Exception) -> FileFormatError:
    """What a user is told about a file whose contents were refused: by a check, or where a check is missing."""
    return FileFormatError(path, _reason(error))


def _reason(error: Exception) -> str:
    known = isinstance(error, InputError | KindError)
    return (str(error).rstrip(".") if known else f"{type(error).__name__}: {error}")[:1000]
