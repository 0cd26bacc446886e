/*
 * The protocol of the relay, for Spin: writers, lanes, the watcher of their process, brokers, faults.
 * docs/internals/model.md says which function of the relay each rule is, and what is left out.
 *
 * A rule is a condition, RULE(its name). `-DWITHOUT=its_name` makes a twin of the model, which does
 * not obey it; Spin must find what the twin breaks. tests/model/model runs all of them.
 */

/* ---- sizes, which tests/model/model sets ---- */

#ifndef WITHOUT
#define WITHOUT 0
#endif
#ifndef ROWS
#define ROWS 3 /* transactions; each inserts one row */
#endif
#ifndef LANES
#define LANES 2 /* of one process */
#endif
#ifndef K1 /* the keys of the transactions: A and B are keys of slice 0, C of slice 1 */
#define K1 A
#endif
#ifndef K2
#define K2 A
#endif
#ifndef K3
#define K3 A
#endif
#ifndef K4
#define K4 A
#endif
#ifndef CUTS
#define CUTS 1 /* relays killed, connections and answers to COMMIT lost */
#endif
#ifndef CRASHES
#define CRASHES 0 /* of PostgreSQL */
#endif
#ifndef REFUSALS
#define REFUSALS 1 /* messages or chunks that a broker refuses */
#endif
#ifndef LOSSES
#define LOSSES 1 /* messages or chunks without an answer */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 1 /* transactions that roll back */
#endif
#ifndef LONGS
#define LONGS 2 /* the set of transactions that may be long */
#endif
#ifndef SINKS
#define SINKS 1 /* 2: the sink of row i is Si; sink 0 is away at first, and rows of sink 1 may be given to it */
#endif
#ifndef S1
#define S1 0
#endif
#ifndef S2
#define S2 1
#endif
#ifndef S3
#define S3 0
#endif
#ifndef HORIZON
#define HORIZON 0 /* 1: the watcher ticks, and claims read from bounds */
#endif

#define BATCH 2 /* rows of a claim; the text below knows it */
#define SLICES 2
#define A 0
#define B 1
#define C 2
#define KEYS 3
#define slice_of(key) ((key) / 2)

/* ---- the rules ---- */

#define RULE(name) (WITHOUT != name)

/* of the application and of PostgreSQL, on which the relay relies */
#define key_is_locked_until_commit 1
#define table_is_locked_before_id_is_drawn 2
#define commit_is_visible_before_unlock 3
#define snapshots_show_committed_rows_only 4
/* of slices, batches and keys */
#define slice_is_locked 11
#define slice_of_parked_rows_is_locked 12
#define claim_sees_what_came_before_its_lock 13
#define mark_is_of_the_claims_transaction 14
#define only_acknowledged_rows_are_marked 15
#define acknowledged_rows_are_marked_after_a_failure 16
#define message_waits_for_the_one_before 17
#define failed_row_holds_its_key 18
#define row_behind_an_unsent_one_stays 19
#define parked_row_blocks_its_key 20
#define parked_rows_leave_in_order 21
#define parked_row_frees_the_next 22
#define published_rows_are_on_disk 23
#define only_earlier_rows_block 24
#define parked_row_waits_for_the_outbox 25
#define sink_of_a_claim_stays_away 26
/* of the horizon */
#define unsent_row_holds_the_bound 31
#define bound_rises_after_the_commit 32
#define drawn_is_read_before_holders 33
#define base_is_what_was_drawn_a_tick_ago 34
#define nothing_is_known_of_first_holders 35
#define low_stops_at_the_stable_id 36
#define low_follows_high_to_the_stable_id 37
#define high_stops_at_its_stable_id 38
#define high_is_for_snapshots_with_all_long_holders 39
#define end_of_a_long_holder_lowers_high 41
#define older_generation_raises_no_high 42
#define stamp_is_older_than_the_snapshot 43
#define connecting_begins_an_epoch 44

/* ---- what must hold ---- */

bool no_loss = true;         /* at the end every committed row is marked and in its broker */
bool no_phantom = true;      /* what is in a broker was committed, for good */
bool order_kept = true;      /* first deliveries of a key are in the order of the ids */
bool repeats_bounded = true; /* a fault repeats a batch at most, and without one nothing is repeated */
bool bound_holds = true;     /* no unsent row is visible below a bound */

