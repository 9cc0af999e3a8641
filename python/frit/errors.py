"""The errors that frit raises. A message names the location, the value and what to do.

The docstring of a class says when it is raised, `advice` what to do; docs/generated/errors.md is generated from both. Advice is the same for every
error of a class; the values of a particular error are in its message.
"""


class FritError(RuntimeError):
    """The base of every error raised by frit; raised itself if a file or folder that frit needs is missing."""

    advice = "Catch it to catch every error of frit's own. The message names the file or folder."


class OptionError(FritError, ValueError):
    """An option, mode or log name does not exist, or a value has the wrong type or does not fit the program."""

    advice = "The message names the nearest known name or the values allowed. `frit.list_options()` lists the options."


class CaptureError(FritError):
    """A node of the FX graph cannot be written in the export schema."""

    advice = "By default the graph runs as it was traced. For an operator of your own, register it with `torch.library` and a schema."


class CompileError(FritError):
    """The compiler refused a graph, or the native library cannot be loaded."""

    advice = (
        "The message has the compiler's diagnostics. By default the graph runs as it was traced; under `strict` or `fallback='error'` "
        "switch those off, or report the `repro.py` that is left."
    )


class ArtifactError(FritError):
    """Bytes are not an artifact that this runtime can load, or do not fit this machine."""

    advice = "Compile the file again with this version of frit, for a target that this machine has (`frit-compile --target`)."


class CollateError(FritError, ValueError):
    """The samples of a batch cannot be padded together (`frit.collate`)."""

    advice = "The message names the field and the sample. Name the ragged tensors with `fields`, or give larger buckets."


class VerifyError(FritError):
    """A call's results differ from ATen's (the option `verify`)."""

    advice = (
        "Run the `repro.py` in the folder `repro`, and `frit bisect` on it (docs/Trust.md). If the difference is one of rounding, "
        "`numerics='eager'` rounds where eager does."
    )
    # The parts of the message: `place` is a frit.verify.locate.Place, `repro` a folder, or None.
    graph = stage = place = repro = None
    differences, sizes = (), {}
