// Walks an outlined graph: arguments, steps in order, results.

#include "compiler/PlanWriter.h"

#include "ir/DerivedSizes.h"
#include "ir/FritAttributes.h"
#include "ir/SourceLines.h"

#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/Raising.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

PlanWriter::PlanWriter(GraphOp graph, format::Target target, const Kernels &kernels,
                       SourceTable &sources, int64_t firstKept)
    : graph(graph), kernels(kernels), sources(sources), firstKept(firstKept), builder(target) {}

std::unique_ptr<format::PlanT> PlanWriter::write() {
  if (failed(bindSymbols()) || failed(writeInputs()) || failed(writeGuards()) ||
      failed(writeBody(graph.getBody().front()))) {
    return nullptr;
  }
  countPads();
  if (!unknownSymbol.empty()) {
    graph.emitError() << "cannot be planned: a size names the symbol '" << unknownSymbol
                      << "', which no argument defines";
    return nullptr;
  }
  return builder.take();
}

LogicalResult PlanWriter::bindSymbols() {
  findBuckets();
  Block &body = graph.getBody().front();
  // Inputs are numbered without the constants, which are bound at load.
  SmallVector<int> inputNumbers;
  for (int next = 0; BlockArgument argument : body.getArguments()) {
    inputNumbers.push_back(kArgumentConstantAttr.isOn(graph, argument.getArgNumber()) ? -1
                                                                                      : next++);
  }
  for (Attribute attribute : graph.getSymbols()) {
    auto symbol = cast<SymbolAttr>(attribute);
    if (!symbol.getBucketOf().empty()) {
      continue;
    }
    SizeExpr wanted = SizeExpr::symbol(graph.getContext(), symbol.getName());
    auto bound = std::make_unique<format::SymbolT>();
    bound->name = symbol.getName().str();
    bound->min = symbol.getMin();
    bound->max = symbol.getMax().value_or(std::numeric_limits<int64_t>::max());
    bound->hint = symbol.getHint().value_or(-1);
    bound->divisor = symbol.getDivisor();
    bool found = false;
    // Read from a size that is the symbol itself or, failing that, from one that determines it: an
    // export with `2 * Dim("n")` may have nothing else. Numbers are tried before dimensions.
    // Strides are last: those of dimensions with one element mean nothing.
    enum Place { Number, Dim, Stride };
    for (auto [derived, place] : {std::pair(false, Number),
                                  {false, Dim},
                                  {true, Number},
                                  {true, Dim},
                                  {false, Stride},
                                  {true, Stride}}) {
      auto look = [&](SizeExpr size, int number, int dim) {
        auto read = found || (!derived && size != wanted) ? std::nullopt
                                                          : splitDerived(size, symbol.getName());
        if (read) {
          found = true;
          bound->input = number;
          bound->dim = dim;
          bound->stride = place == Stride;
          std::tie(bound->scale, bound->offset) = *read;
        }
      };
      for (BlockArgument argument : body.getArguments()) {
        int number = inputNumbers[argument.getArgNumber()];
        auto size = kArgumentSizeAttr.get(graph, argument.getArgNumber());
        auto type = dyn_cast<RankedTensorType>(argument.getType());
        if (number >= 0 && place == Number && size) {
          look(size, number, -1);
        } else if (number >= 0 && place == Dim && type) {
          for (auto [dim, size] : llvm::enumerate(getSizes(type))) {
            look(size, number, dim);
          }
        } else if (number >= 0 && place == Stride && type) {
          LayoutAttr layout = getArgumentLayout(graph, argument.getArgNumber());
          for (auto [dim, stride] : llvm::enumerate(layout.getStrides())) {
            look(stride, number, dim);
          }
        }
      }
    }
    if (found) {
      bound->reg = builder.newInt();
      symbolRegisters[symbol.getName()] = bound->reg;
      builder.plan.symbols.push_back(std::move(bound));
    } else if (symbol.getUnbacked()) {
      // An operator defines it. (torch also calls a dimension of an argument unbacked if it must
      // not be specialised.)
      unbackedSymbols.insert(StringAttr::get(graph.getContext(), symbol.getName()));
    }
  }
  useAskedBuckets();
  return success();
}

unsigned PlanWriter::inputNumber(unsigned argument) {
  unsigned number = 0;
  for (unsigned i = 0; i != argument; ++i) {
    number += kArgumentConstantAttr.isOn(graph, i) ? 0 : 1;
  }
  return number;
}

/// Whether only calls through the dispatcher read a value; they accept any strides and devices.
static bool onlyCalled(Value value) {
  return llvm::all_of(value.getUsers(),
                      [](Operation *user) { return isa<AtenOp, ReturnOp>(user); });
}

