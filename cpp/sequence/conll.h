// Columns of tokens from the bytes of a CoNLL file.
//
//   a line          the values of one token, separated by blanks (separator 0: runs of spaces and tabs) or by exactly
//                   one character; all lines have the same number of values
//   an empty line   ends a sentence; so does a line whose first value is -DOCSTART-, which is left out
//   a comment       a line that starts with the given prefix, if there is one; left out
//   CoNLL-U         the first value is a number; lines 1-2 (multiword tokens) and 1.1 (empty nodes) are left out
//
// Each column is interned: its distinct values are numbered in the order in which they come, by an exact hash table
// whose keys point into the text. A token thus costs one hash and one comparison per column, and only distinct values
// become strings of Python. Reading stops at the first malformed line, and can be done in runs of some bytes.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sequence/strings.h"

namespace onkel { namespace sequence {

struct Text {
  const char* begin;
  int64_t size;
  uint64_t word;  // its first 8 bytes; 0 beyond its end
};

// Eight bytes at once, the first one lowest; 0 beyond the end of the text.
inline uint64_t load_word(const char* at, const char* end) {
  uint64_t word = 0;
  if (end - at >= 8)
    std::memcpy(&word, at, 8);  // of a size that is known: one instruction
  else
    std::memcpy(&word, at, size_t(end - at));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}
// 0x80 in the first byte of a word that equals a character, given in all bytes of `pattern`, and 0 in those before it.
inline uint64_t matches(uint64_t word, uint64_t pattern) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL;
  const uint64_t differ = word ^ pattern;
  return (differ - kOnes) & ~differ & (kOnes << 7);
}

// The distinct values of a column, numbered in the order in which they come.
class Interner {
 public:
  Interner() : slots_(1 << kFirstBits, Slot{0, -1}), bits_(kFirstBits) {}

  int32_t code(Text value, uint64_t hash) {
    const uint32_t tag = uint32_t(hash >> 32);
    const size_t mask = slots_.size() - 1;
    size_t at = tag >> (32 - bits_);
    for (; slots_[at].code >= 0; at = (at + 1) & mask) {
      if (slots_[at].tag != tag) continue;
      const Text& known = values_[size_t(slots_[at].code)];
      if (known.word == value.word && known.size == value.size &&
          (value.size <= 8 || std::memcmp(known.begin + 8, value.begin + 8, size_t(value.size) - 8) == 0))
        return slots_[at].code;
    }
    const int32_t code = int32_t(values_.size());
    values_.push_back(value);
    slots_[at] = Slot{tag, code};
    if (2 * values_.size() > slots_.size()) grow();
    return code;
  }

  const std::vector<Text>& values() const { return values_; }

 private:
  struct Slot {
    uint32_t tag;
    int32_t code;
  };
  static constexpr int kFirstBits = 8;
  std::vector<Slot> slots_;
  std::vector<Text> values_;
  int bits_;

  void grow() {
    std::vector<Slot> wider(2 * slots_.size(), Slot{0, -1});
    ++bits_;
    for (const Slot& slot : slots_) {
      if (slot.code < 0) continue;
      size_t at = slot.tag >> (32 - bits_);
      while (wider[at].code >= 0) at = (at + 1) & (wider.size() - 1);
      wider[at] = slot;
    }
    slots_.swap(wider);
  }
};

enum class Defect { kNone, kColumns, kEmptyValue, kNul, kNumber, kUtf8 };

struct Malformed {
  Defect defect = Defect::kNone;
  int64_t line = 0, begin = 0, end = 0;  // counted from 1; its bytes
  int64_t got = 0;                       // number of values, or the number of the column in question
};

struct ConllFormat {
  char separator;                // 0: runs of spaces and tabs
  std::string comment;           // prefix of comment lines; empty: there are none
  bool conllu;                   // whether the first value numbers the token
  std::vector<int32_t> kept;     // columns that are kept; empty: all of them
};

class ConllReader {
 public:
  ConllReader(const char* text, int64_t size, int64_t n_columns, ConllFormat format)
      : text_(text), size_(size), n_columns_(n_columns), format_(std::move(format)) {
    constexpr uint64_t kOnes = 0x0101010101010101ULL;
    blanks_[0] = kOnes * static_cast<unsigned char>(format_.separator ? format_.separator : ' ');
    blanks_[1] = kOnes * static_cast<unsigned char>(format_.separator ? format_.separator : '\t');
    if (n_columns_ > 0) set_columns(n_columns_);
    if (size_ >= 3 && std::memcmp(text_, "\xef\xbb\xbf", 3) == 0) at_ = 3;  // a byte order mark
  }

  // Reads whole lines, at least `most` bytes if there are as many. False: at the end, or at a malformed line.
  bool read(int64_t most) {
    const int64_t stop = most < size_ - at_ ? at_ + most : size_;
    while (at_ < stop) {
      const void* newline = std::memchr(text_ + at_, '\n', size_t(size_ - at_));
      const int64_t next = newline ? static_cast<const char*>(newline) - text_ + 1 : size_;
      int64_t end = newline ? next - 1 : size_;
      if (end > at_ && text_[end - 1] == '\r') --end;
      ++line_;
      if (!read_line(at_, end)) return false;
      at_ = next;
    }
    if (at_ < size_) return true;
    end_sentence();
    return false;
  }

  // A value that cannot be decoded is found after all lines were read.
  void not_utf8(const Text& value, int64_t column) {
    const int64_t at = value.begin - text_;
    int64_t line = 1, begin = 0, end = at;
    for (int64_t i = 0; i < at; ++i)
      if (text_[i] == '\n') ++line, begin = i + 1;
    while (end < size_ && text_[end] != '\n') ++end;
    malformed_ = {Defect::kUtf8, line, begin, end, column + 1};
  }

