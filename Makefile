# The commands of the README. Each sets up what it needs through scripts/bootstrap and works from a bare Debian 12.
.PHONY: demo test bench portable build
build:
	@scripts/bootstrap
test:
	@scripts/bootstrap
	@scripts/run-tests
# What the package needs and nothing else: no tests, no tools.
demo:
	@scripts/bootstrap frit_python
	@scripts/in-tree-python -m benchmarks.demo $(ARGS)
bench: build
	@scripts/in-tree-python -m benchmarks.run $(ARGS)
portable:
	@scripts/portable
