#pragma once

#include "kernel/KernelProgram.h"

#include "mlir/IR/Builders.h"

/// Emits nodes of a KernelProgram at given indices, for one lane or several.
///
/// A schedule makes the loops. In each loop it opens a `Frame` that binds domain dims to index
/// values, then requests nodes. Frames nest: a node that depends on no dim of the inner frame is
/// looked up in the outer ones first, so values that `hoist` emitted before a loop are not emitted
/// again inside it. Values that do not vary along the lane dim stay scalar and are splatted where a
/// vector is needed.
///
/// The output consists of arith, math, scf and plain `llvm` operations (loads, stores,
/// insertelement, shufflevector), without memrefs or the vector dialect. EmitterTarget hides all
/// differences between targets.
namespace mlir::frit {

/// The addresses of the lanes of an access.
enum class AccessShape {
  /// One element for all lanes.
  Uniform,
  /// Lane i at offset + i.
  Contiguous,
  /// Lane i at offset + i * stride.
  Strided,
  /// Lane i at offset[i].
  Gathered
};

struct Access {
  /// Argument number, or result number if `isResult`.
  unsigned tensor = 0;
  bool isResult = false;
  /// Element type (i1: one byte).
  Type element;
  unsigned lanes = 1;
  AccessShape shape = AccessShape::Uniform;
  /// The address of the first element, as an expression over the domain.
  SizeExpr address;
  /// In elements, of the target's index type; a vector if Gathered.
  Value offset;
  /// Strided: distance of lanes, of the index type.
  Value stride;
  /// Lanes that may be accessed: i1 or vector of i1, null for all. A Uniform access of several
  /// lanes has a scalar mask.
  Value mask;
  /// An i1 that implies that the whole mask is set; may be null.
  Value whole;
};

class EmitterTarget {
public:
  virtual ~EmitterTarget();

  /// The integer type of addresses and indices: i64, or i32 under a guard.
  virtual Type getIndexType() = 0;
  /// Whether a scalar is splatted at its definition instead of at its first use as a vector. The
  /// splat is then outside of the loops, for targets that do not hoist it themselves.
  virtual bool splatsAtDefinition() { return false; }
  /// Whether quotients of neighbouring lanes by an unknown size are computed incrementally from the
  /// first lane's. For targets where a division takes many instructions and each lane has a
  /// register of its own.
  virtual bool countsQuotients() { return false; }
  /// The value of a kernel parameter in the index type.
  virtual Value getParameter(OpBuilder &builder, StringRef name) = 0;
  /// A host scalar in its own type.
  virtual Value getScalar(OpBuilder &builder, unsigned argument) = 0;
  /// Returns a scalar (lanes == 1 or Uniform) or a vector of `access.lanes` elements; lanes outside
  /// of the mask are undefined.
  virtual Value load(OpBuilder &builder, Location loc, const Access &access) = 0;
  /// Writes a scalar or vector; lanes outside of the mask are not written.
  virtual void store(OpBuilder &builder, Location loc, const Access &access, Value value) = 0;
  /// Loads groups of `members` neighbouring elements, one group per lane, starting with the first
  /// lane's. Returns a vector for each member; empty if the target prefers separate loads.
  virtual SmallVector<Value> loadGroups(OpBuilder &builder, Location loc, const Access &access,
                                        unsigned members);
  /// The same for stores; false if the target prefers separate ones.
  virtual bool storeGroups(OpBuilder &builder, Location loc, const Access &access,
                           ValueRange members);
  /// Emits the target's own form of `op` on operands that are scalars or vectors of one length;
  /// null if the operation should be emitted unchanged.
  virtual Value apply(OpBuilder &builder, Operation *op, ValueRange operands, Type resultType) = 0;
  /// Records an error where `failed` (i1 or vector of i1) holds in some lane. `index` (i64, same
  /// shape; may be null) is the value at fault.
  virtual void fail(OpBuilder &builder, Location loc, Value failed, ErrorCode code,
                    unsigned dimension, Value index, Value size) = 0;
};

/// The index values of a loop body and the values emitted in it.
struct Frame {
  explicit Frame(Frame *outer = nullptr);

  Frame *outer;
  /// The value of each domain dim (the first lane's for the lane dim), or null.
  SmallVector<Value> dims;
  /// Dims bound in this frame, not in an outer one.
  uint32_t bound = 0;
  std::optional<unsigned> laneDim;
  unsigned lanes = 1;
  /// The first lane's position along the lane dim is a multiple of `lanes`, so bounds at such
  /// multiples hold for all lanes or for none.
  bool isAtMultiple = false;
  /// Lanes inside of the domain: i1 or vector of i1; null for all.
  Value mask;
  /// An i1 that holds if all lanes are inside of the domain; null if that is not known.
  Value whole;
  /// Nodes emitted in this frame (Reduce nodes are supplied by the schedule).
  llvm::DenseMap<unsigned, Value> values;
  /// Values of expressions: of the first lane (0) or as vectors (1). A schedule may supply
  /// quotients.
  llvm::DenseMap<std::pair<unsigned, Attribute>, Value> indices;
  /// Check nodes: the lanes whose index is in range.
  llvm::DenseMap<unsigned, Value> valid;
  llvm::DenseMap<Value, Value> splats;
  /// Members of groups loaded here, by operand and base address.
  llvm::DenseMap<std::pair<unsigned, Attribute>, SmallVector<Value>> groups;

