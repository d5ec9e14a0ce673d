// The border with Python: arrays and numbers in, caller's arrays out. What is the same in many calls is
// bound once, as an object; it refers to the caller's arrays, and owns nothing.
// The only file that knows Python. Sizes are checked by the door in onkel/_core/__init__.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/screen.h"
#include "learn/lasvm.h"
#include "learn/budget.h"
#include "product/pack.h"
#include "parallel.h"
#include "learn/perceptron.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T> using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// A block of a larger matrix: rows may lie apart, values of a row side by side.
template <class T> using OutBlock = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indptr = In1<int64_t>;
using Indices = In1<int32_t>;
template <class A> auto data_or_null(const std::optional<A>& array) { return array ? array->data() : nullptr; }

template <class T> onkel::Rows<T> dense_rows(const In2<T>& X, const std::optional<In1<T>>& aux) {
  return {X.data(), nullptr, nullptr, int64_t(X.shape(0)), int64_t(X.shape(1)), data_or_null(aux)};
}
template <class T>
onkel::Rows<T> csr_rows(const Indptr& indptr, const Indices& indices, const In1<T>& data, int64_t d,
                        const std::optional<In1<T>>& aux) {
  return {data.data(), indptr.data(), indices.data(), int64_t(indptr.shape(0)) - 1, d, data_or_null(aux)};
}

// The right-hand side of products: a kernel and the panels of its support, known once for many calls. The arrays
// stay those of Python; they are held, so that they live as long.
template <class T> struct Right {
  onkel::Job<T> job;  // but for rows and results
  In3<T> panels;
  std::optional<Out1<T>> aux;
  std::optional<Indices> slots, features;

  void product(const onkel::Rows<T>& rows, const std::optional<In2<double>>& A,
               const std::optional<OutBlock<double>>& scores, const std::optional<OutBlock<T>>& gram, bool below,
               int threads) const {
    onkel::Job<T> now = job;
    std::vector<T> weights;
    const nb::gil_scoped_release released;
    now.rows = rows;
    if (A) {
      now.c = int64_t(A->shape(1));
      weights.resize(panels.shape(0) * size_t(onkel::kPanel<T>) * A->shape(1));
      onkel::pack_weights(A->data(), now.panels.m, now.c, weights.data());
      now.weights = weights.data();
      now.scores = scores->data();
      now.score_row = int64_t(scores->stride(0));
      now.score_column = int64_t(scores->stride(1));
    }
    if (gram) {
      now.gram = gram->data();
      now.by_column = gram->stride(1) != 1 && gram->stride(0) == 1;
      now.ld = int64_t(gram->stride(now.by_column ? 1 : 0));
      now.below = below;
    }
    onkel::run_parallel(now, threads);
  }

  // The values of one dense row.
  void values(const T* x, T* out) const {
    const T aux = onkel::row_aux(job.op, x, job.panels.depth);
    onkel::Job<T> now = job;
    now.rows = {x, nullptr, nullptr, 1, job.panels.depth, &aux};
    now.gram = out;
    now.ld = job.panels.m;
    onkel::run_parallel(now, 1);
  }
};

