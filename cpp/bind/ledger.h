// The ledger of a learner, from two arrays of Python: onkel.learners.ledger.Ledger.core_view.
#pragma once
#include "bind/check.h"
#include "learn/ledger.h"

namespace onkel { namespace bind {

// Whether there is room for `more` entries.
inline bool has_room(const Out2<int64_t>& entries, const Out1<int64_t>& n_entries, int64_t more) {
  return *n_entries.data() >= 0 && *n_entries.data() <= int64_t(entries.shape(0)) - more;
}

// The ledger with these entries, of which `n_entries` (1) are in use; there must be room for `more`.
inline Ledger ledger_of(const Check& check, const Out2<int64_t>& entries, const Out1<int64_t>& n_entries, int64_t more) {
  check.shape("n_entries", n_entries, 1);
  check.shape("entries", entries, kAny, sizeof(LedgerEntry) / sizeof(int64_t));
  check.that(has_room(entries, n_entries, more), "entries must have room for those in use and for those to come");
  return {reinterpret_cast<LedgerEntry*>(entries.data()), n_entries.data()};
}

}}  // namespace onkel::bind
