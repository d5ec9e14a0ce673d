// Steps of the dual of a support vector machine, on one block of its variables.
//
//   min  1/2 b'Kb - z'b      low_i <= b_i <= high_i,  sum b fixed
//
// Given K (q, q), a feasible b and v = z - Kb, which may count variables outside the block as well;
// updates b and v in place. With b_i = y_i a_i and z = y this is the dual of the C-SVM; regression
// and one class differ in z, low and high only (smo.py).
//
// v_i is the slope of the objective along b_i, downwards. A pair may move where b_i can grow, b_j can
// shrink and v_i > v_j; at the solution none may. A step takes the i of the largest v, and the j that
// lowers the objective most, (v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij).     Fan, Chen and Lin 2005, WSS 2
//
// What is not allowed to move is told by numbers, so that the loops have no branches: grow_i is 0
// where b_i can grow and -inf where it cannot, shrink_j is 0 or +inf.
#pragma once
#include "engine.h"
#include "simd.h"

namespace onkel { namespace ONKEL_TARGET {

typedef float Half __attribute__((vector_size(kBytes / 2)));  // as many floats as a vector has doubles
constexpr double kFlat = 1e-12;  // the least curvature, as in LIBSVM: a flat direction is followed to its end
constexpr double kInfinity = __builtin_inf();

ONKEL_INLINE Simd<double>::V load_wide(const double* p) { return load(p); }
ONKEL_INLINE Simd<double>::V load_wide(const float* p) {
  Half v;
  __builtin_memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Simd<double>::V);
}

struct Found {  // the best of a search: which, and how good
  double value;
  int64_t at;
};

// The best of the lanes; the first of equals.
ONKEL_INLINE Found best_lane(Simd<double>::V value, Simd<double>::I at) {
  Found found = {-kInfinity, -1};
  for (int l = 0; l < kLanes<double>; ++l)
    if (value[l] > found.value || (value[l] == found.value && found.at >= 0 && at[l] < found.at)) found = {value[l], at[l]};
  return found;
}

struct Slopes {  // the largest v that can grow, and the least that can shrink
  Found top;
  double bottom;
};

// v -= step (K_i - K_j), and the slopes after it; all arrays padded to whole vectors.
template <class T>
static Slopes follow(int64_t q, double step, const T* Ki, const T* Kj, const double* grow, const double* shrink, double* v) {
  typedef Simd<double>::V V;
  typedef Simd<double>::I I;
  constexpr int kStep = kLanes<double>;
  V top = splat(-kInfinity), bottom = splat(kInfinity);
  I at = I{} - 1, here;
  for (int l = 0; l < kStep; ++l) here[l] = l;
  for (int64_t k = 0; k < q; k += kStep, here += kStep) {
    const V now = load(v + k) - step * (load_wide(Ki + k) - load_wide(Kj + k));
    store(v + k, now);
    const V up = now + load(grow + k), down = now + load(shrink + k);
    const I better = up > top;
    top = pick(better, up, top);
    at = pick(better, here, at);
    bottom = at_most(bottom, down);
  }
  Slopes slopes = {best_lane(top, at), kInfinity};
  for (int l = 0; l < kStep; ++l) slopes.bottom = bottom[l] < slopes.bottom ? bottom[l] : slopes.bottom;
  return slopes;
}

// The partner of i that lowers the objective most; -1 where none can. It need not be exact: float will do.
template <class T>
static int64_t partner(int64_t q, double vi, double Kii, const T* Ki, const double* diagonal, const double* shrink, const double* v) {
  typedef Simd<double>::V V;
  typedef Simd<double>::I I;
  constexpr int kStep = kLanes<double>;
  V most = splat(0.0);
  I at = I{} - 1, here;
  for (int l = 0; l < kStep; ++l) here[l] = l;
  for (int64_t k = 0; k < q; k += kStep, here += kStep) {
    const V gap = vi - (load(v + k) + load(shrink + k));
    const V curve = at_least((Kii + load(diagonal + k)) - 2.0 * load_wide(Ki + k), splat(kFlat));
    const Half slope = __builtin_convertvector(at_least(gap, V{}), Half);
    const V gain = __builtin_convertvector(slope * slope / __builtin_convertvector(curve, Half), V);
    const I better = gain > most;
    most = pick(better, gain, most);
    at = pick(better, here, at);
  }
  return best_lane(most, at).at;
}

ONKEL_INLINE void allow(const Block& block, int64_t i) {
  block.grow[i] = block.b[i] < block.high[i] ? 0.0 : -kInfinity;
  block.shrink[i] = block.b[i] > block.low[i] ? 0.0 : kInfinity;
}

template <class T> static void open_block(const Block& block, const T* K, int64_t room) {
  for (int64_t i = 0; i < room; ++i) {
    block.grow[i] = -kInfinity;
    block.shrink[i] = kInfinity;
    block.diagonal[i] = 1.0;
    if (i >= block.q) continue;
    allow(block, i);
    block.diagonal[i] = double(K[i * block.ld + i]);
  }
}

// Pair steps until max v - min v <= tol over what may move, at most `most`; returns their number and,
// in `gap`, max v - min v.
template <class T> static int64_t pair_steps(const T* K, const Block& block, double tol, int64_t most, double* gap) {
  const int64_t room = (block.q + kLanes<double> - 1) / kLanes<double> * kLanes<double>, ld = block.ld;
  open_block(block, K, room);
  Slopes slopes = follow(room, 0.0, K, K, block.grow, block.shrink, block.v);
  for (int64_t step = 0;; ++step) {
    *gap = slopes.top.value - slopes.bottom;
    const int64_t i = slopes.top.at;
    if (!(*gap > tol) || step == most) return step;
    const T* Ki = K + i * ld;
    int64_t j = partner(room, block.v[i], block.diagonal[i], Ki, block.diagonal, block.shrink, block.v);
    if (j < 0)  // numbers beyond float: the steepest one will do
      for (j = 0; block.v[j] + block.shrink[j] != slopes.bottom;) ++j;
    const double curve = block.diagonal[i] + block.diagonal[j] - 2 * double(Ki[j]);
    double move = (block.v[i] - block.v[j]) / (curve > kFlat ? curve : kFlat);
    const double room_i = block.high[i] - block.b[i], room_j = block.b[j] - block.low[j];
    // set to the bound itself where it is met, so that it is known to be there
    const bool meets_i = move >= room_i && room_i <= room_j, meets_j = move >= room_j && room_j <= room_i;
    if (meets_i || meets_j) move = meets_i ? room_i : room_j;
    block.b[i] = meets_i ? block.high[i] : block.b[i] + move;
    block.b[j] = meets_j ? block.low[j] : block.b[j] - move;
    allow(block, i);
    allow(block, j);
    slopes = follow(room, move, Ki, K + j * ld, block.grow, block.shrink, block.v);
  }
}

// The same without the constraint on the sum: one variable moves at a time, the one with the largest
// slope, to where its slope is 0.
template <class T> static int64_t single_steps(const T* K, const Block& block, double tol, int64_t most, double* gap) {
  const int64_t room = (block.q + kLanes<double> - 1) / kLanes<double> * kLanes<double>, ld = block.ld;
  open_block(block, K, room);
  for (int64_t step = 0;; ++step) {
    int64_t i = -1;
    double steepest = 0;
    for (int64_t k = 0; k < block.q; ++k) {
      const double slope = block.v[k] > 0 ? block.v[k] + block.grow[k] : -(block.v[k] + block.shrink[k]);
      if (slope > steepest) {
        steepest = slope;
        i = k;
      }
    }
    *gap = steepest;
    if (!(steepest > tol) || step == most) return step;
    const double curve = block.diagonal[i] > kFlat ? block.diagonal[i] : kFlat;
    const double wanted = block.b[i] + block.v[i] / curve;
    const double now = wanted > block.high[i] ? block.high[i] : wanted < block.low[i] ? block.low[i] : wanted;
    const double move = now - block.b[i];
    block.b[i] = now;
    allow(block, i);
    const T* Ki = K + i * ld;
    for (int64_t k = 0; k < block.q; ++k) block.v[k] -= move * double(Ki[k]);
  }
}

template <class T>
static int64_t smo(bool pairs, const T* K, const Block& block, double tol, int64_t most, double* gap) {
  return pairs ? pair_steps(K, block, tol, most, gap) : single_steps(K, block, tol, most, gap);
}

}}  // namespace onkel::ONKEL_TARGET
