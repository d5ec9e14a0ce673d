// The second stage of the fused product (product.h): sums in a tile buffer -> kernel values -> scores or Gram block.
//
// Given a tile of sums from accumulate.h. Distances that suffered from cancellation are computed again (repair), the
// kernel's map is applied, and the values are multiplied by their weights and added to the scores, or stored in a Gram
// block, or left in the buffer.
#pragma once
#include "product/maps.h"

namespace onkel { namespace ONKEL_TARGET {

// A squared distance below this part of |x|^2 + |z|^2 has lost too many digits by cancellation and is repaired; the
// error of a kernel value then stays below about 1e-5 in float32 and 1e-11 in float64.
template <class T> constexpr T kNear = sizeof(T) == 4 ? T(1) / 128 : T(1) / 8192;

// ---------------------------------------------------------------- repair

// out[j] = |x - z_j|^2 over a panel, summed directly, feature by feature in order.
template <class T>
static void exact_distances(const Rows<T>& rows, int64_t i, const Panels<T>& panels, const T* b, T* out) {
  typedef typename Simd<T>::V V;
  constexpr int kPer = kPanel<T> / kLanes<T>;
  V sum[kPer];
  for (int v = 0; v < kPer; ++v) sum[v] = V{};
  const auto add = [&](T x, int64_t slot) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int v = 0; v < kPer; ++v) {
      const V gap = slot < 0 ? splat(x) : x - load(b + slot * kPanel<T> + v * kLanes<T>);
      sum[v] += gap * gap;
    }
  };
  if (!rows.indptr) {
    for (int64_t k = 0; k < rows.d; ++k) add(rows.data[i * rows.d + k], k);
  } else {
    int64_t slot = 0;
    for (int64_t e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e) {
      const int32_t k = rows.indices[e];
      while (slot < panels.depth && (panels.features ? panels.features[slot] : slot) < k) add(T(0), slot++);
      const bool held = slot < panels.depth && (panels.features ? panels.features[slot] : slot) == k;
      add(rows.data[e], held ? slot++ : -1);
    }
    while (slot < panels.depth) add(T(0), slot++);
  }
  for (int v = 0; v < kPer; ++v) store(out + v * kLanes<T>, sum[v]);
}

// Computes again those of a row's distances that lost their digits. If rows and support are the same points, one of
// them is the row's distance to itself, which is 0, and usually it is the only one.
template <class T>
static __attribute__((noinline)) void repair_row(const Job<T>& job, int64_t i, int64_t column, T start_x,
                                                 const T* start_z, T* values) {
  const int64_t itself = job.below ? i - column : -1;
  bool lost[kPanel<T>], others = itself < 0 || itself >= kPanel<T>;
  for (int j = 0; j < kPanel<T>; ++j) {
    lost[j] = !(values[j] < kNear<T> * start_x + kNear<T> * start_z[j]);
    others |= lost[j] && j != itself;
  }
  if (!others) {
    values[itself] = T(-0.0);
    return;
  }
  alignas(64) T exact[kPanel<T>];
  exact_distances(job.rows, i, job.panels, job.panels.values + column * job.panels.depth, exact);
  for (int j = 0; j < kPanel<T>; ++j)
    if (lost[j]) values[j] = T(-0.5) * exact[j];
}

// ---------------------------------------------------------------- finish

template <class T> struct Tile {  // the sums of a few rows and one panel
  T* buffer;            // (rows, kPanel)
  int64_t first, rows;  // rows of the job
  int64_t panel;
  const T* aux_x;       // of the tile's rows, padded
  T* sums;              // (rows, c, kLanes): the lanes' sums of the scores
};

// What becomes of the values: added to the one score of each row; stored by rows; or left in the buffer, to be added to
// several scores or stored by columns.
enum class Mode { kOneScore, kGram, kInPlace };

// Repairs the tile, applies the map, and does with the values what the mode says.
template <class T, Op kOp, class Function, Mode kMode> static void finish_as(const Job<T>& job, const Tile<T>& tile) {
  typedef typename Simd<T>::V V;
  constexpr int kPer = kPanel<T> / kLanes<T>;
  const Function map(job.params);
  const T* aux_z = job.panels.aux ? job.panels.aux + tile.panel * kPanel<T> : nullptr;
  const int64_t column = tile.panel * kPanel<T>, left = job.panels.m - column;
  V weight[kPer], near[kPer];
  for (int v = 0; v < kPer; ++v) {
    if (kMode == Mode::kOneScore) weight[v] = load(job.weights + column + v * kLanes<T>);
    if (kOp == Op::kDistance) near[v] = kNear<T> * load(aux_z + v * kLanes<T>);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    T* values = tile.buffer + r * kPanel<T>;
    if (kOp == Op::kDistance) {
      const T near_x = kNear<T> * tile.aux_x[r];
      bool repair = false;
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v) repair |= any_not_less(load(values + v * kLanes<T>), near_x + near[v]);
      if (__builtin_expect(repair, 0)) repair_row(job, tile.first + r, column, tile.aux_x[r], aux_z, values);
    }
    V k[kPer];
#pragma GCC unroll 8
    for (int v = 0; v < kPer; ++v) {
      V t = load(values + v * kLanes<T>);
      if (kOp == Op::kCosine) t = t * (tile.aux_x[r] * load(aux_z + v * kLanes<T>));
      k[v] = map(t);
    }
    if (kMode == Mode::kOneScore) {
      V s = load(tile.sums + r * kLanes<T>);
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v) s += k[v] * weight[v];
      store(tile.sums + r * kLanes<T>, s);
    } else {
      T* out = kMode == Mode::kGram ? job.gram + (tile.first + r) * job.ld + column : values;
      T* whole = left >= kPanel<T> ? out : values;
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v) store(whole + v * kLanes<T>, k[v]);
      if (whole != out)
        for (int64_t l = 0; l < left; ++l) out[l] = values[l];
    }
  }
}

