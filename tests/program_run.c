#define _XOPEN_SOURCE 700 /* nftw */

#include "tests/program_run.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

extern char **environ;

enum { ARGUMENTS_MAX = 64, PATHS = 8 };

static char folder[256];
static const char *program = FLASHLAB_PROGRAM;

void program_use(const char *path)
{
    program = path ? path : FLASHLAB_PROGRAM;
}

const char *program_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/flashlab-test-XXXXXX",
                 parent && *parent ? parent : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

int program_folder_remove(void **state)
{
    (void)state;
    if (folder[0] != '\0')
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
    return 0;
}

const char *program_path(const char *name)
{
    static char paths[PATHS][512];
    static int next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", program_folder(), name);
    return path;
}

char *program_read_file(const char *path, size_t *n_bytes)
{
    size_t n = 0, capacity = 1 << 16;
    FILE *file = fopen(path, "rb");
    char *bytes = file ? malloc(capacity + 1) : NULL;
    while (bytes) {
        n += fread(bytes + n, 1, capacity - n, file);
        if (n < capacity)
            break;
        char *larger = realloc(bytes, 2 * capacity + 1);
        if (!larger) {
            free(bytes);
            bytes = NULL;
            break;
        }
        bytes = larger;
        capacity *= 2;
    }
    if (file)
        fclose(file);
    if (bytes)
        bytes[n] = '\0';
    if (n_bytes)
        *n_bytes = n;
    return bytes;
}

struct program_run program_run_argv(char *const *argv, const char *stdout_path)
{
    struct program_run run = {.status = -1};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t interrupts;
    pid_t process;
    int waited;
    char *words[ARGUMENTS_MAX + 2] = {(char *)(uintptr_t)program};
    const char *out = program_path("stdout"), *err = program_path("stderr");
    for (int i = 0; argv[i]; i++) {
        assert_true(i < ARGUMENTS_MAX);
        words[i + 1] = argv[i];
    }
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, stdout_path ? stdout_path : out,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_init(&attributes);
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    posix_spawnattr_setsigdefault(&attributes, &interrupts);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    assert_int_equal(posix_spawn(&process, program, &files, &attributes, words, environ), 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    assert_int_equal(waitpid(process, &waited, 0), process);
    if (WIFEXITED(waited))
        run.status = WEXITSTATUS(waited);
    run.out = stdout_path ? calloc(1, 1) : program_read_file(out, NULL);
    run.err = program_read_file(err, NULL);
    assert_non_null(run.out);
    assert_non_null(run.err);
    return run;
}

struct program_run program_run(const char *argument, ...)
{
    char *argv[ARGUMENTS_MAX + 1];
    int n = 0;
    va_list rest;
    va_start(rest, argument);
    for (; argument && n < ARGUMENTS_MAX; argument = va_arg(rest, const char *))
        argv[n++] = (char *)(uintptr_t)argument;
    va_end(rest);
    assert_null(argument);
    argv[n] = NULL;
    return program_run_argv(argv, NULL);
}

void program_run_free(struct program_run *run)
{
    free(run->out);
    free(run->err);
    memset(run, 0, sizeof *run);
}