/* ---- sets of rows, keys, transactions: a bit for each ---- */

#define bit(i) (1 << (i))
#define has(set, i) (((set) & bit(i)) != 0)
#define add(set, i) set = set | bit(i)
#define drop(set, i) set = set & ~bit(i)
#define smaller(a, b) ((a) < (b) -> (a) : (b))
#define larger(a, b) ((a) > (b) -> (a) : (b))

byte i; /* of a loop in a d_step, and 0 after it */
byte n;

/* ---- PostgreSQL ---- */

mtype:states = {
    NONE, OPEN, ROLLED_BACK, /* not drawn yet; inserted, not visible; never visible */
    UNSENT, SENT,            /* in the outbox */
    RETRY, BEHIND            /* in the parked table */
};

mtype:states state[ROWS + 1]; /* of a row, by its id; 0 is no id */
byte key_of[ROWS + 1];
#if CRASHES
mtype:states on_disk[ROWS + 1]; /* what a crash leaves */
#endif
byte last_value;  /* of the sequence */
byte rollbacks = ROLLBACKS;
byte locked_keys; /* the application's locks */
byte holders;     /* transactions that hold the lock of the table */
byte running;     /* transactions with an xid that a snapshot lists as running */
byte open;        /* transactions that have begun */
byte aborted;     /* those that a crash has ended */

#define NOBODY 0
byte owner[SLICES]; /* lane + 1 */
byte taken;         /* rows that open claims have locked */

#define is_committed(s) ((s) == UNSENT || (s) == SENT || (s) == RETRY || (s) == BEHIND)
#define is_parked(s) ((s) == RETRY || (s) == BEHIND)

/* ---- the sinks ---- */

#if SINKS > 1
byte sink_of[ROWS + 1]; /* by the routes of now */
bool away = true;       /* sink 0 */

#define is_here(id) (!away || sink_of[id] != 0)
#define same_sink(a, b) (sink_of[a] == sink_of[b])
#define is_usable(id) (sink_of[id] != 0 || (RULE(sink_of_a_claim_stays_away) -> !passed_over : !away))
#else
#define is_here(id) true
#define same_sink(a, b) true
#define is_usable(id) true
#endif

#if CRASHES
inline flush_wal()
{
    d_step {
        for (i : 1 .. ROWS) {
            on_disk[i] = state[i]
        };
        i = 0
    }
}

/* The WAL is flushed with a commit, or with a later one. */
inline flush_or_not()
{
    if
    :: flush_wal()
    :: skip
    fi
}
#else
inline flush_wal() { skip }
inline flush_or_not() { skip }
#endif

/* ---- the horizon of the process ---- */

bool news; /* the next tick may find something */

#if HORIZON
#define WATCHER 7

byte old_epochs;      /* whose stamps are of an older epoch: lanes by their number, and the watcher */
byte old_generations; /* the same of the generation */
bool ticked;
byte drawn;
byte stable_low;
byte stable_high;
byte known; /* the holders of the last tick */
byte longs; /* those of them that `high` ignores */
byte base[ROWS + 1];
byte low[SLICES] = 1;
byte high[SLICES] = 1;

#define all_running(set) ((set) != 0 && ((set) & running) == (set))
#define reads_high(set) (RULE(high_is_for_snapshots_with_all_long_holders) -> all_running(set) : (set) != 0)
#define first_id(s) (reads_high(longs) -> high[s] : low[s])
#define END (ROWS + 1) /* after the last id of a slice that was seen to its end */

inline begin_epoch()
{
    d_step {
        old_epochs = 255;
        old_generations = 255;
        ticked = false;
        drawn = 0;
        stable_low = 0;
        stable_high = 0;
        known = 0;
        longs = 0;
        for (i : 0 .. ROWS) {
            base[i] = 0
        };
        for (i : 0 .. SLICES - 1) {
            low[i] = 1; high[i] = 1
        };
        i = 0;
        news = true;
    }
}

/* low_stop, high_stop: the stable ids of the stamp. No unsent row is visible below `seen_end`. */
inline raise_bound(s, low_stop, high_stop, seen_end, from_high)
{
    if
    :: from_high ->
        n = (RULE(high_stops_at_its_stable_id) -> smaller(seen_end, high_stop + 1) : seen_end);
        high[s] = larger(high[s], n);
        n = (RULE(low_follows_high_to_the_stable_id) -> smaller(high[s], low_stop + 1) : high[s]);
        low[s] = larger(low[s], n)
    :: else ->
        n = (RULE(low_stops_at_the_stable_id) -> smaller(seen_end, low_stop + 1) : seen_end);
        low[s] = larger(low[s], n);
        high[s] = larger(high[s], low[s])
    fi;
    n = 0
}

