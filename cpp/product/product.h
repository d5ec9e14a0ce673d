// The fused product of one SIMD target: rows x panels -> scores or Gram block.
//
// A tile is a few rows by one panel. Its sums are accumulated in registers, feature after
// feature, and put in a tile buffer that never leaves the first-level cache; there the
// kernel's map is applied and the values are at once summed with the weights, or stored.
//
//   for each chunk of rows (packed, or left in CSR; second-level cache)
//     for each panel of support vectors, or with CSR rows for kSparsePanels abreast
//       for each few rows of the chunk, with CSR for kSparseBlock of them
//         accumulate -> buffer          dense: kRows x panel; CSR: kSparseRows x panels at a time
//         repair     distances that lost their digits are computed again, directly
//         finish     map, then add to the score of one output, or store by rows,
//                    or leave in the buffer, for the scores of several or to store by columns
//
// The order of the sums makes two promises. Each value is one chain of fused multiply-adds in feature order, started
// from the norms of its two rows: it depends on nothing else, and as adding 0 changes nothing, a sparse row gives the
// same bits as a dense one. Scores are summed in lanes over kFlush panels, counted from the first support vector, and
// then added in float64: they depend neither on tile sizes nor on threads, and no float32 sum has more than 32 terms.
// With weights in float64 (Job::wide) every product is added in float64.
#pragma once
#include "product/accumulate.h"
#include "product/finish.h"

