"""An application with a transactional outbox: orders are placed, then paid, and each change commits with its event.

ORDERS: how many orders there shall be, 0: no end. ORDERS_PER_SECOND: 0: as fast as it goes.
"""
import json
import os
import random
import time

import psycopg


def emit(connection, order, kind, payload):
    """The event, in the transaction that is open. The order trigger locks its key, so the application need not."""
    connection.execute("INSERT INTO outbox (topic, key, type, payload) VALUES ('shop.orders', %s, %s, %s)",
                       (f"order-{order}", kind, json.dumps(payload)))


def place(connection):
    total = random.randint(100, 9999) / 100
    with connection.transaction():
        order, = connection.execute("INSERT INTO orders (total, status) VALUES (%s, 'placed') RETURNING id",
                                    (total,)).fetchone()
        emit(connection, order, "OrderPlaced", {"order": order, "total": total})
    return order


def pay(connection, order):
    """One in ten payments fails after its event was inserted: it rolls back, and no event leaves."""
    with connection.transaction():
        connection.execute("UPDATE orders SET status = 'paid' WHERE id = %s", (order,))
        emit(connection, order, "OrderPaid", {"order": order})
        if random.random() < 0.1:
            raise psycopg.Rollback()


def main():
    orders = int(os.environ.get("ORDERS", "0"))
    pause = float(os.environ.get("ORDERS_PER_SECOND", "0"))
    with open("/run/secrets/app/password", encoding="ascii") as file:
        password = file.read().strip()
    with psycopg.connect(password=password, autocommit=True) as connection:
        there_are, = connection.execute("SELECT count(*) FROM orders").fetchone()
        while orders == 0 or there_are < orders:
            pay(connection, place(connection))
            there_are += 1
            if pause > 0:
                time.sleep(1 / pause)
    print(f"{there_are} orders")


main()