/* This is true of the sound model, and says what a bound is; a twin may break a promise by it. */
inline check_bounds()
{
#ifdef INVARIANT
    d_step {
        for (i : 1 .. ROWS) {
            if
            :: state[i] == UNSENT -> bound_holds = bound_holds && i >= first_id(slice_of(key_of[i]))
            :: else
            fi
        };
        i = 0;
        assert(bound_holds)
    }
#else
    skip
#endif
}

/* The new holders get a base, the others keep theirs; one of them may be long by now. */
inline take_holders()
{
    for (i : 1 .. ROWS) {
        if
        :: !has(listed, i) -> base[i] = 0
        :: has(listed, i) && has(known, i)
        :: has(listed, i) && !has(known, i) ->
            if
            :: ticked -> base[i] = (RULE(base_is_what_was_drawn_a_tick_ago) -> drawn : now)
            :: else -> base[i] = (RULE(nothing_is_known_of_first_holders) -> 0 : now)
            fi
        fi
    };
    if
    :: (longs & ~listed) != 0 && RULE(end_of_a_long_holder_lowers_high) ->
        old_generations = 255;
        high[0] = low[0];
        high[1] = low[1]
    :: else
    fi;
    longs = (longs | grown) & listed;
    known = listed
}

inline find_stable()
{
    stable_low = now;
    stable_high = now;
    for (i : 1 .. ROWS) {
        if
        :: has(known, i) -> stable_low = smaller(stable_low, base[i])
        :: else
        fi;
        if
        :: has(known, i) && !has(longs, i) -> stable_high = smaller(stable_high, base[i])
        :: else
        fi
    };
    i = 0
}

inline take_tick()
{
    d_step {
        take_holders();
        find_stable();
        drawn = now;
        ticked = true
    }
}

/* Raises the bounds of all slices to the lowest unsent row that the scan's snapshot shows. */
inline scan_slices()
{
    d_step {
        for (s : 0 .. SLICES - 1) {
            lowest = (all_running(old_longs) -> high[s] : low[s]);
            do
            :: lowest > ROWS -> lowest = END; break
            :: lowest <= ROWS && state[lowest] == UNSENT && slice_of(key_of[lowest]) == s -> break
            :: else -> lowest++
            od;
            if
            :: !all_running(old_longs) || !has(old_generations, WATCHER) ->
                raise_bound(s, stable_low, stable_high, lowest, all_running(old_longs))
            :: else
            fi
        };
        s = 0;
        lowest = 0
    }
}

#define may_be_long(t) (has(LONGS, t) && has(known, t) && has(running, t) && !has(longs, t))

/* A tick that would find what the one before has found is left out. */
proctype watcher()
{
    byte now, listed, grown, old_longs, s, lowest;

end:
    do
    :: atomic {
            news || may_be_long(1) || may_be_long(2) || may_be_long(3) || may_be_long(4) ->
            news = false;
            drop(old_epochs, WATCHER);
            drop(old_generations, WATCHER);
            old_longs = longs;
            if
            :: RULE(drawn_is_read_before_holders) -> now = last_value
            :: else -> listed = holders
            fi
        }
        atomic {
            if
            :: RULE(drawn_is_read_before_holders) -> listed = holders
            :: else -> now = last_value
            fi;
            if
            :: skip
            :: may_be_long(1) -> grown = bit(1)
            :: may_be_long(2) -> grown = bit(2)
            :: may_be_long(3) -> grown = bit(3)
            :: may_be_long(4) -> grown = bit(4)
            fi;
            if
            :: !has(old_epochs, WATCHER) -> take_tick(); scan_slices(); check_bounds()
            :: else -> news = true
            fi;
            add(old_epochs, WATCHER);
            add(old_generations, WATCHER);
            news = news || grown != 0;
            now = 0; listed = 0; grown = 0; old_longs = 0
        }
    od
}
#else
#define first_id(s) 1
inline begin_epoch() { skip }
inline check_bounds() { skip }
#endif

