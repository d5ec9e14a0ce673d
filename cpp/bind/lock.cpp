// A lock that threads get in the order in which they ask for it: onkel/_core/__init__.py, Lock.
//
// A thread that learns takes it for one part after the other, with almost no time in between. An unfair lock would be
// taken again before a waiting thread has woken up, so that a reader could wait as long as learning goes on. It is
// written in C++ because entering and leaving must not be interrupted half-way: a signal is handled between two Python
// instructions, and so before or after them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include <pthread.h>

#include "bind/arrays.h"

namespace onkel { namespace bind {
namespace {

// The number of this thread, which no other thread gets, in this process or in one that is forked from it. (Thread ids
// are given again to new threads.)
std::atomic<uint64_t> threads{0};
uint64_t this_thread() {
  thread_local const uint64_t number = ++threads;
  return number;
}

// How often this process and those that it was forked from were forked, and by which thread last: the only one that it
// began with. A system call for the id of the process would take as long as everything else in `enter`.
std::atomic<uint64_t> forks{0}, forker{0};

class Lock {
 public:
  // Waits until all threads that came before have left; a thread that has the lock may enter again.
  void enter() {
    const uint64_t me = this_thread();
    uint64_t ticket;
    forget_other_process();
    {
      const std::lock_guard<std::mutex> guard(queue_->mutex);
      if (depth_ > 0 && owner_ == me) return void(++depth_);
      if (depth_ == 0 && queue_->waiting.empty()) return take(me);
      ticket = next_++;
      queue_->waiting.push_back(ticket);
    }
    while (!wait_for_turn(ticket, me)) {
      const bool raised = PyErr_CheckSignals() != 0, forked = forks_ != forks;  // by a handler; this is the child
      if (raised && !forked) give_up(ticket);
      if (raised) throw nb::python_error();
      if (forked) return enter();
    }
  }

  void leave() {
    forget_other_process();
    const std::lock_guard<std::mutex> guard(queue_->mutex);
    if (depth_ == 0 || owner_ != this_thread())
      throw std::runtime_error("Lock: a thread can leave only what it has entered.");
    if (--depth_ == 0) queue_->changed.notify_all();
  }

 private:
  struct Queue {
    std::mutex mutex;  // of all members of the lock; is never held while a thread waits for the GIL
    std::condition_variable changed;
    std::deque<uint64_t> waiting;  // the tickets of the waiting threads, the first in front
  };
  std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
  uint64_t next_ = 0;
  uint64_t owner_ = 0;
  uint64_t forks_ = forks;
  int depth_ = 0;  // how often the owner has entered; 0: there is none

  void take(uint64_t me) { owner_ = me, depth_ = 1; }

  // Waits a while without the GIL; returns whether the lock was taken.
  bool wait_for_turn(uint64_t ticket, uint64_t me) {
    const nb::gil_scoped_release released;
    std::unique_lock<std::mutex> guard(queue_->mutex);
    const bool turn = queue_->changed.wait_for(guard, std::chrono::milliseconds(50),
                                               [&] { return depth_ == 0 && queue_->waiting.front() == ticket; });
    if (turn) {
      queue_->waiting.pop_front();
      take(me);
    }
    return turn;
  }

  void give_up(uint64_t ticket) {
    const std::lock_guard<std::mutex> guard(queue_->mutex);
    auto& waiting = queue_->waiting;
    waiting.erase(std::find(waiting.begin(), waiting.end(), ticket));
    queue_->changed.notify_all();
  }

  // After a fork only the thread that forked exists. What others had in use, the mutex too, stays as they left it, for
  // ever, so there is a new queue; the old one is not freed, since nobody may destroy what a thread waits for. The
  // caller has the GIL, and so is the first to come here.
  void forget_other_process() {
    if (forks_ == forks) return;
    auto fresh = std::make_unique<Queue>();
    static_cast<void>(queue_.release());
    queue_ = std::move(fresh);
    if (owner_ != forker) depth_ = 0;
    forks_ = forks;
  }
};

}  // namespace

void bind_lock(nb::module_& m) {
  pthread_atfork(nullptr, nullptr, [] { ++forks, forker = this_thread(); });
  nb::class_<Lock>(m, "Lock")
      .def(nb::init<>())
      .def("__enter__", &Lock::enter)
      .def(
          "__exit__", [](Lock& lock, nb::handle, nb::handle, nb::handle) { lock.leave(); }, nb::arg().none(),
          nb::arg().none(), nb::arg().none())
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::tuple()); });
}

}}  // namespace onkel::bind
