#!/bin/bash
# Formats the storage at the first start, and runs a broker with the settings in KAFKA_*.
set -eu
settings=/tmp/server.properties
env | sed -n 's/^KAFKA_//p' | while IFS='=' read -r name value; do
    [[ $name == HEAP_OPTS ]] || printf '%s=%s\n' "$(tr A-Z_ a-z. <<<"$name")" "$value"
done >"$settings"
java=(java ${KAFKA_HEAP_OPTS:-} -cp '/jars/*')
"${java[@]}" kafka.tools.StorageTool format --ignore-formatted -t b3V0Ym94LXJlbGF5LXRzdA -c "$settings"
exec "${java[@]}" kafka.Kafka "$settings"
