"""A consumer that prints each event once: usage: consumer.py nats|kafka

Delivery is at least once, so the id of an event is stored in the transaction that has the event's effect. An event
whose id is there already is a repeat. Only afterwards the broker is told; a consumer that dies before is given the
event again.
"""
import asyncio
import sys

import confluent_kafka
import nats
import nats.js.api
import psycopg


def connect():
    with open("/run/secrets/app/password", encoding="ascii") as file:
        return psycopg.connect(password=file.read().strip(), autocommit=True)


def receive(database, event, key, kind, payload):
    with database.transaction():
        repeats, = database.execute(
            "INSERT INTO received (event_id, key, type) VALUES (%s, %s, %s)"
            " ON CONFLICT (event_id) DO UPDATE SET repeats = received.repeats + 1 RETURNING repeats",
            (event, key, kind)).fetchone()
        # The effect of the event belongs here.
    print(f"{key} {kind} {(payload or b'').decode()}" if repeats == 0 else f"{key} {kind}: repeat dropped")


async def from_nats():
    bus = await nats.connect("nats://nats:4222", max_reconnect_attempts=-1)
    # One event at a time: JetStream gives an event that was not acknowledged again behind those that it has handed out.
    one_by_one = nats.js.api.ConsumerConfig(max_ack_pending=1, ack_wait=10)
    subscription = await bus.jetstream().pull_subscribe("shop.>", durable="example", stream="EVENTS", config=one_by_one)
    with connect() as database:
        while True:
            try:
                message, = await subscription.fetch(1, timeout=5)
            except nats.errors.TimeoutError:
                continue
            headers = message.headers
            receive(database, headers["Nats-Msg-Id"], headers.get("key"), headers.get("type"), message.data)
            await message.ack()


def from_kafka():
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": "kafka:9092", "group.id": "example", "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "topic.metadata.refresh.interval.ms": 5000})
    consumer.subscribe(["^shop\\..*"])
    with connect() as database:
        while True:
            messages = [message for message in consumer.consume(100, timeout=1) if message.error() is None]
            for message in messages:
                headers = {name: value.decode() for name, value in message.headers()}
                key = message.key().decode() if message.key() is not None else None
                receive(database, headers["id"], key, headers.get("type"), message.value())
            if messages:
                consumer.commit(asynchronous=False)


if sys.argv[1] == "nats":
    asyncio.run(from_nats())
else:
    from_kafka()
