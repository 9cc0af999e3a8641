// Arrays of structures: wide loads and stores whose members are separated and joined by shuffles.
// Sixteen boxes of four coordinates take four loads and a dozen shuffles, instead of the sixty-four
// loads of four gathers.
#include "codegen/cpu/CpuFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::frit;

/// Loads one member, lane by lane.
Value CpuFunction::loadMember(Location loc, const Access &access, unsigned member,
                              unsigned members) {
  Access one = access;
  one.shape = AccessShape::Strided;
  one.offset = arith::AddIOp::create(builder, loc, access.offset, i64(member));
  one.stride = i64(members);
  return load(builder, loc, one);
}

/// Whether members can be shuffled. Not booleans and half types, whose form in memory differs.
static bool canShuffle(const Access &access) {
  Type element = access.element;
  return (!access.mask || access.whole) &&
         (element.isF32() || element.isF64() ||
          (element.isInteger() && element.getIntOrFloatBitWidth() >= 8));
}

SmallVector<Value> CpuFunction::loadGroups(OpBuilder &, Location loc, const Access &access,
                                           unsigned members) {
  if (!canShuffle(access)) {
    return {};
  }
  unsigned lanes = access.lanes;
  SmallVector<Type> types(members, getLanesType(access.element, lanes));
  auto wide = [&]() {
    Value base =
        address(access.isResult ? resultPointers[access.tensor] : operandPointers[access.tensor],
                access.element, access.offset);
    Value all = loadVector(loc, base, access.element, lanes * members, Value());
    SmallVector<Value> parts;
    for (unsigned member = 0; member < members; ++member) {
      SmallVector<int32_t> pick;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        pick.push_back(lane * members + member);
      }
      parts.push_back(LLVM::ShuffleVectorOp::create(builder, loc, all, all, pick));
    }
    return parts;
  };
  if (!access.mask) {
    return wide();
  }
  auto branch = scf::IfOp::create(builder, loc, types, access.whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(builder, loc, wide());
  builder.setInsertionPointToEnd(branch.elseBlock());
  SmallVector<Value> single;
  for (unsigned member = 0; member < members; ++member) {
    single.push_back(loadMember(loc, access, member, members));
  }
  scf::YieldOp::create(builder, loc, single);
  return SmallVector<Value>(branch.getResults());
}

bool CpuFunction::storeGroups(OpBuilder &, Location loc, const Access &access, ValueRange members) {
  if (!canShuffle(access)) {
    return false;
  }
  unsigned lanes = access.lanes, count = members.size();
  auto join = [&](Value a, Value b, unsigned length) -> Value {
    return LLVM::ShuffleVectorOp::create(builder, loc, a, b,
                                         llvm::to_vector(llvm::seq<int32_t>(0, length)));
  };
  auto wide = [&]() {
    SmallVector<Value> parts(members);
    Value low = parts[0], high = parts[1];
    if (count > 2) {
      low = join(parts[0], parts[1], 2 * lanes);
      high = join(parts[2], parts[count - 1], 2 * lanes);
    }
    SmallVector<int32_t> order;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (unsigned member = 0; member < count; ++member) {
        order.push_back(member * lanes + lane);
      }
    }
    Value all = LLVM::ShuffleVectorOp::create(builder, loc, low, high, order);
    Access whole = access;
    whole.mask = whole.whole = Value();
    storeVector(loc, address(resultPointers[access.tensor], access.element, access.offset),
                access.element, all, Value(), isStreaming(whole));
  };
  if (!access.mask) {
    wide();
    return true;
  }
  auto branch = scf::IfOp::create(builder, loc, access.whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  wide();
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  for (auto [member, value] : llvm::enumerate(members)) {
    Access one = access;
    one.shape = AccessShape::Strided;
    one.offset = arith::AddIOp::create(builder, loc, access.offset, i64(member));
    one.stride = i64(count);
    store(builder, loc, one, value);
  }
  return true;
}
