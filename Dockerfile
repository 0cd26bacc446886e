# outbox-relay on Debian, run by a user without rights.
#
#   docker build -t outbox-relay .
#   docker run --rm outbox-relay config --defaults > relay.toml
#   docker run -v "$PWD/relay.toml:/etc/outbox-relay/relay.toml:ro" --stop-timeout 20 outbox-relay
#
# A relay that is told to stop finishes its batches for up to relay.shutdown_timeout (15 s), hence the
# --stop-timeout. There is no HEALTHCHECK: nothing in the process answers yet, and `status`, which
# asks the database, would call a relay that does nothing healthy.

FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ make pkg-config libc6-dev \
        libpq-dev librdkafka-dev libnats-dev libjansson-dev libtomlplusplus-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Makefile ./
COPY config config
COPY src src
RUN make -j"$(nproc)" all && strip build/outbox-relay

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
        libpq5 librdkafka1 libnats3.4 libjansson4 libstdc++6 \
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
