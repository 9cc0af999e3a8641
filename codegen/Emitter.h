#pragma once

#include "kernel/KernelProgram.h"

#include "mlir/IR/Builders.h"

/// Emits nodes of a KernelProgram at given indices, for one lane or several.
///
/// A schedule makes loops; in each loop it opens a `Frame` that binds domain
/// dims to index values, then asks for nodes. Frames nest: a node that depends
/// on no dim of the inner frame is looked for in the outer ones first, so what
/// `hoist` emitted before a loop is not repeated in it. Values that do not vary
/// along the lane dim stay scalar and are splatted where a vector is needed.
///
/// What is emitted is arith, math, scf and plain `llvm` operations (loads,
/// stores, insertelement, shufflevector): no memrefs, no vector dialect. All a
/// target differs in is behind EmitterTarget.
namespace mlir::frit {

/// How the lanes of an access lie in memory.
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
  /// Of the first element, as an expression over the domain.
  SizeExpr address;
  /// In elements, of the target's index type; a vector if Gathered.
  Value offset;
  /// Strided: distance of lanes, of the index type.
  Value stride;
  /// Lanes that may be touched: i1 or vector of i1, null for all. A Uniform
  /// access of several lanes has a scalar mask.
  Value mask;
  /// An i1 that implies that the whole mask is set; may be null.
  Value whole;
};

class EmitterTarget {
public:
  virtual ~EmitterTarget();

  /// The integer type of addresses and indices: i64, or i32 under a guard.
  virtual Type getIndexType() = 0;
  /// Whether a splat is made where its scalar is, not where a vector is first needed: before the
  /// loops, that is, for targets that move nothing out of loops themselves.
  virtual bool splatsAtDefinition() { return false; }
  /// Whether quotients of neighbouring lanes by a size that is not known are counted on from the
  /// first lane's, one after the other: for targets that divide by many instructions, and have a
  /// lane's number in a register of its own.
  virtual bool countsQuotients() { return false; }
  /// The value of a kernel parameter in the index type.
  virtual Value getParameter(OpBuilder &builder, StringRef name) = 0;
  /// A host scalar in its own type.
  virtual Value getScalar(OpBuilder &builder, unsigned argument) = 0;
  /// A scalar (lanes == 1 or Uniform) or a vector of `access.lanes` elements;
  /// lanes outside of the mask hold anything.
  virtual Value load(OpBuilder &builder, Location loc, const Access &access) = 0;
  virtual void store(OpBuilder &builder, Location loc, const Access &access, Value value) = 0;
  /// Groups of `members` neighbours, one a lane, from the first lane's group on: a vector
  /// for each member. Empty if the target would rather load each member by itself.
  virtual SmallVector<Value> loadGroups(OpBuilder &builder, Location loc, const Access &access,
                                        unsigned members);
  /// The same for stores; false if the target would rather store each by itself.
  virtual bool storeGroups(OpBuilder &builder, Location loc, const Access &access,
                           ValueRange members);
  /// `op` on operands that are scalars or vectors of one length, if the target
  /// has its own form of it; null to repeat the operation as it is.
  virtual Value apply(OpBuilder &builder, Operation *op, ValueRange operands, Type resultType) = 0;
  /// Records an error where `failed` (i1 or vector of i1) holds in some lane;
  /// `index` (i64, same shape; may be null) is what was wrong.
  virtual void fail(OpBuilder &builder, Location loc, Value failed, ErrorCode code,
                    unsigned dimension, Value index, Value size) = 0;
};

/// Index values of a loop body and what was emitted in it.
struct Frame {
  explicit Frame(Frame *outer = nullptr);

  Frame *outer;
  /// Per domain dim, its value (the first lane's for the lane dim) or null.
  SmallVector<Value> dims;
  /// Dims bound in this frame, not in an outer one.
  uint32_t bound = 0;
  std::optional<unsigned> laneDim;
  unsigned lanes = 1;
  /// The first lane's position along the lane dim is a multiple of `lanes`: bounds that are such
  /// multiples then hold for all lanes or none.
  bool isAtMultiple = false;
  /// Lanes inside of the domain: i1 or vector of i1; null for all.
  Value mask;
  /// An i1 that holds if all lanes are inside of the domain; null if that is not known.
  Value whole;
  /// Nodes emitted (or, for Reduce nodes, supplied by the schedule) here.
  llvm::DenseMap<unsigned, Value> values;
  /// Expressions, first lane's or (1) as vectors; a schedule may supply quotients.
  llvm::DenseMap<std::pair<unsigned, Attribute>, Value> indices;
  /// Check nodes: the lanes whose index is in range.
  llvm::DenseMap<unsigned, Value> valid;
  llvm::DenseMap<Value, Value> splats;
  /// Members of groups loaded here, by operand and base address.
  llvm::DenseMap<std::pair<unsigned, Attribute>, SmallVector<Value>> groups;

  void bind(unsigned dim, Value value);
  /// The dim varies over `lanes` lanes, from `first` on.
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

  /// A size expression over dims and parameters, as a scalar of the index type
  /// (first lane) or, if it varies along the lanes, as a vector.
  Value index(Frame &frame, SizeExpr expr);
  /// The same, first lane only.
  Value firstLane(Frame &frame, SizeExpr expr);
  /// Conjunction of bounds: null (always), i1, or vector of i1.
  Value bounds(Frame &frame, ArrayRef<Bound> bounds);

  /// Scalar to vector; identity on vectors and for one lane.
  Value splat(Frame &frame, Value value);
  Value splat(Location loc, Value value, unsigned lanes);
  /// a and b of any shape (null: true).
  Value conjunction(Location loc, Value a, Value b, unsigned lanes);

  /// Divides an index over [0, extent of dims) into dims [begin, end) of the
  /// domain and binds them.
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
  /// Floor or ceiling of a / b, which does not overflow.
  Value roundedDivision(Location loc, Value a, Value b, bool ceil);

  const KernelProgram &program;
  EmitterTarget &target;
  OpBuilder &builder;
};

/// The same bits as another type. Two in a row are none: values of half types must not
/// cross blocks or lanes as such, for targets without registers for them.
Value emitBitcast(OpBuilder &builder, Location loc, Type type, Value value);

/// The type of `lanes` elements: the element itself for one.
Type getLanesType(Type element, unsigned lanes);

} // namespace mlir::frit
