# outbox-relay on Debian, run by a user without rights, in an image that holds nothing else.
#
#   docker build -t outbox-relay .
#   docker run --rm outbox-relay config --defaults > relay.toml
#   docker run --read-only -v "$PWD/relay.toml:/etc/outbox-relay/relay.toml:ro" --stop-timeout 20 outbox-relay
#
# The image is the program, the libraries that it is linked with and the certificates of public authorities: there is no
# shell, no package manager and nothing else to keep up to date. Scanners find the packages in /var/lib/dpkg/status.d,
# and `make sbom ROOT=` makes a document in SPDX of them.
#
# A relay that is told to stop finishes its batches for up to relay.shutdown_timeout (15 s), hence the
# --stop-timeout. To let others ask for metrics, health and readiness, write [http] listen = ":9464".

# Any Debian from 12 on, for example --build-arg BASE=debian:forky-slim.
ARG BASE=debian:trixie-slim
# What the program and the label say.
ARG VERSION=0.1.0

FROM ${BASE} AS build
# TLS to NATS needs nats.c 3.11 or later, and Debian 13 has 3.10: there the library and the libsodium that it needs
# come from the next release. Everything else is Debian 13's, which gets security updates, as testing does not.
RUN . /etc/os-release \
 && if [ "$VERSION_CODENAME" = trixie ]; then \
        sed '/^$/,$d; s/ trixie-updates//; s/trixie/forky/' /etc/apt/sources.list.d/debian.sources \
            > /etc/apt/sources.list.d/next.sources \
     && printf '%s\n' 'Package: *' 'Pin: release n=forky' 'Pin-Priority: -1' '' \
            'Package: libnats3.14 libnats-dev libsodium26' 'Pin: release n=forky' 'Pin-Priority: 990' \
            > /etc/apt/preferences.d/nats; \
    fi \
 && apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ make pkg-config libc6-dev ca-certificates \
        libpq-dev librdkafka-dev libnats-dev libjansson-dev libmicrohttpd-dev libssl-dev \
        libcurl4-openssl-dev libtomlplusplus-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Makefile ./
COPY config config
COPY src src
ARG VERSION
RUN make -j"$(nproc)" VERSION="$VERSION" all && strip build/outbox-relay

# The root of the image: the program, each library with its licence, and what name lookups and TLS read. toml++ has no
# library: its headers are compiled into the program.
RUN set -eu; mkdir -p /image/usr/local/bin /image/var/lib/dpkg/status.d /image/etc/outbox-relay; cd /image; \
    cp /build/build/outbox-relay usr/local/bin/; \
    describe() { \
        dpkg-query -s "$1" > "var/lib/dpkg/status.d/$1"; \
        cp --parents -L "/usr/share/doc/$1/copyright" .; \
    }; \
    for library in $(ldd usr/local/bin/outbox-relay | grep -o '/[^ ]*'); do \
        cp --parents -L "$library" .; \
        package=$(dpkg -S "$(realpath "$library")" 2>/dev/null || dpkg -S "$library"); \
        describe "${package%%:*}"; \
    done; \
    describe libtomlplusplus-dev; \
    cp --parents -L /etc/ssl/certs/ca-certificates.crt .; \
    mkdir -p usr/lib/ssl; ln -s /etc/ssl/certs/ca-certificates.crt usr/lib/ssl/cert.pem; \
    echo 'hosts: files dns' > etc/nsswitch.conf; \
    echo 'outbox-relay:x:10001:10001::/nonexistent:/nonexistent' > etc/passwd; \
    echo 'outbox-relay:x:10001:' > etc/group

FROM scratch
ARG VERSION
LABEL org.opencontainers.image.title="outbox-relay" \
      org.opencontainers.image.description="From a transactional outbox in PostgreSQL to Kafka or NATS JetStream" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /image /
ENV PATH=/usr/local/bin
# By number, so that an orchestrator can tell that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM
# Whether each of its threads turns, not whether a server is away: a restart would not bring that back.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["outbox-relay", "health"]
ENTRYPOINT ["outbox-relay"]
CMD ["run"]