/* ---- the application: transaction t inserts one row ---- */

#define key_of_writer(t) (t == 1 -> K1 : (t == 2 -> K2 : (t == 3 -> K3 : K4)))

#if HORIZON
#define TOGETHER
#define CLAIM atomic
#else
#define TOGETHER atomic /* the order of these steps matters to the horizon alone */
#define CLAIM
#endif

inline draw_id(t)
{
    d_step {
        add(running, t); /* it gets an xid, too */
        last_value++;
        id = last_value;
        key_of[id] = key_of_writer(t);
#if SINKS > 1
        sink_of[id] = (id == 1 -> S1 : (id == 2 -> S2 : S3));
#endif
        state[id] = OPEN;
        news = true;
    }
}

inline end_transaction(t)
{
    if
    :: state[id] = UNSENT; flush_or_not()
    :: rollbacks > 0 -> rollbacks--; state[id] = ROLLED_BACK
    fi;
    drop(running, t);
    check_bounds()
}

proctype writer(byte t)
{
    byte id;

    {
        TOGETHER {
            atomic {
                !RULE(key_is_locked_until_commit) || !has(locked_keys, key_of_writer(t));
                add(open, t);
                add(locked_keys, key_of_writer(t));
                if
                :: RULE(table_is_locked_before_id_is_drawn) -> add(holders, t)
                :: else
                fi;
                news = true
            }
            draw_id(t)
        }
        TOGETHER {
            atomic {
                if
                :: !RULE(table_is_locked_before_id_is_drawn) -> add(holders, t)
                :: else
                fi;
                if
                :: RULE(commit_is_visible_before_unlock) -> end_transaction(t)
                :: else -> drop(holders, t)
                fi;
                news = true
            }
            atomic {
                if
                :: !RULE(commit_is_visible_before_unlock) -> end_transaction(t)
                :: else
                fi;
                drop(holders, t);
                drop(locked_keys, key_of_writer(t));
                drop(open, t);
                news = true
            }
        }
    } unless { has(aborted, t) }
}

/* ---- the brokers ---- */

byte stored;   /* rows that a broker has */
byte late;     /* messages that nobody waits for any more and that may still be stored */
byte late_chunk;
byte credit;   /* repeats that the faults so far explain */
byte refusals = REFUSALS;
byte losses = LOSSES;

inline append(r)
{
    d_step {
        no_phantom = is_committed(state[r]);
        assert(no_phantom);
        if
        :: has(stored, r) ->
            repeats_bounded = credit > 0;
            assert(repeats_bounded);
            credit--
        :: else ->
#if SINKS > 1
            i = 1; /* no earlier row of the key would now go to the same sink */
            do
            :: i < r ->
                order_kept = order_kept && !(key_of[i] == key_of[r] && same_sink(i, r) && !has(stored, i) &&
                                             is_committed(state[i]));
                i++
            :: else -> break
            od;
#else
            i = r + 1;
            do
            :: i <= ROWS -> order_kept = order_kept && !(has(stored, i) && key_of[i] == key_of[r]); i++
            :: else -> break
            od;
#endif
            i = 0;
            assert(order_kept);
            add(stored, r)
        fi
    }
}

/* A message on its way, from a relay that does not wait any more, arrives or does not. */
proctype network()
{
    byte r;
    bool store;

end:
    do
    :: atomic {
            late != 0 ->
            r = 1;
            do
            :: !has(late, r) -> r++
            :: else -> break
            od;
            drop(late, r);
            if
            :: append(r)
            :: skip
            fi;
            r = 0
        }
    :: atomic {
            late_chunk != 0 ->
            r = 1;
            store = false;
            if
            :: store = true
            :: skip
            fi;
            do
            :: r <= ROWS ->
                if
                :: store && has(late_chunk, r) -> append(r)
                :: else
                fi;
                r++
            :: else -> break
            od;
            late_chunk = 0;
            store = false;
            r = 0
        }
    od
}

/* ---- a lane ---- */

byte cut[LANES]; /* its connection, by: */
#define BY_A_FAULT 1
#define BY_A_CRASH 2 /* which has rolled its transaction back */

mtype:verdicts = { PENDING, ACKED, REFUSED, UNCERTAIN, BLOCKED };

