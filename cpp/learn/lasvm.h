// LASVM, the support vector machine that learns online.             Bordes, Ertekin, Weston and Bottou 2005
//
//   min  1/2 a'Ka - y'a      low_s <= a_s <= high_s,  sum a = 0;    low_s = min(0, C_s y_s),  high_s = max(0, C_s y_s)
//
// over the examples that are kept, with the gradient g_s = y_s - sum_t a_t K_st. A pair (i, j) with a_i < high_i,
// a_j > low_j and g_i > g_j makes the step
//
//   l = min{ (g_i - g_j) / (K_ii + K_jj - 2 K_ij),  high_i - a_i,  a_j - low_j }
//   a_i += l,   a_j -= l,   g_s -= l (K_is - K_js)
//
//   PROCESS    keeps a new example, at a = 0, and makes a step with the best partner for it
//   REPROCESS  makes a step of the pair with the largest g_i - g_j, if that is above tau; then removes the examples
//              with a = 0 that no pair could move any more; b = (g_i + g_j) / 2
//   FINISH     repeats REPROCESS until no pair is above tau
//
// Given the kernel values of a chunk with itself and with the examples that are kept, targets and C; the results are
// the scores of each example before it was learned, its step in PROCESS, and a, g and b, updated in place.
//
// Slots and places. Kept examples are in slots, and a kernel row holds K of one example with all slots. Kernel rows are
// in places: the first `area` places hold those of the chunk that is being learned, the others are a cache. When its
// turn comes, an example gets the first free slot; so the result does not depend on how a stream is cut into chunks.
// Its column is written to the chunk's rows at once, to a cached row when that is used next, and to all cached rows at
// the end of the chunk. If a kernel row is missing, a function returns the slot that needs it and is to be called
// again once the row is there. The outputs, one for each class, share the slots, and each keeps its own examples: a
// slot becomes free when no output keeps its example.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "learn/counts.h"
#include "parallel.h"

namespace onkel {

inline double weighted(const double* a, const float* k, int64_t n) { return current_target().weighted32(a, k, n); }
inline double weighted(const double* a, const double* k, int64_t n) { return current_target().weighted64(a, k, n); }
inline void shift(double* g, const float* ki, const float* kj, double step, const double* up, const double* down,
                  int64_t n, int64_t* where) {
  current_target().shift32(g, ki, kj, step, up, down, n, where);
}
inline void shift(double* g, const double* ki, const double* kj, double step, const double* up, const double* down,
                  int64_t n, int64_t* where) {
  current_target().shift64(g, ki, kj, step, up, down, n, where);
}

// What Python shares with the core: structured arrays of onkel/learners/lasvm/solution.py, lasvm/learner.py and
// storage/kernel_rows.py have the fields of these structs, and LasvmRecord is a class of Python, too.
struct LasvmSlot {
  int64_t row_id;     // of its example, or -1 if it is free
  int64_t n_keepers;  // outputs that keep the example
  double box, diagonal;  // C_s and K_ss
};
struct LasvmOutput {
  int64_t top, bottom;  // the slots of the largest g that may grow and of the smallest that may shrink, or -1
  int64_t n_zeros;      // length of its list `zeros`
  double offset;        // b
};
struct LasvmRecord : Counts {  // an update is a step of PROCESS
  int64_t n_slots = 0, n_free = 0;  // slots ever used, and those of them that are free
};
struct LasvmPlace {
  int64_t slot;       // whose kernel row it holds, or -1
  int64_t last_used;  // the clock then
  int64_t n_columns;  // how many of the chunk's columns it has
};
struct LasvmTaken {
  int64_t row, slot;  // row of the chunk, and the slot that it took
};
struct LasvmPosition {  // where a pass stands
  int64_t row, output, phase, slot;  // the example whose turn it is; what is next for it, and its slot
  int64_t n_columns;                 // columns of the chunk: examples that took a slot
  int64_t n_steps;                   // steps of FINISH
};

// The variables of all outputs, the slots, and the numbers of the record: all that has been learned but for the rows themselves.
// From slot n_slots on, alpha is 0 and nothing may move.
struct LasvmSolution {
  static constexpr double kInf = std::numeric_limits<double>::infinity();

