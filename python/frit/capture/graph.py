"""Writes an AOTAutograd graph as torch.export-schema JSON.

torch's own serializer builds dataclasses and takes 0.6 ms a node; this writer emits text directly, in about thirty microseconds. The text follows the
schema; the tests check it against torch's deserializer. It also has what only torch.compile's graphs contain: symbolic scalars as arguments and
results, constants as placeholders, `get_attr` constants, subgraphs, and Python steps (`callbacks.py`) for the rest. Values that no plan can hold pass
from step to step in Python (`opaque.py`). A graph that raises CaptureError here runs as it was traced (`as_is.py`).

No tensor data is read. A placeholder that torch has specialised to a constant stays in the list of inputs as that constant, so that positions
agree with the call.
"""

import functools
import inspect
import json
import operator

import torch

from ..eager.by_operator import by_operator
from ..eager.moved_memory import moves_memory
from ..eager.strides import EagerOffsets, has_offset_of_argument
from ..eager.uninitialised import is_filled
from ..errors import CaptureError
from .higher_order import HigherOrderWriter
from .opaque import Inexpressible as _Inexpressible
from .opaque import why_opaque
from .schema import DTYPES, LAYOUTS, MEMORY_FORMATS, OTHER_SCALAR_OPERATORS, REFUSED_DTYPES, SCALAR_OPERATORS, SCHEMA_VERSION, tensor_text
from .size_text import SizeWriter, float_text, literal_text
from .sources import of_node, parts_of_operators
from .written_views import views_outside

_SCALAR_OPERATORS = SCALAR_OPERATORS | OTHER_SCALAR_OPERATORS
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_MAKE_TOKEN, _SINK_TOKENS = torch.ops.prims._make_token.default, torch.ops.prims._sink_tokens.default
_string = functools.lru_cache(maxsize=65536)(json.dumps)


class Captured:
    """The JSON of one graph, the tensors of its constants in order, its callback steps, and the devices it names."""

    def __init__(self, json_text, constants, callbacks, nodes, devices=(), constant_names=()):
        self.json = json_text
        self.constants = constants
        self.constant_names = list(constant_names)  # the path of each constant in the graph module
        self.callbacks = callbacks
        self.nodes = nodes
        self.devices = devices
        self.opaque_inputs = {}  # position in the call -> number of the value in the table of the call
        self.opaque_results = {}
        self.opaque_constants = {}  # number of the value -> the value
        self.why_not_saved = None  # a reason other than Python steps that the graph cannot be saved in a file
        self.key = None  # the key of the graph's entry in the disk cache
        self.artifact = None  # the bytes of the compiled artifact
        self.summary = None  # of the report (`cache/summary.py`)
        self.input_names = ()  # the user's names of the inputs, None for one that has none
        self.relaid = ()  # inputs to which a compiled forward gave other strides than the graph has


def capture(gm):
    """Captures `gm`, a graph that AOTAutograd passes to a compiler."""
    return _GraphWriter(gm, SizeWriter()).program()


@by_operator
def _operator_facts(op):
    schema = op._schema
    target = f"{op.__module__.replace('torch._ops', 'torch.ops')}.{op.__name__}"
    arguments = [(a.name, _string(a.name), a.kwarg_only, a.type) for a in schema.arguments]
    returns = schema.returns
    listed = (
        len(returns) == 1
        and isinstance(returns[0].real_type, torch.ListType)
        and isinstance(returns[0].real_type.getElementType(), torch.TensorType)
    )
    return _string(target), arguments, len(returns), listed


@functools.lru_cache(maxsize=256)
def _scalar_operator_facts(function):
    names = _SCALAR_OPERATORS[function] or tuple(inspect.signature(function).parameters)
    return _string(f"{function.__module__}.{function.__name__}"), [_string(n) for n in names]


_EMPTY_LISTS = {
    torch.BoolType: '{"as_bools":[]}',
    torch.IntType: '{"as_ints":[]}',
    torch.FloatType: '{"as_floats":[]}',
    torch.StringType: '{"as_strings":[]}',
}


