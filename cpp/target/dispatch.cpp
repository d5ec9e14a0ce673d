#include "target/dispatch.h"

#include <atomic>
#include <cstring>

namespace onkel {

#define ONKEL_DECLARE(name) \
  namespace name {          \
  extern const Target target; \
  }
ONKEL_DECLARE(baseline)
#if defined(ONKEL_X86)
ONKEL_DECLARE(avx2)
ONKEL_DECLARE(avx512)
#endif

namespace {

struct Available {
  const Target* best_first[3];
  int count = 0;
  Available() {
#if defined(ONKEL_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      best_first[count++] = &avx512::target;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best_first[count++] = &avx2::target;
#endif
    best_first[count++] = &baseline::target;
  }
};

const Available& available() {
  static const Available found;
  return found;
}

std::atomic<const Target*> chosen{nullptr};

}  // namespace

const Target* const* targets(int* count) {
  *count = available().count;
  return available().best_first;
}

const Target& current_target() {
  const Target* target = chosen.load(std::memory_order_relaxed);
  return target ? *target : *available().best_first[0];
}

bool select_target(const char* name) {
  for (int i = 0; i < available().count; ++i)
    if (std::strcmp(available().best_first[i]->name, name) == 0) {
      chosen.store(available().best_first[i], std::memory_order_relaxed);
      return true;
    }
  return false;
}

}  // namespace onkel