#define waits_in_outbox(s, id) \
    (state[id] == UNSENT && slice_of(key_of[id]) == (s) && (id) >= first_id(s) && is_here(id))
#define leaves_before(j, id) ((j) < (id) && key_of[j] == key_of[id] && \
    (is_parked(state[j]) && RULE(parked_rows_leave_in_order) || \
     state[j] == UNSENT && is_here(j) && RULE(parked_row_waits_for_the_outbox)))
#if ROWS == 2
#define any_leaves_before(id) leaves_before(1, id)
#elif ROWS == 3
#define any_leaves_before(id) (leaves_before(1, id) || leaves_before(2, id))
#else
#define any_leaves_before(id) (leaves_before(1, id) || leaves_before(2, id) || leaves_before(3, id))
#endif
#define waits_parked(s, id) \
    (state[id] == RETRY && slice_of(key_of[id]) == (s) && is_here(id) && !any_leaves_before(id))
#if ROWS == 2
#define any_row(test, s) (test(s, 1) || test(s, 2))
#elif ROWS == 3
#define any_row(test, s) (test(s, 1) || test(s, 2) || test(s, 3))
#else
#define any_row(test, s) (test(s, 1) || test(s, 2) || test(s, 3) || test(s, 4))
#endif

#define is_claimable(s) (parked -> is_parked(s) : (s) == UNSENT || \
                         (s) == OPEN && !RULE(snapshots_show_committed_rows_only))

/* What a statement sees: rows of the slice, from its bound on, whose sinks are here or that may follow one; which of
 * them come after a parked row of their key. A parked row that comes after a row of the outbox is not seen. */
inline take_snapshot()
{
    d_step {
        seen = 0;
        blocked = 0;
        from = 1;
#if SINKS > 1
        passed_over = away;
#endif
#if HORIZON
        read_high = !parked && reads_high(old_longs);
        from = (parked -> 1 : (read_high -> old_high : old_low));
#endif
        for (i : 1 .. ROWS) {
            if
            :: has(parked_keys, key_of[i]) -> add(blocked, i)
            :: else
            fi;
            if
            :: is_parked(state[i]) -> add(parked_keys, key_of[i])
            :: parked && state[i] == UNSENT && is_here(i) && RULE(parked_row_waits_for_the_outbox) ->
                add(outbox_keys, key_of[i])
            :: else
            fi;
            if
            :: slice_of(key_of[i]) == slice && i >= from && is_claimable(state[i]) &&
               (parked -> !has(outbox_keys, key_of[i]) : is_here(i)) -> add(seen, i)
            :: else
            fi
        };
        for (i : 1 .. ROWS) {
            if
            :: !parked && has(parked_keys, key_of[i]) && !RULE(only_earlier_rows_block) -> add(blocked, i)
            :: else
            fi
        };
        parked_keys = 0;
        outbox_keys = 0;
        i = 0
    }
}

/* The first rows of what the snapshot shows. A row that has changed since is left. */
inline take_rows()
{
    d_step {
        for (i : 1 .. ROWS) {
            if
            :: !has(seen, i) || !is_claimable(state[i])
            :: else ->
                if
                :: parked && !RULE(parked_rows_leave_in_order) -> row[0] = i
                :: parked && RULE(parked_rows_leave_in_order) && row[0] == 0 && state[i] == RETRY &&
                   !has(blocked, i) && is_here(i) -> row[0] = i
                :: !parked && row[0] == 0 -> row[0] = i
                :: row[0] != 0 && row[1] == 0 && (!parked || key_of[i] == key_of[row[0]]) -> row[1] = i
                :: else
                fi
            fi
        };
        for (i : 0 .. BATCH - 1) {
            if
            :: row[i] == 0
            :: else ->
                add(taken, row[i]);
                verdict[i] = PENDING;
                if
                :: !parked && has(blocked, row[i]) && RULE(parked_row_blocks_its_key) ->
                    verdict[i] = BLOCKED
                :: else
                fi
            fi
        };
        i = 0
    }
}

#define is_due(x) (row[x] != 0 && verdict[x] == PENDING && is_usable(row[x]))
#define share_key (row[1] != 0 && key_of[row[0]] == key_of[row[1]] && same_sink(row[0], row[1]))
#define second_may_start (!share_key || verdict[0] == ACKED || \
    verdict[0] == PENDING && !RULE(message_waits_for_the_one_before) || \
    (verdict[0] == REFUSED || verdict[0] == UNCERTAIN) && !RULE(failed_row_holds_its_key))
