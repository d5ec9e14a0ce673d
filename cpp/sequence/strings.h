// Hashes of bytes and numbers, the same on every machine: ids of hashed features are part of a model.
#pragma once
#include <cstddef>
#include <cstdint>

namespace onkel { namespace sequence {

constexpr uint64_t kHashStart = 0x2545f4914f6cdd1dULL, kHashFactor = 0x9e3779b97f4a7c15ULL;

inline uint64_t hash_step(uint64_t hash, uint64_t value) { return (hash ^ value) * kHashFactor; }
// The low bits of a product do not depend on the high bits of its factors: mixed before they choose a slot.
inline uint64_t hash_end(uint64_t hash) {
  hash ^= hash >> 32;
  hash *= kHashFactor;
  return hash ^ (hash >> 29);
}
inline uint64_t hash_bytes(const char* text, size_t size) {
  uint64_t hash = kHashStart;
  for (size_t i = 0; i < size; ++i) hash = hash_step(hash, static_cast<unsigned char>(text[i])) ^ (hash >> 47);
  return hash_end(hash);
}

}}  // namespace onkel::sequence
