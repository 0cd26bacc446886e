# Apache Kafka for tests/support/services: one broker that is its own KRaft controller, run from the
# jars that tests/support/kafka/pom.xml names, or from a folder TEST_KAFKA_JARS with those of another
# version.

KAFKA_VERSION=3.9.1
KAFKA_JARS=${TEST_KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/outbox-relay/kafka-$KAFKA_VERSION}
read -ra KAFKA_JAVA_OPTIONS <<<"${TEST_KAFKA_JAVA:-}"
read -ra KAFKA_FORMAT <<<"${TEST_KAFKA_FORMAT:-}"
KAFKA_ARCHIVE=$KAFKA_JARS.jsa
KAFKA_JAVA=(java -Xmx512m -XX:+UseSerialGC -Xshare:auto "${KAFKA_JAVA_OPTIONS[@]}"
    -Dorg.slf4j.simpleLogger.showDateTime=true
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS"
    -cp "$KAFKA_JARS/*")

# Before anything is started: a download may take a minute. Into a folder beside the cache and then
# renamed, so that the cache is whole or absent.
kafka_fetch() {
    command -v java >/dev/null || fail "Kafka needs java, which is not installed: make deps"
    if [[ ! -d $KAFKA_JARS ]]; then kafka_download; fi
    if [[ ! -e $KAFKA_ARCHIVE ]]; then kafka_archive >/dev/null 2>&1 || : >"$KAFKA_ARCHIVE" || true; fi
    if [[ -s $KAFKA_ARCHIVE ]]; then KAFKA_JAVA+=("-XX:SharedArchiveFile=$KAFKA_ARCHIVE"); fi
}

kafka_download() {
    local partial
    rm -f "$KAFKA_ARCHIVE"
    command -v mvn >/dev/null || fail "Kafka's jars need mvn, which is not installed: make deps"
    mkdir -p "$(dirname "$KAFKA_JARS")"
    partial=$(mktemp -d "$KAFKA_JARS.XXXXXX")
    say "services: downloading Apache Kafka $KAFKA_VERSION, once, into $KAFKA_JARS"
    # Without noreset Maven writes colour codes even with -q and -B.
    if ! MAVEN_OPTS="${MAVEN_OPTS:-} -Djansi.noreset=true" mvn -q -B -C -f "$SUPPORT/kafka/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$partial" >&2; then
        rm -rf "$partial"
        fail "Kafka's jars could not be downloaded"
    fi
    chmod 755 "$partial"
    # Another run may have been first; its copy is as good.
    mv -T "$partial" "$KAFKA_JARS" 2>/dev/null || rm -rf "$partial"
}

# Java's archive of the classes of a broker that has started: the next brokers start with half of the CPU. Java ignores an
# archive that another Java has made. It is written when a broker ends by SIGTERM. An empty file says that there is none.
kafka_archive() (
    TEST_DIR=$(mktemp -d) || exit
    trap 'rm -rf "$TEST_DIR"' EXIT
    mkdir "$TEST_DIR/kafka"
    kafka_create || exit
    timeout -k 10 60 "${KAFKA_JAVA[@]}" "-XX:ArchiveClassesAtExit=$TEST_DIR/archive" kafka.Kafka \
        "$TEST_DIR/kafka/server.properties" >"$TEST_DIR/log" 2>&1 </dev/null &
    until grep -q 'Kafka Server started' "$TEST_DIR/log"; do
        kill -0 $! || exit
        sleep 0.1
    done
    kill $!
    wait $!
    cp "$TEST_DIR/archive" "$KAFKA_ARCHIVE.$BASHPID" && mv -T "$KAFKA_ARCHIVE.$BASHPID" "$KAFKA_ARCHIVE"
)

# The short broker session is for restarts after SIGKILL: the controller lets the broker back in
# only when the dead one's session has run out (16 s by default, 5 s so). The authorizer allows all
# until a test denies something.
# A client goes on at the address that the broker advertises. Hence the listener PROXIED: it is
# advertised as a port where nothing listens until a test puts its proxy there.
# The time of a message is the broker's own, so that a test need not trust the relay's clock.
kafka_settings() {
    cat <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$2
listeners=BROKER://127.0.0.1:$1,PROXIED://127.0.0.1:$3,CONTROLLER://127.0.0.1:$2$5
advertised.listeners=BROKER://127.0.0.1:$1,PROXIED://127.0.0.1:$4$5
listener.security.protocol.map=BROKER:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT$6
log.message.timestamp.type=LogAppendTime
inter.broker.listener.name=BROKER
controller.listener.names=CONTROLLER
log.dirs=$TEST_DIR/kafka/data
num.partitions=6
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
END
    tr ';' '\n' <<<"${TEST_KAFKA_OPTIONS:-}"
}

kafka_create() {
    local dir=$TEST_DIR/kafka port controller_port proxied_port proxy_port listener
    local more='' protocols=''
    port=$(free_port) && controller_port=$(free_port) || return 1
    proxied_port=$(free_port) && proxy_port=$(free_port) || return 1
    echo "$port" >"$dir/port"
    echo "127.0.0.1:$proxied_port" >"$dir/proxied"
    echo "127.0.0.1:$proxy_port" >"$dir/proxy"
    for listener in ${TEST_KAFKA_LISTENERS:-}; do
        more+=",${listener%%=*}://127.0.0.1:$(free_port)" || return 1
        protocols+=",${listener/=/:}"
    done
    kafka_settings "$port" "$controller_port" "$proxied_port" "$proxy_port" "$more" "$protocols" \
        >"$dir/server.properties"
    kafka_format
}

# The cluster's id: any sixteen bytes in base64. A copy of what was made serves the next time.
kafka_format() {
    local dir=$TEST_DIR/kafka cluster=${TEST_KAFKA_CLUSTER:-b3V0Ym94LXJlbGF5LXRzdA}
    if [[ ! -d $dir/formatted.$cluster ]]; then
        "${KAFKA_JAVA[@]}" kafka.tools.StorageTool format -t "$cluster" \
            "${KAFKA_FORMAT[@]}" -c "$dir/server.properties" &&
            cp -a "$dir/data" "$dir/formatting" && mv "$dir/formatting" "$dir/formatted.$cluster"
    else
        cp -a "$dir/formatted.$cluster" "$dir/data"
    fi
}

kafka_wipe() {
    rm -rf "$TEST_DIR/kafka/data" && kafka_format
}

kafka_launch() {
    local dir=$TEST_DIR/kafka
    stat -c %s "$dir/log" >"$dir/log_offset"
    setsid "${KAFKA_JAVA[@]}" kafka.Kafka "$dir/server.properties" </dev/null >>"$dir/log" 2>&1 &
    echo $! >"$dir/pid"
}

# The port opens long before the broker has registered with its controller; this line is its last
# word of a start. Only what this start has written counts.
kafka_ready() {
    local dir=$TEST_DIR/kafka
    grep -q 'Kafka Server started' <(tail -c "+$(($(<"$dir/log_offset") + 1))" "$dir/log")
}

kafka_env() {
    TEST_KAFKA_BROKERS=127.0.0.1:$(port_of kafka)
    TEST_KAFKA_PROXIED=$(<"$TEST_DIR/kafka/proxied")
    TEST_KAFKA_PROXY=$(<"$TEST_DIR/kafka/proxy")
    export TEST_KAFKA_BROKERS TEST_KAFKA_PROXIED TEST_KAFKA_PROXY
}
