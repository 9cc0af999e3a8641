// Threads for who has no torch. A call hands the same body to all of them and takes part itself;
// between calls they sleep.

#pragma once

#include "runtime/plan/Host.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace frit {

class ThreadPool {
public:
  /// 0: one thread for each processor.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();

  /// Splits [0, units) into at most one piece for each thread, none under `grain` but the last;
  /// returns when all are done.
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
  /// One call at a time.
  std::mutex callLock;
  std::mutex lock;
  std::condition_variable wake, done;
  Job job;
  uint64_t generation = 0;
  unsigned running = 0;
  bool stopping = false;
};

} // namespace frit
