"""Laws of kernels as JSON: what is written reads back, and nothing else does.

That the kernels of `strategies.kernels` read back is a law of test_kernels.py.
"""

from __future__ import annotations

import copy
import json
import math
import struct
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer
from strategies import EVERY_VECTOR_KERNEL, kernels

import onkel.kernels
from onkel.errors import KindError, OnkelError, ParameterError
from onkel.kernels import (
    RBF,
    After,
    Constant,
    Custom,
    Exp,
    Kernel,
    Linear,
    Matern,
    Multiple,
    Normalized,
    On,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sum,
    from_config,
    register,
)
from onkel.kernels.config import MAX_DEPTH, kernel_classes, parameters


def dot(X, Z):
    return X @ Z.T


def shared_letters(a, b):
    return len(set(a) & set(b))


def length(X):
    return np.sqrt((X**2).sum(axis=1))


for function in (dot, shared_letters, length, np.abs):
    register(f"tests {function.__name__}", function)

# With EVERY_VECTOR_KERNEL, one of each class or more.
OTHERS = (
    Constant(0.1),
    Sum((RBF(), Sum((Linear(), Constant(1.0))))),  # not flattened, as no operator builds it
    Product((RBF(), Product((Linear(),)))),
    Multiple(Multiple(RBF(), 3.0), -0.0),
    Power(Power(RBF(), 1), 10**9),
    Exp(Constant(5e-324)),
    Normalized(Polynomial(degree=1e9)),
    On(Sum((RBF(), Linear())), (7, 0, 3)),
    Precomputed(),
    Custom(dot),
    Custom(shared_letters, pairwise=True, takes="objects", psd=False),
    Custom(dot, psd=True),
    Scaled(Custom(dot), length),
    After(Scaled(RBF(), length), np.abs),
)


def through_json(kernel):
    return from_config(json.loads(json.dumps(kernel.config(), allow_nan=False)))


# ---------------------------------------------------------------- what is written reads back


@pytest.mark.parametrize("kernel", [*EVERY_VECTOR_KERNEL, *OTHERS], ids=repr)
def test_every_kernel_reads_back_from_json(kernel):
    before = repr(kernel)
    again = through_json(kernel)
    assert again == kernel
    assert type(again) is type(kernel)
    assert repr(again) == repr(kernel) == before
    assert again.config() == kernel.config()


def leaves(cls):
    """The classes below a class that are no base class of others, as far as onkel has made them."""
    below = [sub for sub in cls.__subclasses__() if sub.__module__.startswith("onkel.")]
    return {leaf for sub in below for leaf in leaves(sub)} if below else {cls}


def test_no_kernel_of_onkel_is_forgotten():
    assert set(kernel_classes().values()) == leaves(Kernel)
    assert all(getattr(onkel.kernels, name) is cls for name, cls in kernel_classes().items())
    assert {type(kernel) for kernel in (*EVERY_VECTOR_KERNEL, *OTHERS)} == leaves(Kernel)


def test_the_keys_of_a_config_are_distinct():
    for cls in kernel_classes().values():
        keys = ["kernel", *(parameter.key for parameter in parameters(cls))]
        assert len(set(keys)) == len(keys)


def bits(value):
    return struct.pack("<d", value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=5e-324, allow_infinity=False))
def test_parameters_come_back_bit_by_bit(number, positive):
    degree = min(positive, 1e9)
    for kernel in (Constant(number), Polynomial(degree=degree, gamma=number, coef0=-number), number * Linear()):
        again = through_json(kernel)
        for name, value in kernel.get_params(deep=False).items():
            if not isinstance(value, Kernel):
                assert type(getattr(again, name)) is type(value)
                assert bits(getattr(again, name)) == bits(value)
    assert bits(through_json(RBF(gamma=positive)).gamma) == bits(positive)


def test_infinity_is_written_as_a_word_because_json_has_none():
    kernel = Matern(nu=math.inf)
    assert kernel.config() == {"kernel": "Matern", "nu": "inf", "length_scale": 1.0}
    assert through_json(kernel) == kernel


def test_a_config_has_the_documented_form():
    kernel = 2.0 * Linear().on([0, 2])
    on = {"kernel": "On", "of": {"kernel": "Linear"}, "columns": [0, 2]}
    assert kernel.config() == {"kernel": "Multiple", "of": on, "factor": 2.0}
    assert (RBF(gamma=0.5) + 1).config() == {
        "kernel": "Sum",
        "kernels": [{"kernel": "RBF", "gamma": 0.5}, {"kernel": "Constant", "value": 1.0}],
    }


