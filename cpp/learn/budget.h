// Learning with kernels in bounded memory: one pass over a chunk of examples whose kernel values are known.
//
//   f_o(x) = scale * sum_j coef_oj k(s_j, x) + offset_o        for each output o; the support vectors s_j are in slots
//
// Given the kernel values of b examples with the slots and with each other, a rule and a budget policy. For each
// example in order, the pass computes its scores, asks the rule for the step of each output, and if any step is not
// zero, lets the policy put the example into a slot: a free one, or that of a support vector which is given up.
// Results: scores and steps, and the slots' coefficients and kernel values, updated in place.
//
// All coefficients share the factor `scale`, so that shrinking them all costs one multiplication.
//
// Rules: Rosenblatt's perceptron; passive-aggressive, Crammer et al. 2006; NORMA, Kivinen, Smola and Williamson 2004.
// Policies: Forgetron, Dekel, Shalev-Shwartz and Singer 2008; random removal, Cavallanti, Cesa-Bianchi and Gentile
// 2007; BPA-S, Wang and Vucetic 2010. Each formula has a twin in Python, on the same arrays; the docstrings there give
// the equations. The kernel perceptron for streams, which learns without a budget, is in learn/perceptron.h.
#pragma once
#include <cmath>
#include <cstdint>

namespace onkel {

enum class Rule : int {
  kPerceptron = 0,
  kPa = 1, kPa1 = 2, kPa2 = 3,                                  // passive-aggressive, to classify
  kPaRegression = 4, kPa1Regression = 5, kPa2Regression = 6,    // and to regress
  kSoftMargin = 7, kEpsilonInsensitive = 8, kSquared = 9, kHuber = 10, kNovelty = 11,  // NORMA
  kCount = 12
};
enum class Policy : int {
  kGrow = 0,    // no budget: always a new slot
  kOldest = 1,  // gives up the oldest
  kRandom = 2,  // one at random
  kForgetron = 3, kBasicForgetron = 4,  // the oldest, after all coefficients have been shrunk
  kReplace = 5,  // the one that costs least, and the example takes over what it can of its weight
  kCount = 6
};

// Columns of K and K_slots that have not been written since a row of the chunk took their slot. A column touches as
// many cache lines as it has values, so columns are written kMost at a time, before that only in rows that are read.
struct PendingColumns {
  static constexpr int kMost = 16;
  int count = 0;
  int64_t slot[kMost], row[kMost];  // slot[n] was taken by row[n] of the chunk; of two in one slot the last counts
};

// The slots of a learner during a pass, and the scalars of its state; all arrays belong to the caller.
template <class T> struct Memory {
  int64_t b, c, cap;     // rows of the chunk, outputs, slots
  T* K;                  // (b, cap): kernel values of chunk and slots; columns change as slots do
  const T* K_chunk;      // (b, b): of the chunk with itself, on and below the diagonal
  T* K_slots;            // (cap, cap): of the slots with themselves; null where the policy does not need them
  double* coef;          // (c, cap): without scale
  double* k_ss;          // (cap): k(s, s) of each slot
  int64_t* row_in_slot;  // (cap): which row of the chunk a slot has taken, else -1
  const double* base;    // (b, c): scores by support vectors outside the slots, without scale and spread; or null
  double *scale, *spread;  // spread: the product of the scales that were folded into coef, which base lacks
  double *Q, *M, *shrink;  // of the Forgetron: what removals have cost so far, mistakes, the last phi
  double* sq_norms;        // (c): |f|^2 of each output, for the basic Forgetron
  int64_t *size, *head;    // slots in use; the oldest slot, once all are
  uint64_t* random;        // state of the generator
  PendingColumns pending = {};
};

struct Settings {
  Rule rule;
  Policy policy;
  double C, epsilon;       // of the passive-aggressive rules
  double eta, lambda, nu;  // of NORMA; nu is NaN if the margin is fixed
  bool root_schedule, intercept;
};

// sum_j a_j k_j. Slot j goes to sum j % 8, so the result does not depend on how the stream is cut into chunks.
template <class T> inline double dot(const double* a, const T* k, int64_t n) {
  double sums[8] = {};
  int64_t j = 0;
  for (; j + 8 <= n; j += 8)
    for (int l = 0; l < 8; ++l) sums[l] += a[j + l] * double(k[j + l]);
  for (; j < n; ++j) sums[j & 7] += a[j] * double(k[j]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

inline double positive(double x) { return x > 0 ? x : 0.0; }

// U of a budget B, the largest norm of a competitor in the Forgetron's bound.    Dekel, Shalev-Shwartz, Singer 2008
inline double forgetron_radius(double B) { return 0.25 * std::sqrt((B + 1) / std::log(B + 1)); }

// ---------------------------------------------------------------- rules: the step of one output

inline bool targets_are_signs(Rule rule) {  // y in {-1, +1}: y f <= 0 is a mistake
  switch (rule) {
    case Rule::kPerceptron: case Rule::kPa: case Rule::kPa1: case Rule::kPa2: case Rule::kSoftMargin: return true;
    default: return false;
  }
}
inline bool is_regularised(Rule rule) {  // NORMA's rules: eta, lambda, a margin that may move and an offset
  switch (rule) {
    case Rule::kSoftMargin: case Rule::kEpsilonInsensitive: case Rule::kSquared: case Rule::kHuber: case Rule::kNovelty:
      return true;
    default: return false;
  }
}

inline double pa_size(Rule rule, double loss, double sq_norm, double C) {
  if (!(loss > 0) || !(sq_norm > 0)) return 0.0;
  switch (rule) {
    case Rule::kPa: case Rule::kPaRegression: return loss / sq_norm;
    case Rule::kPa1: case Rule::kPa1Regression: return std::fmin(C, loss / sq_norm);
    default: return loss / (sq_norm + 1 / (2 * C));
  }
}
inline double sign(double x) { return x < 0 ? -1.0 : 1.0; }

// f includes the offset; sq_norm is k(x, x), w the weight of the example, margin NORMA's rho or epsilon.
inline double step_of(const Settings& s, double f, double y, double sq_norm, double w, double eta, double margin) {
  switch (s.rule) {
    case Rule::kPerceptron: return y * f <= 0 ? w * y : 0.0;
    case Rule::kPa: case Rule::kPa1: case Rule::kPa2: return y * pa_size(s.rule, positive(1 - y * f), sq_norm, s.C * w);
    case Rule::kPaRegression: case Rule::kPa1Regression: case Rule::kPa2Regression:
      return sign(y - f) * pa_size(s.rule, positive(std::fabs(y - f) - s.epsilon), sq_norm, s.C * w);
    case Rule::kSoftMargin: return y * f <= margin ? eta * w * y : 0.0;
    case Rule::kEpsilonInsensitive: return std::fabs(y - f) > margin ? eta * w * sign(y - f) : 0.0;
    case Rule::kSquared: return eta * w * (y - f);
    case Rule::kHuber: return eta * w * (std::fabs(y - f) <= margin ? (y - f) / margin : sign(y - f));
    default: return f < margin ? eta * w : 0.0;
  }
}

// ---------------------------------------------------------------- policies: which slot the example gets

// Writes the pending columns into row i of K.
template <class T> void update_K_row(Memory<T>& m, int64_t i) {
  const PendingColumns& pending = m.pending;
  for (int n = 0; n < pending.count; ++n) m.K[i * m.cap + pending.slot[n]] = m.K_chunk[i * m.b + pending.row[n]];
}
// Writes them into row r of K_slots. The rows of the slots that were taken are up to date.
template <class T> void update_K_slots_row(Memory<T>& m, int64_t r) {
  const PendingColumns& pending = m.pending;
  for (int n = 0; n < pending.count; ++n)
    m.K_slots[r * m.cap + pending.slot[n]] = m.K_slots[pending.slot[n] * m.cap + r];
}
// Writes them into all rows of K after i and into all rows of K_slots; then none are pending.
template <class T> void flush_columns(Memory<T>& m, int64_t i) {
  for (int64_t l = i + 1; l < m.b; ++l) update_K_row(m, l);
  for (int64_t r = 0; m.K_slots && r < *m.size; ++r) update_K_slots_row(m, r);
  m.pending.count = 0;
}

// Puts row i of the chunk into a slot, with the steps as its coefficients. Like all policies, returns the slot.
template <class T> int64_t put(Memory<T>& m, int64_t slot, int64_t i, const double* steps) {
  for (int64_t o = 0; o < m.c; ++o) m.coef[o * m.cap + slot] = steps[o] / *m.scale;
  m.k_ss[slot] = double(m.K_chunk[i * m.b + i]);
  m.row_in_slot[slot] = i;
  PendingColumns& pending = m.pending;
  if (m.K_slots) {
    const T* row = m.K + i * m.cap;
    for (int n = 0; n < pending.count; ++n) m.K_slots[pending.slot[n] * m.cap + slot] = row[pending.slot[n]];
    for (int64_t j = 0; j < *m.size; ++j) m.K_slots[slot * m.cap + j] = row[j];
    m.K_slots[slot * m.cap + slot] = m.K_chunk[i * m.b + i];
  }
  pending.slot[pending.count] = slot;
  pending.row[pending.count++] = i;
  if (pending.count == PendingColumns::kMost) flush_columns(m, i);
  return slot;
}

template <class T> int64_t next_slot(Memory<T>& m) {  // a free one, or else the oldest
  if (*m.size < m.cap) return (*m.size)++;
  const int64_t slot = *m.head;
  *m.head = (slot + 1) % m.cap;
  return slot;
}

inline uint64_t draw(uint64_t* state, uint64_t below) {  // splitmix64
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (z >> 32) * below >> 32;
}

// f'(s_r) of output o, where f' = f + step k(x_i, .) already counts the example that is about to enter.
template <class T> double score_of_slot(const Memory<T>& m, int64_t r, int64_t o, int64_t i, double step) {
  return *m.scale * dot(m.coef + o * m.cap, m.K_slots + r * m.cap, *m.size) + step * double(m.K[i * m.cap + r]);
}

// The self-tuned Forgetron: the largest phi <= 1 with  a phi^2 + b phi + c <= 0, that is
// Q + Psi(phi s, phi m) <= (15 / 32) M,  Psi(l, m) = k l^2 + 2 k l - 2 l m,  where the vector to be removed has
// coefficients +-s in k outputs and the sum m of its margins there.  Dekel, Shalev-Shwartz and Singer 2008, sec. 4
inline double self_tuned_shrink(double s, double m, double k, double Q, double M) {
  const double a = k * s * s - 2 * s * m, b = 2 * k * s, c = Q - 15.0 / 32 * M, d = b * b - 4 * a * c;
  if (a == 0) return std::fmin(1.0, -c / b);
  const double root = d > 0 ? std::sqrt(d) : 0.0;
  if (a > 0 || (d > 0 && (-b - root) / (2 * a) > 1)) return std::fmin(1.0, -2 * c / (b + root));
  return 1.0;
}

// Both Forgetrons: shrink all coefficients by phi, then remove the oldest vector r if the slots are full. f: the
// scores of the example before its steps.
template <class T> int64_t forgetron(Memory<T>& m, const Settings& s, int64_t i, const double* steps, const double* f) {
  double erred = 0;
  for (int64_t o = 0; o < m.c; ++o) erred += steps[o] != 0;
  *m.M += erred;
  const bool full = *m.size == m.cap, basic = s.policy == Policy::kBasicForgetron;
  const int64_t r = *m.head;
  if (full) update_K_slots_row(m, r);
  double weight = 0, k = 0, margin = 0;  // of r: its |coefficient|, the outputs that have it, the sum of y f' there
  double longest = 0;                    // the largest |f'|^2
  for (int64_t o = 0; o < m.c; ++o) {
    if (basic) {
      m.sq_norms[o] += 2 * steps[o] * f[o] + steps[o] * steps[o] * double(m.K_chunk[i * m.b + i]);
      longest = std::fmax(longest, m.sq_norms[o]);
    }
    const double alpha = full ? *m.scale * m.coef[o * m.cap + r] : 0.0;
    if (alpha == 0) continue;
    const double after = score_of_slot(m, r, o, i, steps[o]);
    weight = std::fmax(weight, std::fabs(alpha));
    k += 1;
    margin += sign(alpha) * after;
    if (basic) m.sq_norms[o] -= 2 * alpha * after - alpha * alpha * m.k_ss[r];  // as if r were gone already
  }
  double phi = 1;
  if (basic) {
    const double B = double(m.cap), U = forgetron_radius(B);
    phi = std::fmin(std::pow(B + 1, -1 / (2 * (B + 1))), longest > 0 ? U / std::sqrt(longest) : 1.0);
    for (int64_t o = 0; o < m.c; ++o) m.sq_norms[o] = positive(m.sq_norms[o] * phi * phi);
  } else if (full && k > 0) {
    phi = self_tuned_shrink(weight, margin, k, *m.Q, *m.M);
  }
  const double lambda = phi * weight;
  *m.Q += k * lambda * lambda + 2 * k * lambda - 2 * lambda * phi * margin;
  const int64_t slot = next_slot(m);
  put(m, slot, i, steps);
  *m.scale *= phi;
  *m.shrink = phi;
  return slot;
}

// BPA-S: the example replaces the support vector r whose removal, compensated by a coefficient of the example, changes
// f least in norm:  |coef_r|^2 (k(r, r) - k(r, x)^2 / k(x, x));  the coefficient is  coef_r k(r, x) / k(x, x).
template <class T> int64_t replace(Memory<T>& m, int64_t i, double* steps) {
  if (*m.size < m.cap) return put(m, (*m.size)++, i, steps);
  const double kxx = double(m.K_chunk[i * m.b + i]);
  double least = INFINITY;
  int64_t best = 0;
  for (int64_t r = 0; r < m.cap; ++r) {
    const double krx = double(m.K[i * m.cap + r]);
    double weight = 0;
    for (int64_t o = 0; o < m.c; ++o) weight += m.coef[o * m.cap + r] * m.coef[o * m.cap + r];
    const double cost = weight * (m.k_ss[r] - krx * krx / kxx);
    if (cost < least) {
      least = cost;
      best = r;
    }
  }
  const double part = *m.scale * double(m.K[i * m.cap + best]) / kxx;
  for (int64_t o = 0; o < m.c; ++o) steps[o] += m.coef[o * m.cap + best] * part;
  return put(m, best, i, steps);
}

// ---------------------------------------------------------------- the pass

constexpr double kSmallScale = 1e-100;

// Multiplies the scale into the coefficients and resets it to 1, before it underflows.
template <class T> void fold_scale(Memory<T>& m) {
  for (int64_t o = 0; o < m.c; ++o)
    for (int64_t j = 0; j < *m.size; ++j) m.coef[o * m.cap + j] *= *m.scale;
  *m.spread *= *m.scale;
  *m.scale = 1;
}

// The pass. Given targets y (b, c), NaN where an output ignores the row, weights w (b), margin (c) and offset (c) of
// NORMA, and t, the examples seen before the chunk. Results: scores F (b, c) of each example before it was learned,
// and steps (b, c); the numbers of mistakes (y f <= 0) and of updates are added to counts[0] and counts[1]. Returns the
// slot of the last example that was put into one, or -1.
template <class T>
int64_t budget_pass(Memory<T>& m, const Settings& s, const double* y, const double* w, double* margin, double* offset,
                    int64_t t, double* F, double* steps, int64_t* counts) {
  const bool norma = is_regularised(s.rule), signs = targets_are_signs(s.rule);
  const bool grows = s.rule == Rule::kEpsilonInsensitive;  // an error widens its margin
  int64_t taken = -1;
  for (int64_t i = 0; i < m.b; ++i, y += m.c, F += m.c, steps += m.c) {
    const double eta = s.root_schedule ? s.eta / std::sqrt(double(t + i + 1)) : s.eta;
    const double kxx = double(m.K_chunk[i * m.b + i]);
    bool any = false;
    update_K_row(m, i);
    for (int64_t o = 0; o < m.c; ++o) {
      const double past = m.base ? m.base[i * m.c + o] * *m.spread : 0.0;
      F[o] = *m.scale * (past + dot(m.coef + o * m.cap, m.K + i * m.cap, *m.size)) + offset[o];
      const bool has_target = y[o] == y[o];
      steps[o] = has_target ? step_of(s, F[o], y[o], kxx, w[i], eta, margin[o]) : 0.0;
      counts[0] += has_target && signs && y[o] * F[o] <= 0;
      counts[1] += steps[o] != 0;
      any |= steps[o] != 0;
      if (!norma || !has_target) continue;
      const double sigma = steps[o] != 0 ? 1.0 : 0.0;
      if (s.intercept) offset[o] += steps[o];
      if (s.nu == s.nu) margin[o] += eta * w[i] * (grows ? sigma - s.nu : s.nu - sigma);
    }
    if (norma && s.lambda > 0) *m.scale *= 1 - eta * s.lambda;
    if (*m.scale < kSmallScale) fold_scale(m);
    if (!any) continue;
    switch (s.policy) {
      case Policy::kGrow: taken = put(m, (*m.size)++, i, steps); break;
      case Policy::kOldest: taken = put(m, next_slot(m), i, steps); break;
      case Policy::kRandom:
        taken = put(m, *m.size < m.cap ? (*m.size)++ : int64_t(draw(m.random, uint64_t(m.cap))), i, steps);
        break;
      case Policy::kReplace: taken = replace(m, i, steps); break;
      default: taken = forgetron(m, s, i, steps, F);
    }
    if (*m.scale < kSmallScale) fold_scale(m);
  }
  flush_columns(m, m.b - 1);
  return taken;
}

}  // namespace onkel
