// The dual of a support vector machine, on one block of its variables.
//
//   min  1/2 b'Kb - z'b      low_i <= b_i <= high_i,  sum b fixed
//
// Given K (q, q), a feasible b and v = z - Kb, which may include variables outside the block; updates b and v in place.
// With b_i = y_i a_i and z = y this is the dual of the C-SVM; regression and one-class differ only in z, low and high
// (the Python module that calls this says how).
//
// v is the negative gradient of the objective. A pair (i, j) may move if b_i can grow, b_j can shrink and v_i > v_j; at
// the solution no pair may. A step takes the i with the largest v, and the j that lowers the objective most, by
// (v_i - v_j)^2 / (K_ii + K_jj - 2 K_ij).     Fan, Chen and Lin 2005, WSS 2
//
// To keep branches out of the loops, each v is stored twice: in `up`, -inf if b cannot grow, and in `down`, +inf if it
// cannot shrink.
#pragma once
#include "product/simd.h"
#include "target/target.h"

namespace onkel { namespace ONKEL_TARGET {

constexpr double kInfinity = __builtin_inf();
constexpr double kSteep = 1e-4;  // a partner must have this part of the largest difference of slopes

// A vector of values of K, as floats.
ONKEL_INLINE Simd<float>::V load_narrow(const float* p) { return load(p); }
ONKEL_INLINE Simd<float>::V load_narrow(const double* p) {
  const Half halves[2] = {narrow(load(p)), narrow(load(p + kLanes<double>))};
  Simd<float>::V v;
  __builtin_memcpy(&v, halves, sizeof v);
  return v;
}

template <class T> struct Found {  // the best value of a search, and its index
  T value;
  int64_t at;
};

// The largest of many numbers, by several searches side by side, so that comparisons do not wait for each other.
constexpr int kSearches = 4;
template <class T> struct Search {
  typename Simd<T>::V value[kSearches];
  typename Simd<T>::I at[kSearches], here;

  explicit Search(T least) {
    for (int s = 0; s < kSearches; ++s) {
      value[s] = splat(least);
      at[s] = typename Simd<T>::I{} - 1;
    }
    for (int l = 0; l < kLanes<T>; ++l) here[l] = l;
  }
  inline __attribute__((always_inline)) void see(int s, typename Simd<T>::V x) {
    const auto better = x >= value[s];
    value[s] = pick(better, x, value[s]);
    at[s] = pick(better, here, at[s]);
    here += kLanes<T>;
  }
  Found<T> best() const {  // the last of equal values, as in LIBSVM
    Found<T> found = {T(-kInfinity), -1};
    for (int s = 0; s < kSearches; ++s)
      for (int l = 0; l < kLanes<T>; ++l)
        if (at[s][l] >= 0 && (found.at < 0 || value[s][l] >= found.value)) {
          const bool later = value[s][l] > found.value || at[s][l] > found.at;
          if (later) found = {value[s][l], at[s][l]};
        }
    return found;
  }
};

struct Slopes {  // the largest v that can grow, and the least that can shrink
  Found<double> top;
  double bottom;
};

// v -= step (K_i - K_j); returns the slopes after it. rough = down - centre in float, which is precise near the centre.
template <class T>
static Slopes follow(int64_t room, double step, const T* Ki, const T* Kj, double* up, double* down, double centre,
                     float* rough) {
  typedef Simd<double>::V V;
  constexpr int kStep = kLanes<double>;
  Search<double> top(-kInfinity);
  V bottom[kSearches];
  for (int s = 0; s < kSearches; ++s) bottom[s] = splat(kInfinity);
  for (int64_t k = 0; k < room; k += kSearches * kStep) {
#pragma GCC unroll 4
    for (int s = 0; s < kSearches; ++s) {
      const int64_t at = k + s * kStep;
      const V change = step * (load_wide(Ki + at) - load_wide(Kj + at));
      const V grows = load(up + at) - change, shrinks = load(down + at) - change;
      const Half half = narrow(shrinks - centre);
      store(up + at, grows);
      store(down + at, shrinks);
      __builtin_memcpy(rough + at, &half, sizeof half);
      top.see(s, grows);
      bottom[s] = at_most(bottom[s], shrinks);
    }
  }
  Slopes slopes = {top.best(), kInfinity};
  for (int s = 0; s < kSearches; ++s)
    for (int l = 0; l < kStep; ++l) slopes.bottom = bottom[s][l] < slopes.bottom ? bottom[s][l] : slopes.bottom;
  return slopes;
}

// The partner of i that lowers the objective most; vi is relative to the centre. Single precision suffices to choose.
template <class T>
static int64_t partner(int64_t room, float vi, float Kii, const T* Ki, const float* diagonal, const float* rough) {
  typedef Simd<float>::V V;
  constexpr int kStep = kLanes<float>;
  Search<float> most(0.0f);
  const float least = float(least_curve(Kii)) > 1e-37f ? float(least_curve(Kii)) : 1e-37f;
  for (int64_t k = 0; k < room; k += 2 * kStep) {
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s) {
      const int64_t at = k + s * kStep;
      const V curve = at_least((Kii + load(diagonal + at)) - 2.0f * load_narrow(Ki + at), splat(least));
      const V slope = at_least(vi - load(rough + at), V{});
      most.see(s, slope * slope / curve);
    }
  }
  return most.best().at;
}

// v of a variable that can grow or shrink; the others have none.
ONKEL_INLINE double slope_of(const Block& block, int64_t i) {
  return block.b[i] < block.high[i] ? block.up[i] : block.down[i];
}

ONKEL_INLINE void allow(const Block& block, int64_t i, double v) {
  block.up[i] = block.b[i] < block.high[i] ? v : -kInfinity;
  block.down[i] = block.b[i] > block.low[i] ? v : kInfinity;
}

template <class T> static void open_block(const Block& block, const T* K, int64_t room) {
  for (int64_t i = 0; i < room; ++i) {
    block.up[i] = -kInfinity;
    block.down[i] = kInfinity;
    block.diagonal[i] = 1.0f;
    if (i >= block.q) continue;
    allow(block, i, block.v[i]);
    block.diagonal[i] = float(K[i * block.ld + i]);
  }
}

// Pair steps until max v - min v <= tol over the variables that may move, at most `most`. Returns the number of steps;
// gap gets max v - min v.
template <class T> static int64_t pair_steps(const T* K, const Block& block, double tol, int64_t most, double* gap) {
  const int64_t room = (block.q + kBlockStep - 1) / kBlockStep * kBlockStep, ld = block.ld;
  open_block(block, K, room);
  double centre = 0;
  Slopes slopes = follow(room, 0.0, K, K, block.up, block.down, centre, block.rough);
  int64_t step = 0;
  for (;; ++step) {
    *gap = slopes.top.value - slopes.bottom;
    const int64_t i = slopes.top.at;
    if (!(*gap > tol) || step == most) break;
    const T* Ki = K + i * ld;
    const double vi = slopes.top.value;
    int64_t j = partner(room, float(vi - centre), block.diagonal[i], Ki, block.diagonal, block.rough);
    if (j < 0 || !(vi - block.down[j] > kSteep * *gap))  // too fine for floats: take the steepest
      for (j = 0; block.down[j] != slopes.bottom;) ++j;
    const double vj = block.down[j];
    const double curve = double(Ki[i]) + double(K[j * ld + j]) - 2 * double(Ki[j]);
    const double least = least_curve(double(Ki[i]) + double(K[j * ld + j]));
    double move = (vi - vj) / (curve > least ? curve : least);
    const double room_i = block.high[i] - block.b[i], room_j = block.b[j] - block.low[j];
    // at a bound, b is set to it exactly, so that it compares equal
    const bool meets_i = move >= room_i && room_i <= room_j, meets_j = move >= room_j && room_j <= room_i;
    if (meets_i || meets_j) move = meets_i ? room_i : room_j;
    block.b[i] = meets_i ? block.high[i] : block.b[i] + move;
    block.b[j] = meets_j ? block.low[j] : block.b[j] - move;
    allow(block, i, vi);
    allow(block, j, vj);
    centre = vi;
    slopes = follow(room, move, Ki, K + j * ld, block.up, block.down, centre, block.rough);
  }
  for (int64_t i = 0; i < block.q; ++i)
    if (block.low[i] < block.high[i]) block.v[i] = slope_of(block, i);
  return step;
}

// Without the constraint on the sum: in each step the variable with the largest slope moves to where its slope is 0.
template <class T> static int64_t single_steps(const T* K, const Block& block, double tol, int64_t most, double* gap) {
  const int64_t ld = block.ld;
  for (int64_t step = 0;; ++step) {
    int64_t i = -1;
    double steepest = 0;
    for (int64_t k = 0; k < block.q; ++k) {
      const bool moves = block.v[k] > 0 ? block.b[k] < block.high[k] : block.b[k] > block.low[k];
      const double slope = block.v[k] > 0 ? block.v[k] : -block.v[k];
      if (moves && slope > steepest) {
        steepest = slope;
        i = k;
      }
    }
    *gap = steepest;
    if (!(steepest > tol) || step == most) return step;
    const T* Ki = K + i * ld;
    const double curve = double(Ki[i]) > 0 ? double(Ki[i]) : kFlat;
    const double wanted = block.b[i] + block.v[i] / curve;
    const double now = wanted > block.high[i] ? block.high[i] : wanted < block.low[i] ? block.low[i] : wanted;
    const double move = now - block.b[i];
    block.b[i] = now;
    for (int64_t k = 0; k < block.q; ++k) block.v[k] -= move * double(Ki[k]);
  }
}

template <class T>
static int64_t smo(bool pairs, const T* K, const Block& block, double tol, int64_t most, double* gap) {
  return pairs ? pair_steps(K, block, tol, most, gap) : single_steps(K, block, tol, most, gap);
}

}}  // namespace onkel::ONKEL_TARGET