@given(kernels)
def test_reading_leaves_the_config_alone_and_takes_any_mapping(kernel):
    config = kernel.config()
    before = copy.deepcopy(config)
    assert from_config(MappingProxyType(config)) == kernel
    assert config == before
    config["kernel"] = "changed"
    assert kernel.config() == before


def nested(depth, wrap):
    kernel = RBF()
    for _ in range(depth - 1):
        kernel = wrap(kernel)
    return kernel


@pytest.mark.parametrize("wrap", [Exp, lambda k: Sum((k,))], ids=["Exp", "Sum"])
def test_the_nesting_is_limited_alike_in_writing_and_in_reading(wrap):
    deepest = nested(MAX_DEPTH, wrap)
    assert through_json(deepest) == deepest
    with pytest.raises(ParameterError, match=f"at most {MAX_DEPTH} deep; got more"):
        wrap(deepest).config()
    with pytest.raises(ParameterError, match=f"at most {MAX_DEPTH} deep; got more"):
        from_config({"kernel": "Exp", "of": deepest.config()})


def test_a_config_that_contains_itself_is_refused():
    config = {"kernel": "Exp"}
    config["of"] = config
    with pytest.raises(ParameterError, match="deep"):
        from_config(config)


# ---------------------------------------------------------------- functions


def test_a_registered_function_is_written_as_its_name():
    kernel = Custom(shared_letters, pairwise=True, takes="objects")
    assert kernel.config() == {
        "kernel": "Custom",
        "fn": "tests shared_letters",
        "pairwise": True,
        "takes": "objects",
        "psd": None,
    }
    np.testing.assert_array_equal(through_json(kernel)(["abc"], ["bcd", "x"]), [[2.0, 0.0]])


def test_a_method_is_found_although_it_is_a_new_object_at_each_access():
    roots = FunctionTransformer(np.sqrt)
    register("tests roots", roots.transform)
    assert register("tests roots", roots.transform) == roots.transform
    kernel = RBF().after(roots.transform)
    assert through_json(kernel) == kernel
    with pytest.raises(ParameterError, match="has no name"):
        RBF().after(FunctionTransformer(np.sqrt).transform).config()


def test_register_gives_a_name_once_and_returns_the_function():
    assert register("tests dot", dot) is dot
    register("tests dot again", dot)
    assert Custom(dot).config()["fn"] == "tests dot"  # the first name
    with pytest.raises(ParameterError, match="'tests dot' must stand for one function; it stands for dot already"):
        register("tests dot", length)
    assert from_config(Custom(dot).config()) == Custom(dot)


def test_of_many_threads_one_takes_a_name():
    functions = [lambda X, Z, i=i: i for i in range(50)]

    def attempt(fn):
        try:
            return register("tests contested", fn)
        except ParameterError:
            return None

    with ThreadPoolExecutor(8) as pool:
        won = [fn for fn in pool.map(attempt, functions) if fn is not None]
    assert len(won) == 1
    assert from_config({**Custom(dot).config(), "fn": "tests contested"}) == Custom(won[0])


REGISTERED_WRONG = [
    (lambda: register(dot, "dot"), KindError, "name must be a string; got <function dot"),
    (lambda: register("", dot), ParameterError, "name must not be empty"),
    (lambda: register("tests number", 3), KindError, "fn must be a function; got 3"),
    (lambda: Custom(len).config(), ParameterError, r"Custom: fn .*got len.*Call onkel.kernels.register\(name, fn\)"),
    (lambda: RBF().scaled(len).config(), ParameterError, r"Scaled: f .*Call onkel.kernels.register\(name, fn\)"),
    (lambda: RBF().after(len).config(), ParameterError, r"After: phi .*Call onkel.kernels.register\(name, fn\)"),
    (lambda: (Custom(len) + 1.0).config(), ParameterError, r"Call onkel.kernels.register\(name, fn\)"),
    (lambda: Custom(dot, pairwise=1).config(), KindError, "Custom: pairwise must be True or False; got 1"),
    (lambda: Custom(dot, psd="yes").config(), KindError, "Custom: psd must be True or False or None; got 'yes'"),
]


@pytest.mark.parametrize(("call", "error", "message"), REGISTERED_WRONG, ids=[c[2][:40] for c in REGISTERED_WRONG])
def test_what_cannot_be_written_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_kernel_that_is_not_onkels_is_refused_even_under_a_known_name():
    own = type("RBF", (RBF,), {"__module__": "mine"})
    with pytest.raises(KindError, match=r"got a RBF of mine\. Write it as Custom\(fn\), and register fn"):
        (own() + 1.0).config()


# ---------------------------------------------------------------- hostile configs

LINEAR = {"kernel": "Linear"}
CUSTOM = Custom(dot).config()
DEEP = "[" * 400 + "]" * 400

