// The table that a GPU kernel over a list takes as its only parameter, by value. It has words of 8
// bytes: for each item the number of its first block, then addresses, ints and floats in the order
// of KernelAbi.h. A block finds its item by the first blocks. So items without blocks are left out,
// and unused entries begin at a block number that no grid reaches.

#pragma once

#include "runtime/plan/Host.h"

#include <bit>
#include <limits>
#include <vector>

namespace frit {

class ListTable {
public:
  /// `items`: the most items that fit; `pointers`: the addresses that the kernel should use.
  ListTable(const KernelArguments &arguments, uint32_t items, void *const *pointers) {
    const LaunchSite &site = *arguments.site;
    size_t tensors = site.tensors.size() / site.items, ints = site.ints.size() / site.items,
           floats = site.floats.size() / site.items;
    size_t words = 1 + tensors + ints + floats;
    table.reserve(items * words);
    for (size_t item = 0; item < site.items; ++item) {
      int64_t blocks = arguments.registers[arguments.variant->launches[item][0]];
      if (blocks <= 0 || total > kNoBlock) {
        continue;
      }
      table.push_back(total);
      for (size_t at = item * tensors; at < (item + 1) * tensors; ++at) {
        table.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointers[at])));
      }
      table.insert(table.end(), arguments.ints + item * ints, arguments.ints + (item + 1) * ints);
      for (size_t at = item * floats; at < (item + 1) * floats; ++at) {
        table.push_back(std::bit_cast<int64_t>(arguments.floats[at]));
      }
      total = blocks > kNoBlock - total ? kNoBlock + 1 : total + blocks;
    }
    for (size_t at = table.size(); at < items * words; ++at) {
      table.push_back(at % words == 0 ? kNoBlock : 0);
    }
  }

  /// The blocks of all items; 2^31, which exceeds any grid, means that many or more.
  int64_t blocks() const { return total; }
  int64_t *words() { return table.data(); }
  size_t size() const { return table.size(); }

private:
  static constexpr int64_t kNoBlock = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> table;
  int64_t total = 0;
};

} // namespace frit
