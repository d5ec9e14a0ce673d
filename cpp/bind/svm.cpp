// Support vector machines: learn/smo.h and learn/lasvm.h in Python.
#include "bind/arrays.h"
#include "learn/lasvm.h"
#include "target/dispatch.h"

#include <utility>
#include <vector>

namespace onkel { namespace bind {
namespace {

int64_t run_smo(bool pairs, const float* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo32(pairs, K, block, tol, most, gap);
}
int64_t run_smo(bool pairs, const double* K, const onkel::Block& block, double tol, int64_t most, double* gap) {
  return onkel::current_target().smo64(pairs, K, block, tol, most, gap);
}

template <class T> void bind_smo(nb::module_& m) {
  m.def(
      "smo",
      [](In2<T> K, int64_t size, In1<double> low, In1<double> high, Out1<double> b, Out1<double> v, bool pairs,
         double tol, int64_t most) {
        const size_t room = K.shape(1);
        std::vector<double> wide(2 * room);
        std::vector<float> rough(2 * room);
        double gap = 0;
        int64_t steps = 0;
        {
          const nb::gil_scoped_release released;
          const onkel::Block block{size, int64_t(K.shape(1)), low.data(), high.data(), b.data(), v.data(),
                                   wide.data(), wide.data() + room, rough.data(), rough.data() + room};
          steps = run_smo(pairs, K.data(), block, tol, most, &gap);
        }
        return std::make_pair(steps, gap);
      },
      "K"_a.noconvert(), "size"_a, "low"_a.noconvert(), "high"_a.noconvert(), "b"_a.noconvert(), "v"_a.noconvert(),
      "pairs"_a, "tol"_a, "most"_a);
}

// The state of lasvm.h, from arrays that hold several of its fields one after the other: held has slot, used and done
// of each place; kept has refs, freed and row_id of each slot; sizes box and diag; values alpha, g, up and down; marks
// sign and listed.
template <class T>
onkel::Lasvm<T> lasvm(double tau, const Out2<T>& rows, const Out2<int64_t>& held, const Out1<int64_t>& place,
                      int64_t area, const Out2<int64_t>& kept, const Out2<double>& sizes, const Out3<double>& values,
                      const Out3<int8_t>& marks, const Out2<int64_t>& zeros, const Out2<int64_t>& ends,
                      const Out2<double>& level, const Out1<int64_t>& tally, const In2<T>& K_chunk,
                      const Out2<int64_t>& log) {
  const int64_t c = int64_t(values.shape(1)), cap = int64_t(values.shape(2)), places = int64_t(held.shape(1));
  int64_t *h = held.data(), *k = kept.data();
  double *s = sizes.data(), *v = values.data();
  int8_t* marked = marks.data();
  return {c, cap, tau, rows.data(), place.data(), h, h + places, h + 2 * places, area, k, k + cap, k + 2 * cap,
          s, s + cap, v, v + c * cap, v + 2 * c * cap, v + 3 * c * cap, marked, marked + c * cap, zeros.data(),
          ends.data(), level.data(), tally.data(), int64_t(K_chunk.shape(0)), K_chunk.data(), log.data()};
}

template <class T> void bind_lasvm(nb::module_& m) {
  m.def(
      "lasvm_pass",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> K_chunk, Out2<int64_t> log, In2<double> y, In1<double> C,
         In1<int64_t> row_ids, In1<int64_t> at, Out1<int64_t> position, Out2<double> F, Out2<double> steps,
         Out1<int64_t> counts, int64_t work) {
        const nb::gil_scoped_release released;
        const auto state = lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level, tally,
                                    K_chunk, log);
        return onkel::lasvm_pass(state, y.data(), C.data(), row_ids.data(), at.data(), position.data(), F.data(),
                                 steps.data(), counts.data(), work);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "K_chunk"_a.noconvert(), "log"_a.noconvert(), "y"_a.noconvert(),
      "C"_a.noconvert(), "row_ids"_a.noconvert(), "at"_a.noconvert(), "position"_a.noconvert(), "F"_a.noconvert(),
      "steps"_a.noconvert(), "counts"_a.noconvert(), "work"_a);
  m.def(
      "lasvm_finish",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> K_chunk, Out2<int64_t> log, Out1<int64_t> position,
         int64_t work) {
        const nb::gil_scoped_release released;
        const auto state = lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level, tally,
                                    K_chunk, log);
        return onkel::lasvm_finish(state, position.data(), work);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "K_chunk"_a.noconvert(), "log"_a.noconvert(), "position"_a.noconvert(),
      "work"_a);
  m.def(
      "lasvm_end_chunk",
      [](double tau, Out2<T> rows, Out2<int64_t> held, Out1<int64_t> place, int64_t area, Out2<int64_t> kept,
         Out2<double> sizes, Out3<double> values, Out3<int8_t> marks, Out2<int64_t> zeros, Out2<int64_t> ends,
         Out2<double> level, Out1<int64_t> tally, In2<T> K_chunk, Out2<int64_t> log, int64_t places, int threads) {
        const nb::gil_scoped_release released;
        const auto state = lasvm<T>(tau, rows, held, place, area, kept, sizes, values, marks, zeros, ends, level, tally,
                                    K_chunk, log);
        onkel::lasvm_end_chunk(state, places, threads);
      },
      "tau"_a, "rows"_a.noconvert(), "held"_a.noconvert(), "place"_a.noconvert(), "area"_a, "kept"_a.noconvert(),
      "sizes"_a.noconvert(), "values"_a.noconvert(), "marks"_a.noconvert(), "zeros"_a.noconvert(), "ends"_a.noconvert(),
      "level"_a.noconvert(), "tally"_a.noconvert(), "K_chunk"_a.noconvert(), "log"_a.noconvert(), "places"_a, "threads"_a);
}

}  // namespace

void bind_svm(nb::module_& m) {
  bind_smo<float>(m);
  bind_smo<double>(m);
  bind_lasvm<float>(m);
  bind_lasvm<double>(m);
}

}}  // namespace onkel::bind
