#include "audit/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file is made of chunks, each of one bucket. */
#define CHUNK_BYTES SPILL_PART_BYTES

struct spill {
    int descriptor;
    unsigned char *owners; /* the bucket of each chunk */
    size_t chunk_count, chunk_capacity;
    size_t len[SPILL_BUCKETS]; /* bytes of each bucket; those of its last chunk are in memory */
    char last[SPILL_BUCKETS][CHUNK_BYTES];
};

static const char *folder(void)
{
    const char *chosen = getenv("TMPDIR");

    return chosen != NULL && chosen[0] != '\0' ? chosen : "/tmp";
}

static int fail(const char *what, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s a temporary file in %s: %s", what,
                    folder(), strerror(errno));
    return error_hint(error, "TMPDIR names the folder; an audit takes about 300 bytes an event");
}

/* O_TMPFILE is not supported by every file system. */
static int open_nameless(void)
{
    int descriptor = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char name[4096];

    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return descriptor;
    if (snprintf(name, sizeof name, "%s/outbox-relay-XXXXXX", folder()) >= (int)sizeof name)
        return -1;
    descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0)
        (void)unlink(name);
    return descriptor;
}

struct spill *spill_open(struct error *error)
{
    struct spill *spill = calloc(1, sizeof *spill);

    if (spill == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    spill->descriptor = open_nameless();
    if (spill->descriptor >= 0)
        return spill;
    (void)fail("cannot create", error);
    free(spill);
    return NULL;
}

void spill_close(struct spill *spill)
{
    if (spill == NULL)
        return;
    (void)close(spill->descriptor);
    free(spill->owners);
    free(spill);
}

static int write_chunk(struct spill *spill, int bucket, struct error *error)
{
    size_t capacity = spill->chunk_capacity > 0 ? 2 * spill->chunk_capacity : 1024;
    size_t written = 0;

    if (spill->chunk_count == spill->chunk_capacity) {
        unsigned char *grown = realloc(spill->owners, capacity);

        if (grown == NULL)
            return error_no_memory(error);
        spill->owners = grown;
        spill->chunk_capacity = capacity;
    }
    while (written < CHUNK_BYTES) {
        ssize_t count =
            pwrite(spill->descriptor, spill->last[bucket] + written, CHUNK_BYTES - written,
                   (off_t)(spill->chunk_count * CHUNK_BYTES + written));

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail("cannot write", error);
        written += (size_t)count;
    }
    spill->owners[spill->chunk_count++] = (unsigned char)bucket;
    return 0;
}

int spill_put(struct spill *spill, uint64_t hash, const void *record, size_t size,
              struct error *error)
{
    int bucket = (int)(hash % SPILL_BUCKETS);
    const char *bytes = record;

    while (size > 0) {
        size_t used = spill->len[bucket] % CHUNK_BYTES;
        size_t part = size < CHUNK_BYTES - used ? size : CHUNK_BYTES - used;

        memcpy(spill->last[bucket] + used, bytes, part);
        if (used + part == CHUNK_BYTES && write_chunk(spill, bucket, error) < 0)
            return -1;
        spill->len[bucket] += part;
        bytes += part;
        size -= part;
    }
    return 0;
}

/* The room on the disk is given back at once, where the file system can do that. */
static int read_chunk(const struct spill *spill, size_t chunk, char *bytes, struct error *error)
{
    off_t place = (off_t)(chunk * CHUNK_BYTES);
    size_t len = 0;

    while (len < CHUNK_BYTES) {
        ssize_t count =
            pread(spill->descriptor, bytes + len, CHUNK_BYTES - len, place + (off_t)len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return fail("cannot read", error);
        len += (size_t)count;
    }
    (void)fallocate(spill->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place,
                    CHUNK_BYTES);
    return 0;
}

size_t spill_len(const struct spill *spill, int bucket)
{
    return spill->len[bucket];
}

struct spill_reader spill_read(struct spill *spill, int bucket)
{
    return (struct spill_reader){spill, bucket, 0, spill->len[bucket]};
}

int spill_next(struct spill_reader *reader, char *bytes, size_t *len, struct error *error)
{
    const struct spill *spill = reader->spill;

    *len = reader->left < CHUNK_BYTES ? reader->left : CHUNK_BYTES;
    reader->left -= *len;
    if (*len < CHUNK_BYTES) {
        memcpy(bytes, spill->last[reader->bucket], *len);
        return 0;
    }
    while (spill->owners[reader->chunk] != reader->bucket)
        reader->chunk++;
    return read_chunk(spill, reader->chunk++, bytes, error);
}

int spill_take(struct spill *spill, int bucket, char **bytes, size_t *len, struct error *error)
{
    struct spill_reader reader = spill_read(spill, bucket);
    size_t part = 1;

    *len = 0;
    *bytes = malloc(reader.left > 0 ? reader.left : 1);
    if (*bytes == NULL)
        return error_no_memory(error);
    for (; part > 0; *len += part)
        if (spill_next(&reader, *bytes + *len, &part, error) < 0)
            return -1;
    return 0;
}