LogicalResult PlanWriter::writeInputs() {
  int constantIndex = 0;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = kArgumentNameAttr.get(graph, number);
    auto input = std::make_unique<format::InputT>();
    input->name = name ? name.str() : "argument " + std::to_string(number);
    if (auto origin = kArgumentOriginAttr.get(graph, number)) {
      input->origin = origin.str();
    }
    Type type = argument.getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      auto dtype = kArgumentDtypeAttr.get(graph, number);
      uint32_t reg = newTensor(
          argument, dtypeOf(dtype ? dtype.getValue() : dtypeOfElement(tensor.getElementType())),
          getArgumentLayout(graph, number), argument);
      if (kArgumentConstantAttr.isOn(graph, number)) {
        auto constant = std::make_unique<format::ConstantT>();
        constant->name = input->name;
        constant->tensor = reg;
        if (auto weight = kArgumentWeightAttr.get(graph, number)) {
          constant->weight = weight.getInt();
        } else {
          constant->index = constantIndex++;
        }
        builder.plan.constants.push_back(std::move(constant));
        continue;
      }
      bool isScalar = tensor.getRank() == 0 &&
                      llvm::any_of(argument.getUsers(),
                                   [](Operation *user) { return isa<tensor::ExtractOp>(user); });
      input->kind = isScalar ? format::InputKind::ScalarTensor : format::InputKind::Tensor;
      if (isScalar) {
        bool isFloat = isa<FloatType>(tensor.getElementType());
        input->scalar = hostScalars[argument] = isFloat ? builder.newFloat() : builder.newInt();
      }
      input->reg = reg;
      input->only_called = onlyCalled(argument);
    } else if (isa<NoneType>(type)) {
      input->kind = format::InputKind::None;
    } else if (isa<FloatType>(type)) {
      input->kind = format::InputKind::Float;
      input->reg = floats[argument] = builder.newFloat();
    } else {
      input->kind = type.isInteger(1) ? format::InputKind::Bool : format::InputKind::Int;
      input->reg = ints[argument] = builder.newInt();
      if (auto size = kArgumentSizeAttr.get(graph, number)) {
        bool binds = llvm::any_of(builder.plan.symbols, [&](const auto &symbol) {
          return symbol->dim < 0 && symbol->input == builder.plan.inputs.size();
        });
        if (!binds && !isUnbacked(size)) {
          input->expected = sizeRegister(size);
        }
      }
    }
    builder.plan.inputs.push_back(std::move(input));
  }
  return success();
}

LogicalResult PlanWriter::writeBody(Block &block) {
  planLives(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(writeOp(op))) {
      return failure();
    }
    if (isa<BindOp>(op)) {
      checkKnownShapes();
    }
    freeAfter(&op);
  }
  if (failed(writeOutputs(cast<ReturnOp>(block.getTerminator())))) {
    return failure();
  }
  // All writes to inputs are known now.
  unsigned number = 0;
  for (BlockArgument argument : block.getArguments()) {
    if (!kArgumentConstantAttr.isOn(graph, argument.getArgNumber())) {
      builder.plan.inputs[number++]->mutated = mutated.contains(argument);
    }
  }
  return success();
}

LogicalResult PlanWriter::writeOp(Operation &op) {
  if (isView(&op)) {
    return writeView(op);
  }
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](LaunchOp launch) { return writeLaunch(launch); })
      .Case([&](AtenOp call) { return writeAten(call); })
      .Case([&](BindOp bind) { return writeBind(bind); })
      .Case([&](AliasOp alias) {
        SizeExpr offset = alias.getLayout().getOffset(),
                 start = tensors.find(alias.getBase())->second.layout.getOffset();
        // A base with another element type begins its storage.
        bool sameElements =
            getStoredBytes(alias.getBase().getType()) == getStoredBytes(alias.getType());
        addView(alias, alias.getBase(), dtypeOf(alias.getDtype()),
                withOffset(alias.getLayout(), sameElements ? start + offset : offset), offset);
        return success();
      })
      // Nothing reads the value that a `frit.require` keeps.
      .Case<NoneOp, RequireOp>([&](Operation *) { return success(); })
      .Case([&](GuardOp guard) {
        writeLateGuard(guard);
        return success();
      })
      .Case([&](SizeOp size) {
        ints[size.getResult()] = sizeRegister(size.getSize());
        return success();
      })
      .Case([&](StoreOp store) {
        if (store.getInPlace()) {
          return success();
        }
        auto &step = builder.step<format::CopyIntoT>();
        step.tensor = tensors.find(store.getTarget())->second.reg;
        step.source = tensors.find(store.getValue())->second.reg;
        mutated.insert(rootOf(store.getTarget()));
        return success();
      })
      .Case([&](tensor::FromElementsOp wrap) -> LogicalResult {
        if (wrap.getElements().size() != 1 || wrap.getType().getRank() != 0) {
          return error(op) << "only a tensor of rank 0 is made from a scalar outside of a region";
        }
        return writeWrap(op, wrap.getElements()[0]);
      })
      .Case([&](tensor::ExtractOp extract) {
        Value result = extract.getResult();
        if (auto known = hostScalars.find(extract.getTensor()); known != hostScalars.end()) {
          (isa<FloatType>(result.getType()) ? floats : ints)[result] = known->second;
          return success();
        }
        uint32_t reg = isa<FloatType>(result.getType()) ? floats[result] = builder.newFloat()
                                                        : ints[result] = builder.newInt();
        auto &step = builder.step<format::ItemT>();
        step.tensor = tensors.find(extract.getTensor())->second.reg;
        step.dst = reg;
        return success();
      })
      .Case([&](arith::ConstantOp constant) { return writeConstant(op, constant.getValue()); })
      .Default([&](Operation *) { return writeScalar(op); });
}

