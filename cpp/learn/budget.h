// Learning with kernels in bounded memory: one pass over a chunk of examples whose kernel values are known.
//
//   f_o(x) = scale * sum_j coef_oj k(s_j, x) + offset_o        for each output o; the support vectors s_j are in slots
//
// Given the kernel values of b examples with the slots and with each other, a rule and a budget policy. For each
// example in order, the pass computes its scores, asks the rule for the step of each output, and if any step is not
// zero, lets the policy put the example into a slot: a free one, or that of a support vector which is given up.
// Results: scores, new entries of the ledger, and the slots' coefficients and kernel values, updated in place.
//
// All coefficients share the factor `scale`, so that shrinking them all costs one multiplication.
//
// The rules are in learn/rules.h. Policies: Forgetron, Dekel, Shalev-Shwartz and Singer 2008; random removal,
// Cavallanti, Cesa-Bianchi and Gentile 2007; BPA-S, Wang and Vucetic 2010. Each formula has a twin in Python, on the
// same arrays; the docstrings there give the equations. The kernel perceptron for streams, which learns without a
// budget, is in learn/perceptron.h.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "learn/counts.h"
#include "learn/ledger.h"
#include "learn/rules.h"

namespace onkel {

enum class Policy {
  kGrow,    // no budget: always a new slot
  kOldest,  // gives up the oldest
  kRandom,  // one at random
  kForgetron, kBasicForgetron,  // the oldest, after all coefficients have been shrunk
  kReplace,  // the one that costs least, and the example takes over what it can of its weight
};

// What a policy declares. `name` is that of its class in onkel.learners.policies.
struct PolicyTraits {
  Policy policy;
  const char* name;
  bool needs_gram;  // it reads the kernel values of the slots with each other
};
constexpr PolicyTraits kPolicies[] = {
    {Policy::kGrow, "Grow", false},
    {Policy::kOldest, "ForgetOldest", false},
    {Policy::kRandom, "ForgetRandom", false},
    {Policy::kForgetron, "ShrinkThenForget", true},
    {Policy::kBasicForgetron, "ShrinkByNorm", true},
    {Policy::kReplace, "ReplaceCheapest", false},
};

// The numbers of a learner that its examples change. Python knows it as BudgetRecord.
struct BudgetRecord : Counts {
  double scale = 1;          // the factor of all coefficients in the slots
  double support_scale = 1;  // without a budget: the product of the scales that were folded into them, which weights
                             // outside the slots lack; with one 1
  double Q = 0, M = 0, shrink = 1;  // of the Forgetron: what removals have cost so far, mistakes, the last phi
  int64_t size = 0, head = 0;       // slots in use; the oldest slot, once all of the budget are in use
  uint64_t random = 0;              // state of the generator
};

// Columns of K and K_slots that have not been written since a row of the chunk took their slot. A column touches as
// many cache lines as it has values, so columns are written kMost at a time, before that only in rows that are read.
struct PendingColumns {
  static constexpr int kMost = 16;
  int count = 0;
  int64_t slot[kMost], row[kMost];  // slot[n] was taken by row[n] of the chunk; of two in one slot the last counts
};

constexpr int64_t kNoBudget = std::numeric_limits<int64_t>::max();

// The slots of a learner during a pass, the numbers of its state, the ids of the rows and the ledger (the last two are
// arguments of the pass in Python); all arrays belong to the caller. They have room for `cap` slots: for as many as can
// be in use at the end of the pass, and all of the budget once it is full.
template <class T> struct Memory {
  int64_t b, c, cap, budget;  // rows of the chunk, outputs, slots that there is room for, the most slots
  T* K;                       // (b, cap): kernel values of chunk and slots; columns change as slots do
  const T* K_chunk;           // (b, b): of the chunk with itself, on and below the diagonal
  T* K_slots;                 // (cap, cap): of the slots with themselves; null where the policy does not need them
  double* coef;               // (c, cap): without scale
  double* k_ss;               // (cap): k(s, s) of each slot
  int64_t* row_in_slot;       // (cap): which row of the chunk a slot has taken, else -1
  const double* base;         // (b, c): scores by support vectors outside the slots, without both scales; or null
  double* sq_norms;           // (c): |f|^2 of each output, for the basic Forgetron
  double *margin, *offset;    // (c): of NORMA
  BudgetRecord* record;
  const int64_t* row_ids;     // (b): the ids of the rows
  Ledger ledger;              // with room for b c entries
  PendingColumns pending = {};

  bool full() const { return record->size == budget; }
  bool grows() const { return budget == kNoBudget; }
};

struct BudgetSettings {
  RuleTraits rule;
  PolicyTraits policy;
  int64_t budget;  // kNoBudget for kGrow
  RuleParams params;
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
  for (int64_t r = 0; m.K_slots && r < m.record->size; ++r) update_K_slots_row(m, r);
  m.pending.count = 0;
}

// Puts row i of the chunk into a slot, with the steps as its coefficients. Like all policies, returns the slot.
template <class T> int64_t put(Memory<T>& m, int64_t slot, int64_t i, const double* steps) {
  for (int64_t o = 0; o < m.c; ++o) m.coef[o * m.cap + slot] = steps[o] / m.record->scale;
  m.k_ss[slot] = double(m.K_chunk[i * m.b + i]);
  m.row_in_slot[slot] = i;
  PendingColumns& pending = m.pending;
  if (m.K_slots) {
    const T* row = m.K + i * m.cap;
    for (int n = 0; n < pending.count; ++n) m.K_slots[pending.slot[n] * m.cap + slot] = row[pending.slot[n]];
    for (int64_t j = 0; j < m.record->size; ++j) m.K_slots[slot * m.cap + j] = row[j];
    m.K_slots[slot * m.cap + slot] = m.K_chunk[i * m.b + i];
  }
  pending.slot[pending.count] = slot;
  pending.row[pending.count++] = i;
  if (pending.count == PendingColumns::kMost) flush_columns(m, i);
  return slot;
}

template <class T> int64_t next_slot(Memory<T>& m) {  // a free one, or else the oldest
  if (!m.full()) return m.record->size++;
  const int64_t slot = m.record->head;
  m.record->head = (slot + 1) % m.budget;
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
  const double before = m.record->scale * dot(m.coef + o * m.cap, m.K_slots + r * m.cap, m.record->size);
  return before + step * double(m.K[i * m.cap + r]);
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
template <class T> int64_t forgetron(Memory<T>& m, Policy policy, int64_t i, const double* steps, const double* f) {
  double erred = 0;
  for (int64_t o = 0; o < m.c; ++o) erred += steps[o] != 0;
  m.record->M += erred;
  const bool full = m.full(), basic = policy == Policy::kBasicForgetron;
  const int64_t r = m.record->head;
  if (full) update_K_slots_row(m, r);
  double weight = 0, k = 0, margin = 0;  // of r: its |coefficient|, the outputs that have it, the sum of y f' there
  double longest = 0;                    // the largest |f'|^2
  for (int64_t o = 0; o < m.c; ++o) {
    if (basic) {
      m.sq_norms[o] += 2 * steps[o] * f[o] + steps[o] * steps[o] * double(m.K_chunk[i * m.b + i]);
      longest = std::fmax(longest, m.sq_norms[o]);
    }
    const double alpha = full ? m.record->scale * m.coef[o * m.cap + r] : 0.0;
    if (alpha == 0) continue;
    const double after = score_of_slot(m, r, o, i, steps[o]);
    weight = std::fmax(weight, std::fabs(alpha));
    k += 1;
    margin += sign(alpha) * after;
    if (basic) m.sq_norms[o] -= 2 * alpha * after - alpha * alpha * m.k_ss[r];  // as if r were gone already
  }
  double phi = 1;
  if (basic) {
    const double B = double(m.budget), U = forgetron_radius(B);
    phi = std::fmin(std::pow(B + 1, -1 / (2 * (B + 1))), longest > 0 ? U / std::sqrt(longest) : 1.0);
    for (int64_t o = 0; o < m.c; ++o) m.sq_norms[o] = positive(m.sq_norms[o] * phi * phi);
  } else if (full && k > 0) {
    phi = self_tuned_shrink(weight, margin, k, m.record->Q, m.record->M);
  }
  const double lambda = phi * weight;
  m.record->Q += k * lambda * lambda + 2 * k * lambda - 2 * lambda * phi * margin;
  const int64_t slot = next_slot(m);
  put(m, slot, i, steps);
  m.record->scale *= phi;
  m.record->shrink = phi;
  return slot;
}

// BPA-S: the example replaces the support vector r whose removal, compensated by a coefficient of the example, changes
// f least in norm:  |coef_r|^2 (k(r, r) - k(r, x)^2 / k(x, x));  the coefficient is  coef_r k(r, x) / k(x, x).
template <class T> int64_t replace(Memory<T>& m, int64_t i, double* steps) {
  if (!m.full()) return put(m, m.record->size++, i, steps);
  const double kxx = double(m.K_chunk[i * m.b + i]);
  double least = INFINITY;
  int64_t best = 0;
  for (int64_t r = 0; r < m.budget; ++r) {
    const double krx = double(m.K[i * m.cap + r]);
    double weight = 0;
    for (int64_t o = 0; o < m.c; ++o) weight += m.coef[o * m.cap + r] * m.coef[o * m.cap + r];
    const double cost = weight * (m.k_ss[r] - krx * krx / kxx);
    if (cost < least) {
      least = cost;
      best = r;
    }
  }
  const double part = m.record->scale * double(m.K[i * m.cap + best]) / kxx;
  for (int64_t o = 0; o < m.c; ++o) steps[o] += m.coef[o * m.cap + best] * part;
  return put(m, best, i, steps);
}

// ---------------------------------------------------------------- the pass

constexpr double kSmallScale = 1e-20;  // weights divided by it fit into a float, in which scores are summed

// Multiplies the scale into the coefficients and resets it to 1, when it has become small.
template <class T> void fold_scale(Memory<T>& m) {
  for (int64_t o = 0; o < m.c; ++o)
    for (int64_t j = 0; j < m.record->size; ++j) m.coef[o * m.cap + j] *= m.record->scale;
  if (m.grows()) m.record->support_scale *= m.record->scale;  // else there are no others, and it would underflow in the end
  m.record->scale = 1;
}

// The scores F (c) of example i before it is learned, and the steps (c) that the rule makes on it, with weight w and
// targets y (c). Returns whether any step is not 0. Changes nothing but K's row i.
template <class T>
bool score_and_step(Memory<T>& m, const BudgetSettings& s, int64_t i, const double* y, double w, double eta, double* F,
                    double* steps) {
  const double kxx = double(m.K_chunk[i * m.b + i]);
  bool any = false;
  update_K_row(m, i);
  for (int64_t o = 0; o < m.c; ++o) {
    const double past = m.base ? m.base[i * m.c + o] * m.record->support_scale : 0.0;
    F[o] = m.record->scale * (past + dot(m.coef + o * m.cap, m.K + i * m.cap, m.record->size)) + m.offset[o];
    steps[o] = step_of(s.rule.rule, s.params, F[o], y[o], kxx, w, eta, m.margin[o]);
    any |= steps[o] != 0;
  }
  return any;
}

// Lets the policy put row i of the chunk into a slot, and returns the slot.
template <class T> int64_t take(Memory<T>& m, Policy policy, int64_t i, double* steps, const double* F) {
  switch (policy) {
    case Policy::kGrow: return put(m, m.record->size++, i, steps);
    case Policy::kOldest: return put(m, next_slot(m), i, steps);
    case Policy::kRandom:
      return put(m, m.full() ? int64_t(draw(&m.record->random, uint64_t(m.budget))) : m.record->size++, i, steps);
    case Policy::kReplace: return replace(m, i, steps);
    case Policy::kForgetron: case Policy::kBasicForgetron: return forgetron(m, policy, i, steps, F);
  }
  return -1;
}

// Learns from example i, whose scores and steps are known: counts it, and enters its steps in the ledger. Returns the
// slot that it was put into, or -1.
template <class T>
int64_t learn_example(Memory<T>& m, const BudgetSettings& s, int64_t i, const double* y, double w, double eta,
                      const double* F, double* steps, bool any) {
  BudgetRecord& r = *m.record;
  r.count_example(m.row_ids[i]);
  for (int64_t o = 0; o < m.c; ++o) {
    const bool outside = steps[o] != 0;
    r.n_mistakes += s.rule.signs && is_mistake(F[o], y[o]);
    r.n_updates += outside;
    if (!s.rule.regularised) continue;
    if (s.params.intercept) m.offset[o] += steps[o];
    if (s.params.nu == s.params.nu)
      m.margin[o] = move_margin(m.margin[o], outside, eta * w, s.params.nu, s.rule.widens);
  }
  if (s.rule.regularised && s.params.lambda > 0) r.scale *= 1 - eta * s.params.lambda;
  if (r.scale < kSmallScale) fold_scale(m);
  if (!any) return -1;
  const int64_t slot = take(m, s.policy.policy, i, steps, F);
  if (r.scale < kSmallScale) fold_scale(m);
  for (int64_t o = 0; o < m.c; ++o)  // with what the policy has added to the steps
    if (steps[o] != 0) m.ledger.add(r.n_seen, m.row_ids[i], o, steps[o]);
  return slot;
}

// The pass. Given targets y (b, c) and weights w (b). Result: the scores F (b, c) of each example before it was learned.
// `steps` (c) is scratch memory.
template <class T>
void budget_pass(Memory<T>& m, const BudgetSettings& s, const double* y, const double* w, double* F, double* steps) {
  for (int64_t i = 0; i < m.b; ++i, y += m.c, F += m.c) {
    const double eta = s.params.rate(m.record->n_seen + 1);
    const bool any = score_and_step(m, s, i, y, w[i], eta, F, steps);
    learn_example(m, s, i, y, w[i], eta, F, steps, any);
  }
  flush_columns(m, m.b - 1);
}

}  // namespace onkel
