// Work split over threads. Threads live for one call only, so a process may fork at any time between calls.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "target/dispatch.h"

namespace onkel {

inline void run(const Target& t, const Job<float>& job, int64_t b, int64_t e, void* s) { t.work32(job, b, e, s); }
inline void run(const Target& t, const Job<double>& job, int64_t b, int64_t e, void* s) { t.work64(job, b, e, s); }
inline int64_t scratch(const Target& t, const Job<float>& job) { return t.scratch32(job); }
inline int64_t scratch(const Target& t, const Job<double>& job) { return t.scratch64(job); }
inline int64_t share(const Target& t, const Job<float>& job, int threads) { return t.share32(job, threads); }
inline int64_t share(const Target& t, const Job<double>& job, int threads) { return t.share64(job, threads); }

// Calls turn(i, thread) for i = 0 .. turns-1 on at most `threads` threads. Each thread takes the next turn when it is
// free, so that a core that is busy with something else does not hold up the others.
template <class Turn> void in_parallel(int64_t turns, int threads, const Turn& turn) {
  if (threads > turns) threads = int(turns);
  std::atomic<int64_t> next{0};
  const auto worker = [&](int thread) {
    for (int64_t i; (i = next.fetch_add(1)) < turns;) turn(i, thread);
  };
  std::vector<std::thread> helpers;
  try {
    for (int i = 1; i < threads; ++i) helpers.emplace_back(worker, i);
  } catch (const std::system_error&) {  // no more threads available: those that started do all turns
  }
  if (threads > 0) worker(0);
  for (auto& helper : helpers) helper.join();
}

// One product (product/types.h) on the current target.
template <class T> void run_parallel(const Job<T>& job, int threads) {
  const Target& target = current_target();
  const int64_t bytes = scratch(target, job), step = share(target, job, threads);
  std::vector<std::unique_ptr<char[]>> memory;  // allocated here, as a thread must not throw
  for (int i = 0; i < threads; ++i) memory.emplace_back(new char[size_t(bytes)]);
  const int64_t turns = (job.rows.n + step - 1) / step;
  in_parallel(turns, threads, [&](int64_t turn, int thread) {
    const int64_t chunk = job.below ? turns - 1 - turn : turn;  // the chunks with most columns first
    const int64_t end = (chunk + 1) * step;
    run(target, job, chunk * step, end < job.rows.n ? end : job.rows.n, memory[size_t(thread)].get());
  });
}

}  // namespace onkel
