// Features of tokens by templates, from columns of codes.
//
// A template is a list of parts (column, offset): at token t its feature is the tuple of the codes that the columns have
// at t + offset. Beyond the ends of the sentence stand the codes of edges, 0, 1, … before and reach, reach + 1, … after
// it; or nothing, if the template is for tokens inside only. A feature one of whose parts is absent is left out.
//
//   FeatureIndex    gives each feature, that is each pair (template, codes), an id 0, 1, 2, … in the order in which they
//                   come: token by token, template by template. One part: a table from code to id. More: a hash
//                   table with exact keys.
//   hash_features   an id is a hash of the template and of the strings of its parts, in n_bits bits.
//
// The tokens of a sentence are looked up together, template by template, 64 at a time: first all keys are gathered, hashed
// and their slots prefetched, then they are compared. Otherwise each lookup would wait for memory alone. Only then, token
// by token, unknown features are added and the ids written: the order of new ids does not depend on the blocks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "sequence/strings.h"

namespace onkel { namespace sequence {

struct Part {
  int32_t column, offset;
};
struct Template {
  std::vector<Part> parts;
  bool inside;  // whether a feature is left out if a part is outside its sentence
};

// Columns of a run of sentences.
template <class T> struct Columns {
  const T* values;        // (columns, tokens)
  int64_t tokens;
  const int64_t* starts;  // (sentences + 1,)
  int64_t sentences;
  const T* edges;         // (2 * reach,): values before a sentence, nearest first; then those after it
  int64_t reach;          // the largest offset, in absolute value
  T absent;

  T at(const Part& part, bool inside, int64_t t, int64_t begin, int64_t end) const {
    const int64_t p = t + part.offset;
    if (p < begin) return inside ? absent : edges[begin - p - 1];
    if (p >= end) return inside ? absent : edges[reach + p - end];
    return values[part.column * tokens + p];
  }
  // The values at tokens from, ..., to - 1 of the sentence begin, ..., end - 1.
  void gather(const Part& part, bool inside, int64_t from, int64_t to, int64_t begin, int64_t end, T* out) const {
    const int64_t first = std::clamp(begin - part.offset, from, to), last = std::clamp(end - part.offset, first, to);
    for (int64_t t = from; t < first; ++t) out[t - from] = at(part, inside, t, begin, end);
    std::copy(values + part.column * tokens + first + part.offset, values + part.column * tokens + last + part.offset,
              out + (first - from));
    for (int64_t t = last; t < to; ++t) out[t - from] = at(part, inside, t, begin, end);
  }
};

// Where the ids go: row t ends at indptr[t].
struct Rows {
  int64_t* indptr;  // (tokens,)
  int32_t* ids;
  int64_t base;     // number of ids before those of this run
  bool skip_first;  // whether first tokens have no features: those of pairs of labels
};

// A tuple of codes, `step` numbers apart.
struct Key {
  const int32_t* codes;
  int64_t step;
  int32_t operator[](int i) const { return codes[i * step]; }
};

// Tuples of k >= 2 codes and their ids. Open addressing; a slot holds the key itself and its id, so that a lookup
// usually touches a single cache line.
class KeyTable {
 public:
  explicit KeyTable(int k) : k_(k) {
    while ((1 << stride_bits_) < k + 1) ++stride_bits_;
    slots_.assign(size_t(1) << (kFirstBits + stride_bits_), -1);
  }

  static uint64_t hash_more(uint64_t hash, int32_t code) { return hash_step(hash, uint32_t(code)) ^ (hash >> 32); }
  static uint32_t hash(Key key, int k) {
    uint64_t hash = kHashStart;
    for (int i = 0; i < k; ++i) hash = hash_more(hash, key[i]);
    return uint32_t(hash_end(hash) >> 32);
  }
  void prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[first_slot(hash) << stride_bits_]); }

  // The id of a key, or -1.
  int32_t find(Key key, uint32_t hash) const { return slots_[place(key, hash) + size_t(k_)]; }

  // The id of a key, which is `next` if the key is new.
  int32_t add(Key key, uint32_t hash, int32_t next) {
    size_t at = place(key, hash);
    if (slots_[at + size_t(k_)] >= 0) return slots_[at + size_t(k_)];
    if ((size_ + 1) << (stride_bits_ + 1) > slots_.size()) {
      grow();
      at = place(key, hash);
    }
    for (int i = 0; i < k_; ++i) slots_[at + size_t(i)] = key[i];
    slots_[at + size_t(k_)] = next;
    ++size_;
    return next;
  }

  size_t size() const { return size_; }
  template <class F> void each(F f) const {  // f(key, id)
    for (size_t at = 0; at < slots_.size(); at += size_t(1) << stride_bits_)
      if (slots_[at + size_t(k_)] >= 0) f(&slots_[at], slots_[at + size_t(k_)]);
  }

