// Products of rows with a packed right-hand side: product/product.h in Python.
#include "bind/check.h"
#include "bind/right.h"
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
  return {data.data(), indptr.data(), indices.data(), row_count(indptr), d, data_or_null(aux)};
}

// The right-hand side of products: a kernel and the packed support, bound once for many calls. Products return whether
// T has the range for the rows and the support; if not, nothing was computed.
template <class T> struct Right {
  onkel::Job<T> job;  // without rows and results
  onkel::Range range;
  onkel::NormRange norms;  // of the support
  In3<T> panels;
  std::optional<Out1<T>> aux;
  std::optional<Indices> slots, features;

  bool needs_aux() const { return job.op == onkel::Op::kDistance || job.op == onkel::Op::kCosine; }

  // Whether T has the range for these rows and the support.
  bool has(const onkel::NormRange& of_rows) const { return range.has(norms) && range.has(of_rows); }
  bool has(const onkel::Rows<T>& rows, double least, double most) const {
    if (sizeof(T) > 4) return true;
    onkel::NormRange of_rows{least, most};
    if (rows.n == 1) {
      const int64_t at = rows.indptr ? rows.indptr[0] : 0, end = rows.indptr ? rows.indptr[1] : rows.d;
      of_rows = {};
      of_rows.add(onkel::squared_norm(rows.data + at, rows.indptr ? rows.indices + at : nullptr, end - at));
    }
    return has(of_rows);
  }

  void product(const Check& check, const onkel::Rows<T>& rows, const std::optional<In2<double>>& A,
               const std::optional<OutBlock<double>>& scores, const std::optional<OutBlock<T>>& gram, bool below,
               int threads) const {
    const int64_t m = job.panels.m;
    check.that(rows.aux || !needs_aux(), "aux must be given for this op");
    check.that(bool(A) == bool(scores), "A and scores must be given together");
    check.shape("A", A, m, kAny);
    if (A) check.least("columns of A", int64_t(A->shape(1)), 1);
    if (A) check.shape("scores", scores, rows.n, A->shape(1));
    check.shape("gram", gram, rows.n, m);
    check.that(!below || rows.n == m, "below needs as many rows as the right-hand side has");
    check.least("threads", threads, 1);
    onkel::Job<T> now = job;
    if (gram) {
      now.gram = gram->data();
      now.by_column = A || (gram->stride(1) != 1 && gram->stride(0) == 1);
      now.ld = int64_t(gram->stride(now.by_column ? 1 : 0));
      now.below = below;
      const int side = now.by_column ? 0 : 1;  // along which the values must lie side by side
      check.that(gram->shape(side) <= 1 || gram->stride(side) == 1,
                 A ? "gram must have contiguous columns if scores are given, too"
                   : "gram must have contiguous rows or columns");
    }
    if (rows.n == 0) return;
    std::vector<T> weights;
    std::vector<double> wide;
    const nb::gil_scoped_release released;
    now.rows = rows;
    if (A) {
      now.c = int64_t(A->shape(1));
      const size_t room = panels.shape(0) * size_t(onkel::kPanel<T>) * A->shape(1);
      if (sizeof(T) > 4 || onkel::current_target().weights_fit(A->data(), now.panels.m * now.c)) {
        weights.resize(room);
        onkel::pack_weights<T>(A->data(), now.panels.m, now.c, weights.data());
        now.weights = weights.data();
      } else {
        wide.resize(room);
        onkel::pack_weights<T>(A->data(), now.panels.m, now.c, wide.data());
        now.wide = wide.data();
      }
      now.scores = scores->data();
      now.score_row = int64_t(scores->stride(0));
      now.score_column = int64_t(scores->stride(1));
    }
    onkel::run_parallel(now, threads);
  }

  // The number of features of the rows that CSR rows are multiplied with: those that no panel holds count, too.
  int64_t features_count() const { return slots ? int64_t(slots->shape(0)) : job.panels.depth; }

  // The kernel values of one dense row.
  bool values(const T* x, T* out) const {
    const double norm = onkel::squared_norm(x, nullptr, job.panels.depth);
    onkel::NormRange of_row;
    of_row.add(norm);
    if (!has(of_row)) return false;
    const T aux = onkel::row_aux<T>(job.op, norm);
    onkel::Job<T> now = job;
    now.rows = {x, nullptr, nullptr, 1, job.panels.depth, &aux};
    now.gram = out;
    now.ld = job.panels.m;
    onkel::run_parallel(now, 1);
    return true;
  }

  // Updates this after x was written to row `place` of the panels.
  void replace(int64_t place, const T* x, int64_t d) {
    const double norm = onkel::squared_norm(x, nullptr, d);
    norms.add(norm);
    if (aux) aux->data()[place] = onkel::row_aux<T>(job.op, norm);
  }
};

