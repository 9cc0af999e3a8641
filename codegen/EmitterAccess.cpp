// Loads and stores: the address pattern along the lanes, the mask, and accesses that are combined
// to groups.
#include "codegen/Emitter.h"

using namespace mlir;
using namespace mlir::frit;

Access Emitter::makeAccess(Frame &frame, SizeExpr address, const Node *node) {
  Access access;
  Location loc = program.getKernel().getLoc();
  access.address = address;
  access.lanes = frame.lanes;
  Value mask = frame.mask;
  if (node) {
    Value inside = bounds(frame, node->bounds);
    for (unsigned operand : node->operands) {
      for (Frame *f = &frame; f; f = f->outer) {
        if (auto it = f->valid.find(operand); it != f->valid.end()) {
          inside = conjunction(loc, inside, it->second, frame.lanes);
          break;
        }
      }
    }
    bool uniform = !varies(frame, address);
    if (uniform && frame.lanes > 1) {
      if (!inside || !isa<VectorType>(inside.getType())) {
        access.lanes = 1;
        access.offset = firstLane(frame, address);
        access.mask = inside;
        return access;
      }
      access.shape = AccessShape::Gathered;
      access.offset = splat(frame, firstLane(frame, address));
      access.mask = conjunction(loc, mask, inside, frame.lanes);
      return access;
    }
    mask = conjunction(loc, mask, inside, frame.lanes);
  }
  access.mask = mask;
  access.whole = mask == frame.mask ? frame.whole : Value();
  if (!varies(frame, address)) {
    access.lanes = 1;
    access.offset = firstLane(frame, address);
    if (frame.lanes > 1) {
      access.mask = Value();
    }
    return access;
  }
  if (access.mask) {
    access.mask = splat(loc, access.mask, frame.lanes);
  }
  auto stride = program.getStride(address, *frame.laneDim);
  if (stride && !varies(frame, *stride) &&
      !varies(frame, address - *stride * SizeExpr::dim(program.getContext(), *frame.laneDim))) {
    access.offset = firstLane(frame, address);
    if (stride->isConstant(1)) {
      access.shape = AccessShape::Contiguous;
    } else {
      access.shape = AccessShape::Strided;
      access.stride = firstLane(frame, *stride);
    }
    return access;
  }
  access.shape = AccessShape::Gathered;
  access.offset = splat(frame, index(frame, address));
  return access;
}

/// Returns a member of a group, which is loaded together with the others by wide loads.
Value Emitter::emitGroupMember(Frame &frame, const Node &node) {
  if (!frame.laneDim || frame.lanes == 1 || !node.bounds.empty() || !node.operands.empty()) {
    return Value();
  }
  auto group = program.getGroup(node.expr, *frame.laneDim, node.argument, /*isResult=*/false);
  if (!group) {
    return Value();
  }
  auto key = std::pair<unsigned, Attribute>(node.argument, group->base.getAttr());
  for (Frame *f = &frame; f && f->laneDim == frame.laneDim; f = f->outer) {
    if (auto it = f->groups.find(key); it != f->groups.end()) {
      return it->second.empty() ? Value() : it->second[group->member];
    }
  }
  Access access = makeAccess(frame, group->base, &node);
  access.tensor = node.argument;
  access.element = node.type;
  SmallVector<Value> members = target.loadGroups(builder, node.loc, access, group->size);
  Value result = members.empty() ? Value() : members[group->member];
  frame.groups[key] = std::move(members);
  return result;
}

Value Emitter::emitLoad(Frame &frame, const Node &node) {
  if (Value member = emitGroupMember(frame, node)) {
    return member;
  }
  Access access = makeAccess(frame, node.expr, &node);
  access.tensor = node.argument;
  access.element = node.type;
  return target.load(builder, node.loc, access);
}

void Emitter::store(Frame &frame, const Store &store, Value value) {
  Access access = makeAccess(frame, store.address, nullptr);
  access.tensor = store.result;
  access.isResult = true;
  access.element = program[store.node].type;
  if (access.shape != AccessShape::Uniform) {
    value = splat(frame, value);
  }
  target.store(builder, program[store.node].loc, access, value);
}

/// Writes the stores together if they are all members of one group.
bool Emitter::storeGroup(Frame &frame, ArrayRef<Store> stores) {
  if (!frame.laneDim || frame.lanes == 1) {
    return false;
  }
  SmallVector<Value> values;
  std::optional<Group> first;
  for (auto [i, store] : llvm::enumerate(stores)) {
    auto group = program.getGroup(store.address, *frame.laneDim, store.result, /*isResult=*/true);
    if (!group || group->member != i || group->size != stores.size() ||
        (first && first->base != group->base)) {
      return false;
    }
    first = group;
  }
  for (const Store &store : stores) {
    values.push_back(lanes(frame, store.node));
  }
  Access access = makeAccess(frame, first->base, nullptr);
  access.tensor = stores[0].result;
  access.isResult = true;
  access.element = program[stores[0].node].type;
  if (!target.storeGroups(builder, program[stores[0].node].loc, access, values)) {
    for (auto [one, value] : llvm::zip(stores, values)) {
      store(frame, one, value);
    }
  }
  return true;
}

SmallVector<Value> Emitter::compute(Frame &frame, ArrayRef<Store> stores) {
  return llvm::map_to_vector(stores, [&](const Store &store) { return value(frame, store.node); });
}

void Emitter::store(Frame &frame, ArrayRef<Store> stores, ArrayRef<Value> values) {
  for (auto [one, value] : llvm::zip_equal(stores, values)) {
    store(frame, one, value);
  }
}

void Emitter::storeAll(Frame &frame, ArrayRef<Store> stores) {
  while (!stores.empty()) {
    ArrayRef<Store> same =
        stores.take_while([&](const Store &store) { return store.result == stores[0].result; });
    if (same.size() == 1 || !storeGroup(frame, same)) {
      for (const Store &one : same) {
        store(frame, one, value(frame, one.node));
      }
    }
    stores = stores.drop_front(same.size());
  }
}
