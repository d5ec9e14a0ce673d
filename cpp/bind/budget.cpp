// Learners under a budget: learn/budget.h in Python.
#include "bind/arrays.h"
#include "learn/budget.h"

namespace onkel { namespace bind {
namespace {

// A learner under a budget and the arrays of a chunk, bound once for many passes. Python knows it as Budget32 and
// Budget64; it has nothing to do with the kernel perceptron for streams, which learns without a budget.
//   scalars: scale, spread, Q, M, shrink;   places: size, head;   settings: C, epsilon, eta, lambda, nu
template <class T> struct BudgetLearner {
  onkel::Settings settings;
  Out2<T> K;
  In2<T> K_chunk;
  std::optional<Out2<T>> K_slots;
  Out2<double> coef;
  Out1<double> k_ss;
  Out1<int64_t> row_in_slot;
  std::optional<In2<double>> base;
  Out1<double> sq_norms, scalars;
  Out1<int64_t> places;
  Out1<uint64_t> random;
  Out1<double> margin, offset;
  Out2<double> F, steps;
  Out1<int64_t> counts;
};

template <class T> void bind_learner(nb::module_& m, const char* name) {
  nb::class_<BudgetLearner<T>>(m, name).def(
      "learn",
      [](const BudgetLearner<T>& l, In2<double> y, In1<double> w, int64_t t) {
        const nb::gil_scoped_release released;
        double* n = l.scalars.data();
        onkel::Memory<T> memory{int64_t(y.shape(0)), int64_t(y.shape(1)), int64_t(l.K.shape(1)), l.K.data(),
                                l.K_chunk.data(), data_or_null(l.K_slots), l.coef.data(), l.k_ss.data(),
                                l.row_in_slot.data(), data_or_null(l.base), n, n + 1, n + 2, n + 3, n + 4,
                                l.sq_norms.data(), l.places.data(), l.places.data() + 1, l.random.data()};
        return onkel::budget_pass(memory, l.settings, y.data(), w.data(), l.margin.data(), l.offset.data(), t,
                                  l.F.data(), l.steps.data(), l.counts.data());
      },
      "y"_a.noconvert(), "w"_a.noconvert(), "t"_a);
  m.def(
      "budget",
      [](int rule, int policy, const std::vector<double>& s, bool root_schedule, bool intercept, Out2<T> K,
         In2<T> K_chunk, std::optional<Out2<T>> K_slots, Out2<double> coef, Out1<double> k_ss,
         Out1<int64_t> row_in_slot, std::optional<In2<double>> base, Out1<double> sq_norms, Out1<double> scalars,
         Out1<int64_t> places, Out1<uint64_t> random, Out1<double> margin, Out1<double> offset, Out2<double> F,
         Out2<double> steps, Out1<int64_t> counts) {
        const onkel::Settings settings{onkel::Rule(rule), onkel::Policy(policy), s[0], s[1], s[2], s[3], s[4],
                                       root_schedule, intercept};
        return BudgetLearner<T>{settings, K, K_chunk, K_slots, coef, k_ss, row_in_slot, base, sq_norms, scalars, places,
                                random, margin, offset, F, steps, counts};
      },
      "rule"_a, "policy"_a, "settings"_a, "root_schedule"_a, "intercept"_a, "K"_a.noconvert(), "K_chunk"_a.noconvert(),
      "K_slots"_a.noconvert().none(), "coef"_a.noconvert(), "k_ss"_a.noconvert(), "row_in_slot"_a.noconvert(),
      "base"_a.noconvert().none(), "sq_norms"_a.noconvert(), "scalars"_a.noconvert(), "places"_a.noconvert(),
      "random"_a.noconvert(), "margin"_a.noconvert(), "offset"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert());
}

}  // namespace

void bind_budget(nb::module_& m) {
  bind_learner<float>(m, "Budget32");
  bind_learner<double>(m, "Budget64");
}

}}  // namespace onkel::bind
