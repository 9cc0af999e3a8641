#include "runtime/cpu/ThreadPool.h"

#include <algorithm>

namespace frit {

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0) {
    threads = std::max(1u, std::thread::hardware_concurrency());
  }
  for (unsigned number = 1; number < threads; ++number) {
    workers.emplace_back([this, number] { work(number); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> guard(lock);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &worker : workers) {
    worker.join();
  }
}

void ThreadPool::runPiece(const Job &job, int64_t piece) {
  int64_t begin = job.units / job.pieces * piece + std::min(piece, job.units % job.pieces);
  int64_t count = job.units / job.pieces + (piece < job.units % job.pieces ? 1 : 0);
  if (count > 0) {
    job.body(job.argument, begin, begin + count);
  }
}

void ThreadPool::run(int64_t units, int64_t grain, RangeBody body, void *argument) {
  int64_t pieces = std::min<int64_t>(size(), (units + grain - 1) / std::max<int64_t>(grain, 1));
  if (pieces <= 1 || !callLock.try_lock()) {
    body(argument, 0, units);
    return;
  }
  std::lock_guard<std::mutex> call(callLock, std::adopt_lock);
  {
    std::lock_guard<std::mutex> guard(lock);
    job = {units, pieces, body, argument};
    running = static_cast<unsigned>(workers.size());
    ++generation;
  }
  wake.notify_all();
  runPiece(job, 0);
  std::unique_lock<std::mutex> guard(lock);
  done.wait(guard, [this] { return running == 0; });
}

void ThreadPool::work(unsigned number) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> guard(lock);
  while (true) {
    wake.wait(guard, [&] { return stopping || generation != seen; });
    if (stopping) {
      return;
    }
    seen = generation;
    Job mine = job;
    guard.unlock();
    if (number < mine.pieces) {
      runPiece(mine, number);
    }
    guard.lock();
    if (--running == 0) {
      done.notify_one();
    }
  }
}

} // namespace frit
