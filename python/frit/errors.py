"""The errors that frit raises. A message names the place, the value and what to do."""


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
    """A call's results differ from ATen's (`options={"verify": N}`). The parts of the message are attributes: `graph`, `stage`, `place` (a
    frit.verify.locate.Place), `differences`, `sizes` and `repro` (a folder, or None)."""

    graph = stage = place = repro = None
    differences, sizes = (), {}