#define is_chunk (is_due(0) && is_due(1) && share_key && !parked)

/* The broker stores it, refuses it, or does not answer: it has it, gets it later, or never. */
inline send(x)
{
    if
    :: append(row[x]); verdict[x] = ACKED
    :: refusals > 0 -> refusals--; verdict[x] = REFUSED
    :: losses > 0 ->
        losses--;
        credit++;
        verdict[x] = UNCERTAIN;
        if
        :: append(row[x])
        :: add(late, row[x])
        :: skip
        fi
    fi
}

/* The same of messages of a key that the broker stores entirely or not at all. Refused ones stay unsent. */
inline send_chunk()
{
    if
    :: append(row[0]); append(row[1]); verdict[0] = ACKED; verdict[1] = ACKED
    :: refusals > 0 -> refusals--; verdict[0] = UNCERTAIN; verdict[1] = UNCERTAIN
    :: losses > 0 ->
        losses--;
        credit = credit + 2;
        verdict[0] = UNCERTAIN;
        verdict[1] = UNCERTAIN;
        if
        :: append(row[0]); append(row[1])
        :: late_chunk == 0 -> late_chunk = bit(row[0]) | bit(row[1])
        :: skip
        fi
    fi
}

/* What becomes of the rows: as outcome_decide(). */
inline decide()
{
    d_step {
        for (i : 0 .. BATCH - 1) {
            if
            :: row[i] != 0 ->
                if
                :: verdict[i] == ACKED -> outcome[i] = SENT
                :: verdict[i] == UNCERTAIN && !RULE(only_acknowledged_rows_are_marked) -> outcome[i] = SENT
                :: verdict[i] == BLOCKED -> outcome[i] = BEHIND
                :: else ->
                    if
                    :: i == 1 && share_key && outcome[0] != SENT ->
                        outcome[1] = (outcome[0] == UNSENT && RULE(row_behind_an_unsent_one_stays) -> UNSENT : BEHIND)
                    :: else -> outcome[i] = (verdict[i] == REFUSED -> RETRY : UNSENT)
                    fi
                fi
            :: else
            fi
        };
#if HORIZON
        seen_to = (row[1] != 0 -> row[1] + 1 : END);
        if
        :: (outcome[0] == UNSENT || outcome[1] == UNSENT) && RULE(unsent_row_holds_the_bound) -> seen_to = 0
        :: else
        fi;
#endif
        i = 0
    }
}

inline free_next(sent)
{
    if
    :: RULE(parked_row_frees_the_next) ->
        n = 1;
        do
        :: n > ROWS -> break
        :: n <= ROWS && is_parked(state[n]) && key_of[n] == key_of[sent] -> state[n] = RETRY; break
        :: else -> n++
        od;
        n = 0
    :: else
    fi
}

inline release_locks()
{
    d_step {
        taken = taken & ~(bit(row[0]) | bit(row[1]));
        owner[slice] = (owner[slice] == l + 1 -> NOBODY : owner[slice])
    }
}

/* The marks, what is parked, and COMMIT. A parked row that was not sent stays as it is. */
inline settle()
{
    d_step {
        for (i : 0 .. BATCH - 1) {
            if
            :: row[i] != 0 ->
                if
                :: !parked || outcome[i] == SENT -> state[row[i]] = outcome[i]
                :: else
                fi
            :: else
            fi
        };
        for (i : 0 .. BATCH - 1) {
            if
            :: row[i] != 0 ->
                if
                :: parked && outcome[i] == SENT -> free_next(row[i])
                :: else
                fi
            :: else
            fi
        };
        i = 0
    }
    news = true;
    flush_or_not();
    release_locks()
}

#if HORIZON
inline read_horizon()
{
    drop(old_epochs, l);
    drop(old_generations, l);
    old_longs = longs;
    old_low = low[slice];
    old_high = high[slice];
    at_low = stable_low;
    at_high = stable_high
}

inline advance()
{
    if
    :: !RULE(stamp_is_older_than_the_snapshot) -> at_low = stable_low; at_high = stable_high
    :: else
    fi;
    if
    :: parked || seen_to == 0
    :: has(old_epochs, l)
    :: has(old_generations, l) && read_high && RULE(older_generation_raises_no_high)
    :: else -> raise_bound(slice, at_low, at_high, seen_to, read_high)
    fi;
    check_bounds()
}

