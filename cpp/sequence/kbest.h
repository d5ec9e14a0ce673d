// The k best labellings of a sentence; the problem is stated in types.h. Every state keeps its k best ways to get there,
// with the place of the one before: O(L²k log k) a token in order 1, O(L³k log k) in order 2.
//
// A state is the last label (order 1), or the last two, i · L + j with i = L before the sentence (order 2).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sequence/types.h"

namespace onkel {

template <class T> class KBest {
 public:
  KBest(const Lattice<T>& lattice, int64_t k) : a(lattice), k(k), L(lattice.labels) {}

  // Writes the labellings to y (k, tokens), the best first, and their scores; returns how many there are.
  int64_t run(int32_t* y, double* scores) {
    const int64_t states = a.second ? (L + 1) * L : L;
    std::vector<std::vector<std::vector<Way>>> ways(size_t(a.tokens), std::vector<std::vector<Way>>(size_t(states)));
    for (int64_t t = 0; t < a.tokens; ++t)
      for (int64_t s = 0; s < states; ++s) fill(t, s, t ? &ways[size_t(t - 1)] : nullptr, ways[size_t(t)][size_t(s)]);
    std::vector<Way> ends;
    for (int64_t s = 0; s < states; ++s)
      for (size_t r = 0; r < ways.back()[size_t(s)].size(); ++r)
        ends.push_back({ways.back()[size_t(s)][r].score, int32_t(s), int32_t(r)});
    keep_best(ends);
    for (size_t n = 0; n < ends.size(); ++n) {
      scores[n] = double(ends[n].score);
      int32_t state = ends[n].state, rank = ends[n].rank;
      for (int64_t t = a.tokens - 1; t >= 0; --t) {
        y[int64_t(n) * a.tokens + t] = int32_t(state % L);
        const Way& way = ways[size_t(t)][size_t(state)][size_t(rank)];
        state = way.state;
        rank = way.rank;
      }
    }
    return int64_t(ends.size());
  }

 private:
  struct Way {
    T score;
    int32_t state, rank;  // where it comes from
  };
  const Lattice<T> a;
  const int64_t k, L;

  T transition(int64_t t, int64_t i, int64_t j) const {
    return a.transitions[(a.local ? t * (L + 1) * a.ld : 0) + i * a.ld + j];
  }
  T second(int64_t h, int64_t i, int64_t j) const { return a.second[(h * (L + 1) + i) * a.ld + j]; }

  void fill(int64_t t, int64_t s, const std::vector<std::vector<Way>>* before, std::vector<Way>& out) const {
    const int64_t i = a.second ? s / L : L, j = s % L;
    if (a.second && (i == L) != (t == 0)) return;  // only the first token has nothing before it
    const T e = a.E[t * a.ld + j];
    if (t == 0) {
      out.push_back({e + transition(0, L, j) + (a.second ? second(L, L, j) : T(0)), 0, 0});
    } else {
      for (int64_t p = 0; p < int64_t(before->size()); ++p) {
        if (a.second && p % L != i) continue;
        const T step = a.second ? e + transition(t, i, j) + second(p / L, i, j) : e + transition(t, p, j);
        const std::vector<Way>& from = (*before)[size_t(p)];
        for (size_t r = 0; r < from.size(); ++r) out.push_back({from[r].score + step, int32_t(p), int32_t(r)});
      }
    }
    keep_best(out);
  }

  // The k best that are not forbidden, in falling order; equal ones in the order in which they were found.
  void keep_best(std::vector<Way>& ways) const {
    const T none = -std::numeric_limits<T>::infinity();
    ways.erase(std::remove_if(ways.begin(), ways.end(), [&](const Way& w) { return w.score == none; }), ways.end());
    std::stable_sort(ways.begin(), ways.end(), [](const Way& w, const Way& v) { return w.score > v.score; });
    if (int64_t(ways.size()) > k) ways.resize(size_t(k));
  }
};

}  // namespace onkel
