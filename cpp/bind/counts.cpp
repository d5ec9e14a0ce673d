// What learners count: learn/counts.h in Python.
#include "bind/counts.h"

#include "learn/counts.h"

namespace onkel { namespace bind {

using onkel::Counts;

void bind_counts(nb::module_& m) {
  bind_record<Counts>(m, "Counts")
      .def("count_next", &Counts::count_next)
      .def("skip_to", &Counts::skip_to, "row_id"_a)
      .def(
          "add",
          [](Counts& counts, int64_t rounds, int64_t last_row_id, int64_t mistakes, int64_t updates) {
            counts.n_seen += rounds;
            counts.n_mistakes += mistakes;
            counts.n_updates += updates;
            counts.skip_to(last_row_id + 1);
          },
          "rounds"_a, "last_row_id"_a, "mistakes"_a = 0, "updates"_a = 0)
      .def_rw("n_seen", &Counts::n_seen)
      .def_rw("n_mistakes", &Counts::n_mistakes)
      .def_rw("n_updates", &Counts::n_updates)
      .def_rw("next_row_id", &Counts::next_row_id);
}

}}  // namespace onkel::bind
