// The ledger: the ordered list of a learner's updates, as onkel.learners.ledger keeps it.
#pragma once
#include <cstdint>

namespace onkel {

struct LedgerEntry {
  int64_t round, row, output;  // round of the update (from 1), id of the row, output
  double step;
};

// Entries with room for more, and their number; both arrays belong to the caller, who makes sure of the room. The number
// is the ledger's own, or a copy: then the entries count when Python commits it.
struct Ledger {
  LedgerEntry* entries;
  int64_t* count;

  void add(int64_t round, int64_t row, int64_t output, double step) const {
    entries[(*count)++] = {round, row, output, step};
  }
};

}  // namespace onkel
