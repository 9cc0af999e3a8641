#include "runtime/simt/SimtGrid.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/simt/ApproximateMath.h"
#include "runtime/simt/Exchange.h"
#include "runtime/simt/Fibre.h"
#include "runtime/simt/Stacks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace frit {

namespace {

constexpr uint32_t kMaxThreads = 1024, kMaxCluster = 8;
/// Each accessed byte needs about thirty bytes of state.
constexpr uint64_t kMaxBytes = uint64_t(128) << 20;

enum class Where { Running, Barrier, ClusterBarrier, Shuffle, Exchange, Returned };

struct Thread {
  Fibre fibre;
  SimtContext context;
  class Block *block;
  Where where = Where::Running;
  int32_t site = 0;
  uint32_t value = 0;
  int32_t mode = 0, operand = 0, width = 0;
  /// The barrier object at which it waits.
  const void *object = nullptr;
};

std::string triple(const int32_t values[3]) {
  return "(" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
         std::to_string(values[2]) + ")";
}

/// The blocks of a cluster, which run at the same time.
struct Partners {
  std::vector<std::unique_ptr<class Block>> blocks;
  /// The epoch that began with their last cluster barrier; 1 before the first.
  uint32_t commonEpoch = 1;
  std::string error;
  ErrorKind errorKind = ErrorKind::Runtime;
};

class Block {
public:
  Block(const SimtLaunch &launch, SimtMemory &memory, const Stacks &stacks, Partners &partners,
        uint32_t member)
      : launch(launch), memory(memory), stacks(stacks), partners(partners), member(member),
        count(launch.block[0] * launch.block[1] * launch.block[2]),
        threads(std::make_unique<Thread[]>(count)) {}

  void begin(const SimtContext &common, uint32_t number, const int32_t blockId[3]);
  /// Runs all threads that can continue until they wait, and completes shuffles and barriers of the
  /// block; false if there was nothing to do.
  bool advance();
  bool hasReturned() const { return areAll(Where::Returned); }
  bool waitsForPartners() const { return areAll(Where::ClusterBarrier); }
  int32_t site() const { return threads[0].site; }
  void passClusterBarrier(uint32_t next);
  uint32_t getEpoch() const { return epoch; }
  /// Describes which threads wait where, if they differ; empty otherwise.
  std::string divergence() const;
  /// The same for two blocks whose threads agree among themselves.
  std::string divergence(const Block &other) const;

