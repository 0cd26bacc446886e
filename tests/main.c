/*
 * Runs the tests that the files of a program have registered. In a program of several files each
 * file has a process of its own, and several run at the same time: none depends on what another
 * leaves behind, and most of the time of the slow ones is waiting. Only of files that fail the
 * output is shown. TEST_FILTER=word runs the files whose path holds the word.
 */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct file {
    struct test **tests; /* as many, in the order of their lines */
    size_t count;
    FILE *output;
    pid_t pid;
};

static struct test *registered;
static size_t registered_count;

void test_register(struct test *entry)
{
    entry->next = registered;
    registered = entry;
    registered_count++;
}

static int by_place(const void *left, const void *right)
{
    const struct test *a = *(struct test *const *)left;
    const struct test *b = *(struct test *const *)right;
    int files = strcmp(a->file, b->file);

    return files != 0 ? files : (a->line > b->line) - (a->line < b->line);
}

static size_t count_tests(const struct file *file)
{
    size_t count = 0;

    for (size_t i = 0; i < file->count; i++)
        count += file->tests[i]->test.test_func != NULL;
    return count;
}

/* How many tests failed. */
static int run_file(const struct file *file)
{
    struct CMUnitTest *tests = calloc(file->count, sizeof *tests);
    const struct CMUnitTest *each = NULL;
    const struct CMUnitTest *once = NULL;
    size_t count = 0;
    int failed;

    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < file->count; i++) {
        if (file->tests[i]->kind == TEST_EACH)
            each = &file->tests[i]->test;
        if (file->tests[i]->kind == TEST_ONCE)
            once = &file->tests[i]->test;
    }
    for (size_t i = 0; i < file->count; i++) {
        if (file->tests[i]->test.test_func == NULL)
            continue;
        tests[count] = file->tests[i]->test;
        if (file->tests[i]->kind == TEST_OF_FILE && each != NULL) {
            tests[count].setup_func = each->setup_func;
            tests[count].teardown_func = each->teardown_func;
        }
        count++;
    }
    failed = _cmocka_run_group_tests(file->tests[0]->file, tests, count,
                                     once != NULL ? once->setup_func : NULL,
                                     once != NULL ? once->teardown_func : NULL);
    free(tests);
    return failed;
}

static bool start(struct file *file)
{
    file->output = tmpfile();
    if (file->output == NULL)
        return false;
    (void)fflush(stdout);
    file->pid = fork();
    if (file->pid == 0) {
        int failed;

        if (dup2(fileno(file->output), STDOUT_FILENO) < 0 ||
            dup2(fileno(file->output), STDERR_FILENO) < 0)
            _exit(1);
        failed = run_file(file);
        exit(failed < 100 ? failed : 100);
    }
    return file->pid > 0;
}

static void show(FILE *output)
{
    char bytes[4096];
    size_t len;

    rewind(output);
    while ((len = fread(bytes, 1, sizeof bytes, output)) > 0)
        (void)fwrite(bytes, 1, len, stdout);
}

/* Waits for any of them. Adds what passed and failed. */
static bool await_one(struct file *files, size_t count, size_t *passed, size_t *failed)
{
    int status;
    pid_t pid = wait(&status);

    for (size_t i = 0; i < count; i++) {
        size_t tests = count_tests(&files[i]);
        size_t bad = status == 0 ? 0 : 1;

        if (pid < 0 || files[i].pid != pid)
            continue;
        if (WIFEXITED(status))
            bad = (size_t)WEXITSTATUS(status);
        if (bad > tests)
            bad = tests;
        printf("%-60s %3zu passed %3zu failed\n", files[i].tests[0]->file, tests - bad, bad);
        if (bad > 0) {
            printf("--- wait status %d\n", status);
            show(files[i].output);
        }
        (void)fclose(files[i].output);
        files[i].pid = 0;
        *passed += tests - bad;
        *failed += bad;
        return true;
    }
    return false;
}

static int run_files(struct file *files, size_t count)
{
    const char *filter = getenv("TEST_FILTER");
    long at_once = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    size_t passed = 0;
    size_t failed = 0;
    long running = 0;

    for (size_t i = 0; i < count; i++) {
        if (filter != NULL && strstr(files[i].tests[0]->file, filter) == NULL)
            continue;
        if (running >= at_once && await_one(files, i, &passed, &failed))
            running--;
        if (!start(&files[i])) {
            perror("a file of tests cannot be started");
            return 1;
        }
        running++;
    }
    while (await_one(files, count, &passed, &failed))
        ;
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

int main(void)
{
    struct test **tests = calloc(registered_count + 1, sizeof(struct test *));
    struct file *files = calloc(registered_count + 1, sizeof *files);
    size_t count = 0;
    int failed = 1;

    if (tests != NULL && files != NULL && registered_count > 0) {
        struct test *entry = registered;

        for (size_t i = 0; i < registered_count; i++, entry = entry->next)
            tests[i] = entry;
        qsort(tests, registered_count, sizeof(struct test *), by_place);
        for (size_t i = 0; i < registered_count; i++) {
            if (i == 0 || strcmp(tests[i]->file, tests[i - 1]->file) != 0)
                files[count++].tests = &tests[i];
            files[count - 1].count++;
        }
        failed = count == 1 ? run_file(&files[0]) : run_files(files, count);
    }
    free(files);
    free(tests);
    return failed;
}
