// A thread pool for hosts without torch. A call runs one body on all threads including its own;
// between calls the threads sleep.

#pragma once

#include "runtime/plan/Host.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace frit {

class ThreadPool {
public:
  /// 0: one thread per processor.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();

  /// Splits [0, units) into at most one piece per thread, each but the last of at least `grain`
  /// units; returns when all are done.
  void run(int64_t units, int64_t grain, RangeBody body, void *argument);
  unsigned size() const { return static_cast<unsigned>(workers.size()) + 1; }

private:
  struct Job {
    int64_t units = 0, pieces = 0;
    RangeBody body = nullptr;
    void *argument = nullptr;
  };

  void work(unsigned number);
  static void runPiece(const Job &job, int64_t piece);

  std::vector<std::thread> workers;
  /// Only one call runs at a time.
  std::mutex callLock;
  std::mutex lock;
  std::condition_variable wake, done;
  Job job;
  uint64_t generation = 0;
  unsigned running = 0;
  bool stopping = false;
};

} // namespace frit