 private:
  static constexpr int kFirstBits = 6;
  int k_, stride_bits_ = 1, bits_ = kFirstBits;
  std::vector<int32_t> slots_;  // per slot: k codes, the id, room up to a power of two; the id of a free slot is -1
  size_t size_ = 0;

  bool same(Key key, const int32_t* other) const {
    int32_t differ = 0;
    for (int i = 0; i < k_; ++i) differ |= key[i] ^ other[i];
    return differ == 0;
  }
  size_t first_slot(uint32_t hash) const { return hash >> (32 - bits_); }

  // Where the slot of a key begins, or the free slot where it belongs.
  size_t place(Key key, uint32_t hash) const {
    const size_t mask = slots_.size() - 1, step = size_t(1) << stride_bits_;
    size_t at = first_slot(hash) << stride_bits_;
    while (slots_[at + size_t(k_)] >= 0 && !same(key, &slots_[at])) at = (at + step) & mask;
    return at;
  }

  void grow() {
    KeyTable wider(k_);
    wider.bits_ = bits_ + 1;
    wider.slots_.assign(2 * slots_.size(), -1);
    each([&](const int32_t* key, int32_t id) { wider.add({key, 1}, hash({key, 1}, k_), id); });
    *this = std::move(wider);
  }
};

class FeatureIndex {
 public:
  explicit FeatureIndex(std::vector<Template> templates) : templates_(std::move(templates)) {
    for (const Template& one : templates_) {
      const int k = int(one.parts.size());
      first_part_.push_back(n_parts_);
      n_parts_ += k;
      tables_.emplace_back(std::max(k, 2));
      direct_.emplace_back();
    }
  }

  int64_t size() const { return size_; }
  const std::vector<Template>& templates() const { return templates_; }

  // Writes the ids of all features of a run and returns their number; room for tokens * templates ids is needed.
  int64_t add(const Columns<int32_t>& columns, const Rows& rows) { return run(*this, columns, rows); }
  int64_t find(const Columns<int32_t>& columns, const Rows& rows) const { return run(*this, columns, rows); }

  // Adds a feature by its codes; false if it is known.
  bool add_feature(size_t which, const int32_t* codes) {
    const int64_t before = size_;
    add_key(which, {codes, 1});
    return size_ > before;
  }

  int64_t n_codes() const {  // of all features together
    int64_t n = 0;
    for (size_t m = 0; m < templates_.size(); ++m) n += int64_t(templates_[m].parts.size()) * features_of(m);
    return n;
  }
  // All features in the order of their ids: the template of each (size,), and the codes of all (n_codes,).
  void export_to(uint16_t* which, int32_t* codes) const {
    each([&](size_t m, const int32_t*, int32_t id) { which[id] = uint16_t(m); });
    std::vector<int64_t> begin(size_t(size_) + 1, 0);
    for (int64_t i = 0; i < size_; ++i) begin[size_t(i) + 1] = begin[size_t(i)] + arity(which[i]);
    each([&](size_t m, const int32_t* key, int32_t id) { std::copy(key, key + arity(m), codes + begin[size_t(id)]); });
  }

 private:
  static constexpr int64_t kBlock = 64;  // tokens that are looked up together
  std::vector<Template> templates_;
  std::vector<KeyTable> tables_;              // of templates of two parts or more
  std::vector<std::vector<int32_t>> direct_;  // of templates of one part: code -> id, or -1; of none: a single id
  std::vector<int64_t> first_part_;           // the number of parts of all templates before each one
  int64_t n_parts_ = 0, size_ = 0;

  int64_t arity(size_t m) const { return int64_t(templates_[m].parts.size()); }
  int64_t features_of(size_t m) const {
    if (arity(m) > 1) return int64_t(tables_[m].size());
    return int64_t(direct_[m].size()) - std::count(direct_[m].begin(), direct_[m].end(), -1);
  }
  template <class F> void each(F f) const {
    for (size_t m = 0; m < templates_.size(); ++m) {
      tables_[m].each([&](const int32_t* key, int32_t id) { f(m, key, id); });
      for (size_t code = 0; code < direct_[m].size(); ++code) {
        const int32_t key = int32_t(code);
        if (direct_[m][code] >= 0) f(m, &key, direct_[m][code]);
      }
    }
  }

  int32_t add_key(size_t m, Key key) {
    int32_t id;
    if (arity(m) > 1) {
      id = tables_[m].add(key, KeyTable::hash(key, int(arity(m))), int32_t(size_));
    } else {
      const size_t code = arity(m) == 1 ? size_t(key[0]) : 0;
      if (code >= direct_[m].size()) direct_[m].resize(std::max(code + 1, 2 * direct_[m].size()), -1);
      if (direct_[m][code] < 0) direct_[m][code] = int32_t(size_);
      id = direct_[m][code];
    }
    if (id == size_) ++size_;
    return id;
  }

  // The keys of a block of tokens and what is known of them; arrays of kBlock numbers, one per token.
  struct Block {
    std::vector<int32_t> codes;    // of each part of each template
    std::vector<int32_t> ids;      // of each template: the id, kUnknown, or kAbsent if a part is absent
    std::vector<uint32_t> hashes;  // of each template
  };
  static constexpr int32_t kUnknown = -1, kAbsent = -2;

