#include "message/declined.h"
#include "unit/batch.h"

#include <stdio.h>
#include <string.h>

FIXTURE(open_batch, close_batch)

static struct declined declined;

static struct message *add(enum verdict verdict, const char *waits_for)
{
    struct message *message = batch_add(&batch);

    message->verdict = verdict;
    message->waits_for = batch_copy(&batch, waits_for, strlen(waits_for));
    return message;
}

TEST(what_is_declined_is_remembered_once_and_due_at_once)
{
    struct message *first = add(VERDICT_DECLINED, "a");
    struct message *second = add(VERDICT_DECLINED, "a");
    struct message *missing = add(VERDICT_WAIT, "b");

    declined = (struct declined){0};
    declined_note(&declined, &batch, 100, 1000);
    assert_int_equal(declined.count, 1);
    assert_int_equal(first->wait_max_ms, 1);
    assert_int_equal(second->wait_max_ms, 1);
    assert_int_equal(missing->wait_max_ms, 0);
    declined_forget(&declined, 1099);
    assert_int_equal(declined.count, 1);
    declined_forget(&declined, 1100);
    assert_int_equal(declined.count, 0);
}

TEST(what_does_not_fit_is_tried_at_each_back_off)
{
    char name[DECLINED_BYTES_MAX + 2];
    struct message *longer;

    declined = (struct declined){0};
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    longer = add(VERDICT_DECLINED, name);
    declined_note(&declined, &batch, 100, 1000);
    assert_int_equal(longer->wait_max_ms, 0);
    for (int i = 0; i <= DECLINED_MAX; i++) {
        struct message *message;

        batch_reset(&batch);
        (void)snprintf(name, sizeof name, "%d", i);
        message = add(VERDICT_DECLINED, name);
        declined_note(&declined, &batch, 100, 1000);
        assert_int_equal(message->wait_max_ms, i < DECLINED_MAX ? 1 : 0);
    }
    assert_int_equal(declined.count, DECLINED_MAX);
}
