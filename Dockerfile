# frit on Debian 12, built: `docker build -t frit .`, then `docker run --rm frit` (the demo) or `docker run --rm frit make test`.
# The stage `base` has only what `make` needs to begin; scripts/bootstrap installs the rest.
FROM debian:12 AS base
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      ca-certificates git make python3 python3-dev python3-venv sudo \
 && rm -rf /var/lib/apt/lists/*
ENV LANG=C.UTF-8

FROM base
WORKDIR /frit
COPY . .
# The sources are another user's where they are copied from a checkout; the tests ask git for the list of files.
RUN git config --system --add safe.directory /frit
RUN make build
CMD ["make", "demo"]
