"""The relay's own sessions at the wrong moment: asleep, ended, and the COMMIT that is lost
(#2-#6)."""
import time

from faults_case import check, fault
from lab import Failure, wait_until

BATCH = 50


def silent_acks(case, **options):
    """A relay whose publishes arrive and whose acknowledgements do not; it stands in the middle of
    a batch of BATCH rows when this returns."""
    case.prepare(lanes=1, batch=BATCH, **options)
    nats = case.proxy(case.nats_address)
    relay = case.new_relay(nats_url=f"nats://{nats.address}")
    case.fill(100)
    case.wait_done()
    nats.black_hole("to_client")
    before = case.ear.total
    case.fill(BATCH)
    wait_until(lambda: case.ear.total > before, 20, "a batch is under way")
    return relay, nats


@fault("judge")
def the_judge_catches_what_is_lost_invented_repeated_or_unheard(case):
    """Planted, one after the other; every other test rests on it."""
    def must_fail(word):
        try:
            case.judge(0, stop=False)
        except Failure as failure:
            check(word in str(failure), f"judged {failure}, planted {word}")
        else:
            raise Failure(f"not noticed: {word}")

    case.prepare(lanes=1, batch=BATCH)
    case.fill(1)
    case.sql("UPDATE outbox SET sent_at = now()")
    must_fail("lost")
    case.new_relay()
    case.sql("UPDATE outbox SET sent_at = NULL")
    case.judge(0, stop=False)
    case.sql("UPDATE outbox SET sent_at = NULL")
    must_fail("repeats")
    case.sql(f"INSERT INTO outbox (topic) VALUES ('{case.subject}.unknown')")
    must_fail("never committed")
    case.ear.heard.clear()
    must_fail("the ear has heard all")


@fault("2")
def a_relay_that_slept_longer_than_its_session_lives_takes_its_place_again(case):
    relay, nats = silent_acks(case)
    relay.stop_signal()
    asleep = time.monotonic()
    other = case.new_relay()
    case.recovery(case.done, 15, "another relay sends what the sleeper held", asleep)
    check(case.sessions("state = 'idle in transaction'") == 0, "the sleeper's transaction is ended")
    nats.pass_through()
    relay.cont()
    check(other.term().wait(25) == 0, "the other relay stops cleanly")
    case.fill(100)
    case.recovery(case.done, 5, "the sleeper works again")
    case.judge(BATCH)


@fault("2")
def a_claim_that_slept_is_not_published_once_it_is_anothers(case):
    """The rows reach the sleeper after its session has ended."""
    case.prepare(lanes=1, batch=BATCH)
    proxy = case.proxy(case.pg_address)
    relay = case.new_relay(pg_url=case.through(proxy))
    case.fill(10)
    case.wait_done()
    proxy.delay(400)
    case.fill(BATCH)
    wait_until(lambda: case.sessions("state = 'idle in transaction'"), 20, "the claim is made")
    relay.stop_signal()
    case.new_relay()
    case.recovery(case.done, 15, "another relay sends what the sleeper claimed")
    proxy.pass_through()
    relay.cont()
    case.recovery(lambda: case.sessions("state = 'idle'") >= 2, 5, "the sleeper is back")
    case.judge(0)


@fault("3")
def a_session_that_is_ended_in_mid_publish_costs_one_batch_of_repeats(case):
    _, nats = silent_acks(case)
    case.terminate_relays()
    nats.pass_through()
    case.recovery(case.done, 5, "the batch is sent again")
    case.judge(BATCH)


@fault("3")
def a_reset_of_every_connection_under_load_costs_a_window_each(case):
    case.prepare(lanes=2, batch=BATCH)
    proxy = case.proxy(case.pg_address)
    case.new_relay(pg_url=case.through(proxy))
    case.fill(10)
    case.wait_done()
    cuts = 5
    for _ in range(cuts):
        before = case.ear.total
        case.fill(2000)
        wait_until(lambda: case.ear.total > before + 100, 20, "it is under way")
        proxy.reset()
    case.recovery(case.done, 5, "all is sent")
    case.judge(cuts * 2 * BATCH)


def meet_at_commit(case, action):
    case.prepare(lanes=1, batch=BATCH)
    proxy = case.proxy(case.pg_address)
    relay = case.new_relay(pg_url=case.through(proxy))
    case.fill(10)
    case.wait_done()
    proxy.on_commit(action)
    begin = time.monotonic()
    case.fill(BATCH)
    wait_until(lambda: proxy.hits == 1, 20, "a COMMIT meets its fault")
    case.fill(BATCH)
    return relay, begin


@fault("4")
def a_commit_whose_reply_is_lost_repeats_nothing(case):
    relay, begin = meet_at_commit(case, "lose_reply")
    case.recovery(case.done, 5, "the rest is sent", begin)
    relay.wait_log("commit_outcome=committed", 5)
    case.judge(0)


@fault("5")
def a_commit_that_never_arrives_repeats_its_batch_once(case):
    relay, begin = meet_at_commit(case, "lose_request")
    case.recovery(case.done, 5, "the batch is sent again", begin)
    relay.wait_log("commit_outcome=aborted", 5)
    check(case.ear.repeats > 0, "the batch was published before its COMMIT was lost")
    case.judge(BATCH)


@fault("6")
def a_swallowed_commit_ends_at_the_clients_deadline(case):
    """Twelve seconds: the server's statement_timeout and two more. Another relay waits half as
    long, until the server ends the idle transaction."""
    relay, begin = meet_at_commit(case, "black_hole")
    other = case.new_relay()
    case.recovery(case.done, 15, "another relay sends the batch", begin)
    relay.wait_log("no answer within the time limit", 30)
    check(other.term().wait(25) == 0, "the other relay stops cleanly")
    case.fill(BATCH)
    case.recovery(case.done, 5, "the abandoned lane works again")
    case.judge(BATCH)
