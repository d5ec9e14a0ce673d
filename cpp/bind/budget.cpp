// Learners under a budget: learn/budget.h in Python.
#include <limits>

#include "bind/check.h"
#include "bind/counts.h"
#include "bind/ledger.h"
#include "bind/right.h"
#include "learn/budget.h"
#include "product/pack.h"

namespace onkel { namespace bind {
namespace {

using onkel::BudgetRecord;
using onkel::BudgetSettings;

BudgetSettings settings_of(const std::string& rule, const std::string& policy, std::optional<int64_t> budget, double C,
                           double epsilon, double eta, double lam, double nu, bool root_schedule, bool intercept) {
  const Check check{"budget_settings"};
  const auto* rule_traits = onkel::named(onkel::kRules, rule.c_str());
  const auto* policy_traits = onkel::named(onkel::kPolicies, policy.c_str());
  check.that(rule_traits, "rule must be the name of a rule of the core");
  check.that(policy_traits, "policy must be the name of a policy of the core");
  check.that(bool(budget) == (policy_traits->policy != onkel::Policy::kGrow), "every policy but Grow has a budget");
  if (budget) check.least("budget", *budget, 1);
  return {*rule_traits, *policy_traits, budget.value_or(onkel::kNoBudget),
          {C, epsilon, eta, lam, nu, root_schedule, intercept}};
}

// The arrays of a learner that a pass changes, whatever the chunk.
struct LearnerArrays {
  Out2<double> coef;
  Out1<double> k_ss, sq_norms, margin, offset;
  BudgetRecord* record;

  int64_t c() const { return int64_t(coef.shape(0)); }
  int64_t cap() const { return int64_t(coef.shape(1)); }