// sums[r][o] += buffer[r] * weights of output o, for the tiles of kAbreast panels, whose buffers lie `apart`.
template <class T, int kAbreast> static void add_weighted(const Job<T>& job, const Tile<T>& tile, int64_t apart) {
  typedef typename Simd<T>::V V;
  constexpr int kPer = kPanel<T> / kLanes<T>;
  const int64_t c = job.c;
  const T* weights = job.weights + tile.panel * c * kPanel<T>;
  T* sums = tile.sums;
  for (int64_t r = 0; r < tile.rows; ++r) {
    V k[kAbreast * kPer];
#pragma GCC unroll 2
    for (int q = 0; q < kAbreast; ++q)
#pragma GCC unroll 8
      for (int v = 0; v < kPer; ++v) k[q * kPer + v] = load(tile.buffer + q * apart + r * kPanel<T> + v * kLanes<T>);
    for (int64_t o = 0; o < c; ++o, sums += kLanes<T>) {
      V s = load(sums);
#pragma GCC unroll 2
      for (int q = 0; q < kAbreast; ++q)
#pragma GCC unroll 8
        for (int v = 0; v < kPer; ++v)
          s += k[q * kPer + v] * load(weights + (q * c + o) * kPanel<T> + v * kLanes<T>);
      store(sums, s);
    }
  }
}

// The same with weights in float64, for weights that T cannot hold or whose sums it would round too much. The lanes' sums
// are float64, too, in the same memory.
template <class T, int kAbreast>
static __attribute__((noinline)) void add_wide(const Job<T>& job, const Tile<T>& tile, int64_t apart) {
  constexpr int kPer = kPanel<T> / kWide;
  const int64_t c = job.c;
  const double* weights = job.wide + tile.panel * c * kPanel<T>;
  double* sums = reinterpret_cast<double*>(tile.sums);
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t o = 0; o < c; ++o, sums += kWide) {
      Wide s = load(sums);
      for (int q = 0; q < kAbreast; ++q)
        for (int v = 0; v < kPer; ++v)
          s += load_wide(tile.buffer + q * apart + r * kPanel<T> + v * kWide) *
               load(weights + (q * c + o) * kPanel<T> + v * kWide);
      store(sums, s);
    }
}

template <class T> static void store_columns(const Job<T>& job, const Tile<T>& tile) {
  const int64_t column = tile.panel * kPanel<T>, left = job.panels.m - column;
  for (int64_t j = 0; j < kPanel<T> && j < left; ++j) {
    T* out = job.gram + (column + j) * job.ld + tile.first;
    for (int64_t r = 0; r < tile.rows; ++r) out[r] = tile.buffer[r * kPanel<T> + j];
  }
}

// Whether a finished tile stays in the buffer, for `add_weighted`, `add_wide` and `store_columns`.
template <class T> static bool stays(const Job<T>& job) {
  return job.gram ? job.by_column || job.scores : job.c > 1 || job.wide;
}

template <class T> using Finish = void (*)(const Job<T>&, const Tile<T>&);

template <class T, Op kOp, class Function> static Finish<T> finish(const Job<T>& job) {
  if (stays(job)) return finish_as<T, kOp, Function, Mode::kInPlace>;
  return job.gram ? finish_as<T, kOp, Function, Mode::kGram> : finish_as<T, kOp, Function, Mode::kOneScore>;
}
template <class T, Op kOp> static Finish<T> finish_of_distance(const Job<T>& job) {
  switch (job.map) {
    case Map::kExponential: return finish<T, kOp, GaussianMap<T>>(job);
    case Map::kMatern12: return finish<T, kOp, MaternMap<T, 1>>(job);
    case Map::kMatern32: return finish<T, kOp, MaternMap<T, 2>>(job);
    case Map::kMatern52: return finish<T, kOp, MaternMap<T, 3>>(job);
    case Map::kRationalQuadratic: return finish<T, kOp, RationalQuadraticMap<T>>(job);
    default: return finish<T, kOp, SquaredDistanceMap<T>>(job);
  }
}
template <class T> static Finish<T> finish_of(const Job<T>& job) {
  if (job.op == Op::kDistance) return finish_of_distance<T, Op::kDistance>(job);
  if (job.op == Op::kDirect) return finish_of_distance<T, Op::kDirect>(job);
  if (job.op == Op::kCosine) return finish<T, Op::kCosine, IdentityMap<T>>(job);
  switch (job.map) {  // every other op hands over plain sums
    case Map::kPolynomial: return finish<T, Op::kDot, PolynomialMap<T>>(job);
    case Map::kTanh: return finish<T, Op::kDot, TanhMap<T>>(job);
    case Map::kExponential: return finish<T, Op::kDot, ExponentialMap<T>>(job);
    default: return finish<T, Op::kDot, IdentityMap<T>>(job);
  }
}

}}  // namespace onkel::ONKEL_TARGET