  int64_t n_outputs, cap;  // cap: room for slots, a multiple of 16
  LasvmRecord* record;
  LasvmSlot* slots;      // (cap)
  int64_t* freed;        // (cap): the heap of free slots
  LasvmOutput* outputs;  // (n_outputs)
  // Of each output (n_outputs, cap): a and g; can_grow is 0, or -inf where a_s = high_s; can_shrink is 0, or +inf where
  // a_s = low_s; sign is y_s, or 0 where s is not kept; zeros lists the s with a_s = 0, and listed marks them.
  double *alpha, *gradient, *can_grow, *can_shrink;
  int8_t *sign, *listed;
  int64_t* zeros;

  // Slots that a loop over one output goes through, whole vectors.
  int64_t width() const { return (record->n_slots + 15) / 16 * 16; }

  // Becomes equal to another solution with as many outputs, for whose slots there is room.
  void assign(const LasvmSolution& from) const {
    const int64_t n = from.width(), before = width();
    *record = *from.record;
    std::copy_n(from.slots, record->n_slots, slots);
    std::copy_n(from.freed, record->n_free, freed);
    std::copy_n(from.outputs, n_outputs, outputs);
    for (int64_t o = 0; o < n_outputs; ++o) {
      const int64_t at = o * cap, there = o * from.cap;
      std::copy_n(from.alpha + there, n, alpha + at);
      std::copy_n(from.gradient + there, n, gradient + at);
      std::copy_n(from.can_grow + there, n, can_grow + at);
      std::copy_n(from.can_shrink + there, n, can_shrink + at);
      std::copy_n(from.sign + there, n, sign + at);
      std::copy_n(from.listed + there, n, listed + at);
      std::copy_n(from.zeros + there, outputs[o].n_zeros, zeros + at);
      for (int64_t s = at + n; s < at + before; ++s) {
        alpha[s] = gradient[s] = 0, can_grow[s] = -kInf, can_shrink[s] = kInf;
        sign[s] = listed[s] = 0;
      }
    }
  }

