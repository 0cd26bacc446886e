#include "audit/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_BYTES (4 * SORTER_RECORD_MAX)

/* Sorted records in the file, and a window upon the first that are left. */
struct run {
    off_t at;    /* what follows the window */
    size_t left; /* its bytes */
    char *window;
    size_t first, len;
};

struct sorter {
    int (*compare)(const void *, const void *);
    FILE *file;
    char *bytes; /* the records of no run yet */
    size_t memory, used;
    off_t end; /* of the last run */
    struct run *runs;
    int run_count;
    char *windows;
    struct run **heap; /* the runs that have a record; none is before heap[0] */
    int heap_count;
};

static size_t size_of(const void *record)
{
    uint32_t size;

    memcpy(&size, record, sizeof size);
    return size;
}

/* ---- the file ---- */

static const char *folder(void)
{
    const char *chosen = getenv("TMPDIR");

    return chosen != NULL && chosen[0] != '\0' ? chosen : "/tmp";
}

static int fail(const char *what, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s a temporary file in %s: %s", what,
                    folder(), strerror(errno));
    return error_hint(error, "TMPDIR names the folder; an audit takes about 450 bytes an event");
}

/* O_TMPFILE is not supported by every file system. */
static FILE *open_nameless(void)
{
    int descriptor = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char name[4096];
    FILE *file;

    if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
        snprintf(name, sizeof name, "%s/outbox-relay-XXXXXX", folder()) < (int)sizeof name &&
        (descriptor = mkostemp(name, O_CLOEXEC)) >= 0)
        (void)unlink(name);
    if (descriptor < 0)
        return NULL;
    file = fdopen(descriptor, "w");
    if (file == NULL)
        (void)close(descriptor);
    return file;
}

struct sorter *sorter_open(size_t memory, int (*compare)(const void *, const void *),
                           struct error *error)
{
    struct sorter *sorter = calloc(1, sizeof *sorter);

    if (sorter != NULL) {
        sorter->compare = compare;
        sorter->memory = memory > SORTER_RECORD_MAX ? memory : SORTER_RECORD_MAX;
        sorter->bytes = malloc(sorter->memory);
    }
    if (sorter == NULL || sorter->bytes == NULL)
        (void)error_no_memory(error);
    else if ((sorter->file = open_nameless()) == NULL)
        (void)fail("cannot create", error);
    else
        return sorter;
    sorter_close(sorter);
    return NULL;
}

void sorter_close(struct sorter *sorter)
{
    if (sorter == NULL)
        return;
    if (sorter->file != NULL)
        (void)fclose(sorter->file);
    free(sorter->bytes);
    free(sorter->runs);
    free(sorter->windows);
    free(sorter->heap);
    free(sorter);
}

/* ---- runs ---- */

static int write_sorted(struct sorter *sorter, const void **list, struct error *error)
{
    size_t count = 0;

    for (size_t at = 0; at < sorter->used; at += size_of(list[count++]))
        list[count] = sorter->bytes + at;
    qsort(list, count, sizeof *list, sorter->compare);
    for (size_t i = 0; i < count; i++)
        if (fwrite_unlocked(list[i], size_of(list[i]), 1, sorter->file) != 1)
            return fail("cannot write", error);
    return 0;
}

static int write_run(struct sorter *sorter, struct error *error)
{
    struct run *runs = realloc(sorter->runs, (size_t)(sorter->run_count + 1) * sizeof *runs);
    const void **list = malloc(sorter->used / sizeof(uint64_t) * sizeof *list);
    int status = -1;

    if (runs != NULL)
        sorter->runs = runs;
    if (runs == NULL || list == NULL)
        (void)error_no_memory(error);
    else if ((status = write_sorted(sorter, list, error)) == 0) {
        runs[sorter->run_count++] = (struct run){.at = sorter->end, .left = sorter->used};
        sorter->end += (off_t)sorter->used;
        sorter->used = 0;
    }
    free(list);
    return status;
}

void *sorter_add(struct sorter *sorter, size_t size, struct error *error)
{
    uint32_t size_in_record = (uint32_t)size;
    char *record;

    if (size > sorter->memory - sorter->used && write_run(sorter, error) < 0)
        return NULL;
    record = sorter->bytes + sorter->used;
    memset(record, 0, size);
    memcpy(record, &size_in_record, sizeof size_in_record);
    sorter->used += size;
    return record;
}

/* ---- the merge ---- */

static bool has_record(const struct run *run)
{
    return run->len - run->first >= sizeof(uint32_t) &&
           run->len - run->first >= size_of(run->window + run->first);
}

/* Reads until the window is full. The room on the disk stays taken: a hole would first be written.
 */
static int fill(struct sorter *sorter, struct run *run, struct error *error)
{
    int descriptor = fileno(sorter->file);

    run->len -= run->first;
    memmove(run->window, run->window + run->first, run->len);
    run->first = 0;
    while (run->left > 0 && run->len < WINDOW_BYTES) {
        size_t room = WINDOW_BYTES - run->len;
        ssize_t count =
            pread(descriptor, run->window + run->len, room < run->left ? room : run->left, run->at);

        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            errno = EIO; /* it is shorter than what was written */
        if (count <= 0)
            return fail("cannot read", error);
        run->at += count;
        run->left -= (size_t)count;
        run->len += (size_t)count;
    }
    return 0;
}

static bool is_before(const struct sorter *sorter, const struct run *a, const struct run *b)
{
    const void *left = a->window + a->first;
    const void *right = b->window + b->first;

    return sorter->compare(&left, &right) < 0;
}

static void move_down(struct sorter *sorter, int at)
{
    struct run **heap = sorter->heap;

    for (int child = 2 * at + 1; child < sorter->heap_count; child = 2 * at + 1) {
        struct run *run = heap[at];

        if (child + 1 < sorter->heap_count && is_before(sorter, heap[child + 1], heap[child]))
            child++;
        if (!is_before(sorter, heap[child], run))
            return;
        heap[at] = heap[child];
        heap[child] = run;
        at = child;
    }
}

int sorter_begin(struct sorter *sorter, struct error *error)
{
    size_t count;

    if (sorter->used > 0 && write_run(sorter, error) < 0)
        return -1;
    if (fflush(sorter->file) != 0)
        return fail("cannot write", error);
    free(sorter->bytes);
    sorter->bytes = NULL;
    count = (size_t)sorter->run_count + 1;
    sorter->windows = malloc(count * WINDOW_BYTES);
    sorter->heap = malloc(count * sizeof(*sorter->heap));
    if (sorter->windows == NULL || sorter->heap == NULL)
        return error_no_memory(error);
    for (int i = 0; i < sorter->run_count; i++) {
        struct run *run = &sorter->runs[i];

        run->window = sorter->windows + (size_t)i * WINDOW_BYTES;
        sorter->heap[sorter->heap_count++] = run;
        if (fill(sorter, run, error) < 0)
            return -1;
    }
    for (int at = sorter->heap_count - 1; at >= 0; at--)
        move_down(sorter, at);
    return 0;
}

const void *sorter_first(const struct sorter *sorter)
{
    return sorter->heap_count > 0 ? sorter->heap[0]->window + sorter->heap[0]->first : NULL;
}

int sorter_drop(struct sorter *sorter, struct error *error)
{
    struct run *run = sorter->heap[0];

    run->first += size_of(run->window + run->first);
    if (!has_record(run) && fill(sorter, run, error) < 0)
        return -1;
    if (!has_record(run))
        sorter->heap[0] = sorter->heap[--sorter->heap_count];
    move_down(sorter, 0);
    return 0;
}
