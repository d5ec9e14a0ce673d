// A lock that threads get in the order in which they ask for it: onkel/_core/__init__.py, Lock.
//
// A thread that learns takes it for one part after the other, with almost no time in between. An unfair lock would be
// taken again before a waiting thread has woken up, so that a reader could wait as long as learning goes on. It is
// written in C++ because entering and leaving must not be interrupted half-way: a signal is handled between two Python
// instructions, and so before or after them.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <pthread.h>

#include "bind/arrays.h"

namespace onkel { namespace bind {
namespace {

// How often this process and those that it was forked from were forked: a system call for its id would take as long as
// everything else in `enter`.
std::atomic<uint64_t> forks{0};

class Lock {
 public:
  // Waits until all threads that came before have left; a thread that has the lock may enter again.
  void enter() {
    const auto me = std::this_thread::get_id();
    uint64_t ticket;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if ((depth_ > 0 || !waiting_.empty()) && forks_ != forks) forget_other_process(me);
      if (depth_ > 0 && owner_ == me) return void(++depth_);
      if (depth_ == 0 && waiting_.empty()) return take(me);
      ticket = next_++;
      waiting_.push_back(ticket);
    }
    while (!wait_for_turn(ticket, me))
      if (PyErr_CheckSignals() != 0) {
        const std::lock_guard<std::mutex> guard(mutex_);
        give_up(ticket);
        throw nb::python_error();
      }
  }

  void leave() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (depth_ == 0 || owner_ != std::this_thread::get_id())
      throw std::runtime_error("Lock: a thread can leave only what it has entered.");
    if (--depth_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // is never held while a thread waits for the GIL
  std::condition_variable changed_;
  std::deque<uint64_t> waiting_;  // the tickets of the waiting threads, the first in front
  uint64_t next_ = 0;
  std::thread::id owner_;
  uint64_t forks_ = 0;  // when it was taken last
  int depth_ = 0;  // how often the owner has entered; 0: there is none

  void take(std::thread::id me) { owner_ = me, forks_ = forks, depth_ = 1; }

  // Waits a while without the GIL; returns whether the lock was taken.
  bool wait_for_turn(uint64_t ticket, std::thread::id me) {
    const nb::gil_scoped_release released;
    std::unique_lock<std::mutex> guard(mutex_);
    const bool turn = changed_.wait_for(guard, std::chrono::milliseconds(50),
                                        [&] { return depth_ == 0 && waiting_.front() == ticket; });
    if (turn) {
      waiting_.pop_front();
      take(me);
    }
    return turn;
  }

  void give_up(uint64_t ticket) {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at)
      if (*at == ticket) {
        waiting_.erase(at);
        break;
      }
    changed_.notify_all();
  }

  // In a process that was forked while other threads had the lock or waited for it, these do not exist.
  void forget_other_process(std::thread::id me) {
    if (owner_ != me) depth_ = 0;
    forks_ = forks;
    waiting_.clear();
  }
};

}  // namespace

void bind_lock(nb::module_& m) {
  pthread_atfork(nullptr, nullptr, [] { ++forks; });
  nb::class_<Lock>(m, "Lock")
      .def(nb::init<>())
      .def("__enter__", &Lock::enter)
      .def(
          "__exit__", [](Lock& lock, nb::handle, nb::handle, nb::handle) { lock.leave(); }, nb::arg().none(),
          nb::arg().none(), nb::arg().none())
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple()); });
}

}}  // namespace onkel::bind
