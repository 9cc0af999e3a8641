"""`import frit.kept` before `torch.compiler.load_cache_artifacts`: torch then knows frit's kind of entry (docs/Cache.md)."""

from .cache.compiled_graphs import FritCacheArtifact, load_cache_artifacts  # noqa: F401
