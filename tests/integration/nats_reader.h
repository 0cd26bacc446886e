#ifndef INTEGRATION_NATS_READER_H
#define INTEGRATION_NATS_READER_H

/* Reads the streams of the real nats-server at $TEST_NATS_URL, by a client of the test's own. */

#include "base/clock.h"
#include "test.h"

#include <nats/nats.h>
#include <stdint.h>
#include <stdlib.h>

#define READER_WAIT_MS 20000

static natsConnection *connection;
static jsCtx *context;
static char stream[32];
static char prefix[32];

static inline const char *server_url(void)
{
    const char *url = getenv("TEST_NATS_URL");

    if (url == NULL)
        fail_msg("TEST_NATS_URL is not set: run this through tests/support/services");
    return url;
}

static inline void connect_reader_to(const char *url)
{
    int64_t deadline_ms = clock_now_ms() + READER_WAIT_MS;
    natsStatus status;

    do
        status = natsConnection_ConnectTo(&connection, url);
    while (status != NATS_OK && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(status, NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
}

static inline void connect_reader(void)
{
    connect_reader_to(server_url());
}

static inline void disconnect_reader(void)
{
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    context = NULL;
    connection = NULL;
}

static inline void delete_stream(const char *name)
{
    assert_int_equal(js_DeleteStream(context, name, NULL, NULL), NATS_OK);
}

static inline uint64_t stored(const char *name)
{
    jsStreamInfo *info = NULL;
    uint64_t count;

    assert_int_equal(js_GetStreamInfo(&info, context, name, NULL, NULL), NATS_OK);
    count = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return count;
}

/* The stream's message of this number; numbers begin at 1. */
static inline natsMsg *read_back(uint64_t sequence)
{
    natsMsg *found = NULL;

    assert_int_equal(js_GetMsg(&found, context, stream, sequence, NULL, NULL), NATS_OK);
    return found;
}

#endif