def _empty_list(schema_type):
    if isinstance(schema_type, torch.OptionalType):
        schema_type = schema_type.getElementType()
    if isinstance(schema_type, torch.ListType):
        element = schema_type.getElementType()
        if isinstance(element, torch.OptionalType):
            element = element.getElementType()
        return _EMPTY_LISTS.get(type(element), '{"as_tensors":[]}')
    return '{"as_tensors":[]}'


def _with(metadata, key, text):
    return f'{metadata}{"," if metadata else ""}"{key}":{_string(text)}'


class _GraphWriter(HigherOrderWriter):
    def __init__(self, gm, sizes):
        self.gm = views_outside(gm)
        self.sizes = sizes
        self.inputs = []
        self.specs = []
        self.nodes = []
        self.outputs = []
        self.tensors = []
        self.scalars = {"int": [], "bool": [], "float": []}
        self.constants = []
        self.callbacks = []
        self.parts = parts_of_operators(self.gm.graph)
        self.refs = {}  # node -> (kind, JSON of the argument, JSON of its name)
        self.constant_names = {}
        self.metas = {}
        self.devices = {}  # in order of appearance
        self.extra_names = 0
        self.offsets = EagerOffsets()
        self.opaque_inputs = {}  # position -> Slot
        self.opaque_results = {}
        self.opaque_constants = {}  # number of an opaque value -> the value
        self.opaque_values = 0
        self.last_readers = {}  # number of an opaque value -> the last step that reads it
        self.single_result = False
        self.returns_writes = False  # what the graph writes to its inputs becomes further results
        self.written = {}  # placeholder -> the node of its new value
        self.refused_write = False

    quoted = staticmethod(_string)

    # -- the program ---------------------------------------------------------------------------------

    def program(self):
        graph = self.graph()
        constant_specs = [
            f'{{"tensor_constant":{{"arg":{{"name":{name}}},"tensor_constant_name":{name}}}}}'
            for name, _ in self.constants
        ]
        specs = ",".join(constant_specs + [f'{{"user_input":{{"arg":{x}}}}}' for x in self.inputs])
        results = ",".join(f'{{"user_output":{{"arg":{x}}}}}' for x in self.outputs)
        text = (
            f'{{"graph_module":{{"graph":{graph},'
            f'"signature":{{"input_specs":[{specs}],"output_specs":[{results}]}},'
            '"module_call_graph":[],"metadata":{},"treespec_namedtuple_fields":{}},'
            '"opset_version":{"aten":10},'
            f'"range_constraints":{self.sizes.range_constraints()},'
            f'"schema_version":{{"major":{SCHEMA_VERSION[0]},"minor":{SCHEMA_VERSION[1]}}},'
            f'"verifiers":[],"torch_version":{_string(torch.__version__)},"guards_code":[]}}'
        )
        tensors = [tensor for _, tensor in self.constants]
        captured = Captured(text, tensors, self.callbacks, len(self.nodes), self.devices, self.constant_names)
        self.place_opaque_values(captured)
        return captured

    def graph(self):
        """Write every node and return the schema's Graph."""
        self.write_nodes()
        return self.graph_text([tensor_text(name) for name, _ in self.constants] + self.inputs)

    def write_nodes(self):
        """Write every node."""
        for node in self.gm.graph.nodes:
            try:
                self._node(node)
            except CaptureError:
                raise
            except _Inexpressible as reason:
                raise self._error(node, str(reason)) from None
            except Exception as error:
                raise self._error(node, f"{type(error).__name__}: {error}") from error

    def graph_text(self, inputs):
        """The schema's Graph, with these inputs, after write_nodes()."""
        return (
            f'{{"inputs":[{",".join(inputs)}],'
            f'"outputs":[{",".join(self.outputs)}],'
            f'"nodes":[{",".join(self.nodes)}],'
            f'"tensor_values":{{{",".join(self.tensors)}}},'
            f'"sym_int_values":{{{",".join(self.scalars["int"])}}},'
            f'"sym_bool_values":{{{",".join(self.scalars["bool"])}}},'
            f'"sym_float_values":{{{",".join(self.scalars["float"])}}},'
            f'"is_single_tensor_return":{literal_text(self.single_result)},"custom_obj_values":{{}}}}'
        )

    def _error(self, node, reason):
        source = of_node(node)
        where = f" ({source})" if source else ""
        return CaptureError(f"cannot capture node {node.name}: {node.target}{where}: {reason}")

    # -- nodes ---------------------------------------------------------------------------------------

    def _node(self, node):
        op = node.op
        if op == "call_function":
            target = node.target
            if target is operator.getitem and (node in self.refs or node.args[0] not in self.refs):
                return  # its producer has defined it
            if isinstance(target, torch._ops.OpOverload):
                if moves_memory(target):
                    raise self._error(node, "it gives a tensor other memory")
                if target is _MAKE_TOKEN:
                    self.refs[node] = _NOTHING
                elif target is not _SINK_TOKENS and not self.takes_write(node):
                    self._operator_or_callback(node, self._operator)
            elif target in _SCALAR_OPERATORS and (target is not round or node.args[1:] in ((), (None,))):
                self._operator_or_callback(node, self._scalar_operator)
            elif target is torch.sym_sum:
                self._operator_or_callback(node, self._scalar_sum)
            else:
                self._operator_or_callback(node, self.higher_order_call(target))
        elif op == "placeholder":
            self._placeholder(node)
        elif op == "get_attr":
            self._attribute(node)
        elif op == "output":
            results = node.args[0]
            if isinstance(results, torch.fx.Node):
                self.single_result = True
                results = [results]
            self.outputs = [self._result(node, position, x) for position, x in enumerate(results)]
        else:
            raise self._error(node, f"{op} nodes do not occur after AOTAutograd")

    def _placeholder(self, node):
        value = node.meta.get("val")
        if isinstance(value, _SYMBOLIC):
            constant = self.sizes.constant(value)
            value = value if constant is None else constant
        if self.is_token(node):
            # torch passes None for a token. A plan does not need it, because its steps run in order.
            self.refs[node] = _NOTHING
            self.inputs.append(_NOTHING[1])
        elif why_opaque(value):
            self.inputs.append(_NOTHING[1])
            if node.users:
                self.opaque_inputs[len(self.inputs) - 1] = self.opaque(node, value)
        elif isinstance(value, torch.Tensor) or isinstance(value, _SYMBOLIC):
            self.inputs.append(self._define(node, node.name, value))
        else:
            text = self._argument(node, value, None)
            self.refs[node] = ("literal", text, value)
            self.inputs.append(text)

    def _attribute(self, node):
        value = self.attribute(node)
        if not isinstance(value, torch.Tensor) or why_opaque(value):
            return  # a subgraph, a Python object or a tensor that no plan can hold; the node that uses it reads the attribute itself
        name = self.constant_names.get(node.target)
        if name is None:
            name = self.constant_names[node.target] = node.name
            node.meta.setdefault("val", value)
            self._define(node, name, value)
            self.constants.append((_string(name), value))
        else:
            first = next(n for n in self.gm.graph.nodes if n.name == name)
            self.refs[node] = self.refs[first]

    def _result(self, node, position, value):
        if isinstance(value, torch.fx.Node):
            return self.opaque_result(position, value) or self._reference(node, value)[1]
        if isinstance(value, _SYMBOLIC):
            raise self._error(node, f"returns {value}, which no node computes")
        return self._argument(node, value, None)

    def _operator_or_callback(self, node, write):
        """Writes a call, or a Python step if the schema cannot express an argument or a result."""
        lists = (self.tensors, self.nodes, *self.scalars.values())
        before = list(map(len, lists))
        try:
            write(node)
        except _Inexpressible as reason:
            for each, length in zip(lists, before):
                del each[length:]
            self.callback(node, str(reason))

    def call_text(self, node, op, args, kwargs):
        """(target, inputs) of a call of an operator."""
        target, arguments, _, _ = _operator_facts(op)
        return target, self._inputs(node, arguments, args, kwargs)

    def _inputs(self, node, arguments, args, kwargs):
        given = len(args)
        inputs = []
        for i, (name, quoted, keyword_only, schema_type) in enumerate(arguments):
            if i < given and not keyword_only:
                text = self._argument(node, args[i], schema_type)
                inputs.append(f'{{"name":{quoted},"arg":{text},"kind":1}}')
            elif name in kwargs:
                text = self._argument(node, kwargs[name], schema_type)
                inputs.append(f'{{"name":{quoted},"arg":{text},"kind":2}}')
        return inputs

    def step_text(self, op):
        """(target, names of arguments) of a Python step."""
        target, arguments, _, _ = _operator_facts(op)
        return target, [quoted for _, quoted, _, _ in arguments]

    def _operator(self, node):
        target, arguments, returns, listed = _operator_facts(node.target)
        inputs = self._inputs(node, arguments, node.args, node.kwargs)
        if returns == 0:
            outputs = []
        elif listed:
            outputs = [self._tensor_list(node, node, node.meta["val"])]
        elif returns == 1:
            outputs = [self._define(node, node.name, node.meta["val"])]
        else:
            outputs = self._tuple(node, node.meta["val"])
        self._emit(node, target, inputs, outputs)

    def _scalar_operator(self, node):
        target, names = _scalar_operator_facts(node.target)
        inputs = [
            f'{{"name":{name},"arg":{self._argument(node, arg, None)},"kind":1}}'
            for name, arg in zip(names, node.args)
        ]
        self._emit(node, target, inputs, [self._define(node, node.name, node.meta["val"])])

    def _scalar_sum(self, node):
        """sym_sum([a, b, c]) as a chain of additions; only the last one has the node's own name."""
        target, (left, right) = _scalar_operator_facts(operator.add)
        terms = list(node.args[0])
        value = _value_of(terms[0])
        text = self._argument(node, terms[0], None)
        for i, term in enumerate(terms[1:], 1):
            value = value + _value_of(term)
            name = node.name if i == len(terms) - 1 else self._fresh_name(node)
            inputs = [
                f'{{"name":{left},"arg":{text},"kind":1}}',
                f'{{"name":{right},"arg":{self._argument(node, term, None)},"kind":1}}',
            ]
            text = self._define(node if name == node.name else None, name, value)
            self._emit(node, target, inputs, [text])
        if len(terms) == 1:
            self.refs[node] = ("i", text, value)

    def _emit(self, node, target, inputs, outputs, single="null"):
        source = of_node(node)
        metadata = f'"source":{_string(source)}' if source else ""
        if has_offset_of_argument(node):
            metadata = _with(metadata, "whole", "its result has the storage offset that an argument has in the call")
        elif is_filled(node):
            metadata = _with(metadata, "whole", "with deterministic algorithms ATen fills new memory")
        if node in self.parts:
            metadata = _with(metadata, "part_of", self.parts[node])
        self.nodes.append(
            f'{{"name":{_string(node.name)},"target":{target},"inputs":[{",".join(inputs)}],'
            f'"outputs":[{",".join(outputs)}],"metadata":{{{metadata}}},"is_hop_single_tensor_return":{single}}}'
        )

    def _qualified(self, target):
        return _string(f"{target.__module__.replace('torch._ops', 'torch.ops')}.{target.__name__}")

    # -- values --------------------------------------------------------------------------------------

    def _define(self, node, name, value):
        """Record a value's description and return it as an argument; `node` becomes its reference."""
        quoted = _string(name)
        if isinstance(value, torch.Tensor):
            self.tensors.append(f"{quoted}:{self._tensor_meta(value, node)}")
            text, kind = tensor_text(quoted), "t"
        elif value is None:
            text, kind = '{"as_none":true}', "literal"
        else:
            kind = _scalar_kind(value)
            self.scalars[kind].append(f"{quoted}:{self.sizes.size(value)}")
            text = f'{{"as_sym_{kind}":{{"as_name":{quoted}}}}}'
        if node is not None:
            self.refs[node] = (kind, text, value if kind == "literal" else quoted)
        return text

    def _tuple(self, node, values):
        readers = _readers(node)
        outputs = []
        for i, value in enumerate(values):
            mine = readers.get(i, ()) or readers.get(i - len(values), ())
            if isinstance(value, (list, tuple)):
                outputs.append(self._tensor_list(node, mine[0] if mine else None, value, f"{node.name}_unused_{i}"))
            else:
                outputs.append(self._element(node, mine, value, f"{node.name}_unused_{i}"))
        return outputs

    def _tensor_list(self, node, reader, values, unused=None):
        readers = _readers(reader) if reader is not None else {}
        names = []
        for i, value in enumerate(values):
            mine = readers.get(i, ()) or readers.get(i - len(values), ())
            text = self._element(node, mine, value, f"{unused or node.name + '_unused'}_{i}")
            names.append(text[len('{"as_tensor":') : -1])
        return f'{{"as_tensors":[{",".join(names)}]}}'

    def _element(self, node, readers, value, unused):
        text = self._define(readers[0] if readers else None, readers[0].name if readers else unused, value)
        for other in readers[1:]:
            self.refs[other] = self.refs[readers[0]]
        return text

    def _fresh_name(self, node):
        self.extra_names += 1
        return f"{node.name}_part_{self.extra_names}"

    def _tensor_meta(self, value, node=None):
        if value.layout is not torch.strided:
            raise _Inexpressible(why_opaque(value))
        shape, stride, offset = value.shape, value.stride(), self.offsets.of(value, node)
        key = (value.dtype, shape, stride, offset, value.device, value.requires_grad)
        try:
            text = self.metas.get(key)
            is_static = True
        except TypeError:  # symbolic sizes have no hash
            text, is_static = None, False
        if text is not None:
            return text
        if why := why_opaque(value):
            raise _Inexpressible(why)
        dtype, _, _, _, device, requires_grad = key
        self.devices[device] = True
        size = self.sizes.size
        text = (
            f'{{"dtype":{_dtype_code(dtype)},"sizes":[{",".join(map(size, shape))}],'
            f'"requires_grad":{literal_text(requires_grad)},"device":{_device_text(device)},'
            f'"strides":[{",".join(map(size, stride))}],"storage_offset":{size(offset)},'
            f'"layout":{LAYOUTS[value.layout]}}}'
        )
        if is_static:
            self.metas[key] = text
        return text

    # -- arguments -----------------------------------------------------------------------------------

    def _reference(self, user, node):
        ref = self.refs.get(node)
        if ref is None:
            raise _Inexpressible(f"{node.name} is not a value of the plan")
        if ref[0] == "opaque":
            raise _Inexpressible(f"{node.name}: {ref[2].why}")
        return ref

    def _argument(self, node, value, schema_type):
        kind = type(value)
        if kind is torch.fx.Node:
            return self._reference(node, value)[1]
        if kind is int:
            return f'{{"as_int":{value}}}'
        if value is None:
            return '{"as_none":true}'
        if kind is bool:
            return '{"as_bool":true}' if value else '{"as_bool":false}'
        if kind is float:
            return f'{{"as_float":{float_text(value)}}}'
        if isinstance(value, (list, tuple)):
            return self._list(node, value, schema_type)
        if kind is str:
            return f'{{"as_string":{_string(value)}}}'
        if kind is torch.dtype:
            return f'{{"as_scalar_type":{_dtype_code(value)}}}'
        if kind is torch.device:
            return f'{{"as_device":{_device_text(value)}}}'
        if kind is torch.memory_format:
            return f'{{"as_memory_format":{MEMORY_FORMATS[value]}}}'
        if kind is torch.layout:
            # Factories make strided tensors for a jagged layout: `where(jagged, jagged, 0.0)` makes a scalar of its operands' layout.
            value = torch.strided if value is torch.jagged else value
            if value not in LAYOUTS:
                raise _Inexpressible(f"tensors of layout {value} are not supported")
            return f'{{"as_layout":{LAYOUTS[value]}}}'
        if kind is complex:
            return f'{{"as_complex":{{"real":{float_text(value.real)},"imag":{float_text(value.imag)}}}}}'
        if isinstance(value, _SYMBOLIC):
            constant = self.sizes.constant(value)
            if constant is not None:
                return self._argument(node, constant, schema_type)
        if isinstance(value, torch._ops.OpOverload):
            return f'{{"as_operator":{_operator_facts(value)[0]}}}'
        raise _Inexpressible

    def _list(self, node, values, schema_type):
        if not values:
            return _empty_list(schema_type)
        kinds = set()
        items = []
        for value in values:
            if type(value) is torch.fx.Node:
                kind, text, payload = self._reference(node, value)
                if kind == "literal":
                    kind = _literal_kind(payload)
                    payload = _item_text(payload, kind)
                kinds.add(kind)
                items.append(payload)
            else:
                kind = _literal_kind(value)
                kinds.add(kind)
                items.append(_item_text(value, kind))
        return _list_text(kinds, items, values)


