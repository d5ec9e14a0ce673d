// The perceptron without a budget: learn/perceptron.h in Python.
#include "bind/arrays.h"
#include "learn/perceptron.h"

namespace onkel { namespace bind {
namespace {

template <class T> void bind_passes(nb::module_& m) {
  m.def(
      "perceptron_pass",
      [](In2<T> K, In1<int64_t> place, int64_t first, In2<int8_t> y, In1<double> w, double bias, Out2<double> F,
         Out2<double> steps, Out1<double> sq_norms) {
        const nb::gil_scoped_release released;
        return onkel::perceptron_pass(K.data(), place.data(), first, int64_t(y.shape(0)), int64_t(y.shape(1)), y.data(),
                                      w.data(), bias, F.data(), steps.data(), sq_norms.data());
      },
      "K"_a.noconvert(), "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "w"_a.noconvert(), "bias"_a,
      "F"_a.noconvert(), "steps"_a.noconvert(), "sq_norms"_a.noconvert());
  m.def(
      "primal_pass",
      [](In1<T> data, std::optional<Indptr> indptr, std::optional<Indices> indices, In2<int8_t> y, In1<double> w,
         double eta, bool bias, int64_t first_round, Out2<double> V, Out2<double> moments, Out2<double> steps) {
        const nb::gil_scoped_release released;
        onkel::primal_pass(data.data(), data_or_null(indptr), data_or_null(indices), int64_t(y.shape(0)),
                           int64_t(V.shape(1)) - 1, int64_t(V.shape(0)), y.data(), w.data(), eta, bias, first_round,
                           V.data(), moments.data(), steps.data());
      },
      "data"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(), "y"_a.noconvert(),
      "w"_a.noconvert(), "eta"_a, "bias"_a, "first_round"_a, "V"_a.noconvert(), "moments"_a.noconvert(),
      "steps"_a.noconvert());
  m.def(
      "add_columns",
      [](nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> columns, In1<int64_t> which, In2<double> A,
         OutBlock<double> F, int threads) {
        const nb::gil_scoped_release released;
        onkel::add_columns(columns.data(), int64_t(columns.stride(0)), which.data(), int64_t(which.shape(0)),
                           int64_t(columns.shape(1)), A.data(), int64_t(A.shape(1)), F.data(),
                           int64_t(F.stride(0)), threads);
      },
      "columns"_a.noconvert(), "which"_a.noconvert(), "A"_a.noconvert(), "F"_a.noconvert(), "threads"_a);
  m.def(
      "vote",
      [](In2<T> K, In1<int64_t> support, In1<int64_t> output, In1<double> step, In1<double> weight, In1<double> start,
         double bias, Out2<double> out) {
        const nb::gil_scoped_release released;
        std::vector<double> sums(start.shape(0));
        onkel::vote(K.data(), int64_t(K.shape(0)), int64_t(K.shape(1)), support.data(), output.data(), step.data(),
                    weight.data(), int64_t(step.shape(0)), start.data(), int64_t(start.shape(0)), bias, sums.data(),
                    out.data());
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
      [](In1<int64_t> place, int64_t first, In2<int8_t> y, In2<double> F, std::optional<In1<double>> lengths,
         Out1<double> margin) {
        const nb::gil_scoped_release released;
        return onkel::least_margins(place.data(), first, int64_t(y.shape(0)), int64_t(y.shape(1)), y.data(), F.data(),
                                    data_or_null(lengths), margin.data());
      },
      "place"_a.noconvert(), "first"_a, "y"_a.noconvert(), "F"_a.noconvert(), "lengths"_a.noconvert().none(),
      "margin"_a.noconvert());
}

}}  // namespace onkel::bind
