// Products, and getting rows ready for them: product/ in Python.
#include "bind/arrays.h"
#include "parallel.h"
#include "product/pack.h"
#include "target/dispatch.h"

namespace onkel { namespace bind {
namespace {

template <class T> onkel::Rows<T> dense_rows(const In2<T>& X, const std::optional<In1<T>>& aux) {
  return {X.data(), nullptr, nullptr, int64_t(X.shape(0)), int64_t(X.shape(1)), data_or_null(aux)};
}
template <class T>
onkel::Rows<T> csr_rows(const Indptr& indptr, const Indices& indices, const In1<T>& data, int64_t d,
                        const std::optional<In1<T>>& aux) {
  return {data.data(), indptr.data(), indices.data(), int64_t(indptr.shape(0)) - 1, d, data_or_null(aux)};
}

// The right-hand side of products: a kernel and the packed support, bound once for many calls.
template <class T> struct Right {
  onkel::Job<T> job;  // without rows and results
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

  // The kernel values of one dense row.
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
            T row_aux;  // a single row comes without its aux
            if (!aux && rows.n == 1) {
              row_aux = onkel::row_aux(right.job.op, rows.data, rows.d);
              rows.aux = &row_aux;
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
          const int64_t begin = indptr.data()[i], count = indptr.data()[i + 1] - begin;
          norms.data()[i] = onkel::squared_norm(data.data() + begin, indices.data() + begin, count);
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

}  // namespace

void bind_product(nb::module_& m) {
  bind_right<float>(m, "Right32");
  bind_right<double>(m, "Right64");
  bind_rows<float>(m);
  bind_rows<double>(m);
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

}}  // namespace onkel::bind
