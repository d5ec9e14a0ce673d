// Strings numbered 0, 1, 2, ... in the order in which they come.
//
// The bytes of all strings lie behind each other; a hash table with open addressing leads from a string to its number.
// Who looks up many strings asks for their slots ahead (prefetch), because nearly every one is a cache miss.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "sequence/strings.h"

namespace onkel { namespace sequence {

class StringTable {
 public:
  static constexpr int32_t kUnknown = -1;

  StringTable() : slots_(kFirstSlots) {}

  int64_t size() const { return int64_t(ends_.size()); }
  std::string_view operator[](int64_t id) const {
    const int64_t begin = id ? ends_[size_t(id) - 1] : 0;
    return {bytes_.data() + begin, size_t(ends_[size_t(id)] - begin)};
  }
  const std::vector<char>& bytes() const { return bytes_; }
  const std::vector<int64_t>& ends() const { return ends_; }

  // A hash of this process only: eight bytes at a time, in the order of the machine.
  static uint64_t hash(std::string_view text) {
    uint64_t hash = kHashStart ^ text.size(), word = 0;
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
      std::memcpy(&word, text.data() + at, 8);
      hash = hash_step(hash, word) ^ (hash >> 47);
    }
    if (at < text.size()) {
      word = 0;
      std::memcpy(&word, text.data() + at, text.size() - at);
      hash = hash_step(hash, word) ^ (hash >> 47);
    }
    return hash_end(hash);
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask()]); }
  // After `prefetch`: the bytes that the string will be compared with.
  void prefetch_bytes(uint64_t hash) const {
    const Slot& slot = slots_[hash & mask()];
    if (slot.id != kUnknown) __builtin_prefetch(bytes_.data() + slot.begin);
  }

  int32_t find(std::string_view text, uint64_t hash) const { return slots_[place(text, hash)].id; }

  // The number of a string, which is the next one if the string is new.
  int32_t add(std::string_view text, uint64_t hash) {
    size_t at = place(text, hash);
    if (slots_[at].id != kUnknown) return slots_[at].id;
    if (2 * (ends_.size() + 1) > slots_.size()) {
      index(2 * slots_.size());
      at = place(text, hash);
    }
    const int64_t begin = int64_t(bytes_.size()), id = size();
    ends_.reserve(ends_.size() + 1 > ends_.capacity() ? 2 * ends_.size() + 1 : ends_.capacity());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ends_.push_back(int64_t(bytes_.size()));  // there is room: nothing fails between the two
    slots_[at] = {begin, uint32_t(hash >> 32), int32_t(id)};
    return int32_t(id);
  }

  // Forgets all strings but the first `size`.
  void truncate(int64_t size) {
    if (size == this->size()) return;
    ends_.resize(size_t(size));
    bytes_.resize(size ? size_t(ends_.back()) : 0);
    fill(slots_);  // allocates nothing
  }

 private:
  struct Slot {
    int64_t begin = 0;       // of its bytes
    uint32_t hash = 0;       // its upper half
    int32_t id = kUnknown;   // kUnknown: the slot is free
  };
  static constexpr size_t kFirstSlots = 64;

  std::vector<Slot> slots_;  // a power of two, at least twice the strings
  std::vector<char> bytes_;
  std::vector<int64_t> ends_;  // where the bytes of each string end

  size_t mask() const { return slots_.size() - 1; }

  // The slot of a string, or the free one where it belongs.
  size_t place(std::string_view text, uint64_t hash) const {
    size_t at = hash & mask();
    while (slots_[at].id != kUnknown && !(slots_[at].hash == uint32_t(hash >> 32) && (*this)[slots_[at].id] == text))
      at = (at + 1) & mask();
    return at;
  }

  // Builds the slots anew, so many of them.
  void index(size_t n_slots) {
    std::vector<Slot> slots(n_slots);
    fill(slots);
    slots_ = std::move(slots);
  }

  void fill(std::vector<Slot>& slots) const {
    const size_t mask = slots.size() - 1;
    std::fill(slots.begin(), slots.end(), Slot());
    for (int64_t id = 0, begin = 0; id < size(); begin = ends_[size_t(id++)]) {
      const uint64_t own = hash((*this)[id]);
      size_t at = own & mask;
      while (slots[at].id != kUnknown) at = (at + 1) & mask;
      slots[at] = {begin, uint32_t(own >> 32), int32_t(id)};
    }
  }
};

}}  // namespace onkel::sequence
