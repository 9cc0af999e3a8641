"""Places the nodes of a directed acyclic graph in layers: each node below the nodes on which it depends, and near them."""

WIDTH, HEIGHT, GAP, RISE = 232, 50, 22, 44
#: A line that passes a layer needs this much room, and a box its width.
_PASSING, _LINE_GAP = 8, 8
_SWEEPS = 6


def layers_of(count, edges):
    """The layer of each node; `edges` are (from, to) with from < to."""
    layer = [0] * count
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        layer[target] = max(layer[target], layer[source] + 1)
    # Nodes without predecessors move down, to just above their first reader.
    following = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    preceded = {target for _, target in edges}
    for node in range(count):
        if node not in preceded and following.get(node):
            layer[node] = min(layer[target] for target in following[node]) - 1
    return layer


def place(count, edges):
    """(positions, paths): the middle (x, y) of each node, and for each edge (from, to, the points that its line passes).

    Lines from one node share points as far as possible, so a value that every block of a model reads is one line.
    """
    edges = sorted(set(edges))
    layer = layers_of(count, edges)
    lowest = min(layer, default=0)
    layer = [one - lowest for one in layer]
    points = list(layer)  # nodes, then the points where lines pass a layer
    parts, paths, trunks = set(), [], {}
    for source, target in edges:
        trunk = trunks.setdefault(source, [source])
        while len(trunk) < layer[target] - layer[source]:
            points.append(layer[source] + len(trunk))
            trunk.append(len(points) - 1)
        path = [*trunk[: layer[target] - layer[source]], target]
        paths.append(path)
        parts.update(zip(path, path[1:]))
    rows = [[] for _ in range(max(points, default=-1) + 1)]
    for point, row in enumerate(points):
        rows[row].append(point)
    x = _ordered(rows, sorted(parts), len(points), count)
    where = {point: (x[point], points[point] * (HEIGHT + RISE) + HEIGHT / 2) for point in range(len(points))}
    return [where[node] for node in range(count)], [(path[0], path[-1], [where[point] for point in path]) for path in paths]


def _ordered(rows, parts, count, nodes):
    """The x of each point: sweeps down and up move each point towards the mean of its neighbours."""
    above, below = [[] for _ in range(count)], [[] for _ in range(count)]
    for source, target in parts:
        above[target].append(source)
        below[source].append(target)
    x = [0.0] * count
    for row in rows:
        _pack(row, x, nodes)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            for point in row:
                near = (above if down else below)[point] or (below if down else above)[point]
                if near:
                    x[point] = sum(x[one] for one in near) / len(near)
            row.sort(key=lambda point: x[point])
            _pack(row, x, nodes)
    return x


def _pack(row, x, nodes):
    """Moves the points of a row apart where they overlap, without moving their mean."""
    if not row:
        return
    half = [(WIDTH + GAP) / 2 if point < nodes else (_PASSING + _LINE_GAP) / 2 for point in row]
    wanted = [x[point] for point in row]
    left = [wanted[0]]
    for number in range(1, len(row)):
        left.append(max(wanted[number], left[-1] + half[number - 1] + half[number]))
    shift = sum(want - got for want, got in zip(wanted, left)) / len(row)
    for point, got in zip(row, left):
        x[point] = got + shift