def _dtype_code(dtype):
    code = DTYPES.get(dtype)
    if code is None or dtype in REFUSED_DTYPES:
        raise _Inexpressible(f"tensors of type {dtype} are not supported")
    return code


_NOTHING = ("literal", '{"as_none":true}', None)

_PLURAL = {"INT": "as_ints", "FLOAT": "as_floats", "BOOL": "as_bools", "STRING": "as_strings"}


def _literal_kind(value):
    if value is None:
        return "NONE"
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, int):
        return "INT"
    if isinstance(value, float):
        return "FLOAT"
    if isinstance(value, str):
        return "STRING"
    if isinstance(value, (list, tuple)):
        return "nested"
    raise _Inexpressible


def _item_text(value, kind):
    if kind in ("NONE", "nested"):
        return "null"
    return _string(value) if kind == "STRING" else literal_text(value)


def _list_text(kinds, items, values):
    """The text of a list, by the kinds of its items. Named scalars may be mixed with literals, tensors with None."""
    if kinds == {"t"}:
        body = ",".join(f'{{"name":{x}}}' for x in items)
        return f'{{"as_tensors":[{body}]}}'
    if kinds <= {"t", "NONE"}:
        body = ",".join('{"as_none":true}' if x == "null" else tensor_text(x) for x in items)
        return f'{{"as_optional_tensors":[{body}]}}'
    if len(kinds) == 1:
        tag = _PLURAL.get(next(iter(kinds)))
        if tag:
            return f'{{"{tag}":[{",".join(items)}]}}'
    for scalar, plain in (("int", "INT"), ("float", "FLOAT"), ("bool", "BOOL")):
        if kinds <= {scalar, plain}:
            named = [x.startswith('"') and x not in ('"NaN"', '"Infinity"', '"-Infinity"') for x in items]
            body = ",".join(
                f'{{"as_name":{x}}}' if is_name else f'{{"as_{scalar}":{x}}}' for x, is_name in zip(items, named)
            )
            return f'{{"as_sym_{scalar}s":[{body}]}}'
    if kinds == {"nested"} and all(type(x) is int for v in values for x in v):
        body = ",".join("[" + ",".join(map(str, v)) + "]" for v in values)
        return f'{{"as_int_lists":[{body}]}}'
    raise _Inexpressible


def _readers(node):
    """index -> the getitem nodes that read it, in graph order."""
    readers = {}
    for user in node.users:
        if user.target is operator.getitem:
            readers.setdefault(user.args[1], []).append(user)
    return readers


def _scalar_kind(value):
    if isinstance(value, (bool, torch.SymBool)):
        return "bool"
    if isinstance(value, (int, torch.SymInt)):
        return "int"
    if isinstance(value, (float, torch.SymFloat)):
        return "float"
    raise _Inexpressible


def _value_of(term):
    return term.meta["val"] if isinstance(term, torch.fx.Node) else term


def _device_text(device):
    index = "null" if device.index is None else device.index
    return f'{{"type":"{device.type}","index":{index}}}'
