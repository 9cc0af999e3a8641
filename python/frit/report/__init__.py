"""Reports on compiled programs: `frit.explain`, `frit.counts`, and the reasons for recompilations."""