/* A claim that has found nothing. */
inline note_empty()
{
    seen_to = END;
    advance()
}
#else
inline read_horizon() { skip }
inline note_empty() { skip }
inline advance() { skip }
#endif

inline forget()
{
    d_step {
        slice = 0; parked = false; seen = 0; blocked = 0; from = 0;
#if SINKS > 1
        passed_over = false;
#endif
        row[0] = 0; row[1] = 0; verdict[0] = PENDING; verdict[1] = PENDING; outcome[0] = NONE; outcome[1] = NONE;
#if HORIZON
        add(old_epochs, l); add(old_generations, l);
        old_longs = 0; old_low = 0; old_high = 0; at_low = 0; at_high = 0; seen_to = 0;
        read_high = false
#endif
    }
}

inline begin_turn(s, of_parked)
{
    slice = s;
    parked = of_parked;
    read_horizon();
    if
    :: !RULE(claim_sees_what_came_before_its_lock) -> take_snapshot()
    :: else
    fi
}

#define is_up (cut[l] == 0)
#define commits_first RULE(bound_rises_after_the_commit)
#define is_abandoned ((verdict[0] == UNCERTAIN || verdict[1] == UNCERTAIN) && \
                      !RULE(acknowledged_rows_are_marked_after_a_failure))
#define locks_slice (parked -> RULE(slice_of_parked_rows_is_locked) : RULE(slice_is_locked))

proctype lane(byte l)
{
    bool parked;
    byte slice, seen, blocked, parked_keys, outbox_keys, from;
#if SINKS > 1
    bool passed_over;
#endif
    byte row[BATCH];
    mtype:verdicts verdict[BATCH] = PENDING;
    mtype:states outcome[BATCH] = NONE;
#if HORIZON
    byte old_longs, old_low, old_high, at_low, at_high, seen_to;
    bool read_high;
#endif

end_idle:
    if
    :: atomic { is_up && owner[0] == NOBODY && any_row(waits_in_outbox, 0) -> begin_turn(0, false) }
    :: atomic { is_up && owner[1] == NOBODY && any_row(waits_in_outbox, 1) -> begin_turn(1, false) }
    :: atomic { is_up && owner[0] == NOBODY && any_row(waits_parked, 0) -> begin_turn(0, true) }
    :: atomic { is_up && owner[1] == NOBODY && any_row(waits_parked, 1) -> begin_turn(1, true) }
    :: !is_up -> goto gone
    fi;
    CLAIM {
        if
        :: atomic { is_up && !locks_slice }
        :: atomic { is_up && locks_slice && owner[slice] == NOBODY -> owner[slice] = l + 1 }
        :: atomic { is_up && locks_slice && owner[slice] != NOBODY -> forget(); goto end_idle }
        :: !is_up -> goto gone
        fi;
        if
        :: atomic {
                is_up ->
                if
                :: RULE(claim_sees_what_came_before_its_lock) -> take_snapshot()
                :: else
                fi;
                (seen & taken) == 0; /* FOR UPDATE waits for locked rows */
                take_rows();
                if
                :: row[0] == 0 -> note_empty(); release_locks(); forget(); goto end_idle
                :: else
                fi;
                if
                :: RULE(published_rows_are_on_disk) -> flush_wal()
                :: else
                fi;
                if
                :: !RULE(mark_is_of_the_claims_transaction) -> outcome[0] = SENT; outcome[1] = SENT; settle()
                :: else
                fi
            }
        :: !is_up -> goto gone
        fi
    }
    do
    :: atomic { is_up && is_due(0) -> send(0) }
    :: atomic { is_up && is_due(1) && second_may_start -> send(1) }
    :: atomic { is_up && is_chunk -> send_chunk() }
    :: atomic { is_up && !is_due(0) && !(is_due(1) && second_may_start) -> decide(); break }
    :: !is_up -> goto gone
    od;
    if
    :: atomic { is_up && is_abandoned -> goto gone }
    :: atomic { is_up && !is_abandoned && commits_first -> settle() }
    :: atomic { is_up && !is_abandoned && !commits_first -> advance() }
    :: atomic { cut[l] == BY_A_FAULT && commits_first -> settle(); goto gone } /* its answer is lost */
    :: !is_up -> goto gone
    fi;
    if
    :: atomic { is_up && commits_first -> advance(); forget(); goto end_idle }
    :: atomic { is_up && !commits_first -> settle(); forget(); goto end_idle }
    :: atomic { !is_up && commits_first -> advance(); goto gone }
    :: atomic { !is_up && !commits_first -> goto gone }
    fi;

gone: /* PostgreSQL rolls back what was not committed. What was on its way may arrive late. */
    atomic {
        if
        :: is_due(0) -> add(late, row[0])
        :: is_due(1) && second_may_start -> add(late, row[1])
        :: is_chunk && late_chunk == 0 -> late_chunk = bit(row[0]) | bit(row[1])
        :: skip
        fi;
        release_locks();
        forget()
    }
    atomic { /* the lane connects again */
        if
        :: RULE(connecting_begins_an_epoch) -> begin_epoch()
        :: else
        fi;
        cut[l] = 0;
        goto end_idle
    }
}

