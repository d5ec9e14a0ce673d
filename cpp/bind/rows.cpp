// Getting rows ready for products: their norms, their panels, and dense rows as CSR; product/pack.h in Python.
#include "bind/check.h"
#include "parallel.h"
#include "product/pack.h"

namespace onkel { namespace bind {
namespace {

// Panels hold n rows of `depth` features.
template <class T> void check_panels(const Check& check, const Out3<T>& panels, int64_t n, int64_t depth) {
  check.shape("panels", panels, (n + onkel::kPanel<T> - 1) / onkel::kPanel<T>, depth, onkel::kPanel<T>);
}

// Every entry has its row in panels of `depth` rows.
void check_features(const Check& check, const Indptr& indptr, const Indices& indices,
                    const std::optional<Indices>& slots, int64_t depth) {
  check.csr_columns("indices", indptr, indices, slots ? int64_t(slots->shape(0)) : depth);
  if (!slots) return;
  check.below("slots", *slots, depth);
  bool missing = false;
  for (int64_t e = indptr.data()[0]; e < indptr.data()[row_count(indptr)]; ++e)
    missing |= slots->data()[indices.data()[e]] < 0;
  check.that(!missing, "slots must name a row of the panels for each of the indices");
}

// The rows that are taken fill those of out_indptr.
void check_taken(const Check& check, const int64_t* indptr, const int64_t* chosen, int64_t count, const int64_t* out) {
  bool wrong = false;
  for (int64_t i = 0; i < count; ++i)
    wrong |= indptr[chosen[i] + 1] - indptr[chosen[i]] != out[i + 1] - out[i];
  check.that(!wrong, "out_indptr must count the entries of the chosen rows");
}

// The sum of each row, or of its squares.
template <class T, bool kSquares> void bind_row_sums(nb::module_& m, const char* dense, const char* csr) {
  m.def(
      dense,
      [dense](In2<T> X, Out1<double> sums) {
        Check{dense}.shape("sums", sums, X.shape(0));
        const nb::gil_scoped_release released;
        for (size_t i = 0; i < X.shape(0); ++i)
          sums.data()[i] = onkel::row_sum<kSquares>(X.data() + i * X.shape(1), nullptr, int64_t(X.shape(1)));
      },
      "X"_a.noconvert(), "sums"_a.noconvert());
  m.def(
      csr,
      [csr](Indptr indptr, Indices indices, In1<T> data, Out1<double> sums) {
        const Check check{csr};
        const int64_t n = row_count(indptr);
        check.csr("indptr", indptr, n, indices, data);
        check.shape("sums", sums, n);
        const nb::gil_scoped_release released;
        for (int64_t i = 0; i < n; ++i) {
          const int64_t begin = indptr.data()[i], count = indptr.data()[i + 1] - begin;
          sums.data()[i] = onkel::row_sum<kSquares>(data.data() + begin, indices.data() + begin, count);
        }
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "sums"_a.noconvert());
}

template <class T> void bind_rows_of(nb::module_& m) {
  bind_row_sums<T, true>(m, "squared_norms_dense", "squared_norms_csr");
  bind_row_sums<T, false>(m, "row_sums_dense", "row_sums_csr");
  m.def(
      "pack_dense",
      [](In2<T> S, Out3<T> panels) {
        check_panels<T>({"pack_dense"}, panels, int64_t(S.shape(0)), int64_t(S.shape(1)));
        const nb::gil_scoped_release released;
        onkel::pack_dense(S.data(), int64_t(S.shape(0)), int64_t(S.shape(1)), panels.data());
      },
      "S"_a.noconvert(), "panels"_a.noconvert());
  m.def(
      "pack_csr",
      [](Indptr indptr, Indices indices, In1<T> data, std::optional<Indices> slots, Out3<T> panels) {
        const Check check{"pack_csr"};
        const int64_t n = row_count(indptr), depth = int64_t(panels.shape(1));
        check.csr("indptr", indptr, n, indices, data);
        check_panels<T>(check, panels, n, depth);
        const nb::gil_scoped_release released;
        check_features(check, indptr, indices, slots, depth);
        onkel::pack_csr(indptr.data(), indices.data(), data.data(), n, depth, data_or_null(slots), panels.data());
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "slots"_a.noconvert().none(),
      "panels"_a.noconvert());
  m.def(
      "take_csr",
      [](Indptr indptr, Indices indices, In1<T> data, In1<int64_t> chosen, Indptr out_indptr, Out1<int32_t> out_indices,
         Out1<T> out_data, int threads) {
        const Check check{"take_csr"};
        const int64_t count = int64_t(chosen.shape(0));
        check.csr("indptr", indptr, row_count(indptr), indices, data);
        check.indices("chosen", chosen, row_count(indptr));
        check.csr("out_indptr", out_indptr, count, out_indices, out_data);
        check.least("threads", threads, 1);
        check_taken(check, indptr.data(), chosen.data(), count, out_indptr.data());
        const nb::gil_scoped_release released;
        constexpr int64_t kRows = 512;
        onkel::in_parallel((count + kRows - 1) / kRows, threads, [&](int64_t turn, int) {
          const int64_t begin = turn * kRows, end = begin + kRows < count ? begin + kRows : count;
          onkel::take_csr(indptr.data(), indices.data(), data.data(), chosen.data(), begin, end, out_indptr.data(),
                          out_indices.data(), out_data.data());
        });
      },
      "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(), "chosen"_a.noconvert(),
      "out_indptr"_a.noconvert(), "out_indices"_a.noconvert(), "out_data"_a.noconvert(), "threads"_a);
  m.def(
      "all_finite", [](In2<T> X) { return onkel::all_finite(X.data(), int64_t(X.shape(0) * X.shape(1))); },
      "X"_a.noconvert());
  m.def(
      "count_nonzeros",
      [](In2<T> X, Out1<int64_t> counts) {
        Check{"count_nonzeros"}.shape("counts", counts, X.shape(0));
        const nb::gil_scoped_release released;
        for (size_t i = 0; i < X.shape(0); ++i)
          counts.data()[i] = onkel::count_nonzeros(X.data() + i * X.shape(1), int64_t(X.shape(1)));
      },
      "X"_a.noconvert(), "counts"_a.noconvert());
  m.def(
      "compress_rows",
      [](In2<T> X, Indptr indptr, Out1<int32_t> indices, Out1<T> data) {
        const Check check{"compress_rows"};
        const int64_t n = int64_t(X.shape(0)), d = int64_t(X.shape(1)), *at = indptr.data();
        check.csr("indptr", indptr, n, indices, data);
        check.room("indices", indices, at[n] + 1);  // a row writes one past its end
        check.room("data", data, at[n] + 1);
        const nb::gil_scoped_release released;
        bool wrong = false;
        for (int64_t i = 0; i < n && !wrong; ++i) {
          const T* x = X.data() + i * d;
          const int64_t count = at[i + 1] - at[i];
          if (at[i] + d > at[n]) wrong = onkel::count_nonzeros(x, d) != count;  // a row that might not fit
          if (!wrong) wrong = onkel::compress_row(x, d, indices.data() + at[i], data.data() + at[i]) != count;
        }
        check.that(!wrong, "indptr must count the non-zeros of X");
      },
      "X"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert());
}

}  // namespace

void bind_rows(nb::module_& m) {
  bind_rows_of<float>(m);
  bind_rows_of<double>(m);
  m.def(
      "norm_range",
      [](In1<double> sq_norms) {
        onkel::NormRange range;
        for (size_t i = 0; i < sq_norms.shape(0); ++i) range.add(sq_norms.data()[i]);
        return std::make_pair(range.least, range.most);
      },
      "sq_norms"_a.noconvert());
}

}}  // namespace onkel::bind