  int64_t n_columns() const { return n_columns_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  const std::vector<int32_t>& codes(size_t kept) const { return codes_[kept]; }
  const std::vector<Text>& values(size_t kept) const { return interners_[kept].values(); }
  int64_t n_kept() const { return int64_t(interners_.size()); }
  int32_t column_of(size_t kept) const { return format_.kept[kept]; }
  const Malformed& malformed() const { return malformed_; }

 private:
  struct Field {
    Text value;
    uint64_t hash;
  };
  const char* text_;
  int64_t size_, at_ = 0, line_ = 0, n_columns_;
  ConllFormat format_;
  std::vector<int64_t> starts_{0};
  int64_t n_tokens_ = 0;
  std::vector<std::vector<int32_t>> codes_;
  std::vector<Interner> interners_;
  std::vector<Field> fields_;
  Malformed malformed_;
  uint64_t blanks_[2];  // the characters that end a value, each in all bytes

  void set_columns(int64_t n) {
    n_columns_ = n;
    if (format_.kept.empty())
      for (int64_t c = 0; c < n; ++c) format_.kept.push_back(int32_t(c));
    codes_.resize(format_.kept.size());
    interners_.resize(format_.kept.size());
  }

  void end_sentence() {
    if (n_tokens_ > starts_.back()) starts_.push_back(n_tokens_);
  }

  bool wrong(Defect defect, int64_t begin, int64_t end, int64_t got) {
    malformed_ = {defect, line_, begin, end, got};
    return false;
  }

  bool is_blank(int64_t begin, int64_t end) const {
    while (begin < end && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
    return begin == end;
  }

  bool read_line(int64_t begin, int64_t end) {
    if (is_blank(begin, end)) return end_sentence(), true;
    const size_t prefix = format_.comment.size();
    if (prefix > 0 && size_t(end - begin) >= prefix &&
        std::memcmp(text_ + begin, format_.comment.data(), prefix) == 0)
      return true;
    split(begin, end);
    const int64_t got = int64_t(fields_.size());
    const Text first = fields_[0].value;
    if (!format_.conllu && first.size == 10 && std::memcmp(first.begin, "-DOCSTART-", 10) == 0)
      return end_sentence(), true;
    if (n_columns_ == 0) set_columns(got);
    if (got != n_columns_) return wrong(Defect::kColumns, begin, end, got);
    for (int64_t c = 0; c < got; ++c)
      if (fields_[size_t(c)].value.size == 0) return wrong(Defect::kEmptyValue, begin, end, c + 1);
    if (format_.conllu) {
      const int kind = token_number(first);
      if (kind < 0) return wrong(Defect::kNumber, begin, end, 1);
      if (kind > 0) return true;
    }
    return add_token(begin, end);
  }

  bool add_token(int64_t begin, int64_t end) {
    for (size_t k = 0; k < format_.kept.size(); ++k) {
      const Field& field = fields_[size_t(format_.kept[k])];
      const size_t known = interners_[k].values().size();
      const int32_t code = interners_[k].code(field.value, field.hash);
      if (size_t(code) == known && std::memchr(field.value.begin, 0, size_t(field.value.size)))
        return wrong(Defect::kNul, begin, end, format_.kept[k] + 1);
      codes_[k].push_back(code);
    }
    ++n_tokens_;
    return true;
  }

  // The values of a line, which is not blank, with their hashes.
  void split(int64_t begin, int64_t end) {
    fields_.clear();
    const bool runs = format_.separator == 0;
    for (int64_t i = begin;; ++i) {
      while (runs && i < end && (text_[i] == ' ' || text_[i] == '\t')) ++i;
      if (runs && i == end) return;
      fields_.emplace_back();
      read_value(i, end, fields_.back());
      i += fields_.back().value.size;
      if (i == end) return;
    }
  }

  // The value that begins at a place of a line. It is searched and hashed by words: a loop over bytes that is left after
  // three or five of them mostly waits for the processor's wrong guess.
  void read_value(int64_t begin, int64_t end, Field& field) const {
    uint64_t hash = kHashStart;
    for (int64_t at = begin;; at += 8) {
      uint64_t word = load_word(text_ + at, text_ + size_);
      const uint64_t found = matches(word, blanks_[0]) | matches(word, blanks_[1]);
      const int64_t found_at = found ? __builtin_ctzll(found) / 8 : 8, rest = end - at;
      const int64_t length = found_at < rest ? found_at : rest;
      if (length < 8) word &= (uint64_t(1) << (8 * length)) - 1;
      if (at == begin) field.value.word = word;
      hash = hash_step(hash, word) ^ (hash >> 32);
      if (length < 8 || rest == 8) {
        field.value.begin = text_ + begin;
        field.value.size = at + length - begin;
        field.hash = hash_end(hash);
        return;
      }
    }
  }

  // 0: a token such as 7; 1: a line that is left out, such as 7-8 or 7.1; -1: neither.
  static int token_number(Text id) {
    int64_t i = 0;
    const auto digits = [&] {
      const int64_t from = i;
      while (i < id.size && id.begin[i] >= '0' && id.begin[i] <= '9') ++i;
      return i > from;
    };
    if (!digits()) return -1;
    if (i == id.size) return 0;
    if (id.begin[i] != '-' && id.begin[i] != '.') return -1;
    ++i;
    return digits() && i == id.size ? 1 : -1;
  }
};

}}  // namespace onkel::sequence
