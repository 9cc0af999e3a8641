"""The errors a user can meet. Each message is one line: the place, the value, and the way out."""


class FritError(RuntimeError):
    """Base of every error raised by frit."""


class OptionError(FritError, ValueError):
    """An option, mode or log name that does not exist, or a value of the wrong type."""


class CaptureError(FritError):
    """A node of the FX graph that cannot be written in the export schema."""


class CompileError(FritError):
    """The compiler refused a graph; the message carries its diagnostics."""


class ArtifactError(FritError):
    """Bytes that are not an artifact this runtime can load, or that do not fit this machine."""


class VerifyError(FritError):
    """A call gave something else than ATen (`options={"verify": N}`). `graph`, `stage`, `place` (a frit.verify.locate.Place), `differences`, `sizes` and
    `repro` (a folder, or None) say what, in parts."""

    graph = stage = place = repro = None
    differences, sizes = (), {}