  void access(Thread &thread, const void *address, int64_t bytes, int32_t flags) {
    SimtActor actor{number + 1,
                    index(thread),
                    epoch,
                    number + 1 - member,
                    static_cast<uint32_t>(partners.blocks.size()),
                    partners.commonEpoch};
    if (flags & kSimtShared) {
      checkOwner(thread, memory.ownerOf(address).value_or(member));
    }
    std::string wrong =
        memory.access(actor, address, bytes, flags & kSimtStore, flags & kSimtShared);
    if (!wrong.empty()) {
      stop(thread, wrong);
    }
  }
  void expect(Thread &thread, const void *object, uint64_t bytes) {
    if (memory.ownerOf(object) != member ||
        !exchanges.try_emplace(object, Exchange{bytes}).second) {
      stop(thread, "makes a barrier object twice, or outside of the block's shared memory");
    }
  }
  void send(Thread &thread, void *address, uint64_t value, uint64_t bytes, const void *object) {
    uint32_t owner = memory.ownerOf(object).value_or(member);
    checkOwner(thread, owner);
    Block &receiver = *partners.blocks[owner];
    auto found = receiver.exchanges.find(object);
    if (memory.ownerOf(address) != owner || found == receiver.exchanges.end()) {
      stop(thread, "sends to an address that is not beside its barrier object");
    }
    Exchange &exchange = found->second;
    exchange.received += bytes;
    exchange.sent.push_back({address, value, bytes});
    if (exchange.received > exchange.expected) {
      stop(thread, "sends more bytes than the " + std::to_string(exchange.expected) +
                       " that the barrier object waits for");
    }
  }
  void await(Thread &thread, const void *object, int32_t site) {
    if (!exchanges.contains(object)) {
      stop(thread, "waits at a barrier object that has not been made");
    }
    thread.object = object;
    wait(thread, Where::Exchange, site);
  }
  void *mapShared(Thread &thread, void *address, int32_t block) {
    if (block < 0 || block >= static_cast<int32_t>(partners.blocks.size())) {
      stop(thread, "the shared memory of block " + std::to_string(block) + " of a cluster of " +
                       std::to_string(partners.blocks.size()));
    }
    auto *own = static_cast<uint8_t *>(shared);
    return static_cast<uint8_t *>(partners.blocks[static_cast<size_t>(block)]->shared) +
           (static_cast<uint8_t *>(address) - own);
  }
  void wait(Thread &thread, Where where, int32_t site) {
    thread.where = where;
    thread.site = site;
    thread.fibre.suspend();
  }
  /// Stops the block with an error; does not return.
  [[noreturn]] void stop(Thread &thread, const std::string &what) {
    end(place(thread) + ": " + what, ErrorKind::Runtime, thread);
  }
  /// The same for an error in the data, with eager's message.
  [[noreturn]] void end(const std::string &what, ErrorKind kind, Thread &thread) {
    partners.error = what;
    partners.errorKind = kind;
    for (;;) {
      thread.fibre.suspend();
    }
  }

private:
  bool areAll(Where where) const {
    return std::all_of(threads.get(), threads.get() + count, [&](const Thread &thread) {
      return thread.where == where && thread.site == threads[0].site;
    });
  }
  /// The shared memory of a block must not be accessed before it has started or after it has ended.
  void checkOwner(Thread &thread, uint32_t owner) {
    if (owner == member) {
      return;
    }
    std::string whose = "uses the shared memory of block " +
                        triple(partners.blocks[owner]->threads[0].context.blockId);
    if (partners.commonEpoch == 1) {
      stop(thread, whose + " before any barrier of the cluster: it may not have begun");
    }
    if (partners.blocks[owner]->hasReturned()) {
      stop(thread, whose + ", which has returned");
    }
  }
  uint32_t index(const Thread &thread) const {
    return static_cast<uint32_t>(&thread - threads.get());
  }
  std::string place(const Thread &thread) const {
    return "kernel " + launch.kernel + ", block " + triple(thread.context.blockId) + ", thread " +
           triple(thread.context.threadId);
  }
  std::string position(const Thread &thread) const;
  bool passBarrier();
  bool passShuffles();
  bool passExchanges();

  static void body(void *argument) {
    auto *thread = static_cast<Thread *>(argument);
    thread->block->launch.entry(&thread->context);
    for (;;) {
      thread->block->wait(*thread, Where::Returned, 0);
    }
  }

