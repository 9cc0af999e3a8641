"""Registers frit's kind of cache entry with torch: import it before calling `torch.compiler.load_cache_artifacts` (docs/Cache.md)."""

from .cache.compiled_graphs import FritCacheArtifact, load_cache_artifacts  # noqa: F401