template <class T> void bind_right(nb::module_& m, const char* name) {
  nb::class_<Right<T>>(m, name)
      .def(
          "dense",
          [](const Right<T>& right, In2<T> X, std::optional<In1<T>> aux, std::optional<In2<double>> A,
             std::optional<OutBlock<double>> scores, std::optional<OutBlock<T>> gram, bool below, int threads) {
            onkel::Rows<T> rows = dense_rows<T>(X, aux);
            T own;  // a single row comes without its aux
            if (!aux && rows.n == 1) {
              own = onkel::row_aux(right.job.op, rows.data, rows.d);
              rows.aux = &own;
            }
            right.product(rows, A, scores, gram, below, threads);
          },
          "X"_a.noconvert(), "aux"_a.noconvert().none(), "A"_a.noconvert().none(), "scores"_a.noconvert().none(),
          "gram"_a.noconvert().none(), "below"_a, "threads"_a)
      .def(
          "csr",
          [](const Right<T>& right, Indptr indptr, Indices indices, In1<T> data, int64_t d, std::optional<In1<T>> aux,
             std::optional<In2<double>> A, std::optional<OutBlock<double>> scores, std::optional<OutBlock<T>> gram,
             bool below, int threads) {
            right.product(csr_rows<T>(indptr, indices, data, d, aux), A, scores, gram, below, threads);
          },
          "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "d"_a, "aux"_a.noconvert().none(),
          "A"_a.noconvert().none(), "scores"_a.noconvert().none(), "gram"_a.noconvert().none(), "below"_a, "threads"_a)
      .def(
          "values",
          [](const Right<T>& right, In2<T> x, Out2<T> out) {
            const nb::gil_scoped_release released;
            right.values(x.data(), out.data());
          },
          "x"_a.noconvert(), "out"_a.noconvert())
      .def(
          "replace",
          [](Right<T>& right, int64_t place, In2<T> x) {
            if (right.aux) right.aux->data()[place] = onkel::row_aux(right.job.op, x.data(), int64_t(x.shape(1)));
          },
          "place"_a, "x"_a.noconvert());
  m.def(
      "right",
      [](int op, int map, const std::vector<double>& params, In3<T> panels, int64_t columns,
         std::optional<Out1<T>> aux, std::optional<Indices> slots, std::optional<Indices> features) {
        onkel::Job<T> job{};
        job.op = onkel::Op(op);
        job.map = onkel::Map(map);
        for (size_t i = 0; i < 3 && i < params.size(); ++i) job.params[i] = params[i];
        job.panels = {panels.data(), columns, int64_t(panels.shape(1)), data_or_null(aux), data_or_null(slots),
                      data_or_null(features)};
        return Right<T>{job, panels, aux, slots, features};
      },
      "op"_a, "map"_a, "params"_a, "panels"_a.noconvert(), "columns"_a, "aux"_a.noconvert().none(),
      "slots"_a.noconvert().none(), "features"_a.noconvert().none());
}

