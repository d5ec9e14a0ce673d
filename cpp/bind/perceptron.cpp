// The perceptron without a budget: learn/perceptron.h in Python.
#include "bind/check.h"
#include "bind/ledger.h"
#include "learn/perceptron.h"

namespace onkel { namespace bind {
namespace {

template <class T> void bind_passes(nb::module_& m) {
  m.def(
      "perceptron_pass",
      [](In2<T> K, In1<int64_t> place, int64_t first, In2<int8_t> y, In1<double> w, double bias, Out2<double> F,
         Out1<double> offsets, Out2<double> steps, Out1<double> sq_norms) {
        const int64_t b = int64_t(y.shape(0)), c = int64_t(y.shape(1));
        const Check check{"perceptron_pass"};
        check.shape("K", K, kAny, b);
        check.shape("place", place, b);
        check.below("place", place, int64_t(K.shape(0)));  // a row without kernel values has a negative place
        check.between("first", first, 0, b);
        check.shape("w", w, b);
        check.shape("F", F, c, b);
        check.shape("offsets", offsets, c);
        check.shape("steps", steps, b, c);
        check.shape("sq_norms", sq_norms, c);
        const nb::gil_scoped_release released;
        return onkel::perceptron_pass(K.data(), place.data(), first, b, c, y.data(), w.data(), bias, F.data(),
                                      offsets.data(), steps.data(), sq_norms.data());
      },
      "K"_a.noconvert(), "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "w"_a.noconvert(), "bias"_a,
      "F"_a.noconvert(), "offsets"_a.noconvert(), "steps"_a.noconvert(), "sq_norms"_a.noconvert());
  m.def(
      "primal_pass",  // holds the GIL: nobody sees V without the counts and the ledger
      [](In1<T> data, std::optional<Indptr> indptr, std::optional<Indices> indices, In2<double> y, In1<double> w,
         In1<int64_t> row_ids, double eta, bool bias, Out2<double> V, Out2<double> moments, Counts& counts,
         Out2<int64_t> entries, Out1<int64_t> n_entries, Out2<double> F) {
        const Check check{"primal_pass"};
        const int64_t n = int64_t(y.shape(0)), c = int64_t(y.shape(1)), d = int64_t(V.shape(1)) - 1;
        check.that(bool(indptr) == bool(indices), "indptr and indices must be given together");
        check.room("V", V, c, 1);
        check.shape("V", V, c, d + 1);
        if (!indptr) {
          check.shape("data", data, n * d);
        } else {
          check.csr("indptr", *indptr, n, *indices, data);
          check.csr_ends("indices", *indptr, *indices, d);
        }
        check.shape("w", w, n);
        check.shape("row_ids", row_ids, n);
        check.shape("moments", moments, c, d + 1);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, n * c);
        check.shape("F", F, n, c);
        onkel::primal_pass(data.data(), data_or_null(indptr), data_or_null(indices), n, d, c, y.data(), w.data(),
                           row_ids.data(), eta, bias, V.data(), moments.data(),
                           counts, ledger, F.data());
      },
      "data"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(), "y"_a.noconvert(),
      "w"_a.noconvert(), "row_ids"_a.noconvert(), "eta"_a, "bias"_a, "V"_a.noconvert(), "moments"_a.noconvert(),
      "counts"_a, "entries"_a.noconvert(), "n_entries"_a.noconvert(), "F"_a.noconvert());
  m.def(
      "add_columns",
      [](InBlock<T> columns, In1<int64_t> which, In2<double> A, OutBlock<double> F, int threads) {
        const Check check{"add_columns"};
        const int64_t k = int64_t(which.shape(0)), n = int64_t(columns.shape(1)), c = int64_t(A.shape(1));
        check.block("columns", columns);
        check.indices("which", which, int64_t(columns.shape(0)));
        check.shape("A", A, k, c);
        check.shape("F", F, c, n);
        check.block("F", F);
        check.least("threads", threads, 1);
        const nb::gil_scoped_release released;
        onkel::add_columns(columns.data(), int64_t(columns.stride(0)), which.data(), k, n, A.data(), c, F.data(),
                           int64_t(F.stride(0)), threads);
      },
      "columns"_a.noconvert(), "which"_a.noconvert(), "A"_a.noconvert(), "F"_a.noconvert(), "threads"_a);
  m.def(
      "vote",
      [](In2<T> K, In1<int64_t> support, In1<int64_t> output, In1<double> step, In1<double> weight, In1<double> start,
         double bias, Out2<double> out) {
        const Check check{"vote"};
        const int64_t n = int64_t(K.shape(0)), m = int64_t(K.shape(1)), c = int64_t(start.shape(0));
        const int64_t entries = int64_t(step.shape(0));
        check.shape("support", support, entries);
        check.indices("support", support, m);
        check.shape("output", output, entries);
        check.indices("output", output, c);
        check.shape("weight", weight, entries);
        check.shape("out", out, n, c);
        const nb::gil_scoped_release released;
        std::vector<double> sums(2 * start.shape(0));
        onkel::vote(K.data(), n, m, support.data(), output.data(), step.data(), weight.data(), entries, start.data(), c,
                    bias, sums.data(), out.data());
      },
      "K"_a.noconvert(), "support"_a.noconvert(), "output"_a.noconvert(), "step"_a.noconvert(),
      "weight"_a.noconvert(), "start"_a.noconvert(), "bias"_a, "out"_a.noconvert());
}

}  // namespace

void bind_perceptron(nb::module_& m) {
  bind_passes<float>(m);
  bind_passes<double>(m);
  m.def(
      "least_margins",
      [](In1<int64_t> place, int64_t first, In2<int8_t> y, In2<double> F, In1<double> offsets,
         std::optional<In1<double>> lengths, Out1<double> margin) {
        const int64_t b = int64_t(y.shape(0)), c = int64_t(y.shape(1));
        const Check check{"least_margins"};
        check.shape("place", place, b);
        check.between("first", first, 0, b);
        check.shape("F", F, c, b);
        check.shape("offsets", offsets, c);
        check.shape("lengths", lengths, b);
        check.shape("margin", margin, b - first);
        const nb::gil_scoped_release released;
        return onkel::least_margins(place.data(), first, b, c, y.data(), F.data(), offsets.data(),
                                    data_or_null(lengths), margin.data());
      },
      "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "F"_a.noconvert(), "offsets"_a.noconvert(),
      "lengths"_a.noconvert().none(), "margin"_a.noconvert());
}

}}  // namespace onkel::bind