LogicalResult PlanWriter::writeView(Operation &op) {
  Value source = op.getOperand(0);
  std::optional<LayoutAttr> layout = getViewLayout(&op, tensors.find(source)->second.layout);
  if (!layout) {
    return error(op) << "the view's elements are not evenly spaced in the storage of its operand";
  }
  addView(op.getResult(0), source, dtypes.lookup(source), *layout);
  return success();
}

uint32_t PlanWriter::useKernel(KernelOp kernel, const KernelDesc &desc) {
  auto [known, isNew] = kernelNumbers.try_emplace(kernel.getSymName(), builder.plan.kernels.size());
  if (!isNew) {
    return known->second;
  }
  auto entry = std::make_unique<format::KernelT>();
  entry->name = kernel.getSymName().str();
  for (Operation &op : kernel.getBody().front()) {
    std::string name = op.getName().getStringRef().str();
    if (!isView(&op) && !isa<YieldOp, SizeOp, arith::ConstantOp>(op) &&
        !llvm::is_contained(entry->operators, name)) {
      entry->operators.push_back(name);
    }
  }
  SmallVector<std::string> lines;
  collectSourceLines(kernel.getLoc(), lines);
  for (const std::string &line : lines) {
    entry->sources.push_back(
        sources.intern(NameLoc::get(StringAttr::get(kernel.getContext(), line))));
  }
  auto add = [&](ArrayRef<LaunchDesc> launches) {
    auto variant = std::make_unique<format::KernelVariantT>();
    for (const LaunchDesc &launch : launches) {
      auto one = std::make_unique<format::KernelLaunchT>();
      one->entry = launch.entry;
      one->grain = launch.grain;
      one->block_x = launch.block[0];
      one->block_y = launch.block[1];
      one->block_z = launch.block[2];
      one->shared_bytes = launch.sharedBytes;
      one->cluster_x = launch.cluster;
      one->list_items = launch.listItems;
      variant->launches.push_back(std::move(one));
    }
    entry->variants.push_back(std::move(variant));
  };
  for (const VariantDesc &variant : desc.variants) {
    add(variant.launches);
  }
  add(desc.launches);
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  entry->access = std::string(llvm::count_if(kernel.getArgumentTypes(), isTensor), 'r') +
                  std::string(kernel.getResultTypes().size(), 'w');
  entry->raises = kernel
                      .walk([](Operation *op) {
                        return mayRaise(op) ? WalkResult::interrupt() : WalkResult::advance();
                      })
                      .wasInterrupted();
  builder.plan.kernels.push_back(std::move(entry));
  return known->second;
}

