// Learners under a budget: learn/budget.h in Python.
#include "bind/arrays.h"
#include "learn/budget.h"

namespace onkel { namespace bind {
namespace {

// A learner under a budget and the examples that it is learning from, bound once for many passes.
// numbers: scale, spread, Q, M, shrink; places: size, head; settings: C, epsilon, eta, lambda, nu
template <class T> struct Online {
  onkel::Settings settings;
  Out2<T> K;
  In2<T> K_chunk;
  std::optional<Out2<T>> K_slots;
  Out2<double> coef;
  Out1<double> k_ss;
  Out1<int64_t> row_in_slot;
  std::optional<In2<double>> base;
  Out1<double> sq_norms, numbers;
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
                                on.K_chunk.data(), data_or_null(on.K_slots), on.coef.data(), on.k_ss.data(), on.row_in_slot.data(),
                                data_or_null(on.base), n, n + 1, n + 2, n + 3, n + 4, on.sq_norms.data(),
                                on.places.data(), on.places.data() + 1, on.random.data()};
        return onkel::online_pass(memory, on.settings, y.data(), w.data(), on.margin.data(), on.offset.data(), t,
                                  on.F.data(), on.steps.data(), on.counts.data());
      },
      "y"_a.noconvert(), "w"_a.noconvert(), "t"_a);
  m.def(
      "online",
      [](int rule, int policy, const std::vector<double>& s, bool root_schedule, bool intercept, Out2<T> K, In2<T> K_chunk,
         std::optional<Out2<T>> K_slots, Out2<double> coef, Out1<double> k_ss, Out1<int64_t> row_in_slot,
         std::optional<In2<double>> base, Out1<double> sq_norms, Out1<double> numbers, Out1<int64_t> places,
         Out1<uint64_t> random, Out1<double> margin, Out1<double> offset, Out2<double> F, Out2<double> steps,
         Out1<int64_t> counts) {
        const onkel::Settings settings{onkel::Rule(rule), onkel::Policy(policy), s[0], s[1], s[2], s[3], s[4],
                                       root_schedule, intercept};
        return Online<T>{settings, K, K_chunk, K_slots, coef, k_ss, row_in_slot, base, sq_norms, numbers, places, random, margin,
                         offset, F, steps, counts};
      },
      "rule"_a, "policy"_a, "settings"_a, "root_schedule"_a, "intercept"_a, "K"_a.noconvert(), "own"_a.noconvert(),
      "among"_a.noconvert().none(), "A"_a.noconvert(), "squares"_a.noconvert(), "holds"_a.noconvert(),
      "base"_a.noconvert().none(), "squared"_a.noconvert(), "numbers"_a.noconvert(), "places"_a.noconvert(),
      "random"_a.noconvert(), "margin"_a.noconvert(), "offset"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert());
}

}  // namespace

void bind_budget(nb::module_& m) {
  bind_online<float>(m, "Online32");
  bind_online<double>(m, "Online64");
}

}}  // namespace onkel::bind
