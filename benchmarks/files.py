"""Saving and loading a large model, beside the rate of the disk, and pickle.

    python benchmarks/files.py [--megabytes N]

A file of N MB (default 100) holds the support vectors of a kernel model. "disk" writes and flushes, or reads, as many
bytes without anything else; a file that was just written is read from the memory of the operating system. "one row
predicted" is a new process, imports done: from the path to the prediction.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import measure
import numpy as np

import onkel
from onkel.kernels import RBF, prepare
from onkel.models import Classes, Columns, Expansion, ScoreModel

D = 100
ONE_ROW = """
import sys, time
import numpy as np, onkel
from onkel.models import model, vote
from onkel.files import load
import onkel.estimators.perceptron
x = np.zeros(int(sys.argv[2]), dtype=np.float32)
start = time.perf_counter()
onkel.load(sys.argv[1]).predict_one(x)
print(time.perf_counter() - start)
"""


def model_of(n_bytes: int) -> ScoreModel:
    """A kernel model whose support has about so many bytes."""
    n = n_bytes // (4 * D)
    rng = np.random.default_rng(0)
    support = prepare(RBF(gamma=0.01), rng.standard_normal((n, D), dtype=np.float32))
    scorer = Expansion(RBF(gamma=0.01), support, np.arange(n), rng.standard_normal((n, 1)), np.zeros(1))
    return ScoreModel(scorer, Classes(np.array(["no", "yes"])), Columns(D, None, np.dtype(np.float32), False))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--megabytes", type=int, default=100)
    megabytes = options.parse_args().megabytes
    model = model_of(megabytes * 10**6)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        ours, peer, raw = (Path(folder, name) for name in ("m.onkel", "m.pickle", "raw"))
        onkel.save(model, ours)
        content = ours.read_bytes()

        def write_raw() -> None:
            with open(raw, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())

        def write_pickle() -> None:
            with open(peer, "wb") as file:
                pickle.dump(model, file, protocol=5)
                file.flush()
                os.fsync(file.fileno())

        save = {"onkel": lambda: onkel.save(model, ours), "disk": write_raw, "pickle": write_pickle}
        load = {
            "onkel": lambda: onkel.load(ours),
            "disk": lambda: raw.read_bytes(),
            "pickle": lambda: pickle.loads(peer.read_bytes()),
        }
        rows = []
        for what, contenders in (("save, flushed to the disk", save), ("load", load)):
            found = measure.interleaved(contenders, repeats=5)
            rate = len(content) / found["onkel"] / 1e9
            rows.append([what, *(f"{found[name]:.3f} s" for name in ("onkel", "disk", "pickle")), f"{rate:.2f} GB/s"])
        command = [sys.executable, "-c", ONE_ROW, str(ours), str(D)]
        cold = min(float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(3))
        rows.append(["load in a new process, and one row predicted", f"{cold:.3f} s", "", "", "bar 0.2 s at 100 MB"])
    shown = measure.table([f"{len(content) / 1e6:.0f} MB", "onkel", "disk", "pickle", "rate"], rows)
    measure.report("files", f"{shown}\n\n{measure.machine()}", {"rows": rows})


if __name__ == "__main__":
    main()