  // Brings can_grow, can_shrink and zeros in line with alpha and sign.
  void refresh(int64_t o, int64_t s) const {
    const int64_t at = o * cap + s;
    const double C = slots[s].box;
    can_grow[at] = sign[at] != 0 && alpha[at] < (sign[at] > 0 ? C : 0.0) ? 0.0 : -kInf;
    can_shrink[at] = sign[at] != 0 && alpha[at] > (sign[at] > 0 ? 0.0 : -C) ? 0.0 : kInf;
    if (sign[at] == 0 || alpha[at] != 0 || listed[at]) return;
    zeros[o * cap + outputs[o].n_zeros++] = s;
    listed[at] = 1;
  }
};

// A solution with the kernel rows and the chunk of a pass.
template <class T> struct Lasvm : LasvmSolution {
  double tau;
  // Kernel rows (n_places, cap), what each place holds, and of each slot the place of its row, or -1 (cap).
  T* rows;
  LasvmPlace* places;
  int64_t* place_of;
  int64_t area;
  int64_t* clock;
  // The chunk: its kernel values with itself (b, b), and which row took which slot, in order (b).
  int64_t b;
  const T* K_chunk;
  LasvmTaken* taken;
  LasvmPosition* position;

  // The kernel row of a slot, or null if it is missing.
  const T* row(int64_t s) const {
    const int64_t p = place_of[s];
    if (p < 0) return nullptr;
    places[p].last_used = ++*clock;
    if (p >= area) catch_up(p);
    return rows + p * cap;
  }

  // Writes the columns of the chunk that a cached row has not got yet.
  void catch_up(int64_t p) const {
    for (int64_t& q = places[p].n_columns; q < position->n_columns; ++q) {
      const auto [r, s] = taken[q];
      if (place_of[s] == r) rows[p * cap + s] = rows[r * cap + places[p].slot];  // else the example has left it again
    }
  }

  // Puts row r of the chunk into the first free slot, and its column into the chunk's rows.
  int64_t take(int64_t r, int64_t id, double C) const {
    int64_t& n_free = record->n_free;
    if (n_free > 0) std::pop_heap(freed, freed + n_free, std::greater<int64_t>());
    const int64_t s = n_free > 0 ? freed[--n_free] : record->n_slots++;
    slots[s] = {id, 0, C, double(K_chunk[r * b + r])};
    place_of[s] = r, places[r].slot = s;
    taken[position->n_columns++] = {r, s};
    for (int64_t l = 0; l < b; ++l) rows[l * cap + s] = K_chunk[l * b + r];
    return s;
  }

  // One output less keeps the slot; without any it becomes free.
  void release(int64_t s) const {
    if (--slots[s].n_keepers > 0) return;
    const int64_t p = place_of[s];
    if (p >= 0) places[p].slot = -1, places[p].last_used = 0;
    place_of[s] = slots[s].row_id = -1;
    freed[record->n_free++] = s;
    std::push_heap(freed, freed + record->n_free, std::greater<int64_t>());
  }

  // Finds the pair with the largest g_i - g_j anew.
  void choose(int64_t o) const { shift_by(o, nullptr, nullptr, 0); }

  void shift_by(int64_t o, const T* ki, const T* kj, double step) const {
    int64_t where[2];
    shift(gradient + o * cap, ki, kj, step, can_grow + o * cap, can_shrink + o * cap, width(), where);
    outputs[o].top = where[0], outputs[o].bottom = where[1];
  }

  // Output o keeps the example in row r of the chunk, in slot s, at a = 0. Returns its score before.
  double insert(int64_t o, int64_t r, int64_t s, double y) const {
    const double f = weighted(alpha + o * cap, rows + r * cap, width());
    const int64_t at = o * cap + s;
    alpha[at] = 0, gradient[at] = y - f, sign[at] = y > 0 ? 1 : -1;
    ++slots[s].n_keepers;
    refresh(o, s);
    int64_t& end = y > 0 ? outputs[o].top : outputs[o].bottom;
    const double ahead = end < 0 ? kInf : y * (gradient[at] - gradient[o * cap + end]);
    if (ahead > 0 || (ahead == 0 && s < end)) end = s;
    return f + outputs[o].offset;
  }

  // The step of a pair; *length is l. Returns -1, or the slot whose kernel row is missing.
  int64_t step(int64_t o, int64_t i, int64_t j, double* length) const {
    const T *ki = row(i), *kj = ki ? row(j) : nullptr;
    if (!kj) return ki ? j : i;
    double &ai = alpha[o * cap + i], &aj = alpha[o * cap + j];
    const double top = sign[o * cap + i] > 0 ? slots[i].box : 0.0, bottom = sign[o * cap + j] > 0 ? 0.0 : -slots[j].box;
    const double curvature = slots[i].diagonal + slots[j].diagonal - 2 * double(ki[j]);
    const double least = least_curve(slots[i].diagonal + slots[j].diagonal);
    double l = (gradient[o * cap + i] - gradient[o * cap + j]) / (curvature > least ? curvature : least);
    const double rise = top - ai, fall = aj - bottom;
    if (l > rise) l = rise;
    if (l > fall) l = fall;
    const double new_i = l == rise ? top : ai + l, new_j = l == fall ? bottom : aj - l;
    *length = new_i == ai && new_j == aj ? 0.0 : l;  // 0 if lost to rounding
    ai = new_i, aj = new_j;
    refresh(o, i), refresh(o, j);
    shift_by(o, ki, kj, l);
    return -1;
  }

  // REPROCESS of one output. Returns like step.
  int64_t reprocess(int64_t o, double* length) const {
    const int64_t i = outputs[o].top, j = outputs[o].bottom;
    *length = 0;
    if (i >= 0 && j >= 0 && gradient[o * cap + i] - gradient[o * cap + j] > tau) {
      const int64_t need = step(o, i, j, length);
      if (need >= 0) return need;
    }
    evict(o);
    return -1;
  }

  // The second half of REPROCESS: b, and the examples that are no longer kept.
  void evict(int64_t o) const {
    LasvmOutput& output = outputs[o];
    const int64_t i = output.top, j = output.bottom;
    const double* g = gradient + o * cap;
    if (i < 0 || j < 0) {  // one class so far
      output.offset = i >= 0 ? g[i] : j >= 0 ? g[j] : 0.0;
      return;
    }
    const double most = g[i], least = g[j];
    output.offset = (most + least) / 2;
    bool lost = false;
    for (int64_t q = output.n_zeros - 1; q >= 0; --q) {
      const int64_t s = zeros[o * cap + q], at = o * cap + s;
      const bool at_zero = alpha[at] == 0, goes = at_zero && (sign[at] < 0 ? g[s] >= most : g[s] <= least);
      if (at_zero && !goes) continue;
      listed[at] = 0;
      zeros[o * cap + q] = zeros[o * cap + --output.n_zeros];
      if (!goes) continue;
      sign[at] = 0, can_grow[at] = -kInf, can_shrink[at] = kInf;
      lost |= s == i || s == j;
      release(s);
    }
    if (lost) choose(o);
  }
};

// What is next for the example whose turn it is: a slot; a place among those that an output keeps; PROCESS; REPROCESS.
enum Phase : int64_t { kTakeSlot = 0, kInsert = 1, kProcess = 2, kReprocess = 3, kPhases = 4 };

// The examples of a chunk: their targets of +1 and -1 (b, c), their C and the ids of their rows (b), and the slots in
// which the same rows were kept in an earlier epoch, or -1 (b). Results, as far as the pass came: the scores of each
// example before it was learned, and its step in PROCESS, both (b, c).
struct LasvmExamples {
  const double *targets, *box;
  const int64_t *row_ids, *kept_in;
  double *scores, *steps;
};

// PROCESS and REPROCESS for the examples of a chunk, from m.position on; it says where to go on, too. Returns the slot
// whose kernel row is missing, or -1: at the end of the chunk, or after about `work` entries of gradients.
template <class T> int64_t lasvm_process(const Lasvm<T>& m, const LasvmExamples& x, int64_t work) {
  const int64_t c = m.n_outputs;
  LasvmRecord& record = *m.record;
  auto& [r, o, phase, s, n_columns, n_steps] = *m.position;
  while (r < m.b && work > 0) {
    if (phase == kTakeSlot) {
      s = x.kept_in[r];
      const bool kept = s >= 0 && m.slots[s].row_id == x.row_ids[r];
      if (!kept) s = m.take(r, x.row_ids[r], x.box[r]);
      if (kept && m.place_of[s] < 0) m.place_of[s] = r, m.places[r].slot = s;
      ++m.slots[s].n_keepers;  // keeps the slot during its turn
      o = 0, phase = kInsert;
    }
    for (; o < c; ++o, phase = kInsert) {
      const double y = x.targets[r * c + o];
      double &step = x.steps[r * c + o], &f = x.scores[r * c + o];
      work -= 3 * m.width();
      if (phase == kInsert) {
        step = 0;
        if (m.sign[o * m.cap + s] == 0) {
          f = m.insert(o, r, s, y);
          phase = kProcess;
        } else {
          f = y - m.gradient[o * m.cap + s] + m.outputs[o].offset;
          phase = kReprocess;
        }
        record.n_mistakes += y * f <= 0;
      }
      if (phase == kProcess) {
        const int64_t i = y > 0 ? s : m.outputs[o].top, j = y > 0 ? m.outputs[o].bottom : s;
        if (i >= 0 && j >= 0 && m.gradient[o * m.cap + i] - m.gradient[o * m.cap + j] > 0) {
          const int64_t need = m.step(o, i, j, &step);
          if (need >= 0) return need;
          record.n_updates += step != 0;
          step *= y;
        }
        phase = kReprocess;
      }
      double length;
      const int64_t need = m.reprocess(o, &length);
      if (need >= 0) return need;
    }
    m.release(s);
    record.count_example(x.row_ids[r]);
    ++r, phase = kTakeSlot;
  }
  return -1;
}

// FINISH, from output m.position->output on; counts its steps. Returns like lasvm_process.
template <class T> int64_t lasvm_finish(const Lasvm<T>& m, int64_t work) {
  LasvmPosition& position = *m.position;
  while (position.output < m.n_outputs && work > 0) {
    double length;
    const int64_t need = m.reprocess(position.output, &length);
    if (need >= 0) return need;
    work -= 2 * m.width();
    length != 0 ? ++position.n_steps : ++position.output;
  }
  return -1;
}

// Ends a chunk: writes its columns to all cached rows, those in the places from `area` up to `open`.
template <class T> void lasvm_end_chunk(const Lasvm<T>& m, int64_t open, int threads) {
  constexpr int64_t kPlaces = 64;
  const int64_t count = open - m.area;
  if (count * m.position->n_columns < 1 << 18) threads = 1;
  in_parallel((count + kPlaces - 1) / kPlaces, threads, [&](int64_t turn, int) {
    const int64_t first = m.area + turn * kPlaces, end = first + kPlaces < open ? first + kPlaces : open;
    for (int64_t p = first; p < end; ++p)
      if (m.places[p].slot >= 0) m.catch_up(p);
  });
}

}  // namespace onkel