  const SimtLaunch &launch;
  SimtMemory &memory;
  const Stacks &stacks;
  Partners &partners;
  uint32_t member;
  uint32_t count;
  std::unique_ptr<Thread[]> threads;
  void *shared = nullptr;
  uint32_t number = 0, epoch = 0;
  std::map<const void *, Exchange> exchanges;
};

std::string Block::position(const Thread &thread) const {
  switch (thread.where) {
  case Where::Barrier:
    return "waits at barrier " + std::to_string(thread.site);
  case Where::ClusterBarrier:
    return "waits at cluster barrier " + std::to_string(thread.site);
  case Where::Shuffle:
    return "waits at shuffle " + std::to_string(thread.site);
  case Where::Exchange:
    return "waits for an exchange at barrier " + std::to_string(thread.site);
  case Where::Returned:
    return "has returned";
  case Where::Running:
    break;
  }
  return "runs";
}

bool Block::passBarrier() {
  for (uint32_t i = 0; i < count; ++i) {
    if (threads[i].where != Where::Barrier || threads[i].site != threads[0].site) {
      return false;
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    threads[i].where = Where::Running;
  }
  ++epoch;
  return true;
}

bool Block::passExchanges() {
  bool passed = false;
  for (uint32_t i = 0; i < count; ++i) {
    Thread &thread = threads[i];
    if (thread.where != Where::Exchange) {
      continue;
    }
    Exchange &exchange = exchanges[thread.object];
    if (exchange.received < exchange.expected) {
      continue;
    }
    for (const Exchange::Sent &one : exchange.sent) {
      // Epoch 0: behind every access of the cluster, which conflicts with any access before it.
      SimtActor actor{number + 1,
                      0,
                      0,
                      number + 1 - member,
                      static_cast<uint32_t>(partners.blocks.size()),
                      partners.commonEpoch};
      std::string wrong = memory.access(actor, one.address, one.bytes, true, true);
      if (!wrong.empty()) {
        partners.error = place(thread) + ": what was sent: " + wrong;
        return true;
      }
      std::memcpy(one.address, &one.value, one.bytes);
    }
    exchange.sent.clear();
    thread.where = Where::Running;
    passed = true;
  }
  return passed;
}

bool Block::passShuffles() {
  bool passed = false;
  for (uint32_t first = 0; first < count; first += kWarp) {
    uint32_t lanes = std::min(kWarp, count - first);
    Thread *warp = &threads[first];
    bool together = true;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      together &= warp[lane].where == Where::Shuffle && warp[lane].site == warp[0].site &&
                  warp[lane].width == warp[0].width;
    }
    if (!together) {
      continue;
    }
    uint32_t values[kWarp] = {};
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      values[lane] = warp[lane].value;
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      int32_t width = warp[lane].width, operand = warp[lane].operand;
      int32_t begin = static_cast<int32_t>(lane) / width * width,
              within = static_cast<int32_t>(lane) % width, source = within;
      switch (static_cast<SimtShuffle>(warp[lane].mode)) {
      case SimtShuffle::Xor:
        source = within ^ operand;
        break;
      case SimtShuffle::Up:
        source = within - operand;
        break;
      case SimtShuffle::Down:
        source = within + operand;
        break;
      case SimtShuffle::Index:
        source = operand;
        break;
      }
      bool exists = source >= 0 && source < width && begin + source < static_cast<int32_t>(lanes);
      warp[lane].value = values[exists ? begin + source : static_cast<int32_t>(lane)];
      warp[lane].where = Where::Running;
    }
    passed = true;
  }
  return passed;
}

std::string Block::divergence() const {
  uint32_t waiting = 0;
  while (waiting < count && threads[waiting].where == Where::Returned) {
    ++waiting;
  }
  if (waiting == count || waitsForPartners()) {
    return {};
  }
  const Thread &thread = threads[waiting];
  uint32_t begin = 0, end = count;
  if (thread.where == Where::Shuffle) {
    begin = waiting / kWarp * kWarp;
    end = std::min(begin + kWarp, count);
  }
  for (uint32_t i = begin; i < end; ++i) {
    if (threads[i].where != thread.where || threads[i].site != thread.site) {
      return place(thread) + " " + position(thread) + ", but thread " +
             triple(threads[i].context.threadId) + " " + position(threads[i]);
    }
  }
  return place(thread) + " " + position(thread) + " and cannot go on";
}

std::string Block::divergence(const Block &other) const {
  return place(threads[0]) + " " + position(threads[0]) + ", but block " +
         triple(other.threads[0].context.blockId) + " of its cluster " + position(other.threads[0]);
}

void Block::begin(const SimtContext &common, uint32_t blockNumber, const int32_t blockId[3]) {
  number = blockNumber;
  epoch = 1;
  exchanges.clear();
  shared = memory.openShared(launch.sharedBytes, member);
  for (uint32_t i = 0; i < count; ++i) {
    Thread &thread = threads[i];
    thread.block = this;
    thread.where = Where::Running;
    thread.site = 0;
    thread.context = common;
    thread.context.shared = shared;
    thread.context.thread = &thread;
    uint32_t id[3] = {i % launch.block[0], i / launch.block[0] % launch.block[1],
                      i / (launch.block[0] * launch.block[1])};
    for (int axis = 0; axis < 3; ++axis) {
      thread.context.threadId[axis] = static_cast<int32_t>(id[axis]);
      thread.context.blockId[axis] = blockId[axis];
      thread.context.blockDim[axis] = static_cast<int32_t>(launch.block[axis]);
      thread.context.gridDim[axis] = static_cast<int32_t>(launch.grid[axis]);
    }
    thread.fibre.start(stacks[member * count + i], kStackBytes, body, &thread);
  }
}

