"""What a newcomer does in the first hour: the README, the demo, the examples, a pipeline."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from onkel import EigenMap, KernelPerceptron, Perceptron, bounds, gram
from onkel.game import EstimatorPlayer, Orthogonal, PerceptronPlayer, RandomWithin, play
from onkel.kernels import RBF, Linear, Precomputed, expand

ROOT = Path(__file__).parents[2]


def test_the_readme_shows_what_happens():
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert results.attempted >= 8
    assert results.failed == 0


def test_the_readme_and_the_makefile_name_the_two_commands():
    readme, makefile = (ROOT / "README.md").read_text("utf-8"), (ROOT / "Makefile").read_text("utf-8")
    for command in ("demo", "test"):
        assert f"make {command}" in readme
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def run_example(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_prints_its_tables_draws_a_picture_and_tags_a_sentence(tmp_path):
    picture = tmp_path / "demo.png"
    printed = run_example("demo.py", str(picture))
    told = {line[2:18].strip(): line[19:].strip() for line in printed.splitlines() if line.startswith("  ")}
    assert float(told["test accuracy"]) > 0.97
    assert told["epochs"].endswith("without a mistake")
    assert told["the theorem"].endswith("it holds")
    assert re.search(r"RBF\(gamma=0.1\) +yes", printed)
    assert re.search(r"Sigmoid\(.*\) +NO", printed)
    assert "certified" in printed
    assert "and loaded, it gives the same scores, and learns on: round 14818" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    words, parts, names = (line + " " for line in printed.splitlines()[-3:])
    columns = {found[0]: found.start() for found in re.finditer(r"\S+", words)}
    tagged = {word: (parts[i:].split()[0], names[i:].split(" ")[0]) for word, i in columns.items()}
    assert tagged["Lopez"] == ("PROPN", "I-PER")
    assert tagged["Bank"] == ("PROPN", "I-ORG")
    assert tagged["opened"] == ("VERB", "")
    assert tagged["Oslo"] == ("PROPN", "B-LOC")


def test_the_lesson_from_the_game_to_a_tagger_runs(tmp_path):
    picture = tmp_path / "tagging.png"
    printed = run_example("tagging.py", str(picture))
    errors, bounds_ = zip(*re.findall(r"^ +\d0 +(\d+) +(\d+) ", printed, flags=re.MULTILINE), strict=True)
    assert errors == bounds_, "fresh words make B err as often as the theorem allows"
    accuracy = [float(found) for found in re.findall(r"([\d.]+)% of the tokens", printed)]
    assert len(accuracy) == 4
    assert accuracy[0] + 5 < accuracy[2], "templates beat words"
    last = printed[printed.index("the last guess") :].splitlines()[0]
    assert last.split()[3:5] == ["Mary/B-PER", "Lake/I-PER"], "a correction is learned"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_lesson_on_explicit_maps_runs():
    assert "H(x)·H(z) = (1 + x·z)²" in run_example("explicit_map.py")


def test_scores_of_a_fitted_svc_are_an_expansion():
    X, y = load_digits(return_X_y=True)
    X, y = X / 16.0, y == 8
    train, test, labels, _ = train_test_split(X, y, random_state=0)
    svc = SVC(gamma=0.2).fit(train, labels)
    ours = expand(RBF(gamma=0.2), test, svc.support_vectors_, svc.dual_coef_.T)[:, 0] + svc.intercept_
    np.testing.assert_allclose(ours, svc.decision_function(test), rtol=1e-9, atol=1e-9)


def test_a_gram_matrix_goes_from_kernel_to_doctor_to_svc():
    X, y = load_digits(n_class=2, return_X_y=True)
    K = (RBF(gamma=1e-3) + 1e-4 * Linear())(X)
    assert gram.check(K).valid
    svc = SVC(kernel="precomputed").fit(gram.normalize(K), y)
    assert svc.score(gram.normalize(K), y) == 1.0
    np.testing.assert_allclose(
        expand(Precomputed(), K, svc.support_, np.ones(len(svc.support_))), K[:, svc.support_].sum(1)
    )


def test_a_grid_search_finds_the_kernels_width():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16.0, y[:400]
    search = GridSearchCV(
        make_pipeline(EigenMap(RBF(), n_components=80), RidgeClassifier()),
        {"eigenmap__kernel__gamma": [1e-6, 0.1, 50.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"eigenmap__kernel__gamma": 0.1}
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_the_papers_are_there(name):
    assert (ROOT / name).stat().st_size > 500


def test_any_online_estimator_plays_the_game_and_the_theorem_holds():
    for a in (Orthogonal(8), RandomWithin(5, radius_sq=1.0, margin=0.1, random_state=0)):
        reference = play(a, PerceptronPlayer(), rounds=None if isinstance(a, Orthogonal) else 200)
        for estimator in (KernelPerceptron("linear"), Perceptron(fit_intercept=False)):
            trace = reference.replay(EstimatorPlayer(estimator))
            assert [r.mistake for r in trace.rounds] == [r.mistake for r in reference.rounds]
            assert trace.holds
    assert play(Orthogonal(8), EstimatorPlayer(KernelPerceptron("linear"))).n_mistakes == 8


def test_a_stream_is_learned_from_saved_as_a_model_and_certified():
    X, y = load_digits(return_X_y=True)
    X, y = X / 16.0, (y >= 5).astype(int)
    machine = KernelPerceptron(RBF(gamma=0.1), hypothesis="averaged")
    guesses = []
    for x, label in zip(X[:600], y[:600], strict=True):
        guesses.append(machine.predict_one(x))
        machine.learn_one(x, label)
    assert guesses[0] is None
    assert np.mean([g == t for g, t in zip(guesses[1:], y[1:600], strict=True)]) > 0.8
    assert machine.score(X[600:], y[600:]) > 0.9
    assert bounds.certificate(machine, X[:600], y[:600]).holds
    model = machine.model_
    scores = model.scores(X[600:])[:, 0]
    machine.learn_one(X[700], 1 - y[700])
    np.testing.assert_array_equal(model.scores(X[600:])[:, 0], scores)  # a model does not change
