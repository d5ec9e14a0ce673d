// PRank: learn/prank.h in Python.
#include <vector>

#include "bind/check.h"
#include "bind/ledger.h"
#include "learn/prank.h"

namespace onkel { namespace bind {
namespace {

template <class T> void bind_passes(nb::module_& m) {
  m.def(
      "prank_dual_pass",
      [](In2<T> K, In2<double> y, In1<double> f, Out1<double> b, Out2<double> tau, Out1<double> sums, Out2<double> F) {
        const int64_t n = int64_t(y.shape(0)), r = int64_t(y.shape(1));
        const Check check{"prank_dual_pass"};
        check.shape("K", K, n, n);
        check.shape("f", f, n);
        check.shape("b", b, r);
        check.shape("tau", tau, n, r);
        check.shape("sums", sums, n);
        check.shape("F", F, n, r);
        const nb::gil_scoped_release released;
        return onkel::prank_dual_pass(K.data(), n, r, y.data(), f.data(), b.data(), tau.data(), sums.data(), F.data());
      },
      "K"_a.noconvert(), "y"_a.noconvert(), "f"_a.noconvert(), "b"_a.noconvert(), "tau"_a.noconvert(),
      "sums"_a.noconvert(), "F"_a.noconvert());
  m.def(
      "prank_primal_pass",  // holds the GIL: nobody sees w without the thresholds, the counts and the ledger
      [](In1<T> data, std::optional<Indptr> indptr, std::optional<Indices> indices, In2<double> y,
         In1<int64_t> row_ids, Out1<double> w, Out1<double> b, Counts& counts, Out2<int64_t> entries,
         Out1<int64_t> n_entries, Out2<double> F) {
        const Check check{"prank_primal_pass"};
        const int64_t n = int64_t(y.shape(0)), r = int64_t(y.shape(1)), d = int64_t(w.shape(0));
        check.that(bool(indptr) == bool(indices), "indptr and indices must be given together");
        if (!indptr) {
          check.shape("data", data, n * d);
        } else {
          check.csr("indptr", *indptr, n, *indices, data);
          check.csr_ends("indices", *indptr, *indices, d);
        }
        check.shape("row_ids", row_ids, n);
        check.shape("b", b, r);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, n * r);
        check.shape("F", F, n, r);
        std::vector<double> tau(y.shape(1));
        onkel::prank_primal_pass(data.data(), data_or_null(indptr), data_or_null(indices), n, d, r, y.data(),
                                 row_ids.data(), w.data(), b.data(), counts, ledger, tau.data(), F.data());
      },
      "data"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(), "y"_a.noconvert(),
      "row_ids"_a.noconvert(), "w"_a.noconvert(), "b"_a.noconvert(), "counts"_a, "entries"_a.noconvert(),
      "n_entries"_a.noconvert(), "F"_a.noconvert());
}

}  // namespace

void bind_prank(nb::module_& m) {
  bind_passes<float>(m);
  bind_passes<double>(m);
}

}}  // namespace onkel::bind
