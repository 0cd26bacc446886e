# outbox-relay on Debian 13, run by a user without rights.
#
#   docker build -t outbox-relay .
#   docker run --rm outbox-relay config --defaults > relay.toml
#   docker run -v "$PWD/relay.toml:/etc/outbox-relay/relay.toml:ro" --stop-timeout 20 outbox-relay
#
# The NATS client library and what it needs come from the next release of Debian, because TLS needs nats.c 3.11 or
# later and Debian 13 has 3.10. Everything else is Debian 13's, which has security updates.
#
# A relay that is told to stop finishes its batches for up to relay.shutdown_timeout (15 s), hence the
# --stop-timeout. There is no HEALTHCHECK, because the image holds no HTTP client. To let an orchestrator
# ask /healthz and /readyz from outside the container, write [http] listen = ":9464".

FROM debian:trixie-slim AS base
RUN sed '/^$/,$d; s/ trixie-updates//; s/trixie/forky/' /etc/apt/sources.list.d/debian.sources \
      > /etc/apt/sources.list.d/next.sources \
 && printf '%s\n' 'Package: *' 'Pin: release n=forky' 'Pin-Priority: -1' '' \
      'Package: libnats3.14 libnats-dev libsodium26' 'Pin: release n=forky' 'Pin-Priority: 990' \
      > /etc/apt/preferences.d/nats

FROM base AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ make pkg-config libc6-dev \
        libpq-dev librdkafka-dev libnats-dev libjansson-dev libmicrohttpd-dev libtomlplusplus-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Makefile ./
COPY config config
COPY src src
RUN make -j"$(nproc)" all && strip build/outbox-relay

FROM base
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
        libpq5 librdkafka1 libnats3.14 libjansson4 libmicrohttpd12t64 libstdc++6 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 outbox-relay \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin outbox-relay
COPY --from=build /build/build/outbox-relay /usr/local/bin/
# By number, so that an orchestrator can tell that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["outbox-relay"]
CMD ["run"]