template <class T> void bind_right(nb::module_& m, const char* name) {
  nb::class_<Right<T>>(m, name)
      .def(
          "dense",
          [](const Right<T>& right, In2<T> X, std::optional<In1<T>> aux, std::optional<In2<double>> A,
             std::optional<OutBlock<double>> scores, std::optional<OutBlock<T>> gram, bool below, int threads,
             double least, double most) {
            const Check check{"Right.dense"};
            check.shape("X", X, kAny, right.job.panels.depth);
            check.shape("aux", aux, X.shape(0));
            onkel::Rows<T> rows = dense_rows<T>(X, aux);
            T row_aux;  // a single row comes without its aux
            if (!aux && rows.n == 1) {
              row_aux = onkel::row_aux<T>(right.job.op, onkel::squared_norm(rows.data, nullptr, rows.d));
              rows.aux = &row_aux;
            }
            if (!right.has(rows, least, most)) return false;
            right.product(check, rows, A, scores, gram, below, threads);
            return true;
          },
          "X"_a.noconvert(), "aux"_a.noconvert().none(), "A"_a.noconvert().none(), "scores"_a.noconvert().none(),
          "gram"_a.noconvert().none(), "below"_a, "threads"_a, "least"_a, "most"_a)
      .def(
          "csr",
          [](const Right<T>& right, Indptr indptr, Indices indices, In1<T> data, int64_t d, std::optional<In1<T>> aux,
             std::optional<In2<double>> A, std::optional<OutBlock<double>> scores, std::optional<OutBlock<T>> gram,
             bool below, int threads, double least, double most) {
            const Check check{"Right.csr"};
            check.csr("indptr", indptr, row_count(indptr), indices, data);
            check.that(d == right.features_count(), "d must be the number of features of the right-hand side");
            check.csr_ends("indices", indptr, indices, d);
            check.shape("aux", aux, row_count(indptr));
            const onkel::Rows<T> rows = csr_rows<T>(indptr, indices, data, d, aux);
            if (!right.has(rows, least, most)) return false;
            right.product(check, rows, A, scores, gram, below, threads);
            return true;
          },
          "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "d"_a, "aux"_a.noconvert().none(),
          "A"_a.noconvert().none(), "scores"_a.noconvert().none(), "gram"_a.noconvert().none(), "below"_a, "threads"_a,
          "least"_a, "most"_a)
      .def(
          "values",
          [](const Right<T>& right, In2<T> x, Out2<T> out) {
            const Check check{"Right.values"};
            check.shape("x", x, 1, right.job.panels.depth);
            check.room("out", out, 1, right.job.panels.m);
            const nb::gil_scoped_release released;
            return right.values(x.data(), out.data());
          },
          "x"_a.noconvert(), "out"_a.noconvert())
      .def(
          "can_replace",
          [](nb::handle self, int64_t place) {
            return can_replace_in_right<T>(self, place, nb::inst_ptr<Right<T>>(self)->job.panels.depth);
          },
          "place"_a);
  m.def(
      "right",
      [](int op, int map, const std::vector<double>& params, In3<T> panels, int64_t columns,
         std::optional<Out1<T>> aux, std::optional<Indices> slots, std::optional<Indices> features, double least,
         double most) {
        const Check check{"right"};
        const int64_t count = int64_t(panels.shape(0)), depth = int64_t(panels.shape(1));
        check.index("op", op, int64_t(onkel::Op::kCount));
        check.index("map", map, int64_t(onkel::Map::kCount));
        check.shape("panels", panels, kAny, kAny, onkel::kPanel<T>);
        check.between("columns", columns, 0, count * onkel::kPanel<T>);
        check.shape("aux", aux, count * onkel::kPanel<T>);
        check.that(bool(slots) == bool(features), "slots and features must be given together");
        check.shape("features", features, depth);
        if (slots) check.below("slots", *slots, depth);
        if (slots) check.indices("features", *features, int64_t(slots->shape(0)));
        onkel::Job<T> job{};
        job.op = onkel::Op(op);
        job.map = onkel::Map(map);
        for (size_t i = 0; i < 3 && i < params.size(); ++i) job.params[i] = params[i];
        job.panels = {panels.data(), columns, depth, data_or_null(aux), data_or_null(slots), data_or_null(features)};
        Right<T> right{job, onkel::range_of<T>(job.map, job.params), {least, most}, panels, aux, slots, features};
        check.that(aux || !right.needs_aux(), "aux must be given for this op");
        return right;
      },
      "op"_a, "map"_a, "params"_a, "panels"_a.noconvert(), "columns"_a, "aux"_a.noconvert().none(),
      "slots"_a.noconvert().none(), "features"_a.noconvert().none(), "least"_a, "most"_a);
}

template <class T, class Apply> void bind_map(nb::module_& m, Apply apply) {
  m.def(
      "apply_map",
      [apply](int map, std::vector<double> params, Out1<T> values) {
        Check{"apply_map"}.index("map", map, int64_t(onkel::Map::kCount));
        params.resize(3);  // a map reads up to three
        apply(onkel::Map(map), params.data(), values.data(), int64_t(values.shape(0)));
      },
      "map"_a, "params"_a, "values"_a.noconvert());
}

}  // namespace

template <class T> bool can_replace_in_right(nb::handle object, int64_t place, int64_t d) {
  if (!nb::isinstance<Right<T>>(object)) return false;
  const auto& right = *nb::inst_ptr<Right<T>>(object);
  return !right.slots && d == right.job.panels.depth && place >= 0 && place <= right.job.panels.m &&
         place < int64_t(right.panels.shape(0)) * onkel::kPanel<T> && right.range.has(right.norms);
}
template <class T> void replace_in_right(nb::handle object, int64_t place, const T* x, int64_t d) {
  auto& right = *nb::inst_ptr<Right<T>>(object);
  right.replace(place, x, d);
  if (place == right.job.panels.m) right.job.panels.m += 1;
}
template bool can_replace_in_right<float>(nb::handle, int64_t, int64_t);
template bool can_replace_in_right<double>(nb::handle, int64_t, int64_t);
template void replace_in_right<float>(nb::handle, int64_t, const float*, int64_t);
template void replace_in_right<double>(nb::handle, int64_t, const double*, int64_t);

void bind_product(nb::module_& m) {
  bind_right<float>(m, "Right32");
  bind_right<double>(m, "Right64");
  bind_map<float>(m, [](auto... all) { onkel::current_target().map32(all...); });
  bind_map<double>(m, [](auto... all) { onkel::current_target().map64(all...); });
}

}}  // namespace onkel::bind
