#include "pg/wire.h"

#include <endian.h>
#include <string.h>

int32_t wire_int4(const char *wire)
{
    uint32_t value;

    memcpy(&value, wire, sizeof value);
    return (int32_t)be32toh(value);
}

int64_t wire_int8(const char *wire)
{
    uint64_t value;

    memcpy(&value, wire, sizeof value);
    return (int64_t)be64toh(value);
}

/* Runs for each message; strtoll would take three times as long. */
int64_t wire_integer(struct text text)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    uint64_t value = 0;

    for (size_t i = negative; i < text.len; i++)
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    return (int64_t)(negative ? 0 - value : value);
}
