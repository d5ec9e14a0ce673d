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

template <class T> struct Lasvm {
  static constexpr int kTop = 0, kBottom = 1, kZeros = 2;  // columns of ends
  static constexpr int kOffset = 0, kGap = 1;              // columns of level
  static constexpr double kInf = std::numeric_limits<double>::infinity();

  int64_t outputs, cap;  // cap: room for slots, a multiple of 16
  double tau;
  // Kernel rows (places, cap). place (cap): of each slot's row, or -1. Of each place: its slot or -1, the clock when
  // it was last used, and how many of the chunk's columns it has.
  T* rows;
  int64_t *place, *slot, *used, *done;
  int64_t area;
  // Slots (cap): the number of outputs that keep it, the heap of free slots, its row of the data; C_s and K_ss.
  int64_t *refs, *freed, *row_id;
  double *box, *diag;
  // Outputs (c, cap): a and g; up is 0, or -inf where a_s = high_s, down 0, or +inf where a_s = low_s; sign is y_s, or
  // 0 where s is not kept; zeros lists the s with a_s = 0, and listed marks them.
  double *alpha, *g, *up, *down;
  int8_t *sign, *listed;
  int64_t* zeros;
  int64_t* ends;   // (c, 3): i of the largest g that may rise, j of the smallest that may fall, or -1; length of zeros
  double* level;   // (c, 2): b, and g_i - g_j
  int64_t* tally;  // (4): slots ever used, free slots, columns of the chunk, the clock
  // The chunk: its kernel values with itself (b, b), and a log of which row took which slot, in order (b, 2).
  int64_t b;
  const T* K_chunk;
  int64_t* log;

  int64_t& n_slots() const { return tally[0]; }
  int64_t& n_free() const { return tally[1]; }
  int64_t& n_columns() const { return tally[2]; }
  int64_t& clock() const { return tally[3]; }

  // Slots that a loop over one output goes through, whole vectors.
  int64_t width() const { return (n_slots() + 15) / 16 * 16; }

  // The kernel row of a slot, or null if it is missing.
  const T* row(int64_t s) const {
    const int64_t p = place[s];
    if (p < 0) return nullptr;
    used[p] = ++clock();
    if (p >= area) catch_up(p);
    return rows + p * cap;
  }

  // Writes the columns of the chunk that a cached row has not got yet.
  void catch_up(int64_t p) const {
    for (int64_t& q = done[p]; q < n_columns(); ++q) {
      const int64_t r = log[2 * q], s = log[2 * q + 1];
      if (place[s] == r) rows[p * cap + s] = rows[r * cap + slot[p]];  // else the example has left the slot again
    }
  }

  // Puts row r of the chunk into the first free slot, and its column into the chunk's rows.
  int64_t take(int64_t r, int64_t id, double C) const {
    if (n_free() > 0) std::pop_heap(freed, freed + n_free(), std::greater<int64_t>());
    const int64_t s = n_free() > 0 ? freed[--n_free()] : n_slots()++;
    place[s] = r, slot[r] = s, row_id[s] = id, refs[s] = 0, box[s] = C, diag[s] = double(K_chunk[r * b + r]);
    log[2 * n_columns()] = r, log[2 * n_columns() + 1] = s, ++n_columns();
    for (int64_t l = 0; l < b; ++l) rows[l * cap + s] = K_chunk[l * b + r];
    return s;
  }

  // One output less keeps the slot; without any it becomes free.
  void release(int64_t s) const {
    if (--refs[s] > 0) return;
    const int64_t p = place[s];
    if (p >= 0) slot[p] = -1, used[p] = 0;
    place[s] = row_id[s] = -1;
    freed[n_free()++] = s;
    std::push_heap(freed, freed + n_free(), std::greater<int64_t>());
  }

  // Brings up, down and zeros in line with alpha and sign.
  void refresh(int64_t o, int64_t s) const {
    const int64_t at = o * cap + s;
    up[at] = sign[at] != 0 && alpha[at] < (sign[at] > 0 ? box[s] : 0.0) ? 0.0 : -kInf;
    down[at] = sign[at] != 0 && alpha[at] > (sign[at] > 0 ? 0.0 : -box[s]) ? 0.0 : kInf;
    if (sign[at] == 0 || alpha[at] != 0 || listed[at]) return;
    zeros[o * cap + ends[3 * o + kZeros]++] = s;
    listed[at] = 1;
  }

  // Finds the pair with the largest g_i - g_j anew.
  void choose(int64_t o) const { shift_by(o, nullptr, nullptr, 0); }

  void shift_by(int64_t o, const T* ki, const T* kj, double step) const {
    shift(g + o * cap, ki, kj, step, up + o * cap, down + o * cap, width(), ends + 3 * o);
  }

  // Output o keeps the example in row r of the chunk, in slot s, at a = 0. Returns its score before.
  double insert(int64_t o, int64_t r, int64_t s, double y) const {
    const double f = weighted(alpha + o * cap, rows + r * cap, width());
    const int64_t at = o * cap + s;
    alpha[at] = 0, g[at] = y - f, sign[at] = y > 0 ? 1 : -1;
    ++refs[s];
    refresh(o, s);
    int64_t& end = ends[3 * o + (y > 0 ? kTop : kBottom)];
    const double ahead = end < 0 ? kInf : y * (g[at] - g[o * cap + end]);
    if (ahead > 0 || (ahead == 0 && s < end)) end = s;
    return f + level[2 * o + kOffset];
  }

  // The step of a pair; *length is l. Returns -1, or the slot whose kernel row is missing.
  int64_t step(int64_t o, int64_t i, int64_t j, double* length) const {
    const T *ki = row(i), *kj = ki ? row(j) : nullptr;
    if (!kj) return ki ? j : i;
    double &ai = alpha[o * cap + i], &aj = alpha[o * cap + j];
    const double top = sign[o * cap + i] > 0 ? box[i] : 0.0, bottom = sign[o * cap + j] > 0 ? 0.0 : -box[j];
    const double curvature = diag[i] + diag[j] - 2 * double(ki[j]);
    double l = (g[o * cap + i] - g[o * cap + j]) / (curvature > kFlat ? curvature : kFlat);
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
    const int64_t *end = ends + 3 * o, i = end[kTop], j = end[kBottom];
    *length = 0;
    if (i >= 0 && j >= 0 && g[o * cap + i] - g[o * cap + j] > tau) {
      const int64_t need = step(o, i, j, length);
      if (need >= 0) return need;
    }
    evict(o);
    return -1;
  }

  // The second half of REPROCESS: b, and the examples that are no longer kept.
  void evict(int64_t o) const {
    int64_t* end = ends + 3 * o;
    const int64_t i = end[kTop], j = end[kBottom];
    const double* mine = g + o * cap;
    if (i < 0 || j < 0) {  // one class so far
      level[2 * o + kOffset] = i >= 0 ? mine[i] : j >= 0 ? mine[j] : 0.0;
      level[2 * o + kGap] = 0.0;
      return;
    }
    const double most = mine[i], least = mine[j];
    level[2 * o + kOffset] = (most + least) / 2, level[2 * o + kGap] = most - least;
    bool lost = false;
    for (int64_t q = end[kZeros] - 1; q >= 0; --q) {
      const int64_t s = zeros[o * cap + q], at = o * cap + s;
      const bool at_zero = alpha[at] == 0, goes = at_zero && (sign[at] < 0 ? mine[s] >= most : mine[s] <= least);
      if (at_zero && !goes) continue;
      listed[at] = 0;
      zeros[o * cap + q] = zeros[o * cap + --end[kZeros]];
      if (!goes) continue;
      sign[at] = 0, up[at] = -kInf, down[at] = kInf;
      lost |= s == i || s == j;
      release(s);
    }
    if (lost) choose(o);
  }
};