bool Block::advance() {
  bool any = false;
  for (;;) {
    for (uint32_t i = 0; i < count; ++i) {
      if (threads[i].where == Where::Running) {
        any = true;
        threads[i].fibre.resume();
        if (!partners.error.empty()) {
          return true;
        }
      }
    }
    bool passed = passExchanges();
    if (!partners.error.empty()) {
      return true;
    }
    if (!passed && !passShuffles() && !passBarrier()) {
      return any;
    }
  }
}

void Block::passClusterBarrier(uint32_t next) {
  epoch = next;
  for (uint32_t i = 0; i < count; ++i) {
    threads[i].where = Where::Running;
  }
}

/// Runs the started blocks of a cluster to their end. Returns an error or an empty string.
std::string runCluster(Partners &partners) {
  partners.commonEpoch = 1;
  const auto &blocks = partners.blocks;
  for (;;) {
    bool any = false;
    for (const auto &block : blocks) {
      any |= block->advance();
      if (!partners.error.empty()) {
        return partners.error;
      }
    }
    if (std::all_of(blocks.begin(), blocks.end(),
                    [](const auto &block) { return block->hasReturned(); })) {
      return {};
    }
    bool together = true;
    uint32_t next = 0;
    for (const auto &block : blocks) {
      together &= block->waitsForPartners() && block->site() == blocks[0]->site();
      next = std::max(next, block->getEpoch() + 1);
    }
    if (together) {
      partners.commonEpoch = next;
      for (const auto &block : blocks) {
        block->passClusterBarrier(next);
      }
      continue;
    }
    if (any) {
      continue;
    }
    for (const auto &block : blocks) {
      if (std::string wrong = block->divergence(); !wrong.empty()) {
        return wrong;
      }
    }
    auto waits = std::find_if(blocks.begin(), blocks.end(),
                              [](const auto &block) { return block->waitsForPartners(); });
    auto other = std::find_if(blocks.begin(), blocks.end(), [&](const auto &block) {
      return !block->waitsForPartners() || block->site() != (*waits)->site();
    });
    return (*waits)->divergence(**other);
  }
}

Thread &threadOf(const SimtContext *context) { return *static_cast<Thread *>(context->thread); }

const SimtOperations kOperations = {
    [](const SimtContext *context, const void *address, int64_t bytes, int32_t flags) {
      Thread &thread = threadOf(context);
      thread.block->access(thread, address, bytes, flags);
    },
    [](const SimtContext *context, int32_t site) {
      Thread &thread = threadOf(context);
      thread.block->wait(thread, Where::Barrier, site);
    },
    [](const SimtContext *context, uint32_t value, int32_t mode, int32_t operand, int32_t width,
       int32_t site) {
      Thread &thread = threadOf(context);
      thread.value = value;
      thread.mode = mode;
      thread.operand = operand;
      thread.width = width;
      thread.block->wait(thread, Where::Shuffle, site);
      return thread.value;
    },
    [](const SimtContext *context, int32_t code, int32_t dimension, int64_t index, int64_t size) {
      Thread &thread = threadOf(context);
      Status failure = kernelError({code, dimension, index, size});
      thread.block->end(failure.message(), failure.kind(), thread);
    },
    [](const SimtContext *context, int32_t site) {
      Thread &thread = threadOf(context);
      thread.block->wait(thread, Where::ClusterBarrier, site);
    },
    [](const SimtContext *context, void *address, int32_t block) {
      Thread &thread = threadOf(context);
      return thread.block->mapShared(thread, address, block);
    },
    [](const SimtContext *, int32_t instruction, float a, float b) {
      return approximate(static_cast<SimtApproximation>(instruction), a, b);
    },
    [](const SimtContext *context, void *object, int64_t bytes) {
      Thread &thread = threadOf(context);
      thread.block->expect(thread, object, static_cast<uint64_t>(bytes));
    },
    [](const SimtContext *context, void *address, int64_t value, int64_t bytes, void *object) {
      Thread &thread = threadOf(context);
      thread.block->send(thread, address, static_cast<uint64_t>(value),
                         static_cast<uint64_t>(bytes), object);
    },
    [](const SimtContext *context, void *object, int32_t site) {
      Thread &thread = threadOf(context);
      thread.block->await(thread, object, site);
    }};

