// The Projectron and the screening of single examples: learn/projectron.h and learn/screen.h in Python.
#include "bind/check.h"
#include "bind/counts.h"
#include "bind/ledger.h"
#include "learn/projectron.h"
#include "learn/screen.h"

#include <cmath>
#include <limits>

namespace onkel { namespace bind {
namespace {

using onkel::Outcome;
using onkel::ProjectronRecord;

// L (cap, cap) with the rows of `size` support vectors.
template <class A> void check_factor(const Check& check, const A& L, int64_t size) {
  check.shape("L", L, L.shape(1), L.shape(1));
  check.between("size", size, 0, int64_t(L.shape(1)));
}

int64_t triangle_size(int64_t rows) { return onkel::triangle_panel(onkel::whole_panels(rows) / onkel::kTriangle); }

// The screening (screen.h) of one example after another, whose kernel values the caller writes into K before each call.
// A call holds the GIL and changes everything that belongs to the example, or nothing. Python knows it as Screen32 and
// Screen64.
template <class T> struct Screen {
  onkel::Projection p;
  In2<T> K;
  int64_t size;
  In1<float> L_inv;
  double norm;
  In2<double> beta;
  std::optional<Out2<double>> deferred;
  Out2<double> F, steps;
  ProjectronRecord* record;
  Out2<int64_t> entries;
  Out1<int64_t> n_entries;
  onkel::Ledger ledger;

  onkel::Screen now() const {
    return {p, size, int64_t(beta.shape(0)), int64_t(beta.shape(1)), L_inv.data(), norm, beta.data(),
            data_or_null(deferred), record};
  }

  int by_projection(double kxx, const In2<double>& y) const {
    const Check check{"Screen.by_projection"};
    return decided(check, y, [&] {
      return onkel::screen_by_projection(now(), K.data(), kxx, y.data(), F.data(), steps.data());
    });
  }
  int by_coefficients(double kxx, const In2<double>& y) const {
    const Check check{"Screen.by_coefficients"};
    check.that(bool(deferred), "deferred must be given");
    return decided(check, y, [&] {
      return onkel::screen_by_coefficients(now(), K.data(), kxx, y.data(), F.data(), steps.data());
    });
  }
  double score(const In2<T>& values, double kxx) const {
    const Check check{"Screen.score"};
    check.that(bool(deferred), "deferred must be given");
    check.room("K", values, 1, size);
    double f = 0, error = 0;
    onkel::estimate_score(now(), values.data(), kxx, &f, &error);
    return std::fabs(f) > error ? f : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  template <class Decide>
  int decided(const Check& check, const In2<double>& y, Decide decide) const {
    check.shape("y", y, 1, beta.shape(0));
    check.that(record->size == size, "the number of support vectors must not have changed");
    if (deferred && !has_room(entries, n_entries, 1)) return int(Outcome::kLedgerFull);
    const Outcome outcome = decide();
    if (outcome == Outcome::kUndecided) return int(outcome);
    const int64_t row_id = record->count_next();
    if (outcome == Outcome::kDeferred) ledger.add(record->n_seen, row_id, 0, *steps.data());
    return int(outcome);
  }
};

template <class T> void bind_screen(nb::module_& m, const char* name) {
  nb::class_<Screen<T>>(m, name)
      .def("by_projection", &Screen<T>::by_projection, "kxx"_a, "y"_a.noconvert())
      .def("by_coefficients", &Screen<T>::by_coefficients, "kxx"_a, "y"_a.noconvert())
      .def("score", &Screen<T>::score, "K"_a.noconvert(), "kxx"_a);  // by the coefficients; NaN if the sign is uncertain
  m.def(
      "screen",
      [](double eta, int64_t budget, bool aggressive, bool kol, In2<T> K, In1<float> L_inv, double norm,
         In2<double> beta, std::optional<Out2<double>> deferred, Out2<double> F, Out2<double> steps,
         ProjectronRecord& record, Out2<int64_t> entries, Out1<int64_t> n_entries) {
        const Check check{"screen"};
        const int64_t c = int64_t(beta.shape(0)), cap = int64_t(beta.shape(1)), size = record.size;
        check.between("size of the record", size, 0, cap);
        check.room("K", K, 1, size);
        check.room("L_inv", L_inv, triangle_size(size));
        check.shape("deferred", deferred, 2, cap);
        check.that(!deferred || c == 1, "deferred must be None for several outputs");
        check.shape("F", F, 1, c);
        check.shape("steps", steps, 1, c);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, 0);
        return Screen<T>{onkel::Projection{eta, budget, aggressive, kol}, K, size, L_inv, norm, beta, deferred, F,
                         steps, &record, entries, n_entries, ledger};
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "L_inv"_a.noconvert(), "norm"_a,
      "beta"_a.noconvert(), "deferred"_a.noconvert().none(), "F"_a.noconvert(), "steps"_a.noconvert(), "record"_a,
      "entries"_a.noconvert(), "n_entries"_a.noconvert(), nb::keep_alive<0, 12>());  // 12: the record
}

// Decides by the exact scores alpha . k whether examples, one after the other, are right for every output, and counts
// those that are; Python knows it as Exact32 and Exact64. The caller writes the kernel values into K before each call.
template <class T> struct Exact {
  In2<T> K;
  In2<double> alpha;
  ProjectronRecord* record;

  bool all_right(const In2<double>& y) const {
    const Check check{"Exact.all_right"};
    const int64_t c = int64_t(alpha.shape(0)), size = int64_t(alpha.shape(1));
    check.shape("y", y, 1, c);
    check.that(record->size == size, "the number of support vectors must not have changed");
    const bool right = onkel::all_right(K.data(), alpha.data(), c, size, y.data());
    if (right) record->count_next();
    return right;
  }
};

template <class T> void bind_exact(nb::module_& m, const char* name) {
  nb::class_<Exact<T>>(m, name).def("all_right", &Exact<T>::all_right, "y"_a.noconvert());
  m.def(
      "exact",
      [](In2<T> K, In2<double> alpha, ProjectronRecord& record) {
        const Check check{"exact"};
        check.room("K", K, 1, alpha.shape(1));
        return Exact<T>{K, alpha, &record};
      },
      "K"_a.noconvert(), "A"_a.noconvert(), "record"_a, nb::keep_alive<0, 3>());  // 3: the record
}

template <class T> void bind_projection(nb::module_& m) {
  m.def(
      "project_rows",
      [](In2<double> L, int64_t size, In2<T> K, Out2<double> Z, int threads) {
        const Check check{"project_rows"};
        check_factor(check, L, size);
        check.room("K", K, 0, size);
        check.shape("Z", Z, K.shape(0), K.shape(1));
        check.least("threads", threads, 1);
        const nb::gil_scoped_release released;
        onkel::project_rows(L.data(), int64_t(L.shape(1)), size, K.data(), int64_t(K.shape(0)), int64_t(K.shape(1)),
                            Z.data(), threads);
      },
      "L"_a.noconvert(), "size"_a, "K"_a.noconvert(), "Z"_a.noconvert(), "threads"_a);
  m.def(
      "project_pass",
      [](double eta, int64_t budget, bool aggressive, bool kol, Out2<T> K, In2<T> K_chunk, Out2<double> Z,
         int64_t known, Out2<double> L, Out2<double> beta, ProjectronRecord& record, In2<double> y, In1<double> w,
         In1<int64_t> row_ids, Out2<int64_t> entries, Out1<int64_t> n_entries, Out2<double> F,
         Out1<int64_t> added) {
        const Check check{"project_pass"};
        const int64_t b = int64_t(K.shape(0)), cap = int64_t(K.shape(1)), c = int64_t(beta.shape(0));
        const int64_t size = record.size, wide = int64_t(K_chunk.shape(1));
        const bool full = size >= budget;
        check.shape("L", L, cap, cap);
        check.between("size of the record", size, 0, cap);
        check.that(full || cap >= budget || cap - size >= b, "L must have room for every row of K");
        check.shape("K_chunk", K_chunk, b, full && wide == 1 ? 1 : b);
        check.shape("Z", Z, b, cap);
        check.between("known", known, 0, size);
        check.shape("beta", beta, c, cap);
        check.shape("y", y, b, c);
        check.shape("w", w, b);
        check.shape("row_ids", row_ids, b);
        check.shape("F", F, b, c);
        check.shape("added", added, b);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, b * c);
        std::vector<double> steps(static_cast<size_t>(c));
        const nb::gil_scoped_release released;
        return onkel::project_pass(onkel::Projection{eta, budget, aggressive, kol}, b, c, cap, K.data(), K_chunk.data(),
                                   wide, Z.data(), known, L.data(), beta.data(), record, y.data(), w.data(),
                                   row_ids.data(), ledger, F.data(), steps.data(), added.data());
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "K_chunk"_a.noconvert(),
      "Z"_a.noconvert(), "known"_a, "L"_a.noconvert(), "beta"_a.noconvert(), "record"_a, "y"_a.noconvert(),
      "w"_a.noconvert(), "row_ids"_a.noconvert(), "entries"_a.noconvert(), "n_entries"_a.noconvert(),
      "F"_a.noconvert(), "added"_a.noconvert());
}

}  // namespace

void bind_projectron(nb::module_& m) {
  bind_record<ProjectronRecord, onkel::Counts>(m, "ProjectronRecord")
      .def_rw("size", &ProjectronRecord::size)
      .def_rw("beta_error", &ProjectronRecord::beta_error)
      .def_rw("alpha_error", &ProjectronRecord::alpha_error);
  bind_screen<float>(m, "Screen32");
  bind_screen<double>(m, "Screen64");
  bind_exact<float>(m, "Exact32");
  bind_exact<double>(m, "Exact64");
  bind_projection<float>(m);
  bind_projection<double>(m);
  m.def(
      "coefficients",
      [](In2<double> L, In2<double> beta, Out2<double> alpha) {
        const Check check{"coefficients"};
        const int64_t cap = int64_t(L.shape(1)), c = int64_t(alpha.shape(0)), size = int64_t(alpha.shape(1));
        check_factor(check, L, size);
        check.shape("beta", beta, c, cap);
        const nb::gil_scoped_release released;
        onkel::coefficients(L.data(), cap, size, beta.data(), c, alpha.data());
      },
      "L"_a.noconvert(), "beta"_a.noconvert(), "A"_a.noconvert());
  m.def(
      "invert_rows",
      [](In2<double> L, int64_t first, int64_t last, Out1<float> L_inv, double sq_norm, double sq_norm_of_L) {
        const Check check{"invert_rows"};
        check_factor(check, L, last);
        check.between("first", first, 0, last);
        check.room("L_inv", L_inv, triangle_size(last));
        const nb::gil_scoped_release released;
        const auto sq_norms = onkel::invert_rows(L.data(), int64_t(L.shape(1)), first, last, L_inv.data(),
                                                 {sq_norm, sq_norm_of_L});
        return std::make_pair(sq_norms.L_inv, sq_norms.L);
      },
      "L"_a.noconvert(), "first"_a, "last"_a, "L_inv"_a.noconvert(), "sq_norm"_a, "sq_norm_of_L"_a);
  m.def(
      "apply_deferred",
      [](In2<double> L, int64_t size, In2<double> deferred, Out2<double> beta) {
        const Check check{"apply_deferred"};
        check_factor(check, L, size);
        check.shape("deferred", deferred, 2, L.shape(1));
        check.shape("beta", beta, 1, L.shape(1));
        onkel::apply_deferred(L.data(), int64_t(L.shape(1)), size, deferred.data(), beta.data());
      },
      "L"_a.noconvert(), "size"_a, "deferred"_a.noconvert(), "beta"_a.noconvert());
}

}}  // namespace onkel::bind