HOSTILE = [
    (None, KindError, "a kernel must be a dict such as .*got None"),
    ([], KindError, r"must be a dict.*got \[\]"),
    ('{"kernel": "Linear"}', KindError, "Read the text by json.loads first"),
    (b"{}", KindError, "Read the text by json.loads first"),
    (RBF(), KindError, r"must be a dict.*got RBF\(gamma=1.0\)"),
    ({}, KindError, r'the name of its kernel under "kernel"; got the keys \[\]'),
    ({"gamma": 1.0}, KindError, r"got the keys \['gamma'\]"),
    ({"kernel": None}, KindError, "got None there"),
    ({"kernel": ["RBF"]}, KindError, r"got \['RBF'\] there"),
    ({"kernel": LINEAR}, KindError, r'name of its kernel under "kernel"; got \{'),
    ({"kernel": "rbf", "gamma": 1.0}, ParameterError, "must be one of RBF, After, .*; got 'rbf'"),
    ({"kernel": "Kernel"}, ParameterError, "must be one of"),
    ({"kernel": "OneKernel", "of": LINEAR}, ParameterError, "must be one of"),
    ({"kernel": "expand"}, ParameterError, "must be one of"),
    ({"kernel": "os.system", "command": "true"}, ParameterError, "must be one of"),
    ({"kernel": "__import__('os')"}, ParameterError, "must be one of"),
    ({"kernel": "x" * 10**6}, ParameterError, r"^.{,500}$"),
    ({"kernel": "RBF"}, ParameterError, "RBF needs 'kernel', 'gamma'; 'gamma' is missing"),
    ({"kernel": "Exp", "kernels": [LINEAR]}, ParameterError, "Exp needs 'kernel', 'of'; 'of' is missing"),
    ({"kernel": "RBF", "gamma": 1.0, "degree": 3}, ParameterError, "RBF needs 'kernel', 'gamma'; got 'degree' as well"),
    ({"kernel": "Linear", 3: 4}, ParameterError, "got 3 as well"),
    ({"kernel": "Linear", "__class__": "x"}, ParameterError, "got '__class__' as well"),
    ({"kernel": "RBF", "gamma": "1.0"}, KindError, "RBF: gamma must be a number; got '1.0'"),
    ({"kernel": "RBF", "gamma": True}, KindError, "RBF: gamma must be a number; got True"),
    ({"kernel": "RBF", "gamma": None}, KindError, "RBF: gamma must be a number; got None"),
    ({"kernel": "RBF", "gamma": [1.0]}, KindError, r"RBF: gamma must be a number; got \[1.0\]"),
    ({"kernel": "RBF", "gamma": 1j}, KindError, "RBF: gamma must be a number; got 1j"),
    ({"kernel": "RBF", "gamma": "nan"}, KindError, "RBF: gamma must be a number; got 'nan'"),
    ({"kernel": "RBF", "gamma": math.nan}, ParameterError, "RBF: gamma must be a finite number.*got nan"),
    (json.loads('{"kernel": "RBF", "gamma": 1e999}'), ParameterError, "RBF: gamma must be a finite number.*got inf"),
    ({"kernel": "RBF", "gamma": "inf"}, ParameterError, "RBF: gamma must be a finite number > 0; got inf"),
    ({"kernel": "RBF", "gamma": 0.0}, ParameterError, "RBF: gamma must be a finite number > 0; got 0.0"),
    ({"kernel": "RBF", "gamma": 10**400}, ParameterError, "RBF: gamma must be a finite number"),
    ({"kernel": "RBF", "gamma": 10**5000}, ParameterError, "RBF: gamma must be a finite number"),
    ({"kernel": "Matern", "nu": math.inf, "length_scale": 1.0}, ParameterError, 'or "inf", as JSON has no infinity'),
    ({"kernel": "Matern", "nu": "-inf", "length_scale": 1.0}, ParameterError, "nu must be a number > 0; got -inf"),
    ({"kernel": "Power", "of": LINEAR, "exponent": 2.0}, KindError, "Power: exponent must be a whole number; got 2.0"),
    ({"kernel": "Power", "of": LINEAR, "exponent": True}, KindError, "Power: exponent must be a whole number"),
    ({"kernel": "Power", "of": LINEAR, "exponent": 0}, ParameterError, "must be a whole number >= 1; got 0"),
    ({"kernel": "Exp", "of": "Linear"}, KindError, "a kernel must be a dict such as .*got 'Linear'"),
    ({"kernel": "Exp", "of": RBF()}, KindError, "a kernel must be a dict"),
    ({"kernel": "Sum", "kernels": LINEAR}, KindError, r"Sum: kernels must be a list; got \{'kernel': 'Linear'\}"),
    ({"kernel": "Sum", "kernels": "Linear"}, KindError, "Sum: kernels must be a list; got 'Linear'"),
    ({"kernel": "Sum", "kernels": []}, KindError, r"Sum: kernels must be a tuple of kernels; got \(\)"),
    ({"kernel": "Sum", "kernels": [LINEAR, {"kernel": "Precomputed"}]}, KindError, "parts that take the same input"),
    ({"kernel": "Sum", "kernels": [json.loads(DEEP)]}, KindError, "a kernel must be a dict"),
    ({"kernel": "On", "of": LINEAR, "columns": 3}, KindError, "On: columns must be a list; got 3"),
    ({"kernel": "On", "of": LINEAR, "columns": "01"}, KindError, "On: columns must be a list; got '01'"),
    ({"kernel": "On", "of": LINEAR, "columns": [0.0]}, KindError, "On: columns must be a whole number; got 0.0"),
    ({"kernel": "On", "of": LINEAR, "columns": [-1]}, ParameterError, "each column must be a whole number >= 0"),
    ({"kernel": "On", "of": LINEAR, "columns": [0, 0]}, ParameterError, "each once"),
    ({**CUSTOM, "fn": "eval"}, ParameterError, r"not registered. Call onkel.kernels.register\('eval', fn\)"),
    ({**CUSTOM, "fn": "__init__"}, ParameterError, "which is not registered"),
    ({**CUSTOM, "fn": dot}, KindError, "Custom: fn must be the name of a function, a string; got <function dot"),
    ({**CUSTOM, "fn": ["tests dot"]}, KindError, "Custom: fn must be the name of a function"),
    ({**CUSTOM, "pairwise": 1}, KindError, "Custom: pairwise must be True or False; got 1"),
    ({**CUSTOM, "psd": "True"}, KindError, "Custom: psd must be True or False or None; got 'True'"),
    ({**CUSTOM, "takes": "gram"}, KindError, 'Custom: takes must be "vectors" or "objects"; got \'gram\''),
    ({**CUSTOM, "takes": "files"}, KindError, "Custom: takes must be one of 'vectors', .*; got 'files'"),
    ({**CUSTOM, "takes": ["vectors"]}, KindError, "Custom: takes must be one of"),
    ({"kernel": "Scaled", "of": LINEAR, "f": "len"}, ParameterError, "Scaled: f .*not registered"),
    ({"kernel": "After", "of": LINEAR, "phi": None}, KindError, "After: phi must be the name of a function"),
]


