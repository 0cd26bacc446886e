"""The databases that the comparison runs on: what each is told in its own words. `run` is a Run of `compare`."""
import os
import subprocess

import common
import warm

ROWS = 100  # a transaction of the backlog
KEYS = 10000
PURGED = 100  # transactions whose old rows InnoDB may still have


class Postgres:
    NAME = "postgres"  # of its server, and of the properties of Debezium
    TUNED_INIT = ("--notify",)
    RATES = (200, 1000)  # of the steady loads: bench_flow knows PostgreSQL alone
    INSERT = "INSERT INTO outbox (topic, key, type, payload)"
    OUTBOX = "SELECT"  # what Debezium needs of the table that `init` made
    READING = "SELECT count(*) = 1 FROM pg_replication_slots WHERE active AND database = current_database()"

    def url(self, database):
        return common.URL.rpartition("/")[0] + "/" + database

    def sql(self, text, database=None):
        return common.sql(text, self.url(database) if database else common.URL)

    def about(self):
        return f"PostgreSQL {self.sql('SHOW server_version').split()[0]} (wal_level logical for all)"

    def port(self):
        return os.environ["TEST_PG_PORT"]

    def warm(self):
        warm.segments()

    def drop(self, database):
        self.sql(f"DROP DATABASE {database} WITH (FORCE)")

    def fill(self, run):
        """By one session, so that the order of the commits is that of the numbers."""
        run.sql(f"""DO $$ BEGIN
            SET synchronous_commit = off;
            FOR begun IN 1..{run.events} BY {ROWS} LOOP
                {self.INSERT}
                SELECT '{run.topic}', 'k' || i % {KEYS}, 'Bench',
                       jsonb_build_object('n', i, 'pad', {common.pad(200)})
                FROM generate_series(begun, least(begun + {ROWS - 1}, {run.events})) i;
                COMMIT;
            END LOOP; END $$""")
        run.sql("VACUUM ANALYZE outbox")
        run.sql("CHECKPOINT")

    def decoded(self, run):
        """What tells whether all that was written by now has been sent to Debezium, if it reads."""
        end = run.sql("SELECT pg_current_wal_flush_lsn()")
        return ("SELECT count(*) = 0 FROM pg_replication_slots s JOIN pg_stat_replication r ON r.pid ="
                f" s.active_pid WHERE s.database = current_database() AND r.sent_lsn < '{end}'")

    def vacuum(self, run):
        run.sql("VACUUM (PARALLEL 0) outbox")

    def let_go(self, run):
        """What a Debezium that was killed leaves."""
        run.until("SELECT count(*) = 0 FROM pg_replication_slots WHERE active", "the slot is still in use")
        run.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                " WHERE database = current_database()")


class MariaDB:
    NAME = "mariadb"
    TUNED_INIT = RATES = ()
    INSERT = "INSERT INTO outbox (topic, `key`, type, payload)"
    # The event router of Debezium passes text on as it is, and bytes not.
    OUTBOX = ("ALTER TABLE outbox MODIFY payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,"
              " MODIFY `key` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    READING = "SELECT COUNT(*) = 1 FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"

    def url(self, database):
        return os.environ["TEST_MARIADB_URL"].rpartition("/")[0] + "/" + database

    def sql(self, text, database="test"):
        done = subprocess.run(["mariadb", "--no-defaults", "-S", os.environ["TEST_MARIADB_SOCKET"], "-u", "root", "-NB",
                               "--delimiter=//",
                               "-e", text, database], check=True, capture_output=True, text=True)
        return done.stdout.strip().replace("\t", "|")

    def about(self):
        return f"MariaDB {self.sql('SELECT VERSION()')} (binlog_format ROW and sync_binlog 1 for all)"

    def warm(self):
        """Its redo log is made with the server."""

    def port(self):
        return self.url("").rpartition(":")[2].rstrip("/")

    def drop(self, database):
        self.sql(f"DROP DATABASE {database}")

    def fill(self, run):
        flush = "SET GLOBAL sync_binlog = {0}, GLOBAL innodb_flush_log_at_trx_commit = {0};"
        run.sql(f"""{flush.format(0)}
            BEGIN NOT ATOMIC FOR begun IN 0..{run.events // ROWS - 1} DO
                {self.INSERT}
                SELECT '{run.topic}', CONCAT('k', (begun * {ROWS} + seq) MOD {KEYS}), 'Bench',
                       CONCAT('{{"n": ', begun * {ROWS} + seq, ', "pad": "', REPEAT('x', 176), '"}}')
                FROM seq_1_to_{ROWS};
            END FOR; END; {flush.format(1)}""")

    def decoded(self, run):
        return ("SELECT COUNT(*) = 0 FROM information_schema.processlist"
                " WHERE command LIKE 'Binlog Dump%' AND state NOT LIKE '%has sent all binlog%'")

    def vacuum(self, run):
        """InnoDB's purge of what no transaction sees any longer, which has begun by itself."""
        run.until(f"SELECT variable_value < {PURGED} FROM information_schema.global_status"
                  " WHERE variable_name = 'Innodb_history_list_length'", "InnoDB does not purge")

    def let_go(self, run):
        for reader in run.sql("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'").split():
            run.sql(f"KILL {reader}")
        run.until("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'",
                  "the binary log is still read")


DATABASE = {"postgres": Postgres, "mariadb": MariaDB}[common.DATABASE]()