template <class T> void bind_rows(nb::module_& m) {
  m.def(
      "pack_dense",
      [](In2<T> S, Out3<T> panels) {
        const nb::gil_scoped_release released;
        onkel::pack_dense(S.data(), int64_t(S.shape(0)), int64_t(S.shape(1)), panels.data());
      },
      "S"_a.noconvert(), "panels"_a.noconvert());
  m.def(
      "place_row",
      [](In2<T> x, int64_t place, Out2<T> rows, Out1<double> norms, Out3<T> panels) {
        const int64_t d = int64_t(x.shape(1));
        norms.data()[place] = onkel::squared_norm(x.data(), nullptr, d);
        onkel::place_row(x.data(), d, place, rows.data(), panels.data());
      },
      "x"_a.noconvert(), "place"_a, "rows"_a.noconvert(), "norms"_a.noconvert(), "panels"_a.noconvert());
  m.def(
      "pack_csr",
      [](Indptr indptr, Indices indices, In1<T> data, std::optional<Indices> slots, Out3<T> panels) {
        const nb::gil_scoped_release released;
        onkel::pack_csr(indptr.data(), indices.data(), data.data(), int64_t(indptr.shape(0)) - 1,
                        int64_t(panels.shape(1)), data_or_null(slots), panels.data());
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "slots"_a.noconvert().none(),
      "panels"_a.noconvert());
  m.def(
      "take_csr",
      [](Indptr indptr, Indices indices, In1<T> data, In1<int64_t> chosen, Indptr out_indptr, Out1<int32_t> out_indices,
         Out1<T> out_data, int threads) {
        const nb::gil_scoped_release released;
        constexpr int64_t kRows = 512;
        const int64_t count = int64_t(chosen.shape(0));
        onkel::in_parallel((count + kRows - 1) / kRows, threads, [&](int64_t turn, int) {
          const int64_t begin = turn * kRows, end = begin + kRows < count ? begin + kRows : count;
          onkel::take_csr(indptr.data(), indices.data(), data.data(), chosen.data(), begin, end, out_indptr.data(),
                          out_indices.data(), out_data.data());
        });
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "chosen"_a.noconvert(),
      "out_indptr"_a.noconvert(), "out_indices"_a.noconvert(), "out_data"_a.noconvert(), "threads"_a);
  m.def(
      "squared_norms_dense",
      [](In2<T> X, Out1<double> norms) {
        const nb::gil_scoped_release released;
        for (size_t i = 0; i < X.shape(0); ++i)
          norms.data()[i] = onkel::squared_norm(X.data() + i * X.shape(1), nullptr, int64_t(X.shape(1)));
      },
      "X"_a.noconvert(), "norms"_a.noconvert());
  m.def(
      "squared_norms_csr",
      [](Indptr indptr, Indices indices, In1<T> data, Out1<double> norms) {
        const nb::gil_scoped_release released;
        for (size_t i = 0; i + 1 < indptr.shape(0); ++i) {
          const int64_t begin = indptr.data()[i];
          norms.data()[i] = onkel::squared_norm(data.data() + begin, indices.data() + begin, indptr.data()[i + 1] - begin);
        }
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "norms"_a.noconvert());
  m.def(
      "all_finite", [](In2<T> X) { return onkel::all_finite(X.data(), int64_t(X.shape(0) * X.shape(1))); },
      "X"_a.noconvert());
  m.def(
      "count_nonzeros",
      [](In2<T> X, Out1<int64_t> counts) {
        const nb::gil_scoped_release released;
        for (size_t i = 0; i < X.shape(0); ++i)
          counts.data()[i] = onkel::count_nonzeros(X.data() + i * X.shape(1), int64_t(X.shape(1)));
      },
      "X"_a.noconvert(), "counts"_a.noconvert());
  m.def(
      "compress_rows",
      [](In2<T> X, Indptr indptr, Out1<int32_t> indices, Out1<T> data) {
        const nb::gil_scoped_release released;
        for (size_t i = 0; i < X.shape(0); ++i) {
          const int64_t at = indptr.data()[i];
          onkel::compress_row(X.data() + i * X.shape(1), int64_t(X.shape(1)), indices.data() + at, data.data() + at);
        }
      },
      "X"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert());
}

// A learner under a budget and the examples that it is learning from, bound once for many passes.
// numbers: scale, spread, Q, M, shrink; places: size, head; settings: C, epsilon, eta, lambda, nu
template <class T> struct Online {
  onkel::Settings settings;
  Out2<T> K;
  In2<T> own;
  std::optional<Out2<T>> among;
  Out2<double> A;
  Out1<double> squares;
  Out1<int64_t> holds;
  std::optional<In2<double>> base;
  Out1<double> squared, numbers;
  Out1<int64_t> places;
  Out1<uint64_t> random;
  Out1<double> margin, offset;
  Out2<double> F, steps;
  Out1<int64_t> counts;
};

template <class T> void bind_online(nb::module_& m, const char* name) {
  nb::class_<Online<T>>(m, name).def(
      "learn",
      [](const Online<T>& on, In2<double> y, In1<double> w, int64_t t) {
        const nb::gil_scoped_release released;
        double* n = on.numbers.data();
        onkel::Memory<T> memory{int64_t(y.shape(0)), int64_t(y.shape(1)), int64_t(on.K.shape(1)), on.K.data(),
                                on.own.data(), data_or_null(on.among), on.A.data(), on.squares.data(), on.holds.data(),
                                data_or_null(on.base), n, n + 1, n + 2, n + 3, n + 4, on.squared.data(),
                                on.places.data(), on.places.data() + 1, on.random.data()};
        return onkel::online_pass(memory, on.settings, y.data(), w.data(), on.margin.data(), on.offset.data(), t,
                                  on.F.data(), on.steps.data(), on.counts.data());
      },
      "y"_a.noconvert(), "w"_a.noconvert(), "t"_a);
  m.def(
      "online",
      [](int rule, int policy, const std::vector<double>& s, bool root_schedule, bool intercept, Out2<T> K, In2<T> own,
         std::optional<Out2<T>> among, Out2<double> A, Out1<double> squares, Out1<int64_t> holds,
         std::optional<In2<double>> base, Out1<double> squared, Out1<double> numbers, Out1<int64_t> places,
         Out1<uint64_t> random, Out1<double> margin, Out1<double> offset, Out2<double> F, Out2<double> steps,
         Out1<int64_t> counts) {
        const onkel::Settings settings{onkel::Rule(rule), onkel::Policy(policy), s[0], s[1], s[2], s[3], s[4],
                                       root_schedule, intercept};
        return Online<T>{settings, K, own, among, A, squares, holds, base, squared, numbers, places, random, margin,
                         offset, F, steps, counts};
      },
      "rule"_a, "policy"_a, "settings"_a, "root_schedule"_a, "intercept"_a, "K"_a.noconvert(), "own"_a.noconvert(),
      "among"_a.noconvert().none(), "A"_a.noconvert(), "squares"_a.noconvert(), "holds"_a.noconvert(),
      "base"_a.noconvert().none(), "squared"_a.noconvert(), "numbers"_a.noconvert(), "places"_a.noconvert(),
      "random"_a.noconvert(), "margin"_a.noconvert(), "offset"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert());
}

// What judges one example after another, whose kernel values are in K: screen.h.
template <class T> struct Judge {
  onkel::Projection p;
  In2<T> K;
  int64_t size;
  In1<float> M;
  double norm;
  In2<double> B;
  std::optional<Out2<double>> waiting;
  Out1<double> behind;
  Out2<double> F, steps;
  Out1<int64_t> counts;

  onkel::Judge now() const {
    return {p, size, int64_t(B.shape(0)), int64_t(B.shape(1)), M.data(), norm, B.data(), data_or_null(waiting),
            behind.data(), counts.data()};
  }
};

template <class T> void bind_judge(nb::module_& m, const char* name) {
  nb::class_<Judge<T>>(m, name)
      .def(
          "by_projection",
          [](const Judge<T>& j, double kxx, In2<double> y) {
            return int(onkel::judge_projection(j.now(), j.K.data(), kxx, y.data(), j.F.data(), j.steps.data()));
          },
          "kxx"_a, "y"_a.noconvert())
      .def(
          "score",  // of kernel values K, by the coefficients; NaN where its sign is in doubt
          [](const Judge<T>& j, In2<T> K, double kxx) {
            double F = 0, slack = 0;
            onkel::score_roughly(j.now(), K.data(), kxx, &F, &slack);
            return std::fabs(F) > slack ? F : std::numeric_limits<double>::quiet_NaN();
          },
          "K"_a.noconvert(), "kxx"_a)
      .def(
          "by_coefficients",
          [](const Judge<T>& j, double kxx, In2<double> y) {
            return int(onkel::judge_coefficients(j.now(), j.K.data(), kxx, y.data(), j.F.data(), j.steps.data()));
          },
          "kxx"_a, "y"_a.noconvert());
}

template <class T> void bind_projection(nb::module_& m) {
  m.def(
      "project_rows",
      [](In2<double> L, int64_t size, In2<T> K, Out2<double> Z, int threads) {
        const nb::gil_scoped_release released;
        onkel::project_rows(L.data(), int64_t(L.shape(1)), size, K.data(), int64_t(K.shape(0)), int64_t(K.shape(1)),
                            Z.data(), threads);
      },
      "L"_a.noconvert(), "size"_a, "K"_a.noconvert(), "Z"_a.noconvert(), "threads"_a);
  m.def(
      "all_right",
      [](In2<T> K, In2<double> A, In2<double> y, Out2<double> F) {
        return onkel::all_right(K.data(), A.data(), int64_t(A.shape(0)), int64_t(A.shape(1)), y.data(), F.data());
      },
      "K"_a.noconvert(), "A"_a.noconvert(), "y"_a.noconvert(), "F"_a.noconvert());
  m.def(
      "judge",
      [](double eta, int64_t budget, bool aggressive, bool kol, In2<T> K, int64_t size, In1<float> M, double norm,
         In2<double> B, std::optional<Out2<double>> waiting, Out1<double> behind, Out2<double> F, Out2<double> steps,
         Out1<int64_t> counts) {
        return Judge<T>{onkel::Projection{eta, budget, aggressive, kol}, K, size, M, norm, B, waiting, behind, F, steps,
                        counts};
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "size"_a, "M"_a.noconvert(), "norm"_a,
      "B"_a.noconvert(), "waiting"_a.noconvert().none(), "behind"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert());
  m.def(
      "project_pass",
      [](double eta, int64_t budget, bool aggressive, bool kol, Out2<T> K, In2<T> own, Out2<double> Z,
         int64_t known, Out2<double> L, Out2<double> B, Out1<int64_t> size, In2<double> y, In1<double> w,
         Out2<double> F, Out2<double> steps, Out1<int64_t> added, Out1<int64_t> counts) {
        const nb::gil_scoped_release released;
        return onkel::project_pass(onkel::Projection{eta, budget, aggressive, kol}, int64_t(y.shape(0)),
                                   int64_t(y.shape(1)), int64_t(K.shape(1)), K.data(), own.data(),
                                   int64_t(own.shape(1)), Z.data(), known,
                                   L.data(), B.data(), size.data(), y.data(), w.data(), F.data(), steps.data(),
                                   added.data(), counts.data());
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "own"_a.noconvert(),
      "Z"_a.noconvert(), "known"_a, "L"_a.noconvert(), "B"_a.noconvert(), "size"_a.noconvert(), "y"_a.noconvert(),
      "w"_a.noconvert(), "F"_a.noconvert(), "steps"_a.noconvert(), "added"_a.noconvert(), "counts"_a.noconvert());
}

int64_t run_smo(bool pairs, const float* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo32(pairs, K, block, tol, most, gap);
}
int64_t run_smo(bool pairs, const double* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo64(pairs, K, block, tol, most, gap);
}

template <class T> void bind_smo(nb::module_& m) {
  m.def(
      "smo",
      [](In2<T> K, int64_t size, In1<double> low, In1<double> high, Out1<double> b, Out1<double> v, bool pairs,
         double tol, int64_t most) {
        const size_t room = K.shape(1);
        std::vector<double> wide(2 * room);
        std::vector<float> rough(2 * room);
        double gap = 0;
        int64_t steps = 0;
        {
          const nb::gil_scoped_release released;
          const onkel::Block block{size, int64_t(K.shape(1)), low.data(), high.data(), b.data(), v.data(),
                                   wide.data(), wide.data() + room, rough.data(), rough.data() + room};
          steps = run_smo(pairs, K.data(), block, tol, most, &gap);
        }
        return std::make_pair(steps, gap);
      },
      "K"_a.noconvert(), "size"_a, "low"_a.noconvert(), "high"_a.noconvert(), "b"_a.noconvert(), "v"_a.noconvert(),
      "pairs"_a, "tol"_a, "most"_a);
}

// What lasvm.h calls Lasvm. held: slot, used, done of each place; kept: refs, freed, number of each slot;
// sizes: box, diag; values: alpha, g, up, down; marks: sign, listed.
template <class T>
onkel::Lasvm<T> lasvm(double tau, const Out2<T>& rows, const Out2<int64_t>& held, const Out1<int64_t>& place, int64_t area,
                      const Out2<int64_t>& kept, const Out2<double>& sizes, const Out3<double>& values,
                      const Out3<int8_t>& marks, const Out2<int64_t>& zeros, const Out2<int64_t>& ends,
                      const Out2<double>& level, const Out1<int64_t>& tally, const In2<T>& own, const Out2<int64_t>& log) {
  const int64_t c = int64_t(values.shape(1)), cap = int64_t(values.shape(2)), places = int64_t(held.shape(1));
  int64_t *h = held.data(), *k = kept.data();
  double *s = sizes.data(), *v = values.data();
  return {c, cap, tau, rows.data(), place.data(), h, h + places, h + 2 * places, area, k, k + cap, k + 2 * cap, s, s + cap,
          v, v + c * cap, v + 2 * c * cap, v + 3 * c * cap, marks.data(), marks.data() + c * cap, zeros.data(), ends.data(),
          level.data(), tally.data(), int64_t(own.shape(0)), own.data(), log.data()};
}

template <class T> void bind_lasvm(nb::module_& m) {
  m.def(
      "lasvm_pass",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> own, Out2<int64_t> log, In2<double> y, In1<double> C,
         In1<int64_t> number, In1<int64_t> at, Out1<int64_t> position, Out2<double> F, Out2<double> steps,
         Out1<int64_t> counts, int64_t work) {
        const nb::gil_scoped_release released;
        return onkel::lasvm_pass(lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level,
                                          tally, own, log),
                                 y.data(), C.data(), number.data(), at.data(), position.data(), F.data(), steps.data(),
                                 counts.data(), work);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "own"_a.noconvert(), "log"_a.noconvert(), "y"_a.noconvert(),
      "C"_a.noconvert(), "number"_a.noconvert(), "at"_a.noconvert(), "position"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert(), "work"_a);
  m.def(
      "lasvm_finish",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> own, Out2<int64_t> log, Out1<int64_t> position, int64_t work) {
        const nb::gil_scoped_release released;
        return onkel::lasvm_finish(lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level,
                                            tally, own, log),
                                   position.data(), work);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "own"_a.noconvert(), "log"_a.noconvert(), "position"_a.noconvert(),
      "work"_a);
  m.def(
      "lasvm_settle",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> own, Out2<int64_t> log, int64_t places, int threads) {
        const nb::gil_scoped_release released;
        onkel::lasvm_settle(lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level, tally,
                                     own, log),
                            places, threads);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "own"_a.noconvert(), "log"_a.noconvert(), "places"_a, "threads"_a);
}

template <class T> void bind_passes(nb::module_& m) {
  m.def(
      "perceptron_pass",
      [](In2<T> K, In1<int64_t> place, int64_t first, In2<int8_t> y, In1<double> w, double bias, Out2<double> F,
         Out2<double> steps, Out1<double> squared) {
        const nb::gil_scoped_release released;
        return onkel::perceptron_pass(K.data(), place.data(), first, int64_t(y.shape(0)), int64_t(y.shape(1)), y.data(),
                                      w.data(), bias, F.data(), steps.data(), squared.data());
      },
      "K"_a.noconvert(), "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "w"_a.noconvert(), "bias"_a, "F"_a.noconvert(), "steps"_a.noconvert(),
      "squared"_a.noconvert());
  m.def(
      "primal_pass",
      [](In1<T> data, std::optional<Indptr> indptr, std::optional<Indices> indices, In2<int8_t> y, In1<double> w,
         double eta, bool bias, int64_t first_round, Out2<double> V, Out2<double> M, Out2<double> steps) {
        const nb::gil_scoped_release released;
        onkel::primal_pass(data.data(), data_or_null(indptr), data_or_null(indices), int64_t(y.shape(0)),
                           int64_t(V.shape(1)) - 1, int64_t(V.shape(0)), y.data(), w.data(), eta, bias, first_round,
                           V.data(), M.data(), steps.data());
      },
      "data"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(), "y"_a.noconvert(),
      "w"_a.noconvert(), "eta"_a, "bias"_a, "first_round"_a, "V"_a.noconvert(), "M"_a.noconvert(),
      "steps"_a.noconvert());
  m.def(
      "add_columns",
      [](nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> columns, In1<int64_t> which, In2<double> A,
         OutBlock<double> F, int threads) {
        const nb::gil_scoped_release released;
        onkel::add_columns(columns.data(), int64_t(columns.stride(0)), which.data(), int64_t(which.shape(0)),
                           int64_t(columns.shape(1)), A.data(), int64_t(A.shape(1)), F.data(), int64_t(F.stride(0)), threads);
      },
      "columns"_a.noconvert(), "which"_a.noconvert(), "A"_a.noconvert(), "F"_a.noconvert(), "threads"_a);
  m.def(
      "vote",
      [](In2<T> K, In1<int64_t> support, In1<int64_t> machine, In1<double> step, In1<double> weight, In1<double> start,
         double bias, Out2<double> out) {
        const nb::gil_scoped_release released;
        std::vector<double> sums(start.shape(0));
        onkel::vote(K.data(), int64_t(K.shape(0)), int64_t(K.shape(1)), support.data(), machine.data(), step.data(),
                    weight.data(), int64_t(step.shape(0)), start.data(), int64_t(start.shape(0)), bias, sums.data(),
                    out.data());
      },
      "K"_a.noconvert(), "support"_a.noconvert(), "machine"_a.noconvert(), "step"_a.noconvert(),
      "weight"_a.noconvert(), "start"_a.noconvert(), "bias"_a, "out"_a.noconvert());
}

}  // namespace

NB_MODULE(_native, m) {
  m.def("simd_targets", [] {
    int count = 0;
    const onkel::Target* const* found = onkel::targets(&count);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.emplace_back(found[i]->name);
    return names;
  });
  m.def("simd_target", [] { return std::string(onkel::current_target().name); });
  m.def("select_simd", [](const std::string& name) { return onkel::select_target(name.c_str()); }, "name"_a);
  nb::set_leak_warnings(false);  // what lives at the end of a process goes with it
  bind_right<float>(m, "Right32");
  bind_right<double>(m, "Right64");
  bind_rows<float>(m);
  bind_rows<double>(m);
  bind_passes<float>(m);
  bind_passes<double>(m);
  bind_online<float>(m, "Online32");
  bind_online<double>(m, "Online64");
  bind_judge<float>(m, "Judge32");
  bind_judge<double>(m, "Judge64");
  bind_projection<float>(m);
  bind_projection<double>(m);
  bind_smo<float>(m);
  bind_smo<double>(m);
  bind_lasvm<float>(m);
  bind_lasvm<double>(m);
  m.def(
      "least_margins",
      [](In1<int64_t> place, int64_t first, In2<int8_t> y, In2<double> F, std::optional<In1<double>> lengths,
         Out1<double> margin) {
        const nb::gil_scoped_release released;
        return onkel::least_margins(place.data(), first, int64_t(y.shape(0)), int64_t(y.shape(1)), y.data(), F.data(),
                                    data_or_null(lengths), margin.data());
      },
      "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "F"_a.noconvert(), "lengths"_a.noconvert().none(),
      "margin"_a.noconvert());
  m.def(
      "coefficients",
      [](In2<double> L, In2<double> B, Out2<double> A) {
        const nb::gil_scoped_release released;
        onkel::coefficients(L.data(), int64_t(L.shape(1)), int64_t(A.shape(1)), B.data(), int64_t(A.shape(0)), A.data());
      },
      "L"_a.noconvert(), "B"_a.noconvert(), "A"_a.noconvert());
  m.def(
      "invert_rows",
      [](In2<double> L, int64_t first, int64_t last, Out1<float> M, Out1<double> squares) {
        const nb::gil_scoped_release released;
        onkel::invert_rows(L.data(), int64_t(L.shape(1)), first, last, M.data(), squares.data());
      },
      "L"_a.noconvert(), "first"_a, "last"_a, "M"_a.noconvert(), "squares"_a.noconvert());
  m.def(
      "settle",
      [](In2<double> L, int64_t size, In2<double> waiting, Out2<double> B) {
        onkel::settle(L.data(), int64_t(L.shape(1)), size, waiting.data(), B.data());
      },
      "L"_a.noconvert(), "size"_a, "waiting"_a.noconvert(), "B"_a.noconvert());
  m.def(
      "apply_map",
      [](int map, const std::vector<double>& params, Out1<float> values) {
        onkel::current_target().map32(onkel::Map(map), params.data(), values.data(), int64_t(values.shape(0)));
      },
      "map"_a, "params"_a, "values"_a.noconvert());
  m.def(
      "apply_map",
      [](int map, const std::vector<double>& params, Out1<double> values) {
        onkel::current_target().map64(onkel::Map(map), params.data(), values.data(), int64_t(values.shape(0)));
      },
      "map"_a, "params"_a, "values"_a.noconvert());
}
