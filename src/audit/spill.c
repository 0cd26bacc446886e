#include "audit/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (16 * 1024)

struct spill {
    FILE *files[SPILL_BUCKETS]; /* NULL: it has been taken */
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
    return error_hint(error, "TMPDIR names the folder; an audit takes about 200 bytes an event");
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

static FILE *open_file(struct error *error)
{
    int descriptor = open_nameless();
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w+b") : NULL;

    if (file != NULL && setvbuf(file, NULL, _IOFBF, BUFFER_BYTES) == 0)
        return file;
    (void)fail("cannot create", error);
    if (file != NULL)
        (void)fclose(file);
    else if (descriptor >= 0)
        (void)close(descriptor);
    return NULL;
}

struct spill *spill_open(struct error *error)
{
    struct spill *spill = calloc(1, sizeof *spill);

    if (spill == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    for (int i = 0; i < SPILL_BUCKETS; i++) {
        spill->files[i] = open_file(error);
        if (spill->files[i] == NULL) {
            spill_close(spill);
            return NULL;
        }
    }
    return spill;
}

void spill_close(struct spill *spill)
{
    if (spill == NULL)
        return;
    for (int i = 0; i < SPILL_BUCKETS; i++)
        if (spill->files[i] != NULL)
            (void)fclose(spill->files[i]);
    free(spill);
}

int spill_put(struct spill *spill, uint64_t hash, const void *record, size_t size,
              struct error *error)
{
    FILE *file = spill->files[hash % SPILL_BUCKETS];

    return fwrite(record, size, 1, file) == 1 ? 0 : fail("cannot write", error);
}

int spill_take(struct spill *spill, int bucket, char **bytes, size_t *len, struct error *error)
{
    FILE *file = spill->files[bucket];
    struct stat stat;
    int status = 0;

    *bytes = NULL;
    *len = 0;
    if (fflush(file) != 0 || fstat(fileno(file), &stat) != 0)
        return fail("cannot write", error);
    *len = (size_t)stat.st_size;
    *bytes = malloc(*len > 0 ? *len : 1);
    rewind(file);
    if (*bytes == NULL)
        status = error_no_memory(error);
    else if (*len > 0 && fread(*bytes, *len, 1, file) != 1)
        status = fail("cannot read", error);
    (void)fclose(file);
    spill->files[bucket] = NULL;
    return status;
}