  template <class K_> void check(const Check& check, const BudgetSettings& s, const std::optional<K_>& K_slots) const {
    check.shape("k_ss", k_ss, cap());
    check.shape("sq_norms", sq_norms, c());
    check.shape("margin", margin, c());
    check.shape("offset", offset, c());
    check.shape("K_slots", K_slots, cap(), cap());
    check.that(K_slots || !s.policy.needs_gram, "K_slots must be given for this policy");
    check_numbers(check, s);
  }
  // What the pass uses as indices; these numbers may have changed since the arrays were bound.
  void check_numbers(const Check& check, const BudgetSettings& s) const {
    check.between("size of the record", record->size, 0, s.budget < cap() ? s.budget : cap());
    check.index("head of the record", record->head, cap() ? cap() : 1);
  }
};

template <class T> void bind_pass(nb::module_& m) {
  m.def(
      "budget_pass",
      [](const BudgetSettings& s, Out2<T> K, In2<T> K_chunk, std::optional<Out2<T>> K_slots, Out2<double> coef,
         Out1<double> k_ss, Out1<int64_t> row_in_slot, std::optional<In2<double>> base, Out1<double> sq_norms,
         Out1<double> margin, Out1<double> offset, BudgetRecord& record, In2<double> y, In1<double> w, In1<int64_t> row_ids,
         Out2<int64_t> entries, Out1<int64_t> n_entries, Out2<double> F) {
        const LearnerArrays arrays{coef, k_ss, sq_norms, margin, offset, &record};
        const Check check{"budget_pass"};
        const int64_t b = int64_t(K.shape(0)), c = arrays.c(), cap = arrays.cap();
        arrays.check(check, s, K_slots);
        check.shape("K", K, b, cap);
        check.shape("K_chunk", K_chunk, b, b);
        check.shape("row_in_slot", row_in_slot, cap);
        check.shape("base", base, b, c);
        check.shape("y", y, b, c);
        check.shape("w", w, b);
        check.shape("row_ids", row_ids, b);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, b * c);
        check.shape("F", F, b, c);
        check.that(cap >= s.budget || cap - record.size >= b, "coef must have room for every row of K");
        onkel::Memory<T> memory{b, c, cap, s.budget, K.data(), K_chunk.data(), data_or_null(K_slots), coef.data(),
                                k_ss.data(), row_in_slot.data(), data_or_null(base), sq_norms.data(), margin.data(),
                                offset.data(), &record, row_ids.data(), ledger};
        std::vector<double> steps(static_cast<size_t>(c));
        const nb::gil_scoped_release released;
        onkel::budget_pass(memory, s, y.data(), w.data(), F.data(), steps.data());
      },
      "settings"_a, "K"_a.noconvert(), "K_chunk"_a.noconvert(), "K_slots"_a.noconvert().none(), "coef"_a.noconvert(),
      "k_ss"_a.noconvert(), "row_in_slot"_a.noconvert(), "base"_a.noconvert().none(), "sq_norms"_a.noconvert(),
      "margin"_a.noconvert(), "offset"_a.noconvert(), "record"_a, "y"_a.noconvert(), "w"_a.noconvert(),
      "row_ids"_a.noconvert(), "entries"_a.noconvert(), "n_entries"_a.noconvert(), "F"_a.noconvert());
}

// A learner with dense slots, bound to all of its arrays, that learns from one example after the other. A call holds
// the GIL and changes everything that belongs to the example, or nothing.
template <class T> struct BudgetOne {
  BudgetSettings settings;
  LearnerArrays arrays;
  Out2<T> K;  // (1, cap): to be filled with the kernel values of the example with the slots before each call
  std::optional<Out2<T>> K_slots;
  Out1<int64_t> slot_row_ids, entered;
  Out2<T> room;
  Out1<double> norms;
  Out3<T> panels;
  nb::dict rows;  // the attributes of the rows in the slots: "_dense" is the part of `room` in use,
  nb::dict kept;  // and this is what they have cached
  Out2<int64_t> entries;
  Out1<int64_t> n_entries;
  onkel::Ledger ledger;
  std::vector<int64_t> row_in_slot;
  std::vector<double> F, steps;
  nb::str dense;  // "_dense", made once because a call allocates nothing

  // Learns from the example x (1, d) with targets y (1, c), k(x, x) = kxx and weight 1; its row gets the next id.
  // `longer` is the part of `room` in use with one row more; None once the budget is full. False, with nothing changed,
  // if there is no room for the example or for its entries in the ledger, or if the rows have cached something that
  // cannot follow, such as a right-hand side with a row out of T's range.
  bool learn(In2<T> x, In2<double> y, double kxx, nb::object longer) {
    const Check check{"BudgetOne.learn"};
    const int64_t c = arrays.c(), cap = arrays.cap(), d = int64_t(room.shape(1));
    BudgetRecord& record = *arrays.record;
    check.shape("x", x, 1, d);
    check.shape("y", y, 1, c);
    arrays.check_numbers(check, settings);
    check.least("rows of room", int64_t(room.shape(0)), record.size);
    const T self = T(kxx);
    const int64_t row_id = record.next_row_id, size = record.size;
    onkel::Memory<T> memory{1, c, cap, settings.budget, K.data(), &self, data_or_null(K_slots), arrays.coef.data(),
                            arrays.k_ss.data(), row_in_slot.data(), nullptr, arrays.sq_norms.data(),
                            arrays.margin.data(), arrays.offset.data(), &record, &row_id, ledger};
    const double eta = settings.params.rate(record.n_seen + 1);
    const bool any = onkel::score_and_step(memory, settings, 0, y.data(), 1.0, eta, F.data(), steps.data());
    if (any && !can_take(check, record, longer)) return false;

    const int64_t slot = onkel::learn_example(memory, settings, 0, y.data(), 1.0, eta, F.data(), steps.data(), any);
    if (slot < 0) return true;
    onkel::flush_columns(memory, 0);
    slot_row_ids.data()[slot] = row_id;
    entered.data()[slot] = record.n_seen;
    norms.data()[slot] = onkel::squared_norm(x.data(), nullptr, d);
    onkel::place_row(x.data(), d, slot, room.data(), panels.data());
    each_kept([&](nb::handle right) { replace_in_right<T>(right, slot, x.data(), d); });
    if (record.size > size && PyDict_SetItem(rows.ptr(), dense.ptr(), longer.ptr()) != 0) throw nb::python_error();
    return true;
  }

 private:
  bool can_take(const Check& check, const BudgetRecord& record, const nb::object& longer) const {
    int64_t next = record.size;  // rows that the slots may have after the call
    if (next < settings.budget) {
      if (longer.is_none() || next >= arrays.cap() || next >= int64_t(room.shape(0))) return false;
      next += 1;
      const auto view = nb::cast<In2<T>>(longer, false);
      check.shape("longer", view, next, room.shape(1));
      check.that(view.data() == room.data(), "longer must be a part of room");
    }
    bool can = has_room(entries, n_entries, arrays.c());
    each_kept([&](nb::handle value) { can &= can_replace_in_right<T>(value, next - 1, int64_t(room.shape(1))); });
    return can;
  }
  template <class Do> void each_kept(Do what) const {  // runs no Python code
    PyObject* value;
    for (Py_ssize_t at = 0; PyDict_Next(kept.ptr(), &at, nullptr, &value);) what(nb::handle(value));
  }
};

template <class T> void bind_one(nb::module_& m, const char* name) {
  nb::class_<BudgetOne<T>>(m, name).def("learn", &BudgetOne<T>::learn, "x"_a.noconvert(), "y"_a.noconvert(), "kxx"_a,
                                        "longer"_a.none());
  m.def(
      "budget_one",
      [](const BudgetSettings& s, Out2<T> K, std::optional<Out2<T>> K_slots, Out2<double> coef, Out1<double> k_ss,
         Out1<double> sq_norms, Out1<double> margin, Out1<double> offset, BudgetRecord& record, Out1<int64_t> slot_row_ids,
         Out1<int64_t> entered, Out2<T> room, Out1<double> norms, Out3<T> panels, nb::dict rows, nb::dict kept,
         Out2<int64_t> entries, Out1<int64_t> n_entries) {
        const LearnerArrays arrays{coef, k_ss, sq_norms, margin, offset, &record};
        const Check check{"budget_one"};
        const int64_t cap = arrays.cap(), most = int64_t(room.shape(0)), d = int64_t(room.shape(1));
        arrays.check(check, s, K_slots);
        check.shape("K", K, 1, cap);
        check.shape("slot_row_ids", slot_row_ids, cap);
        check.shape("entered", entered, cap);
        check.least("rows of room", most, record.size);
        check.shape("norms", norms, most);
        check.shape("panels", panels, kAny, d, onkel::kPanel<T>);
        check.least("rows of panels", int64_t(panels.shape(0)) * onkel::kPanel<T>, most);
        const onkel::Ledger ledger = ledger_of(check, entries, n_entries, 0);
        return BudgetOne<T>{s, arrays, K, K_slots, slot_row_ids, entered, room, norms, panels, rows, kept,
                            entries, n_entries, ledger, std::vector<int64_t>(size_t(cap)),
                            std::vector<double>(size_t(arrays.c())), std::vector<double>(size_t(arrays.c())),
                            nb::str("_dense")};
      },
      "settings"_a, "K"_a.noconvert(), "K_slots"_a.noconvert().none(), "coef"_a.noconvert(), "k_ss"_a.noconvert(),
      "sq_norms"_a.noconvert(), "margin"_a.noconvert(), "offset"_a.noconvert(), "record"_a,
      "slot_row_ids"_a.noconvert(), "entered"_a.noconvert(), "room"_a.noconvert(), "norms"_a.noconvert(),
      "panels"_a.noconvert(), "rows"_a, "kept"_a, "entries"_a.noconvert(), "n_entries"_a.noconvert(),
      nb::keep_alive<0, 9>());  // 9: the record
}

}  // namespace

void bind_budget(nb::module_& m) {
  nb::class_<BudgetSettings>(m, "BudgetSettings");
  bind_record<BudgetRecord, onkel::Counts>(m, "BudgetRecord")
      .def_rw("scale", &BudgetRecord::scale)
      .def_rw("support_scale", &BudgetRecord::support_scale)
      .def_rw("Q", &BudgetRecord::Q)
      .def_rw("M", &BudgetRecord::M)
      .def_rw("shrink", &BudgetRecord::shrink)
      .def_rw("size", &BudgetRecord::size)
      .def_rw("head", &BudgetRecord::head)
      .def_rw("random", &BudgetRecord::random);
  m.def("budget_settings", &settings_of, "rule"_a, "policy"_a, "budget"_a.none(), "C"_a, "epsilon"_a, "eta"_a, "lam"_a,
        "nu"_a, "root_schedule"_a, "intercept"_a);
  bind_pass<float>(m);
  bind_pass<double>(m);
  bind_one<float>(m, "BudgetOne32");
  bind_one<double>(m, "BudgetOne64");
  // The tables, so that a test can compare them with those of Python.
  m.def("budget_rules", [] {
    nb::dict found;
    for (const auto& t : onkel::kRules) found[t.name] = nb::make_tuple(t.signs, t.regularised, t.widens);
    return found;
  });
  m.def("budget_policies", [] {
    nb::dict found;
    for (const auto& t : onkel::kPolicies) found[t.name] = t.needs_gram;
    return found;
  });
}

}}  // namespace onkel::bind
