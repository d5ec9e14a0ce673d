// The Projectron and the screening of single examples: learn/projectron.h and learn/screen.h in Python.
#include "bind/arrays.h"
#include "learn/projectron.h"
#include "learn/screen.h"

#include <cmath>
#include <limits>

namespace onkel { namespace bind {
namespace {

// The screening (screen.h) of one example after another, whose kernel values the caller writes into K. Python knows it
// as Screen32 and Screen64.
template <class T> struct Screen {
  onkel::Projection p;
  In2<T> K;
  int64_t size;
  In1<float> L_inv;
  double norm;
  In2<double> beta;
  std::optional<Out2<double>> deferred;
  Out1<double> error_bound;
  Out2<double> F, steps;
  Out1<int64_t> counts;

  onkel::Screen now() const {
    return {p, size, int64_t(beta.shape(0)), int64_t(beta.shape(1)), L_inv.data(), norm, beta.data(),
            data_or_null(deferred), error_bound.data(), counts.data()};
  }
};

template <class T> void bind_screen(nb::module_& m, const char* name) {
  nb::class_<Screen<T>>(m, name)
      .def(
          "by_projection",
          [](const Screen<T>& s, double kxx, In2<double> y) {
            return int(onkel::screen_by_projection(s.now(), s.K.data(), kxx, y.data(), s.F.data(), s.steps.data()));
          },
          "kxx"_a, "y"_a.noconvert())
      .def(
          "score",  // by the coefficients; NaN if its sign is not certain
          [](const Screen<T>& s, In2<T> K, double kxx) {
            double F = 0, error = 0;
            onkel::estimate_score(s.now(), K.data(), kxx, &F, &error);
            return std::fabs(F) > error ? F : std::numeric_limits<double>::quiet_NaN();
          },
          "K"_a.noconvert(), "kxx"_a)
      .def(
          "by_coefficients",
          [](const Screen<T>& s, double kxx, In2<double> y) {
            return int(onkel::screen_by_coefficients(s.now(), s.K.data(), kxx, y.data(), s.F.data(), s.steps.data()));
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
      [](In2<T> K, In2<double> alpha, In2<double> y, Out2<double> F) {
        return onkel::all_right(K.data(), alpha.data(), int64_t(alpha.shape(0)), int64_t(alpha.shape(1)), y.data(),
                                F.data());
      },
      "K"_a.noconvert(), "A"_a.noconvert(), "y"_a.noconvert(), "F"_a.noconvert());
  m.def(
      "screen",
      [](double eta, int64_t budget, bool aggressive, bool kol, In2<T> K, int64_t size, In1<float> L_inv, double norm,
         In2<double> beta, std::optional<Out2<double>> deferred, Out1<double> error_bound, Out2<double> F,
         Out2<double> steps, Out1<int64_t> counts) {
        return Screen<T>{onkel::Projection{eta, budget, aggressive, kol}, K, size, L_inv, norm, beta, deferred,
                         error_bound, F, steps, counts};
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "size"_a, "L_inv"_a.noconvert(), "norm"_a,
      "beta"_a.noconvert(), "deferred"_a.noconvert().none(), "error_bound"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert());
  m.def(
      "project_pass",
      [](double eta, int64_t budget, bool aggressive, bool kol, Out2<T> K, In2<T> K_chunk, Out2<double> Z,
         int64_t known, Out2<double> L, Out2<double> beta, Out1<int64_t> size, In2<double> y, In1<double> w,
         Out2<double> F, Out2<double> steps, Out1<int64_t> added, Out1<int64_t> counts) {
        const nb::gil_scoped_release released;
        return onkel::project_pass(onkel::Projection{eta, budget, aggressive, kol}, int64_t(y.shape(0)),
                                   int64_t(y.shape(1)), int64_t(K.shape(1)), K.data(), K_chunk.data(),
                                   int64_t(K_chunk.shape(1)), Z.data(), known,
                                   L.data(), beta.data(), size.data(), y.data(), w.data(), F.data(), steps.data(),
                                   added.data(), counts.data());
      },
      "eta"_a, "budget"_a, "aggressive"_a, "kol"_a, "K"_a.noconvert(), "K_chunk"_a.noconvert(),
      "Z"_a.noconvert(), "known"_a, "L"_a.noconvert(), "beta"_a.noconvert(), "size"_a.noconvert(), "y"_a.noconvert(),
      "w"_a.noconvert(), "F"_a.noconvert(), "steps"_a.noconvert(), "added"_a.noconvert(), "counts"_a.noconvert());
}

}  // namespace

void bind_projectron(nb::module_& m) {
  bind_screen<float>(m, "Screen32");
  bind_screen<double>(m, "Screen64");
  bind_projection<float>(m);
  bind_projection<double>(m);
  m.def(
      "coefficients",
      [](In2<double> L, In2<double> beta, Out2<double> alpha) {
        const nb::gil_scoped_release released;
        onkel::coefficients(L.data(), int64_t(L.shape(1)), int64_t(alpha.shape(1)), beta.data(),
                            int64_t(alpha.shape(0)), alpha.data());
      },
      "L"_a.noconvert(), "beta"_a.noconvert(), "A"_a.noconvert());
  m.def(
      "invert_rows",
      [](In2<double> L, int64_t first, int64_t last, Out1<float> L_inv, Out1<double> sq_norms) {
        const nb::gil_scoped_release released;
        onkel::invert_rows(L.data(), int64_t(L.shape(1)), first, last, L_inv.data(), sq_norms.data());
      },
      "L"_a.noconvert(), "first"_a, "last"_a, "L_inv"_a.noconvert(), "sq_norms"_a.noconvert());
  m.def(
      "apply_deferred",
      [](In2<double> L, int64_t size, In2<double> deferred, Out2<double> beta) {
        onkel::apply_deferred(L.data(), int64_t(L.shape(1)), size, deferred.data(), beta.data());
      },
      "L"_a.noconvert(), "size"_a, "deferred"_a.noconvert(), "beta"_a.noconvert());
}

}}  // namespace onkel::bind