namespace onkel { namespace ONKEL_TARGET {

// Panels after which the lanes' sums are moved to float64. A lane gets kPanel / kLanes terms of each panel, hence 32.
constexpr int64_t kFlush = 32 * kBytes / kPanelBytes;
static_assert(kFlush % kSparsePanels == 0, "panels abreast are moved together");
// Rows of a chunk: about 256 kB packed.
constexpr int64_t kChunkBytes = 256 * 1024;
constexpr int64_t kMostTiles = 16;
constexpr int64_t kSparseChunk = 128;  // rows of a chunk of CSR rows: in the second-level cache with a panel

// U is the type of the lanes' sums: double if they are wide, else T.
template <class T, class U> static void flush_as(const Job<T>& job, U* sums, int64_t first, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < job.c; ++o, sums += kLanes<U>) {
      Wide lanes = load_wide(sums);
#pragma GCC unroll 2
      for (int l = kWide; l < kLanes<U>; l += kWide) lanes += load_wide(sums + l);
      store(sums, typename Simd<U>::V{});
      job.scores[(first + r) * job.score_row + o * job.score_column] += sum_of(lanes);
    }
}
template <class T> static void flush(const Job<T>& job, T* sums, int64_t first, int64_t rows) {
  if (!job.scores) return;
  if (__builtin_expect(job.wide != nullptr, 0))
    flush_as(job, reinterpret_cast<double*>(sums), first, rows);
  else
    flush_as(job, sums, first, rows);
}

// Panels that the rows up to `last` need.
template <class T> static int64_t panels_before(const Job<T>& job, int64_t last) {
  const int64_t columns = job.below && last < job.panels.m ? last : job.panels.m;
  return (columns + kPanel<T> - 1) / kPanel<T>;
}

template <class T> static int64_t chunk_rows(const Job<T>& job) {
  if (job.rows.indptr) return kSparseChunk;
  const int64_t tile = kRows * job.rows.d * int64_t(sizeof(T)) + 1, all = (job.rows.n + kRows - 1) / kRows;
  const int64_t fitting = kChunkBytes / tile, most = all < kMostTiles ? all : kMostTiles;
  const int64_t tiles = fitting < most ? fitting : most;
  return kRows * (tiles < 1 ? 1 : tiles);
}

// Rows that a thread takes at a time: at most a chunk, fewer if there are few rows, because threads start one after
// the other, and such that all threads get equally many turns.
template <class T> static int64_t share_rows(const Job<T>& job, int64_t threads) {
  const bool few = job.rows.indptr && job.rows.n < 32 * kSparseChunk;
  const int64_t most = few ? kSparseBlock : chunk_rows(job), unit = job.rows.indptr ? kSparseRows : kRows;
  const int64_t turns = threads * ((job.rows.n + most * threads - 1) / (most * threads));
  const int64_t share = ((job.rows.n + turns - 1) / turns + unit - 1) / unit * unit;
  return share < most ? share : most;
}

// The scratch of a thread: sums of a chunk, packed rows (for CSR: starts, slots and values), aux, zeros, tile buffer.
constexpr int64_t round64(int64_t bytes) { return (bytes + 63) / 64 * 64; }
// The most non-zeros that a chunk of CSR rows can have, wherever it begins: it lies within two windows of its length.
template <class T> static int64_t widest_rows(const Job<T>& job) {
  int64_t widest = 0;
  const int64_t step = chunk_rows(job), n = job.rows.n;
  for (int64_t i = 0; i < n; i += step) {
    const int64_t end = i + 2 * step < n ? i + 2 * step : n;
    const int64_t count = job.rows.indptr[end] - job.rows.indptr[i];
    if (count > widest) widest = count;
  }
  return widest;
}
template <class T> static int64_t scratch_bytes(const Job<T>& job) {
  const int64_t rows = chunk_rows(job);
  const int64_t sums = round64(rows * (job.scores ? job.c : 0) * kBytes);
  const int64_t aux = round64((rows + kSparsePanels * kPanel<T>) * int64_t(sizeof(T))) * 2;
  const int64_t buffer = (kSparsePanels * kSparseBlock > kRows ? kSparsePanels * kSparseBlock : kRows) * kPanelBytes;
  int64_t packed = round64(rows * job.rows.d * int64_t(sizeof(T)));
  if (job.rows.indptr) {
    const int64_t widest = widest_rows(job);
    packed = round64(widest * 4) + round64(widest * int64_t(sizeof(T))) + round64((rows + 1) * 8);
  }
  return sums + aux + buffer + packed + 64;
}

struct Arena {  // hands out aligned pieces of the scratch
  char* next;
  template <class U> U* take(int64_t count) {
    U* piece = reinterpret_cast<U*>(next);
    next += round64(count * int64_t(sizeof(U)));
    return piece;
  }
};

template <class T>
using DenseSum = void (*)(int64_t, const T*, const T*, const T*, const T*, T*);
template <class T, int kCount> static DenseSum<T> dense_sum(Op op) {
  switch (op) {
    case Op::kManhattan: return accumulate_dense<T, Op::kManhattan, kCount>;
    case Op::kChi2: return accumulate_dense<T, Op::kChi2, kCount>;
    case Op::kMin: return accumulate_dense<T, Op::kMin, kCount>;
    case Op::kDirect: return accumulate_dense<T, Op::kDirect, kCount>;
    default: return accumulate_dense<T, Op::kDot, kCount>;
  }
}

// packed[tile][k][r]: kRows rows side by side, zeros past the end.
template <class T> static void pack_rows(const Rows<T>& rows, int64_t begin, int64_t end, T* packed) {
  const int64_t d = rows.d;
  for (int64_t first = begin; first < end; first += kRows, packed += kRows * d) {
    const T* x = rows.data + first * d;
    const int64_t count = end - first < kRows ? end - first : kRows;
    for (int64_t k = 0; k < d; ++k) {
      T* at = packed + k * kRows;
      for (int64_t r = 0; r < count; ++r) at[r] = x[r * d + k];
      for (int64_t r = count; r < kRows; ++r) at[r] = T(0);
    }
  }
}

template <class T> static void work_dense(const Job<T>& job, int64_t begin, int64_t end, Arena arena) {
  const int64_t step = chunk_rows(job), d = job.rows.d;
  const auto sum = dense_sum<T, kRows>(job.op), sum_one = dense_sum<T, 1>(job.op);
  const auto done = finish_of(job);
  T* buffer = arena.take<T>(kRows * kPanel<T>);
  T* zeros = arena.take<T>(kPanel<T>);
  T* aux = arena.take<T>(step);
  T* packed = arena.take<T>(step * d);
  T* sums = arena.take<T>(job.scores ? step * job.c * kLanes<T> : 0);
  for (int i = 0; i < kPanel<T>; ++i) zeros[i] = 0;
  const bool distance = job.op == Op::kDistance;
  for (int64_t first = begin; first < end; first += step) {
    const int64_t last = first + step < end ? first + step : end, panels = panels_before(job, last);
    pack_rows(job.rows, first, last, packed);
    for (int64_t r = 0; r < step; ++r) aux[r] = job.rows.aux && first + r < last ? job.rows.aux[first + r] : T(0);
    if (job.scores)
      for (int64_t i = 0; i < (last - first) * job.c * kLanes<T>; ++i) sums[i] = 0;
    for (int64_t p = 0; p < panels; ++p) {
      const T* b = job.panels.values + p * d * kPanel<T>;
      const T* start_z = distance ? job.panels.aux + p * kPanel<T> : zeros;
      for (int64_t i = first; i < last; i += kRows) {
        const int64_t r = i - first, rows = last - i < kRows ? last - i : kRows;
        const T* start_x = distance ? aux + r : zeros;
        if (rows > kRows / 4)
          sum(d, packed + r * d, b, start_x, start_z, buffer);
        else  // few rows: a whole tile would mostly compute padding
          for (int64_t l = 0; l < rows; ++l)
            sum_one(d, packed + r * d + l, b, start_x + (distance ? l : 0), start_z, buffer + l * kPanel<T>);
        const Tile<T> tile{buffer, i, rows, p, aux + r, sums + r * job.c * kLanes<T>};
        done(job, tile);
        if (stays(job) && job.weights) add_weighted<T, 1>(job, tile, 0);
        if (__builtin_expect(job.wide != nullptr, 0)) add_wide<T, 1>(job, tile, 0);
        if (stays(job) && job.gram) store_columns(job, tile);
      }
      if ((p + 1) % kFlush == 0 || p + 1 == panels) flush(job, sums, first, last - first);
    }
  }
}

// The entries of the chunk whose feature is in the panels, row after row.
template <class T>
static void gather_entries(const Job<T>& job, int64_t first, int64_t last, int64_t* starts, int32_t* slots, T* x) {
  int64_t count = 0;
  for (int64_t i = first; i < last; ++i) {
    starts[i - first] = count;
    for (int64_t e = job.rows.indptr[i]; e < job.rows.indptr[i + 1]; ++e) {
      const int32_t slot = job.panels.slots[job.rows.indices[e]];
      if (slot < 0) continue;
      slots[count] = slot;
      x[count++] = job.rows.data[e];
    }
  }
  starts[last - first] = count;
}

// accumulate_sparse for all rows of a block.
template <class T, Op kOp, int kAbreast>
static void sum_sparse(int64_t rows, const int64_t* starts, const int32_t* slots, const T* x, const T* b, int64_t apart,
                       const T* start_x, const T* start_z, T* buffer) {
  int64_t r = 0;
  for (; r + kSparseRows <= rows; r += kSparseRows)
    accumulate_sparse<T, kOp, kSparseRows, kAbreast>(starts + r, slots, x, b, apart, start_x + r, start_z,
                                                  buffer + r * kPanel<T>);
  for (; r < rows; ++r)
    accumulate_sparse<T, kOp, 1, kAbreast>(starts + r, slots, x, b, apart, start_x + r, start_z,
                                           buffer + r * kPanel<T>);
}

template <class T> static void work_sparse(const Job<T>& job, int64_t begin, int64_t end, Arena arena) {
  const int64_t step = chunk_rows(job);
  const auto done = finish_of(job);
  const bool least = job.op == Op::kMin, distance = job.op == Op::kDistance;
  const auto sum_some = least ? sum_sparse<T, Op::kMin, kSparsePanels> : sum_sparse<T, Op::kDot, kSparsePanels>;
  const auto sum_one = least ? sum_sparse<T, Op::kMin, 1> : sum_sparse<T, Op::kDot, 1>;
  const int64_t widest = widest_rows(job);
  constexpr int64_t apart = kSparseBlock * kPanel<T>;
  T* buffer = arena.take<T>(kSparsePanels * apart);
  T* zeros = arena.take<T>(kSparseBlock + kSparsePanels * kPanel<T>);
  T* aux = arena.take<T>(step);
  int64_t* starts = arena.take<int64_t>(step + 1);
  int32_t* slots = arena.take<int32_t>(widest);
  T* x = arena.take<T>(widest);
  T* sums = arena.take<T>(job.scores ? step * job.c * kLanes<T> : 0);
  for (int64_t i = 0; i < kSparseBlock + kSparsePanels * kPanel<T>; ++i) zeros[i] = 0;
  for (int64_t first = begin; first < end; first += step) {
    const int64_t last = first + step < end ? first + step : end, rows = last - first;
    const int64_t panels = panels_before(job, last);
    const int64_t* from = job.rows.indptr + first;  // the entries as they are,
    const int32_t* slot = job.rows.indices;
    const T* value = job.rows.data;
    if (job.panels.slots) {  // or those of the features that the panels hold
      gather_entries(job, first, last, starts, slots, x);
      from = starts;
      slot = slots;
      value = x;
    }
    for (int64_t r = 0; r < rows; ++r) aux[r] = job.rows.aux ? job.rows.aux[first + r] : T(0);
    if (job.scores)
      for (int64_t i = 0; i < step * job.c * kLanes<T>; ++i) sums[i] = 0;
    for (int64_t p = 0; p < panels; p += kSparsePanels) {
      const T* b = job.panels.values + p * job.panels.depth * kPanel<T>;
      const T* start_z = distance ? job.panels.aux + p * kPanel<T> : zeros;
      const bool all = p + kSparsePanels <= panels;
      for (int64_t r = 0; r < rows; r += kSparseBlock) {
        const int64_t here = rows - r < kSparseBlock ? rows - r : kSparseBlock;
        T* block_sums = sums + r * job.c * kLanes<T>;
        (all ? sum_some : sum_one)(here, from + r, slot, value, b, job.panels.depth * kPanel<T>,
                                   distance ? aux + r : zeros, start_z, buffer);
        for (int64_t q = 0; q < (all ? kSparsePanels : 1); ++q) {
          const Tile<T> tile{buffer + q * apart, first + r, here, p + q, aux + r, block_sums};
          done(job, tile);
          if (stays(job) && job.gram) store_columns(job, tile);
        }
        if (stays(job) && job.scores) {
          const Tile<T> tile{buffer, first + r, here, p, aux + r, block_sums};
          if (__builtin_expect(job.wide != nullptr, 0))
            (all ? add_wide<T, kSparsePanels> : add_wide<T, 1>)(job, tile, apart);
          else
            (all ? add_weighted<T, kSparsePanels> : add_weighted<T, 1>)(job, tile, apart);
        }
      }
      if ((p + kSparsePanels) % kFlush == 0 || p + kSparsePanels >= panels) flush(job, sums, first, rows);
    }
  }
}

// Whether weights, apart from zeros, may be rounded to float32. Between 2^-40 and 2^40 their products with kernel values
// between 2^-80 and 2^80 (pack.h, Range) stay within its range. If they differ by a factor above 2^20, the small ones
// would be lost beside the large ones.
static bool weights_fit(const double* A, int64_t count) {
  constexpr double kRange = 0x1p40, kRatio = 0x1p20;
  Wide most{}, least = splat(kRange);
  const auto take = [&](Wide a) __attribute__((always_inline)) {
    const Wide size = magnitude(a), other = pick(size > 0, size, splat(kRange));
    most = pick(size > most, size, most);
    least = pick(other < least, other, least);
  };
  int64_t k = 0;
  for (; k + kWide <= count; k += kWide) take(load(A + k));
  double rest[kWide] = {}, high[kWide], low[kWide];
  for (int l = 0; k + l < count; ++l) rest[l] = A[k + l];
  take(load(rest));
  store(high, most);
  store(low, least);
  for (int l = 1; l < kWide; ++l) {
    high[0] = high[l] > high[0] ? high[l] : high[0];
    low[0] = low[l] < low[0] ? low[l] : low[0];
  }
  return high[0] <= kRange && low[0] >= 1 / kRange && high[0] <= kRatio * low[0];
}

template <class T> static void work(const Job<T>& job, int64_t begin, int64_t end, void* scratch) {
  const Arena arena{reinterpret_cast<char*>(round64(reinterpret_cast<int64_t>(scratch)))};
  if (job.rows.indptr)
    work_sparse(job, begin, end, arena);
  else
    work_dense(job, begin, end, arena);
}

}}  // namespace onkel::ONKEL_TARGET
