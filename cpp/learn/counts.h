// What every learner of rows counts. Records with more numbers of a learner begin with these.
#pragma once
#include <cstdint>

namespace onkel {

struct Counts {
  int64_t n_seen = 0;       // rounds: examples learned from, those of every epoch
  int64_t n_mistakes = 0;   // of them those with y f <= 0 before, over all outputs
  int64_t n_updates = 0;    // of them those that changed an output, over all outputs
  int64_t next_row_id = 0;  // one more than the largest id of a row so far

  // A round with this row.
  void count_example(int64_t row_id) {
    ++n_seen;
    skip_to(row_id + 1);
  }
  // A round with the next row, whose id is returned.
  int64_t count_next() { return ++n_seen, next_row_id++; }
  // The next row has at least this id.
  void skip_to(int64_t row_id) {
    if (next_row_id < row_id) next_row_id = row_id;
  }
};

}  // namespace onkel