@pytest.mark.parametrize(("config", "error", "message"), HOSTILE, ids=[c[2][:40] for c in HOSTILE])
def test_a_hostile_config_is_refused_with_expected_got_and_advice(config, error, message):
    with pytest.raises(error, match=message):
        from_config(config)


values = st.recursive(
    st.sampled_from([None, True, False, *kernel_classes()]) | st.integers() | st.floats() | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from(["kernel", "of", "x"]), part, max_size=3),
    max_leaves=6,
)


@given(kernels, values, st.data())
def test_a_config_with_anything_in_one_place_gives_a_kernel_that_reads_back_or_an_error_of_onkel(kernel, value, data):
    config = kernel.config()
    place = config
    while True:
        key = data.draw(st.sampled_from([*place]))
        if not isinstance(place[key], dict) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    try:
        read = from_config(config)
    except OnkelError:
        return
    assert through_json(read) == read


@pytest.mark.parametrize(
    "config",
    [
        {"kernel": "Power", "of": {"kernel": "Linear"}, "exponent": 10**400},
        {"kernel": "Constant", "value": -(10**400)},
        {"kernel": "Sum", "kernels": [{"kernel": "Linear"}] * 100_000},
        {"kernel": "On", "of": {"kernel": "Linear"}, "columns": [2**70, -1]},
    ],
)
def test_numbers_and_lists_that_are_too_large_are_refused_at_once(config):
    with pytest.raises(OnkelError):
        from_config(config)


def test_a_function_that_is_defined_again_takes_the_place_of_its_first_definition():
    first, second, other = (FunctionType((lambda A, B: A @ B.T).__code__, {}) for _ in range(3))
    for function in (first, second):
        function.__module__, function.__qualname__ = "__main__", "of_a_notebook"
    other.__module__, other.__qualname__ = "__main__", "another"
    onkel.kernels.register("tests.of_a_notebook", first)
    onkel.kernels.register("tests.of_a_notebook", second)
    assert onkel.kernels.from_config(Custom(second).config()).fn is second
    with pytest.raises(ParameterError, match="must stand for one function"):
        onkel.kernels.register("tests.of_a_notebook", other)