/* ---- the operator ---- */

#if SINKS > 1
/* Gives a row of sink 1 to sink 0, by other routes between two starts or by another topic. Sink 0 comes back. */
proctype operator()
{
    if
    :: atomic {
            (taken | late | late_chunk) == 0 && owner[0] == NOBODY && owner[1] == NOBODY ->
            if
            :: sink_of[2] == 1 -> sink_of[2] = 0
#if ROWS > 2
            :: sink_of[3] == 1 -> sink_of[3] = 0
#endif
            :: else
            fi
        }
    :: skip
    fi;
    away = false
}
#endif

/* ---- faults ---- */

#if CRASHES
/* What is not on disk is taken back. */
inline crash()
{
    d_step {
        for (i : 1 .. ROWS) {
            if
            :: is_committed(state[i]) && !is_committed(on_disk[i]) ->
                no_phantom = no_phantom && !has(stored, i);
                state[i] = ROLLED_BACK
            :: state[i] == OPEN -> state[i] = ROLLED_BACK
            :: is_committed(on_disk[i]) ->
                credit = credit + (state[i] == SENT && on_disk[i] != SENT -> 1 : 0);
                state[i] = on_disk[i]
            :: else
            fi;
            on_disk[i] = state[i]
        };
        assert(no_phantom);
        for (i : 0 .. LANES - 1) {
            cut[i] = BY_A_CRASH
        };
        i = 0;
        credit = credit + LANES * BATCH;
        aborted = aborted | open;
        open = 0;
        owner[0] = NOBODY; owner[1] = NOBODY;
        taken = 0; holders = 0; running = 0; locked_keys = 0
    }
}
#endif

proctype faults()
{
    byte cuts = CUTS;
    byte crashes = CRASHES;

end:
    do
    :: atomic { cuts > 0 && cut[0] == 0 -> cut[0] = BY_A_FAULT; cuts--; credit = credit + BATCH }
#if LANES > 1
    :: atomic { cuts > 0 && cut[1] == 0 -> cut[1] = BY_A_FAULT; cuts--; credit = credit + BATCH }
#endif
#if CRASHES
    :: atomic { crashes > 0 -> crash(); crashes-- }
#endif
    :: atomic { cuts = 0; crashes = 0; break }
    od
}

/* ---- the end ---- */

/* When nothing more can happen, nothing may be left. */
proctype audit()
{
    timeout;
    d_step {
        for (i : 1 .. ROWS) {
            no_loss = no_loss && (is_committed(state[i]) -> state[i] == SENT && has(stored, i) : true)
        };
        i = 0;
        assert(no_loss)
    }
}

#ifdef PROGRESS
#define is_settled(s, id) (state[id] == SENT || state[id] == ROLLED_BACK)
#define unfinished(s, id) (!is_settled(s, id))
ltl progress { <> !any_row(unfinished, 0) }
#endif

init {
    atomic {
        run writer(1);
        run writer(2);
#if ROWS > 2
        run writer(3);
#endif
#if ROWS > 3
        run writer(4);
#endif
        run lane(0);
#if LANES > 1
        run lane(1);
#endif
#if HORIZON
        run watcher();
#endif
        run network();
#if SINKS > 1
        run operator();
#endif
#ifndef PROGRESS
        run audit();
#endif
        run faults()
    }
}
