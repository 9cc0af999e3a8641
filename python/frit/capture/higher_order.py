"""The part of the graph writer (`graph.py`) for nodes that are not plain operator calls: higher-order operators, effects, Python steps."""

import itertools
import operator

import torch
import torch.utils._pytree as pytree
from torch._guards import detect_fake_mode

from .callbacks import Callback, Operand, returns_views, type_in_schema, writes_or_views
from .opaque import Inexpressible, Slot, gives_quantised, why_opaque
from .schema import tensor_text
from .written_views import begins_inside, require_apart, results_of, with_true_ranges

_WITH_EFFECTS = torch.ops.higher_order.with_effects
# The partitioner wraps the random operators that a backward recomputes in these, without metadata of their results.
_OF_STORAGE = (torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_.default, torch.ops.aten.as_strided_scatter.default)
# What auto_functionalized_v2 calls the operands of control flow that writes, without their numbers.
_OPERANDS = {"cond": ("operand",), "while_loop": ("carried_input", "additional_input"), "invoke_subgraph": ("arg",)}
_LOOPS = {"while_loop", "while_loop_stack_output"}
_AROUND_RANDOM = {"run_and_save_rng_state", "run_with_rng_state", "graphsafe_run_with_rng_state"}


class HigherOrderWriter:
    """The graph writer's methods for higher-order operators, effects and Python steps."""

    def higher_order_call(self, target):
        """The method that writes calls of `target`, which is not an operator."""
        known = {
            "invoke_subgraph": self.subgraph_call,
            "auto_functionalized": self.schemaless_call,
            "auto_functionalized_v2": self.schemaless_call,
            "with_effects": self.effects_call,
            "cond": self.control_flow_call,
            "while_loop": self.control_flow_call,
            "while_loop_stack_output": self.control_flow_call,
            "scan": self.control_flow_call,
            "map_impl": self.control_flow_call,
        }
        return known.get(getattr(target, "__name__", ""), _no_text)

    def subgraph_call(self, node):
        """Writes invoke_subgraph: the graph itself is an argument, written once per call."""
        graph, identifier, *operands = node.args
        self._subgraph(node, node.target, graph, identifier, operands)

    def _subgraph(self, node, target, graph, identifier, operands, written=()):
        """Constants of the graph become operands, the last ones. `written`: as in `_control_flow`."""
        inner = type(self)(self.attribute(graph), self.sizes)
        self._write_inner(inner, written)
        constants = self._constants_of(graph, inner)
        texts = [self._graph_with(graph, inner, constants), *(self._argument(node, value, None) for value in (identifier, *operands))]
        texts += self._constants_as_operands(node, constants)
        inputs = [f'{{"name":"","arg":{text},"kind":1}}' for text in texts]
        self._emit(node, self._qualified(target), inputs, self._tuple(node, node.meta["val"]), "false")

    def _write_inner(self, inner, written, returns=True):
        """Writes the nodes of a graph that is an argument. `returns`: whether it returns the new values of the inputs `written`."""
        inner.returns_writes = bool(written)
        inner.write_nodes()
        if inner.callbacks or inner.opaque_inputs:
            raise Inexpressible("its graph has Python steps")
        if written and returns:
            inner.return_written(written)

    def _constants_of(self, graph, inner):
        """(node of the graph, path, name, tensor) of each constant of a graph that has been written."""
        paths = (f"{graph.target}.{path}" for path in inner.constant_names)
        return [(graph, path, name, tensor) for path, (name, tensor) in zip(paths, inner.constants, strict=True)]

    def _constants_as_operands(self, node, constants):
        return [self._constant(f"{node.name}_constant_{number}", path, tensor) for number, (_, path, _, tensor) in enumerate(constants)]

    def control_flow_call(self, node):
        """Writes a branch or a loop, with its graphs."""
        name = node.target.__name__
        if node.kwargs:
            raise Inexpressible("it writes to its operands")
        if name in _LOOPS and any(isinstance(one, bool) for one in node.args[2]):
            raise self._error(node, "it carries a Python bool, of which torch says that it is an integer")
        if name == "map_impl" and not all(map(_is_contiguous, results_of(self.attribute(node.args[0])))):
            raise Inexpressible("it stacks tensors that are not contiguous, and torch says that the result is contiguous")
        self._control_flow(node, node.target, node.args)

    def written_control_flow_call(self, node):
        """Writes auto_functionalized_v2 of a branch, a loop or a subgraph that writes to operands. Its graphs write at their ends (`copy_` to an
        input); here they return these values instead, as further results. A loop carries what it writes."""
        target, kwargs = node.args[0], node.kwargs
        first, *others = _OPERANDS[target.__name__]
        lists, bases = [], []
        for prefix in (first, *others):
            lists.append([])
            for number in itertools.count():
                place = f"_{prefix}{number}"
                if f"{place}_base_index" in kwargs:
                    if any(key.startswith(f"{place}_") and key != f"{place}_base_index" for key in kwargs):
                        raise Inexpressible("it writes to a view")
                    bases.append((kwargs[f"{place}_base_index"], len(lists) - 1, number))
                    lists[-1].append(kwargs["_all_bases"][kwargs[f"{place}_base_index"]])
                elif place[1:] in kwargs:
                    lists[-1].append(kwargs[place[1:]])
                else:
                    break
        bases.sort()
        if [index for index, _, _ in bases] != list(range(len(kwargs["_all_bases"]))) or (others and any(which == 0 for _, which, _ in bases)):
            raise Inexpressible("two of its operands are one tensor, or it writes to what it carries")
        offsets = [0, len(lists[0])]
        written = [offsets[which] + number for _, which, number in bases]
        order = None
        if others:
            moved = {number for _, _, number in bases}
            rest = [number for number in range(len(lists[1])) if number not in moved]
            order = [*range(offsets[1]), *written, *(offsets[1] + number for number in rest)]
            lists = [lists[0] + [lists[1][number] for _, _, number in bases], [lists[1][number] for number in rest]]
            args = (kwargs["cond_fn"], kwargs["body_fn"], *lists)
        elif target.__name__ == "invoke_subgraph":
            self._subgraph(node, target, kwargs["subgraph"], kwargs["identifier"], lists[0], written)
            return
        else:
            args = (kwargs["pred"], kwargs["true_fn"], kwargs["false_fn"], *lists)
        self._control_flow(node, target, args, written, order)

    def _control_flow(self, node, target, args, written=(), order=None):
        """Lists of operands may have values of several kinds, for which the schema has no tag. Constants of the graphs become operands, the last
        ones. `written`: the inputs of the graphs whose new values they return. `order`: another order of the graphs' inputs."""
        inner = {value: type(self)(self.attribute(value), self.sizes) for value in args if self._is_graph(value)}
        if any(map(_updates_statistics, inner.values())):
            raise self._error(node, "batch normalisation updates its statistics inside of it, which torch does not say")
        if any(begins_inside(one) for value in inner for one in results_of(self.attribute(value))) and _reads_storage(self.gm):
            raise self._error(node, "a graph returns a view that begins inside of its storage, and as_strided reads a storage")
        constants = []
        for value, writer in inner.items():
            self._write_inner(writer, written, returns=target.__name__ != "while_loop" or value is not args[0])
            if order is not None:
                writer.inputs = [writer.inputs[number] for number in order]
            constants += self._constants_of(value, writer)
        inputs = []
        for value in args:
            if isinstance(value, torch.fx.Node) and value in inner:
                text = self._graph_with(value, inner[value], constants)
            elif isinstance(value, (list, tuple)):
                items = [self._argument(node, one, None) for one in value]
                if value is args[-1]:
                    items += self._constants_as_operands(node, constants)
                text = f'{{"as_arguments":[{",".join(items)}]}}'
            else:
                text = self._argument(node, value, None)
            inputs.append(f'{{"name":"","arg":{text},"kind":1}}')
        self._emit(node, self._qualified(target), inputs, self._tuple(node, node.meta["val"]), "false")

    def takes_write(self, node):
        """Whether a node only writes to an input of a graph that returns what it writes; keeps the value."""
        if not self.returns_writes or node.target is not torch.ops.aten.copy_.default or node.args[0].op != "placeholder":
            return False
        to, value = node.args[:2]
        old, new = to.meta["val"], value.meta.get("val") if isinstance(value, torch.fx.Node) else None
        if node.users or new is None or new.dtype != old.dtype or new.shape != old.shape:
            self.refused_write = True
        self.written[to] = value
        return True

    def return_written(self, positions):
        """Makes the new values of inputs further results."""
        if self.refused_write:
            raise Inexpressible("it writes values of another type or shape, or reads them afterwards")
        inputs = [node for node in self.gm.graph.nodes if node.op == "placeholder"]
        if not set(self.written) <= {inputs[position] for position in positions}:
            raise Inexpressible("it writes to operands that torch does not name")
        for position in positions:
            value = self.written.get(inputs[position], inputs[position])
            self.outputs.append(self._reference(value, value)[1])
        self.single_result = False

    def _graph_with(self, node, writer, constants):
        """A graph of control flow, which takes the constants of all its graphs."""
        self.devices.update(writer.devices)
        own = [
            tensor_text(name) if owner is node else writer._define(None, f"constant_{number}_of_another_graph", tensor)
            for number, (owner, _, name, tensor) in enumerate(constants)
        ]
        return f'{{"as_graph":{{"name":{self.quoted(node.target)},"graph":{writer.graph_text(writer.inputs + own)}}}}}'

    def _constant(self, name, path, tensor):
        """The text of a constant with this path in the graph module."""
        if path not in self.constant_names:
            self.constant_names[path] = name
            self._define(None, name, tensor)
            self.constants.append((self.quoted(name), tensor))
        return tensor_text(self.quoted(self.constant_names[path]))

    def _is_graph(self, value):
        return isinstance(value, torch.fx.Node) and value.op == "get_attr" and isinstance(self.attribute(value), torch.fx.GraphModule)

    def schemaless_call(self, node):
        """Writes auto_functionalized: an operator that writes to its arguments, with those arguments."""
        if getattr(node.args[0], "__name__", "") in _OPERANDS and node.target.__name__ == "auto_functionalized_v2":
            return self.written_control_flow_call(node)
        kwargs = node.kwargs
        if node.target.__name__ == "auto_functionalized_v2":
            require_apart(node)
            kwargs = with_true_ranges(kwargs)
        inputs = [f'{{"name":"","arg":{self._argument(node, x, None)},"kind":1}}' for x in node.args]
        for name, value in kwargs.items():
            text = self._argument(node, value, None)
            inputs.append(f'{{"name":{self.quoted(name)},"arg":{text},"kind":2}}')
        value = node.meta["val"]
        single = isinstance(value, torch.Tensor)
        outputs = [self._define(node, node.name, value)] if single else self._tuple(node, value)
        self._emit(node, self._qualified(node.target), inputs, outputs, "true" if single else "false")

    def is_token(self, node):
        """Whether an argument of the graph is an effect token. torch passes it through calls to keep them in order; at run time it is None."""
        described = type(node.meta.get("desc")).__name__ in ("ForwardTokenAOTInput", "BackwardTokenAOTInput")
        return described or any(user.target is _WITH_EFFECTS and user.args[0] is node for user in node.users)

    def effects_call(self, node):
        """Writes the operator of with_effects(token, operator, ...). The compiler keeps the order of operators without results and of unknown
        operators. It may move an ATen operator with results, so such an operator is refused."""
        op = node.args[1]
        if not isinstance(op, torch._ops.OpOverload) or (op._schema.returns and op.namespace in ("aten", "prims")):
            raise Inexpressible("an operator with effects that the schema cannot express")
        target, inputs = self.call_text(node, op, node.args[2:], node.kwargs)
        value = node.meta["val"]
        outputs = self._tuple(node, (None, *value[1:]))[1:] if op._schema.returns else self._tuple(node, (None,))[1:]
        self._emit(node, target, inputs, outputs)

    # -- Python steps --------------------------------------------------------------------------------

    def opaque(self, node, value, is_quantised=False):
        """A Slot for a value that no plan can hold; `node` refers to it from now on."""
        why = why_opaque(value) or ("quantised tensors are not supported" if is_quantised else "a value of several parts")
        slot = Slot(self.opaque_values, why, is_quantised)
        self.opaque_values += 1
        self.refs[node] = ("opaque", '{"as_none":true}', slot)
        return slot

    def callback(self, node, why):
        """Writes a node as a Python step."""
        target = node.target
        args, kwargs = list(node.args), dict(node.kwargs)
        if target is _WITH_EFFECTS:
            args[0] = None
        if writes_or_views(target, args, kwargs, self._is_held):
            raise Inexpressible(f"{why}, and it writes to, or returns a view of, memory of the plan")
        leaves, spec = pytree.tree_flatten((args, kwargs))
        operands = []
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, torch.fx.Node):
                leaves[number] = self._leaf(leaf, operands)
        is_quantised = gives_quantised(target, leaves)
        results, outputs = [], []
        for path, readers, value in _parts(node):
            if value is None or (target is _WITH_EFFECTS and path == (0,)):
                kind = ("literal", '{"as_none":true}', None)
            elif why_opaque(value) or isinstance(value, str) or (is_quantised and isinstance(value, torch.Tensor)):
                slot = self.opaque(readers[0], value, is_quantised)
                results.append((path, slot))
                kind = self.refs[readers[0]]
            else:
                if returns_views(target):
                    raise Inexpressible(f"{why}, and its result lies in memory that no plan holds")
                outputs.append(self._define(readers[0], readers[0].name, value))
                results.append((path, type_in_schema(value)))
                kind = self.refs[readers[0]]
            for reader in readers:
                self.refs[reader] = kind
        step = Callback(target, why, leaves, spec, [type_in_schema(operand.meta["val"]) for operand in operands], results)
        self.callbacks.append(step)
        for leaf in leaves:
            if isinstance(leaf, Slot):
                self.last_readers[leaf.number] = step
        name, arguments = self.step_text(step.op)
        inputs = [
            f'{{"name":{quoted},"arg":{self._reference(node, operand)[1]},"kind":1}}'
            for quoted, operand in zip(arguments, operands)
        ]
        self._emit(node, name, inputs, outputs)

    def _is_held(self, node):
        return self.refs.get(node, ("",))[0] == "t"

    def _leaf(self, node, operands):
        """What stands for a node among the arguments of a step. An operand that the plan passes is appended to `operands`."""
        if node.op == "get_attr" and node not in self.refs:
            return self.attribute(node)
        kind, _, payload = self.refs.get(node) or (None, None, None)
        if kind is None:
            raise Inexpressible(f"{node.name} is not a value of the plan")
        if kind in ("opaque", "literal"):
            return payload
        operands.append(node)
        return Operand(len(operands) - 1)

    def attribute(self, node):
        """The value of a `get_attr` node."""
        value = self.gm
        for name in node.target.split("."):
            value = getattr(value, name)
        return value

    def opaque_result(self, position, node):
        """The text of an opaque result; None if the plan can hold it."""
        if node.op == "get_attr" and node not in self.refs:
            value = self.attribute(node)
            self.opaque_constants[self.opaque(node, value).number] = value
        known = self.refs.get(node)
        if known is None or known[0] != "opaque":
            return None
        self.opaque_results[position] = known[2]
        return known[1]

    def place_opaque_values(self, captured):
        """Records in `captured` which arguments and results are opaque, and in each step which opaque values it is the last to read."""
        captured.opaque_inputs = {position: slot.number for position, slot in self.opaque_inputs.items()}
        captured.opaque_results = {position: slot.number for position, slot in self.opaque_results.items()}
        captured.opaque_constants = self.opaque_constants
        kept = set(captured.opaque_results.values())
        for number, step in self.last_readers.items():
            if number not in kept:
                step.drops += (number,)


