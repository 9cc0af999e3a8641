// RUN: frit-opt %s --frit-materialize-padding=mode=always --verify-diagnostics

// expected-error@+1 {{materialize-padding: mode must be off, auto or force and the multiple positive, found 'always' and 8}}
frit.graph @unknown_mode() { frit.return }