LogicalResult PlanWriter::passItem(LaunchOp op, KernelOp kernel, unsigned item,
                                   llvm::StringMap<SizeExpr> &parameters, format::LaunchT &launch) {
  size_t numSymbols = kernel.getSymbols().size(), numOperands = kernel.getArgumentTypes().size(),
         numResults = kernel.getResultTypes().size();
  for (auto [symbol, size] : llvm::zip(
           kernel.getSymbols(), op.getSizes().getValue().slice(item * numSymbols, numSymbols))) {
    parameters[cast<SymbolAttr>(symbol).getName()] = cast<SizeAttr>(size);
    launch.ints.push_back(sizeRegister(cast<SizeAttr>(size)));
  }
  for (Value operand : op.getOperands().slice(item * numOperands, numOperands)) {
    if (isa<RankedTensorType>(operand.getType())) {
      if (builder.plan.target == format::Target::Gpu &&
          deviceOf(rootOf(operand)) == format::Device::Cpu) {
        return error(*op) << "kernel '" << op.getKernel()
                          << "' would read a tensor that lies on the CPU; move it to the GPU first";
      }
      launch.tensors.push_back(tensors.find(operand)->second.reg);
    } else if (isa<FloatType>(operand.getType())) {
      launch.floats.push_back(floatRegister(operand));
    } else {
      launch.ints.push_back(intRegister(operand));
    }
  }
  for (unsigned i = 0; i != numResults; ++i) {
    launch.tensors.push_back(placeResult(op, item * numResults + i));
  }
  return success();
}

LogicalResult PlanWriter::writeLaunch(LaunchOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(op, op.getKernelAttr());
  const KernelDesc *desc = kernels.lookup(op.getKernel());
  if (!kernel || !desc) {
    return error(*op) << "no code was generated for kernel '" << op.getKernel() << "'";
  }
  format::LaunchT launch;
  launch.kernel = useKernel(kernel, *desc);
  launch.items = static_cast<uint32_t>(op.getItems().value_or(1));

  llvm::StringMap<SizeExpr> parameters;
  auto inGraph = [&](SizeAttr size) { return sizeRegister(SizeExpr(size).substitute(parameters)); };
  auto addSizes = [&](const LaunchDesc &one, format::VariantSizesT &variant) {
    auto sizes = std::make_unique<format::LaunchSizesT>();
    if (builder.plan.target == format::Target::Cpu) {
      sizes->x = inGraph(one.units);
    } else {
      sizes->x = inGraph(one.grid[0]);
      sizes->y = one.grid[1] ? inGraph(one.grid[1]) : kNoRegister;
      sizes->z = one.grid[2] ? inGraph(one.grid[2]) : kNoRegister;
    }
    variant.launches.push_back(std::move(sizes));
  };
  auto add = [&](ArrayRef<LaunchDesc> launches,
                 SizeAttr workspaceBytes) -> format::VariantSizesT & {
    format::VariantSizesT &variant =
        *launch.variants.emplace_back(std::make_unique<format::VariantSizesT>());
    llvm::for_each(launches, [&](const LaunchDesc &one) { addSizes(one, variant); });
    if (workspaceBytes && !SizeExpr(workspaceBytes).isConstant(0)) {
      variant.workspace = inGraph(workspaceBytes);
    }
    return variant;
  };
  for (unsigned item = 0; item != launch.items; ++item) {
    if (failed(passItem(op, kernel, item, parameters, launch))) {
      return failure();
    }
    if (item != 0) {
      addSizes(desc->launches.front(), *launch.variants.back());
      continue;
    }
    for (const VariantDesc &variant : desc->variants) {
      format::VariantSizesT &sizes = add(variant.launches, variant.workspaceBytes);
      if (variant.number) {
        auto proposed = cast<VariantAttr>((*kernel.getVariants())[*variant.number]);
        writeVariantGuard(kernel, proposed, parameters, sizes);
      }
      for (const AlignedTensor &one : variant.aligned) {
        sizes.aligned.emplace_back(one.number, one.bytes - 1);
      }
    }
    add(desc->launches, desc->workspaceBytes);
  }
  builder.step<format::LaunchT>() = std::move(launch);
  for (Value result : op.getResults()) {
    if (Value root = rootOf(result); isa<BlockArgument>(root)) {
      builder.step<format::TouchT>().tensor = tensors.find(root)->second.reg;
      mutated.insert(root);
    }
  }
  return success();
}

LogicalResult PlanWriter::writeBind(BindOp op) {
  if (isa<RankedTensorType>(op.getSource().getType())) {
    uint32_t reg = builder.newInt();
    auto &step = builder.step<format::DimT>();
    step.tensor = tensors.find(op.getSource())->second.reg;
    step.dim = op.getDim().value_or(0);
    step.dst = reg;
    symbolRegisters[op.getSymbol()] = reg;
  } else {
    symbolRegisters[op.getSymbol()] = intRegister(op.getSource());
  }
  return success();
}