def _reads_storage(gm):
    """Whether a graph has operators whose offsets count from the beginning of a storage. torch describes the results of control flow as if they
    began there."""
    return any(gm.graph.find_nodes(op="call_function", target=op) for op in _OF_STORAGE)


def _updates_statistics(writer):
    """Whether a graph normalises batches and updates running statistics, which the schema of the operator does not say."""
    found = writer.gm.graph.find_nodes(op="call_function", target=torch.ops.aten.native_batch_norm.default)
    return any(node.args[3] is not None and node.args[5] for node in found)


def _is_contiguous(value):
    return not isinstance(value, torch.Tensor) or value.is_contiguous()


def _no_text(node):
    raise Inexpressible(f"{getattr(node.target, '__name__', node.target)} is not in torch's export format")


def _parts(node):
    """(path, nodes, value) of each part of a node's value that is read: the indices that lead to it, and the nodes that stand for it."""
    pending, found = [((), [node], None)], []
    while pending:
        path, nodes, within = pending.pop()
        value = next((n.meta["val"] for n in nodes if n.meta.get("val") is not None), within)
        items, whole = {}, False
        for user in (user for n in nodes for user in n.users):
            if user.target is operator.getitem and user.args[0] in nodes:
                items.setdefault(user.args[1], []).append(user)
            else:
                whole = True
        if whole:
            value = _described(node) if value is None and not path and "val" not in node.meta else value
            found.append((path, nodes, value))
        for key, readers in items.items():
            inside = value[key] if isinstance(value, (list, tuple, dict)) else None
            pending.append((path + (key,), readers, inside))
    return sorted(found, key=lambda part: str(part[0]))


def _described(node):
    """The fake value of a node without metadata: runs the operator inside on fake tensors."""
    name = getattr(node.target, "__name__", "")
    if name not in _AROUND_RANDOM:
        raise Inexpressible("torch does not say what it returns")
    args = list(node.args) if name != "run_with_rng_state" else list(node.args[1:])
    kwargs = {key: value for key, value in node.kwargs.items() if key != "rng_state"}
    args, kwargs = pytree.tree_map(lambda x: x.meta["val"] if isinstance(x, torch.fx.Node) else x, (args, kwargs))
    mode = detect_fake_mode((args, kwargs))
    if mode is None:
        raise Inexpressible("torch does not say what it returns")
    with mode:
        return args[0](*args[1:], **kwargs)
