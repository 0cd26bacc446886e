#include "pg/wire.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#define HEADER_BYTES 20 /* of an array */

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

bool wire_next_element(struct text array, size_t *at, struct text *element)
{
    size_t offset = *at > 0 ? *at : HEADER_BYTES;
    int32_t len;

    if (array.len < offset + sizeof len)
        return false;
    len = wire_int4(array.data + offset);
    offset += sizeof len;
    if (len > 0 && (size_t)len > array.len - offset)
        return false;
    *element = len < 0 ? (struct text){NULL, 0} : (struct text){array.data + offset, (size_t)len};
    *at = offset + element->len;
    return true;
}

static void put_int4(struct array *array, uint32_t value)
{
    uint32_t wire = htonl(value);

    memcpy(array->bytes + array->len, &wire, sizeof wire);
    array->len += sizeof wire;
}

size_t array_size(int count, size_t element_bytes)
{
    return HEADER_BYTES + (size_t)count * 4 + element_bytes;
}

void array_begin(struct array *array, void *memory, uint32_t element_oid, int count,
                 size_t element_bytes)
{
    *array = (struct array){.bytes = memory, .size = array_size(count, element_bytes)};
    if (array->bytes == NULL)
        return;
    put_int4(array, count > 0 ? 1 : 0); /* dimensions */
    put_int4(array, 0);                 /* no NULLs */
    put_int4(array, element_oid);
    if (count == 0)
        return; /* an empty array has no dimensions, and array_recv refuses surplus bytes */
    put_int4(array, (uint32_t)count);
    put_int4(array, 1); /* lower bound */
}

void array_add(struct array *array, const void *bytes, size_t len)
{
    if (array->bytes == NULL || array->len + 4 + len > array->size)
        return;
    put_int4(array, (uint32_t)len);
    memcpy(array->bytes + array->len, bytes, len);
    array->len += len;
}

/* The header's NULL flag may stay 0: array_recv looks at the lengths only. */
void array_add_null(struct array *array)
{
    if (array->bytes != NULL && array->len + 4 <= array->size)
        put_int4(array, UINT32_MAX);
}

void array_add_int4(struct array *array, int32_t value)
{
    uint32_t wire = htonl((uint32_t)value);

    array_add(array, &wire, sizeof wire);
}

void array_add_int8(struct array *array, int64_t value)
{
    unsigned char wire[8];

    for (int i = 0; i < 8; i++)
        wire[i] = (unsigned char)((uint64_t)value >> (56 - 8 * i));
    array_add(array, wire, sizeof wire);
}