LogicalResult PlanWriter::writeOutputs(ReturnOp op) {
  DenseMap<Value, Attribute> storageOfRoot;
  llvm::DenseSet<uint32_t> returnedRegisters;
  DenseMap<uint32_t, uint32_t> relaid;
  DenseMap<int64_t, uint32_t> firstOfStorage;
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    auto output = std::make_unique<format::OutputT>();
    auto storage = kResultStorageAttr.get(graph, number);
    Type type = value.getType();
    if (isa<NoneType>(type)) {
      output->kind = format::OutputKind::None;
    } else if (isa<FloatType>(type)) {
      output->kind = format::OutputKind::Float;
      output->reg = floatRegister(value);
    } else if (!isa<RankedTensorType>(type)) {
      output->kind = type.isInteger(1) ? format::OutputKind::Bool : format::OutputKind::Int;
      output->reg = intRegister(value);
    } else {
      Value root = rootOf(value);
      auto argument = dyn_cast<BlockArgument>(value);
      bool fresh = storage && storage.getKind() == StorageKind::Fresh;
      bool isView = storage && storage.getKind() == StorageKind::ViewOfArgument;
      // An argument and its views share one storage.
      if (storage && storage.getKind() == StorageKind::ViewOfArgument) {
        storage = StorageAttr::get(op.getContext(), StorageKind::Argument, storage.getIndex());
      }
      auto [seen, isFirst] = storageOfRoot.try_emplace(root, storage);
      auto promised = kResultLayoutAttr.get(graph, number);
      LayoutAttr layout = tensors.find(value)->second.layout;
      LayoutDemand demand{DemandKind::Exact, promised ? promised : layout};
      bool isKept = firstKept >= 0 && int64_t(number) >= firstKept;
      bool own = (fresh && isa<BlockArgument>(root)) ||
                 (!isFirst && storage && seen->second != storage) ||
                 !satisfies(layout, cast<RankedTensorType>(type), demand) ||
                 (fresh && promised && !isKept && layout.getOffset() != promised.getOffset());
      output->kind = format::OutputKind::Tensor;
      if (own) {
        output->reg = writeOwnCopy(
            value, demand.layout, "the graph promises a result with storage or strides of its own");
      } else if (argument && !kArgumentConstantAttr.isOn(graph, argument.getArgNumber())) {
        output->kind = format::OutputKind::Input;
        output->reg = inputNumber(argument.getArgNumber());
      } else {
        uint32_t from = output->reg = tensors.find(value)->second.reg;
        // Equal values share a register, but the caller gets a separate tensor for each.
        bool isSame = kResultSameAsAttr.isOn(graph, number);
        bool seen = !returnedRegisters.insert(from).second && !isSame;
        // Inside of the graph a dim of size 1 may have any stride.
        bool laid = isKept || !promised || promised.getStrides() == layout.getStrides();
        if (auto known = relaid.find(from); isSame && known != relaid.end()) {
          output->reg = known->second;
        } else if (seen || !laid) {
          auto &step = builder.step<format::ViewT>();
          step.source = from;
          step.tensor = output->reg = describe(cast<RankedTensorType>(type), dtypes.lookup(value),
                                               laid ? layout : promised, root);
          if (!laid) {
            relaid.try_emplace(from, output->reg);
          }
        }
      }
      output->dtype = dtypes.lookup(value);
      output->kept = isKept;
      auto rootArgument = dyn_cast<BlockArgument>(root);
      bool isConstant =
          rootArgument && kArgumentConstantAttr.isOn(graph, rootArgument.getArgNumber());
      auto baseNumber = kResultBaseAttr.get(graph, number);
      output->base = baseNumber ? baseNumber.getInt() : 0;
      // torch recreates most of such results as views of another base, with symbols from the view
      // that the call returns. It leaves the results of `split` and `unbind` as they are.
      if (isView && !own && !isConstant) {
        output->view_of = inputNumber(storage.getIndex());
      }
      if (fresh && !own) {
        auto [first, isNew] = firstOfStorage.try_emplace(storage.getIndex(), number);
        output->shares_with = isNew ? output->shares_with : first->second;
      }
      // A copy of its own is a view for autograd too, of its own storage.
      if (fresh) {
        if (auto base = kResultBaseDtypeAttr.get(graph, number)) {
          output->base_dtype = dtypeOf(base.getValue());
        }
        auto laid = kResultBaseLayoutAttr.get(graph, number);
        if (laid && SizeExpr(laid.getOffset()).isConstant(0)) {
          auto shape = cast<RankedTensorType>(kResultBaseTypeAttr.get(graph, number).getValue());
          for (auto [size, stride] : llvm::zip_equal(getSizes(shape), laid.getStrides())) {
            output->base_sizes.push_back(sizeRegister(size));
            output->base_strides.push_back(sizeRegister(stride));
          }
        }
      }
    }
    builder.plan.outputs.push_back(std::move(output));
  }
  return success();
}

} // namespace frit
