// LASVM, the support vector machine that learns online: learn/lasvm.h in Python.
//
// Arrays of a structured dtype come as bytes, because nanobind knows no element type for them; each element has as many
// bytes as its struct.
#include "bind/check.h"
#include "bind/counts.h"
#include "learn/lasvm.h"

namespace onkel { namespace bind {
namespace {

using onkel::LasvmRecord;
using Bytes = Out1<uint8_t>;

template <class T> T* structs(const Bytes& bytes) { return reinterpret_cast<T*>(bytes.data()); }

template <class T> void check_structs(const Check& check, const char* name, const Bytes& bytes, int64_t count) {
  check.shape(name, bytes, count * int64_t(sizeof(T)));
  check.that(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(T) == 0, "structs must be aligned");
}

// Every number is from 0 to below `count`, or -1 for none.
void check_or_none(const Check& check, const char* expected, const In1<int64_t>& values, int64_t count) {
  bool wrong = false;
  for (size_t i = 0; i < values.shape(0); ++i) wrong |= (values.data()[i] < -1) | (values.data()[i] >= count);
  check.that(!wrong, expected);
}

// The arrays of a solution, kept alive with its record; Python knows it as LasvmSolution.
struct SolutionArrays {
  onkel::LasvmSolution core;
  Bytes outputs, slots;
  Out1<int64_t> freed;
  Out2<double> alpha, gradient, can_grow, can_shrink;
  Out2<int8_t> sign, listed;
  Out2<int64_t> zeros;
};

SolutionArrays make_solution(LasvmRecord& record, Bytes outputs, Bytes slots, Out1<int64_t> freed,
                             Out2<double> alpha, Out2<double> gradient, Out2<double> can_grow, Out2<double> can_shrink, Out2<int8_t> sign,
                             Out2<int8_t> listed, Out2<int64_t> zeros) {
  const Check check{"lasvm_solution"};
  const int64_t c = int64_t(alpha.shape(0)), cap = int64_t(alpha.shape(1));
  check.that(cap % 16 == 0, "the number of slots must be a multiple of 16");
  check_structs<onkel::LasvmOutput>(check, "outputs", outputs, c);
  check_structs<onkel::LasvmSlot>(check, "slots", slots, cap);
  check.shape("freed", freed, cap);
  check.shape("gradient", gradient, c, cap);
  check.shape("can_grow", can_grow, c, cap);
  check.shape("can_shrink", can_shrink, c, cap);
  check.shape("sign", sign, c, cap);
  check.shape("listed", listed, c, cap);
  check.shape("zeros", zeros, c, cap);
  const onkel::LasvmSolution core{c, cap, &record, structs<onkel::LasvmSlot>(slots),
                                  freed.data(), structs<onkel::LasvmOutput>(outputs), alpha.data(), gradient.data(),
                                  can_grow.data(), can_shrink.data(), sign.data(), listed.data(), zeros.data()};
  return {core, outputs, slots, freed, alpha, gradient, can_grow, can_shrink, sign, listed, zeros};
}

// The numbers that become addresses: slots in use, free slots and lists must lie within the arrays.
void check_counts(const Check& check, const onkel::LasvmSolution& x, int64_t room) {
  check.between("n_slots", x.record->n_slots, 0, room);
  check.between("n_free", x.record->n_free, 0, x.record->n_slots);
  for (int64_t o = 0; o < x.n_outputs; ++o) {
    check.between("n_zeros", x.outputs[o].n_zeros, 0, x.record->n_slots);
    check.between("top", x.outputs[o].top, -1, x.record->n_slots - 1);
    check.between("bottom", x.outputs[o].bottom, -1, x.record->n_slots - 1);
  }
}

// A solution, kernel rows and a chunk, bound once for all passes over it. Python knows it as Lasvm32 and Lasvm64.
template <class T> struct LasvmPass {
  onkel::Lasvm<T> core;
  SolutionArrays solution;
  Out2<T> rows;
  Bytes places;
  Out1<int64_t> place_of, clock;
  In2<T> K_chunk;
  Bytes taken, position;
  int64_t n_places;

  void check_position(const Check& check) const {
    const onkel::LasvmPosition& at = *core.position;
    check_counts(check, core, core.cap - (core.b - at.n_columns));  // the rest of the chunk may take slots, too
    check.between("position.row", at.row, 0, core.b);
    check.between("position.output", at.output, 0, core.n_outputs);
    check.index("position.phase", at.phase, onkel::kPhases);
    check.between("position.n_columns", at.n_columns, 0, at.row + (at.phase != onkel::kTakeSlot));
    if (at.phase != onkel::kTakeSlot) check.index("position.slot", at.slot, core.record->n_slots);
  }
};

template <class T> void bind_pass(nb::module_& m, const char* name) {
  nb::class_<LasvmPass<T>>(m, name)
      .def(
          "process",
          [](const LasvmPass<T>& pass, In2<double> targets, In1<double> box, In1<int64_t> row_ids,
             In1<int64_t> kept_in, Out2<double> scores, Out2<double> steps, int64_t work) {
            const Check check{"Lasvm.process"};
            const int64_t b = pass.core.b, c = pass.core.n_outputs;
            check.shape("targets", targets, b, c);
            check.shape("box", box, b);
            check.shape("row_ids", row_ids, b);
            check.shape("kept_in", kept_in, b);
            check_or_none(check, "kept_in must hold slots, or -1", kept_in, pass.core.cap);
            check.shape("scores", scores, b, c);
            check.shape("steps", steps, b, c);
            pass.check_position(check);
            const nb::gil_scoped_release released;
            return onkel::lasvm_process(
                pass.core, {targets.data(), box.data(), row_ids.data(), kept_in.data(), scores.data(), steps.data()},
                work);
          },
          "targets"_a.noconvert(), "box"_a.noconvert(), "row_ids"_a.noconvert(), "kept_in"_a.noconvert(),
          "scores"_a.noconvert(), "steps"_a.noconvert(), "work"_a)
      .def(
          "finish",
          [](const LasvmPass<T>& pass, int64_t work) {
            pass.check_position(Check{"Lasvm.finish"});
            const nb::gil_scoped_release released;
            return onkel::lasvm_finish(pass.core, work);
          },
          "work"_a)
      .def(
          "end_chunk",
          [](const LasvmPass<T>& pass, int64_t open, int threads) {
            const Check check{"Lasvm.end_chunk"};
            check.between("open", open, pass.core.area, pass.n_places);
            check.least("threads", threads, 1);
            pass.check_position(check);
            const nb::gil_scoped_release released;
            onkel::lasvm_end_chunk(pass.core, open, threads);
          },
          "open"_a, "threads"_a);
  m.def(
      "lasvm",
      [](const SolutionArrays& solution, double tol, Out2<T> rows, Bytes places, Out1<int64_t> place_of, int64_t area,
         Out1<int64_t> clock, In2<T> K_chunk, Bytes taken, Bytes position) {
        const Check check{"lasvm"};
        const int64_t b = int64_t(K_chunk.shape(0)), n_places = int64_t(rows.shape(0)), cap = solution.core.cap;
        check.shape("rows", rows, kAny, cap);
        check_structs<onkel::LasvmPlace>(check, "places", places, n_places);
        check.shape("place_of", place_of, cap);
        check.between("area", area, 0, n_places);
        check.shape("clock", clock, 1);
        check.shape("K_chunk", K_chunk, b, b);
        check.that(b <= area, "a chunk must have at most `area` rows");
        check_structs<onkel::LasvmTaken>(check, "taken", taken, b);
        check_structs<onkel::LasvmPosition>(check, "position", position, 1);
        check_or_none(check, "place_of must hold places, or -1", In1<int64_t>(place_of), n_places);
        const onkel::Lasvm<T> core{solution.core, tol, rows.data(), structs<onkel::LasvmPlace>(places), place_of.data(),
                                   area, clock.data(), b, K_chunk.data(), structs<onkel::LasvmTaken>(taken),
                                   structs<onkel::LasvmPosition>(position)};
        return LasvmPass<T>{core, solution, rows, places, place_of, clock, K_chunk, taken, position, n_places};
      },
      "solution"_a, "tol"_a, "rows"_a.noconvert(), "places"_a.noconvert(), "place_of"_a.noconvert(), "area"_a,
      "clock"_a.noconvert(), "K_chunk"_a.noconvert(), "taken"_a.noconvert(), "position"_a.noconvert(),
      nb::keep_alive<0, 1>());  // 1: the solution, which keeps its record
}

}  // namespace

void bind_lasvm(nb::module_& m) {
  bind_record<LasvmRecord, onkel::Counts>(m, "LasvmRecord")
      .def_rw("n_slots", &LasvmRecord::n_slots)
      .def_rw("n_free", &LasvmRecord::n_free);
  nb::class_<SolutionArrays>(m, "LasvmSolution")
      .def(
          "assign",
          [](const SolutionArrays& to, const SolutionArrays& from) {
            const Check check{"LasvmSolution.assign"};
            check.that(from.core.n_outputs == to.core.n_outputs, "both must have the same number of outputs");
            check_counts(check, from.core, from.core.cap < to.core.cap ? from.core.cap : to.core.cap);
            check_counts(check, to.core, to.core.cap);
            to.core.assign(from.core);
          },
          "other"_a);
  m.def("lasvm_solution", &make_solution, "record"_a, "outputs"_a.noconvert(), "slots"_a.noconvert(),
        "freed"_a.noconvert(), "alpha"_a.noconvert(), "gradient"_a.noconvert(), "can_grow"_a.noconvert(),
        "can_shrink"_a.noconvert(), "sign"_a.noconvert(), "listed"_a.noconvert(), "zeros"_a.noconvert(), nb::keep_alive<0, 1>());  // 1: the record
  bind_pass<float>(m, "Lasvm32");
  bind_pass<double>(m, "Lasvm64");
}

}}  // namespace onkel::bind
