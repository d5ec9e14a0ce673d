// Sequences: sequence/*.h in Python.
#include "bind/check.h"
#include "bind/counts.h"
#include "parallel.h"
#include "sequence/kbest.h"
#include "sequence/types.h"
#include "target/dispatch.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace onkel { namespace bind {
namespace {

template <class T> struct TargetOf;
template <> struct TargetOf<float> {
  static auto learn() { return current_target().learn_sentences32; }
  static auto update() { return current_target().apply_update32; }
  static auto viterbi() { return current_target().viterbi32; }
};
template <> struct TargetOf<double> {
  static auto learn() { return current_target().learn_sentences64; }
  static auto update() { return current_target().apply_update64; }
  static auto viterbi() { return current_target().viterbi64; }
};

// Features of `tokens` tokens, or none.
TokenRows token_rows(const Check& check, const char* name, const std::optional<Indptr>& indptr,
                     const std::optional<Indices>& ids, const std::optional<In1<double>>& values, int64_t tokens) {
  if (!indptr) return {nullptr, nullptr, nullptr};
  check.that(bool(ids), "indptr and ids must be given together");
  if (values)
    check.csr(name, *indptr, tokens, *ids, *values);
  else
    check.csr(name, *indptr, tokens, *ids, *ids);
  return {indptr->data(), ids->data(), data_or_null(values)};
}

void check_starts(const Check& check, const Indptr& starts) {
  check.room("starts", starts, 1);
  const int64_t* at = starts.data();
  bool wrong = at[0] != 0;
  for (size_t s = 1; s < starts.shape(0); ++s) wrong |= at[s] <= at[s - 1];
  check.that(!wrong, "starts must begin at 0 and increase");
}

// The ids of one sentence are below `count`.
void check_ids(const Check& check, const char* name, const TokenRows& rows, int64_t first, int64_t last, int64_t count) {
  if (!rows.indptr) return;
  uint32_t wrong = 0;  // its sign bit is set by an id that is negative, or above the last (as in Check::every)
  const uint32_t most = uint32_t(count - 1);
  for (int64_t k = rows.indptr[first]; k < rows.indptr[last]; ++k)
    wrong |= uint32_t(rows.ids[k]) | (most - uint32_t(rows.ids[k]));
  if (__builtin_expect(int32_t(wrong) < 0, 0)) check.fail(std::string(name) + " must hold indices of rows of weights");
}

template <class T> struct Weights {
  Out1<int32_t> rows;
  Out2<T> features;
  Out2<double> features_moment;
  Out2<T> transitions;
  Out2<double> transitions_moment;
  std::optional<Out3<T>> second;
  std::optional<Out3<double>> second_moment;
  std::optional<Out3<T>> observed;
  std::optional<Out3<double>> observed_moment;

  TagWeights<T> checked(const Check& check, int64_t labels) const {
    const int64_t ld = int64_t(features.shape(1)), n = int64_t(features.shape(0));
    check.between("labels", labels, 1, ld);
    check.that(ld % kTagLanes == 0, "rows of weights must have a multiple of 8 values");
    check.shape("features_moment", features_moment, n, ld);
    check.shape("transitions", transitions, labels + 1, ld);
    check.shape("transitions_moment", transitions_moment, labels + 1, ld);
    check.shape("second", second, labels + 1, labels + 1, ld);
    check.that(bool(second) == bool(second_moment), "second and second_moment must be given together");
    check.shape("second_moment", second_moment, labels + 1, labels + 1, ld);
    check.shape("observed", observed, kAny, labels + 1, ld);
    check.that(bool(observed) == bool(observed_moment), "observed and observed_moment must be given together");
    if (observed) check.shape("observed_moment", observed_moment, int64_t(observed->shape(0)), labels + 1, ld);
    check.indices("rows", rows, n);
    return {labels,
            ld,
            rows.data(),
            {features.data(), features_moment.data()},
            {transitions.data(), transitions_moment.data()},
            {second ? second->data() : nullptr, second_moment ? second_moment->data() : nullptr},
            {observed ? observed->data() : nullptr, observed_moment ? observed_moment->data() : nullptr}};
  }
};

template <class T> void bind_learning(nb::module_& m) {
  m.def(
      "learn_sentences",
      [](Indptr starts, Indptr indptr, Indices ids, std::optional<In1<double>> values,
         std::optional<Indptr> observed_indptr, std::optional<Indices> observed_ids, In1<int64_t> order,
         In1<int32_t> y, double margin, bool replay, int64_t labels, Out1<int32_t> rows, Out2<T> features,
         Out2<double> features_moment,
         Out2<T> transitions, Out2<double> transitions_moment, std::optional<Out3<T>> second,
         std::optional<Out3<double>> second_moment, std::optional<Out3<T>> observed,
         std::optional<Out3<double>> observed_moment, TagCounts& counts, Out1<int32_t> z, Out1<uint8_t> updated) {
        const Check check{"learn_sentences"};
        check_starts(check, starts);
        const int64_t n = int64_t(starts.shape(0)) - 1, tokens = starts.data()[n];
        const Weights<T> weights{rows, features, features_moment, transitions, transitions_moment,
                                 second,   second_moment,   observed,    observed_moment};
        const TagWeights<T> v = weights.checked(check, labels);
        Sentences all{starts.data(), token_rows(check, "indptr", indptr, ids, values, tokens),
                      token_rows(check, "observed_indptr", observed_indptr, observed_ids, std::nullopt, tokens)};
        check.that(!all.observed.indptr || observed, "observed features need their tables");
        check.indices("order", order, n);
        check.shape("y", y, tokens);
        check.shape("z", z, tokens);
        check.shape("updated", updated, int64_t(order.shape(0)));
        check.between("n_rows", counts.n_rows, 1, int64_t(features.shape(0)));
        check.room("features", features, int64_t(rows.shape(0)) + 1, v.ld);  // a row for each feature, and row 0
        int64_t longest = 0;
        for (size_t k = 0; k < order.shape(0); ++k) {
          const int64_t first = starts.data()[order.data()[k]], last = starts.data()[order.data()[k] + 1];
          longest = std::max(longest, last - first);
          check_ids(check, "ids", all.features, first, last, int64_t(rows.shape(0)));
          if (observed) check_ids(check, "observed_ids", all.observed, first, last, int64_t(observed->shape(0)));
          for (int64_t t = first; t < last; ++t) {
            check.index("y", y.data()[t], labels);
            if (replay) check.index("z", z.data()[t], labels);
          }
        }
        if (replay) {  // the labellings z are known: only the updates are made
          const nb::gil_scoped_release released;
          for (size_t k = 0; k < order.shape(0); ++k) {
            const int64_t first = starts.data()[order.data()[k]], N = starts.data()[order.data()[k] + 1] - first;
            TargetOf<T>::update()(v, all, first, N, y.data() + first, z.data() + first, double(++counts.n_seen), &counts);
          }
          return;
        }
        const int64_t room = tag_scratch(longest, labels, v.ld, bool(second), all.observed.indptr != nullptr);
        std::unique_ptr<T[]> scratch(new T[size_t(room)]);
        const nb::gil_scoped_release released;
        TargetOf<T>::learn()(v, all, order.data(), int64_t(order.shape(0)), y.data(), margin, &counts, scratch.get(),
                             z.data(), updated.data());
      },
      "starts"_a.noconvert(), "indptr"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert().none(),
      "observed_indptr"_a.noconvert().none(), "observed_ids"_a.noconvert().none(), "order"_a.noconvert(),
      "y"_a.noconvert(), "margin"_a, "replay"_a, "labels"_a, "rows"_a.noconvert(), "features"_a.noconvert(),
      "features_moment"_a.noconvert(),
      "transitions"_a.noconvert(), "transitions_moment"_a.noconvert(), "second"_a.noconvert().none(),
      "second_moment"_a.noconvert().none(), "observed"_a.noconvert().none(), "observed_moment"_a.noconvert().none(),
      "counts"_a, "z"_a.noconvert(), "updated"_a.noconvert());
}

// Tables of scores for a search, checked.
template <class T> struct Scores {
  int64_t labels, ld, tokens;
  const T *E, *transitions, *second;
  bool local;

  Scores(const Check& check, In2<T> E, int64_t labels, In3<T> transitions, const std::optional<In3<T>>& second)
      : labels(labels),
        ld(int64_t(E.shape(1))),
        tokens(int64_t(E.shape(0))),
        E(E.data()),
        transitions(transitions.data()),
        second(data_or_null(second)),
        local(transitions.shape(0) != 1) {
    check.between("labels", labels, 1, ld);
    check.that(ld % kTagLanes == 0, "rows of E must have a multiple of 8 values");
    check.shape("transitions", transitions, local ? tokens : 1, labels + 1, ld);
    check.shape("second", second, labels + 1, labels + 1, ld);
  }
  Lattice<T> sentence(int64_t first, int64_t N) const {
    return {N, labels, ld, E + first * ld, transitions + (local ? first * (labels + 1) * ld : 0), local, second};
  }
};

template <class T> void bind_search(nb::module_& m) {
  m.def(
      "decode",
      [](In2<T> E, int64_t labels, Indptr starts, In3<T> transitions, std::optional<In3<T>> second, Out1<int32_t> y,
         Out1<double> scores, int threads) {
        const Check check{"decode"};
        const Scores<T> all(check, E, labels, transitions, second);
        check_starts(check, starts);
        const int64_t n = int64_t(starts.shape(0)) - 1;
        check.that(starts.data()[n] == all.tokens, "starts must end with the number of rows of E");
        check.shape("y", y, all.tokens);
        check.shape("scores", scores, n);
        check.least("threads", threads, 1);
        int64_t longest = 0;
        for (int64_t s = 0; s < n; ++s) longest = std::max(longest, starts.data()[s + 1] - starts.data()[s]);
        const int64_t room = viterbi_scratch(longest, labels, all.ld, bool(second));
        std::vector<std::unique_ptr<T[]>> scratch;  // allocated here, as a thread must not throw
        for (int i = 0; i < threads; ++i) scratch.emplace_back(new T[size_t(room)]);
        constexpr int64_t kRun = 64;  // sentences of a turn
        const nb::gil_scoped_release released;
        onkel::in_parallel((n + kRun - 1) / kRun, threads, [&](int64_t turn, int thread) {
          for (int64_t s = turn * kRun; s < std::min(n, (turn + 1) * kRun); ++s) {
            const int64_t first = starts.data()[s];
            scores.data()[s] = TargetOf<T>::viterbi()(all.sentence(first, starts.data()[s + 1] - first),
                                                      scratch[size_t(thread)].get(), y.data() + first);
          }
        });
      },
      "E"_a.noconvert(), "labels"_a, "starts"_a.noconvert(), "transitions"_a.noconvert(),
      "second"_a.noconvert().none(), "y"_a.noconvert(), "scores"_a.noconvert(), "threads"_a);
  m.def(
      "k_best",
      [](In2<T> E, int64_t labels, In3<T> transitions, std::optional<In3<T>> second, Out2<int32_t> y,
         Out1<double> scores) {
        const Check check{"k_best"};
        const Scores<T> all(check, E, labels, transitions, second);
        const int64_t k = int64_t(y.shape(0));
        check.least("rows of E", all.tokens, 1);
        check.shape("y", y, kAny, all.tokens);
        check.shape("scores", scores, k);
        const nb::gil_scoped_release released;
        return onkel::KBest<T>(all.sentence(0, all.tokens), k).run(y.data(), scores.data());
      },
      "E"_a.noconvert(), "labels"_a, "transitions"_a.noconvert(), "second"_a.noconvert().none(), "y"_a.noconvert(),
      "scores"_a.noconvert());
  m.def(
      "add_sparse_rows",
      [](In1<int64_t> w_indptr, In1<int32_t> w_places, In1<T> w, Indptr indptr, Indices ids,
         std::optional<In1<double>> values, Out2<T> E, int threads) {
        const Check check{"add_sparse_rows"};
        const int64_t n = int64_t(w_indptr.shape(0)) - 1, tokens = int64_t(E.shape(0)), width = int64_t(E.shape(1));
        check.csr("w_indptr", w_indptr, n, w_places, w);
        const TokenRows rows = token_rows(check, "indptr", indptr, ids, values, tokens);
        check.indices("w_places", w_places, width);
        check_ids(check, "ids", rows, 0, tokens, n);
        check.least("threads", threads, 1);
        constexpr int64_t kRun = 1024;  // tokens of a turn
        const nb::gil_scoped_release released;
        onkel::in_parallel((tokens + kRun - 1) / kRun, threads, [&](int64_t turn, int) {
          for (int64_t t = turn * kRun; t < std::min(tokens, (turn + 1) * kRun); ++t) {
            T* e = E.data() + t * width;
            for (int64_t k = rows.indptr[t]; k < rows.indptr[t + 1]; ++k) {
              const int64_t id = rows.ids[k];
              const T value = rows.values ? T(rows.values[k]) : T(1);
              for (int64_t p = w_indptr.data()[id]; p < w_indptr.data()[id + 1]; ++p)
                e[w_places.data()[p]] += value * w.data()[p];
            }
          }
        });
      },
      "w_indptr"_a.noconvert(), "w_places"_a.noconvert(), "w"_a.noconvert(), "indptr"_a.noconvert(),
      "ids"_a.noconvert(), "values"_a.noconvert().none(), "E"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_sequence(nb::module_& m) {
  bind_record<TagCounts>(m, "TagCounts")
      .def_rw("n_seen", &TagCounts::n_seen)
      .def_rw("n_updates", &TagCounts::n_updates)
      .def_rw("n_rows", &TagCounts::n_rows)
      .def_rw("norm_sq", &TagCounts::norm_sq)
      .def_rw("radius_sq", &TagCounts::radius_sq);
  bind_learning<float>(m);
  bind_learning<double>(m);
  bind_search<float>(m);
  bind_search<double>(m);
}

}}  // namespace onkel::bind
