"""Import this module before calling `torch.compiler.load_cache_artifacts`, so that torch knows frit's kind of entry (docs/Cache.md)."""

from .cache.compiled_graphs import FritCacheArtifact, load_cache_artifacts  # noqa: F401