  // `self` is const if nothing is to be added.
  template <class Self> static int64_t run(Self& self, const Columns<int32_t>& columns, const Rows& rows) {
    const size_t count = self.templates_.size();
    Block block{std::vector<int32_t>(size_t(self.n_parts_ * kBlock)), std::vector<int32_t>(count * kBlock),
                std::vector<uint32_t>(count * kBlock)};
    int64_t written = 0;
    for (int64_t s = 0; s < columns.sentences; ++s) {
      const int64_t begin = columns.starts[s], end = columns.starts[s + 1];
      for (int64_t from = begin; from < end; from += kBlock) {
        const int64_t to = std::min(from + kBlock, end);
        for (size_t m = 0; m < count; ++m) self.gather_keys(m, columns, from, to, begin, end, block);
        for (size_t m = 0; m < count; ++m) self.look_up(m, to - from, block);
        for (int64_t t = from; t < to; ++t) {
          if (!(rows.skip_first && t == begin)) written += write(self, t - from, block, rows.ids + written);
          rows.indptr[t] = rows.base + written;
        }
      }
    }
    return written;
  }

  void gather_keys(size_t m, const Columns<int32_t>& columns, int64_t from, int64_t to, int64_t begin, int64_t end,
                   Block& block) const {
    const Template& one = templates_[m];
    int32_t* codes = block.codes.data() + first_part_[m] * kBlock;
    uint64_t hash[kBlock];
    int32_t* state = &block.ids[m * kBlock];
    const int64_t n = to - from;
    std::fill(hash, hash + n, kHashStart);
    std::fill(state, state + n, kUnknown);
    for (size_t i = 0; i < one.parts.size(); ++i, codes += kBlock) {
      columns.gather(one.parts[i], one.inside, from, to, begin, end, codes);
      for (int64_t t = 0; t < n; ++t) {
        state[t] = codes[t] < 0 ? kAbsent : state[t];
        hash[t] = KeyTable::hash_more(hash[t], codes[t]);
      }
    }
    if (one.parts.size() < 2) return;
    for (int64_t t = 0; t < n; ++t) {
      block.hashes[m * kBlock + size_t(t)] = uint32_t(hash_end(hash[t]) >> 32);
      tables_[m].prefetch(block.hashes[m * kBlock + size_t(t)]);
    }
  }

  void look_up(size_t m, int64_t n, Block& block) const {
    const int32_t* codes = block.codes.data() + first_part_[m] * kBlock;
    const uint32_t* hashes = &block.hashes[m * kBlock];
    int32_t* ids = &block.ids[m * kBlock];
    const size_t k = templates_[m].parts.size();
    for (int64_t t = 0; t < n; ++t) {
      if (ids[t] == kAbsent) continue;
      if (k > 1) {
        ids[t] = tables_[m].find({codes + t, kBlock}, hashes[t]);
      } else {
        const size_t code = k == 1 ? size_t(codes[t]) : 0;
        ids[t] = code < direct_[m].size() ? direct_[m][code] : kUnknown;
      }
    }
  }

  // Writes the ids of one token; unknown features are added, or left out if the index is const.
  template <class Self> static int64_t write(Self& self, int64_t t, const Block& block, int32_t* out) {
    int64_t written = 0;
    for (size_t m = 0; m < self.templates_.size(); ++m) {
      int32_t id = block.ids[m * kBlock + size_t(t)];
      if constexpr (!std::is_const_v<Self>)
        if (id == kUnknown) id = self.add_key(m, {block.codes.data() + self.first_part_[m] * kBlock + t, kBlock});
      out[written] = id;
      written += id >= 0;
    }
    return written;
  }
};

// Ids that are hashes; 0 is the hash of an absent value. `seeds` are the hashes of the templates' names.
inline int64_t hash_features(const std::vector<Template>& templates, const uint64_t* seeds, int n_bits,
                             const Columns<uint64_t>& columns, const Rows& rows) {
  int64_t written = 0;
  for (int64_t s = 0; s < columns.sentences; ++s) {
    const int64_t begin = columns.starts[s], end = columns.starts[s + 1];
    for (int64_t t = begin; t < end; ++t) {
      for (size_t m = 0; m < templates.size() && !(rows.skip_first && t == begin); ++m) {
        uint64_t hash = seeds[m];
        bool absent = false;
        for (const Part& part : templates[m].parts) {
          const uint64_t value = columns.at(part, templates[m].inside, t, begin, end);
          absent |= value == columns.absent;
          hash = hash_step(hash, value) ^ (hash >> 32);
        }
        if (!absent) rows.ids[written++] = int32_t(hash_end(hash) >> (64 - n_bits));
      }
      rows.indptr[t] = rows.base + written;
    }
  }
  return written;
}

}}  // namespace onkel::sequence