Status runLaunch(const SimtLaunch &launch, SimtMemory &memory, const SimtContext &common) {
  uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads == 0 || threads > kMaxThreads) {
    return Status::error(ErrorKind::Runtime, "kernel " + launch.kernel + ": a block of " +
                                                 std::to_string(threads) +
                                                 " threads; a GPU takes 1 to 1024");
  }
  if (launch.cluster == 0 || launch.cluster > kMaxCluster || launch.grid[0] % launch.cluster != 0) {
    return Status::error(ErrorKind::Runtime, "kernel " + launch.kernel + ": a grid of " +
                                                 std::to_string(launch.grid[0]) +
                                                 " blocks in clusters of " +
                                                 std::to_string(launch.cluster) +
                                                 "; a GPU takes multiples, and clusters of 1 to 8");
  }
  Stacks stacks(static_cast<uint32_t>(threads) * launch.cluster);
  if (!stacks.isOk()) {
    return Status::error(ErrorKind::OutOfMemory,
                         "kernel " + launch.kernel + ": no memory for the stacks of a block");
  }
  memory.beginLaunch();
  Partners partners;
  for (uint32_t member = 0; member < launch.cluster; ++member) {
    partners.blocks.push_back(std::make_unique<Block>(launch, memory, stacks, partners, member));
  }
  uint32_t number = 0;
  for (uint32_t z = 0; z < launch.grid[2]; ++z) {
    for (uint32_t y = 0; y < launch.grid[1]; ++y) {
      for (uint32_t x = 0; x < launch.grid[0]; x += launch.cluster, number += launch.cluster) {
        for (uint32_t member = 0; member < launch.cluster; ++member) {
          int32_t id[3] = {static_cast<int32_t>(x + member), static_cast<int32_t>(y),
                           static_cast<int32_t>(z)};
          partners.blocks[member]->begin(common, number + member, id);
        }
        std::string wrong = runCluster(partners);
        if (!wrong.empty()) {
          return Status::error(partners.errorKind, wrong);
        }
      }
    }
  }
  return Status::ok();
}

} // namespace

Status runSimtKernel(const SimtArguments &arguments, const std::vector<SimtLaunch> &launches) {
  std::vector<SimtBuffer> buffers = arguments.buffers;
  uint64_t total = arguments.workspaceBytes;
  for (const SimtBuffer &buffer : buffers) {
    total += buffer.reach.value_or(buffer.bytes);
  }
  if (total > kMaxBytes) {
    return Status::error(ErrorKind::Unsupported,
                         "the buffers of a kernel span " + std::to_string(total) +
                             " bytes, the emulation takes " + std::to_string(kMaxBytes) +
                             "; run it on smaller tensors");
  }
  std::vector<uint8_t> workspace(arguments.workspace ? 0 : arguments.workspaceBytes + 256);
  if (arguments.workspaceBytes) {
    auto *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 255) &
                                             ~uintptr_t(255));
    bool isGiven = arguments.workspace != nullptr;
    buffers.push_back({"workspace", isGiven ? arguments.workspace : aligned,
                       arguments.workspaceBytes, true, isGiven, true});
  }
  SimtMemory memory;
  if (!memory.open(buffers)) {
    return Status::error(ErrorKind::OutOfMemory,
                         "no address range for the buffers of an emulated kernel");
  }
  std::vector<void *> pointers;
  for (size_t i = 0; i < arguments.buffers.size(); ++i) {
    pointers.push_back(memory.address(i));
  }
  std::vector<int64_t> table;
  if (arguments.makeTable) {
    table = arguments.makeTable(pointers.data());
    pointers = {table.data()};
  }
  SimtContext common{};
  common.pointers = pointers.data();
  common.ints = arguments.ints.data();
  common.floats = arguments.floats.data();
  common.workspace = arguments.workspaceBytes ? memory.address(buffers.size() - 1) : nullptr;
  common.operations = &kOperations;
  common.callbacks = arguments.callbacks;
  for (const SimtLaunch &launch : launches) {
    FRIT_RETURN_IF_ERROR(runLaunch(launch, memory, common));
  }
  memory.close();
  if (arguments.traffic) {
    *arguments.traffic = memory.getTraffic();
  }
  return Status::ok();
}

} // namespace frit