// What is next for the example whose turn it is: a slot; a place among those that an output keeps; PROCESS; REPROCESS.
enum Stage : int64_t { kTakeSlot = 0, kInsert = 1, kProcess = 2, kReprocess = 3 };

// PROCESS and REPROCESS for the examples of a chunk. position (4) says where to start and, on return, where to go on:
// example, output, stage and slot. Given y (b, c), NaN where an output ignores the example; C (b); row_ids (b), the
// rows of the data; at (b), the slot where the same row was kept in an earlier epoch, or -1.
// Results, as far as it came: F (b, c), the scores of each example before it was learned, and steps (b, c), those of
// PROCESS; the numbers of mistakes and of steps are added to counts[0] and counts[1]. Returns the slot whose kernel row
// is missing, or -1: at the end of the chunk, or after about `work` entries of gradients.
template <class T>
int64_t lasvm_pass(const Lasvm<T>& m, const double* y, const double* C, const int64_t* row_ids, const int64_t* at,
                   int64_t* position, double* F, double* steps, int64_t* counts, int64_t work) {
  const int64_t c = m.outputs;
  int64_t &example = position[0], &o = position[1], &next = position[2], &s = position[3];
  while (example < m.b && work > 0) {
    if (next == kTakeSlot) {
      s = at[example];
      const bool kept = s >= 0 && m.row_id[s] == row_ids[example];
      if (!kept) s = m.take(example, row_ids[example], C[example]);
      if (kept && m.place[s] < 0) m.place[s] = example, m.slot[example] = s;
      ++m.refs[s];  // keeps the slot during its turn
      o = 0, next = kInsert;
    }
    for (; o < c; ++o, next = kInsert) {
      const double target = y[example * c + o];
      double &step = steps[example * c + o], &f = F[example * c + o];
      const int64_t* end = m.ends + 3 * o;
      work -= 3 * m.width();
      if (next == kInsert) {
        step = f = 0;
        if (target != target) continue;
        if (m.sign[o * m.cap + s] == 0) {
          f = m.insert(o, example, s, target);
          next = kProcess;
        } else {
          f = target - m.g[o * m.cap + s] + m.level[2 * o + Lasvm<T>::kOffset];
          next = kReprocess;
        }
        counts[0] += target * f <= 0;
      }
      if (next == kProcess) {
        const int64_t i = target > 0 ? s : end[Lasvm<T>::kTop], j = target > 0 ? end[Lasvm<T>::kBottom] : s;
        if (i >= 0 && j >= 0 && m.g[o * m.cap + i] - m.g[o * m.cap + j] > 0) {
          const int64_t need = m.step(o, i, j, &step);
          if (need >= 0) return need;
          counts[1] += step != 0;
          step *= target;
        }
        next = kReprocess;
      }
      double length;
      const int64_t need = m.reprocess(o, &length);
      if (need >= 0) return need;
    }
    m.release(s);
    ++example, next = kTakeSlot;
  }
  return -1;
}

// FINISH, from output position[0] on; adds its steps to position[1]. Returns like lasvm_pass.
template <class T> int64_t lasvm_finish(const Lasvm<T>& m, int64_t* position, int64_t work) {
  while (position[0] < m.outputs && work > 0) {
    double length;
    const int64_t need = m.reprocess(position[0], &length);
    if (need >= 0) return need;
    work -= 2 * m.width();
    length != 0 ? ++position[1] : ++position[0];
  }
  return -1;
}

// Ends a chunk: writes its columns to all cached rows, those in the places from `area` up to `places`.
template <class T> void lasvm_end_chunk(const Lasvm<T>& m, int64_t places, int threads) {
  constexpr int64_t kPlaces = 64;
  const int64_t count = places - m.area;
  if (count * m.n_columns() < 1 << 18) threads = 1;
  in_parallel((count + kPlaces - 1) / kPlaces, threads, [&](int64_t turn, int) {
    const int64_t first = m.area + turn * kPlaces, end = first + kPlaces < places ? first + kPlaces : places;
    for (int64_t p = first; p < end; ++p)
      if (m.slot[p] >= 0) m.catch_up(p);
  });
}

}  // namespace onkel