  void bind(unsigned dim, Value value);
  /// Binds a dim that varies over `lanes` lanes, starting at `first`.
  void bindLanes(unsigned dim, Value first, unsigned lanes, Value mask);
};

class Emitter {
public:
  Emitter(const KernelProgram &program, EmitterTarget &target, OpBuilder &builder);

  OpBuilder &getBuilder() { return builder; }
  EmitterTarget &getTarget() { return target; }

  /// The value of a node in a frame: a scalar if it is the same in all lanes.
  /// Every Reduce that it reads must have been supplied (`frame.values[id]`).
  Value value(Frame &frame, unsigned node);
  /// The value of a node as a vector of `frame.lanes` (a scalar for one lane).
  Value lanes(Frame &frame, unsigned node);
  /// Emits, in this frame, every node below `roots` that depends only on dims
  /// bound here or outside, and whose reductions are supplied. Call it at the
  /// end of a frame's straight-line part, before opening an inner loop.
  void hoist(Frame &frame, ArrayRef<unsigned> roots);
  /// Writes a result. Lanes outside of the frame's mask are not written.
  void store(Frame &frame, const Store &store, Value value);
  /// Computes and writes several results; members of one group are written together.
  void storeAll(Frame &frame, ArrayRef<Store> stores);
  /// The values of several stores, and the stores of values.
  SmallVector<Value> compute(Frame &frame, ArrayRef<Store> stores);
  void store(Frame &frame, ArrayRef<Store> stores, ArrayRef<Value> values);
  /// Computes all values before the first store, which loads could otherwise not be moved across.
  void computeThenStore(Frame &frame, ArrayRef<Store> stores) {
    store(frame, stores, compute(frame, stores));
  }

  /// A size expression over dims and parameters, as a scalar of the index type
  /// (first lane) or, if it varies along the lanes, as a vector.
  Value index(Frame &frame, SizeExpr expr);
  /// The same, first lane only.
  Value firstLane(Frame &frame, SizeExpr expr);
  /// The conjunction of bounds: null (always true), i1, or vector of i1.
  Value bounds(Frame &frame, ArrayRef<Bound> bounds);

  /// Scalar to vector; returns vectors, and scalars for one lane, unchanged.
  Value splat(Frame &frame, Value value);
  Value splat(Location loc, Value value, unsigned lanes);
  /// a and b of any shape (null: true).
  Value conjunction(Location loc, Value a, Value b, unsigned lanes);

  /// Splits an index over [0, product of extents) into the dims [begin, end) of the domain and
  /// binds them.
  void bindLinear(Frame &frame, Value linear, unsigned begin, unsigned end);
  /// The same for dims in any order, outermost first.
  void bindLinear(Frame &frame, Value linear, ArrayRef<unsigned> dims);

private:
  Value find(Frame &frame, unsigned node);
  bool agrees(Frame &frame, SizeExpr shifted, SizeExpr extent);
  /// Whether an expression differs between the lanes of a frame.
  bool varies(Frame &frame, SizeExpr expr);
  Value emit(Frame &frame, unsigned node);
  Value emitRandom(Frame &frame, const Node &node);
  Value emitSegmentSum(Frame &frame, const Node &node);
  /// The sum over one segment, whose bounds are scalars that count where `active` (null: always).
  Value sumSegment(Frame &frame, const Node &node, Value begin, Value end, Value active);
  Value emitLoad(Frame &frame, const Node &node);
  Value emitGroupMember(Frame &frame, const Node &node);
  bool storeGroup(Frame &frame, ArrayRef<Store> stores);
  Value emitCheck(Frame &frame, unsigned id, const Node &node);
  Value emitApply(Frame &frame, const Node &node);
  Value emitDivision(Frame &frame, const Node &node, SmallVectorImpl<Value> &operands, Type type);
  Access makeAccess(Frame &frame, SizeExpr address, const Node *node);
  bool countsLanes(Frame &frame, SizeExpr expr);
  Value quotient(Frame &frame, SizeExpr expr, SizeExpr left, SizeExpr right, bool asVector);
  Value polynomial(Frame &frame, SizeExpr expr, ArrayRef<Value> values, bool asVector);
  Value constant(Location loc, Type type, int64_t value);
  /// Floor or ceiling of a / b, without overflow.
  Value roundedDivision(Location loc, Value a, Value b, bool ceil);

  const KernelProgram &program;
  EmitterTarget &target;
  OpBuilder &builder;
};

/// Reinterprets the bits as another type; a pair of opposite casts cancels out. Targets without
/// registers for half types must not pass them between blocks or lanes as such.
Value emitBitcast(OpBuilder &builder, Location loc, Type type, Value value);

/// The vector type of `lanes` elements; the element type itself for one.
Type getLanesType(Type element, unsigned lanes);

} // namespace mlir::frit
