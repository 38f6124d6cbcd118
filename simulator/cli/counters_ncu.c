/* Runs NVIDIA's profiler on this program. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/cli/counters_command.h"

extern char **environ;

enum { WORDS = 64, TEXT = 1 << 16 };

/* The words of ncu's command line, and where they lie. */
struct words {
    char *word[WORDS + 1];
    char text[8192];
    size_t used;
    int n;
};

static void add(struct words *words, const char *word)
{
    size_t n = strlen(word) + 1;
    if (words->n == WORDS || n > sizeof words->text - words->used)
        return; /* the list below is of bounded words */
    words->word[words->n++] = memcpy(words->text + words->used, word, n);
    words->used += n;
}

static void add_number(struct words *words, const char *option, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    add(words, option);
    add(words, text);
}

/* The problem as the launched program reads it again. */
static void add_problem(struct words *words, const struct counters *counters)
{
    const struct fa_problem *p = &counters->problem;
    char text[96];
    add(words, "--rung");
    add(words, counters->rung->name);
    add(words, "--pass");
    add(words, sim_pass_name((enum sim_pass)counters->options.pass));
    add(words, "--dtype");
    add(words, fa_dtype_name(p->dtype));
    add_number(words, "--batch", p->batch);
    add_number(words, "--heads", p->heads);
    add_number(words, "--kv-heads", p->kv_heads);
    add_number(words, "--nq", p->nq);
    add_number(words, "--nk", p->nk);
    add_number(words, "--d", p->d);
    add_number(words, "--dv", p->dv);
    snprintf(text, sizeof text, "%.17g", p->scale);
    add(words, "--scale");
    add(words, text);
    if (p->causal != FA_CAUSAL_NONE) {
        snprintf(text, sizeof text, "--causal=%s", fa_causal_name(p->causal));
        add(words, text);
    }
    if (p->window_left >= 0 || p->window_right >= 0) {
        snprintf(text, sizeof text, "%" PRId64 ",%" PRId64, p->window_left, p->window_right);
        add(words, "--window");
        add(words, text);
    }
    if (counters->deterministic)
        add(words, "--deterministic");
}

static enum fa_status make_words(struct words *words, const struct counters *counters,
                                 struct fa_error *error)
{
    char metrics[1024] = "", self[4096];
    size_t n = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || length == (ssize_t)sizeof self - 1)
        return fa_fail(error, FA_IO, "this program's own path cannot be read from /proc/self/exe");
    self[length] = '\0';
    for (int c = 0; c < COUNTERS_ALL; c++)
        n += (size_t)snprintf(metrics + n, sizeof metrics - n, "%s%s", c ? "," : "",
                              counters_metric[c]);
    const char *const fixed[] = {"ncu",  "--csv",           "--page",  "raw",       "--print-units",
                                 "base", "--clock-control", "none",    "--metrics", metrics,
                                 self,   "counters",        "--launch"};
    for (size_t w = 0; w < sizeof fixed / sizeof *fixed; w++)
        add(words, fixed[w]);
    add_problem(words, counters);
    words->word[words->n] = NULL;
    return FA_OK;
}

/* The profiler's output and errors, each a file that is gone with its descriptor. */
static FILE *open_scratch(void)
{
    const char *parent = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%.400s/flashlab-ncu-XXXXXX", parent && *parent ? parent : "/tmp");
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return NULL;
    unlink(path);
    FILE *file = fdopen(descriptor, "w+b");
    if (!file)
        close(descriptor);
    return file;
}

/* In PATH, or where the toolkit lies by default. */
static enum fa_status run_words(const struct words *words, FILE *out, FILE *err, int *exit_status,
                                struct fa_error *error)
{
    static const char *const places[] = {"ncu", "/usr/local/cuda/bin/ncu"};
    posix_spawn_file_actions_t files;
    pid_t process;
    int cause = ENOENT, waited = 0;
    if (posix_spawn_file_actions_init(&files) != 0)
        return fa_fail(error, FA_NO_MEMORY, "no memory to start ncu");
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fileno(out), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(err), STDERR_FILENO);
    setenv("LC_ALL", "C", 1); /* for the decimal point of what is printed */
    for (size_t p = 0; p < sizeof places / sizeof *places && cause == ENOENT; p++)
        cause = posix_spawnp(&process, places[p], &files, NULL, words->word, environ);
    posix_spawn_file_actions_destroy(&files);
    if (cause != 0)
        return fa_fail(error, FA_MISSING_PART,
                       "ncu cannot be run: %s: it comes with NVIDIA Nsight Compute, and is looked "
                       "for in PATH and /usr/local/cuda/bin; a CSV of it can be given with --csv",
                       strerror(cause));
    while (waitpid(process, &waited, 0) < 0)
        if (errno != EINTR)
            return fa_fail(error, FA_IO, "ncu: cannot be waited for: %s", strerror(errno));
    *exit_status = WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
    return FA_OK;
}

/* The whole file with a zero after it, or more than the reader takes; NULL without memory. */
static char *read_back(FILE *file, size_t *n_bytes)
{
    size_t room = TEXT, n = 0;
    char *text = malloc(room + 1);
    rewind(file);
    while (text) {
        n += fread(text + n, 1, room - n, file);
        if (n < room || n > NCU_BYTES)
            break;
        char *larger = realloc(text, 2 * room + 1);
        if (!larger) {
            free(text);
            return NULL;
        }
        text = larger;
        room *= 2;
    }
    if (text)
        text[n] = '\0';
    *n_bytes = n;
    return text;
}

/* What stands behind `mark` on the last line that has it; NULL if none has. */
static const char *last_line(const char *text, const char *mark, size_t *length)
{
    const char *found = NULL;
    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark))
        found = at + strlen(mark);
    if (found)
        *length = strcspn(found, "\r\n");
    return found;
}

/* The last line with something on it; NULL if none has. */
static const char *last_words(const char *text, size_t *length)
{
    size_t end = strlen(text), begin;
    while (end > 0 && strchr(" \t\r\n", text[end - 1]))
        end--;
    for (begin = end; begin > 0 && text[begin - 1] != '\n';)
        begin--;
    *length = end - begin;
    return end > 0 ? text + begin : NULL;
}

/* Why ncu printed no CSV, by what it and the launched program said. */
static enum fa_status refuse(const char *out, const char *err, int exit_status,
                             struct fa_error *error)
{
    static const char *const marks[] = {"flashlab counters: ", "==ERROR== "};
    const char *const texts[] = {err, out};
    size_t length = 0;
    if (strstr(out, "ERR_NVGPUCTRPERM") || strstr(err, "ERR_NVGPUCTRPERM"))
        return fa_fail(error, FA_MISSING_PART,
                       "ncu may not read the GPU's counters (ERR_NVGPUCTRPERM): " NCU_PERMISSION);
    const char *line = NULL;
    for (size_t m = 0; m < 2; m++)
        for (size_t t = 0; t < 2 && !line; t++)
            line = last_line(texts[t], marks[m], &length);
    if (!line) /* of what started it, such as a missing library */
        line = last_words(err, &length);
    if (line)
        return fa_fail(error, FA_IO, "ncu ended with %d: %.*s", exit_status,
                       (int)(length < 600 ? length : 600), line);
    return fa_fail(error, FA_IO, "ncu ended with %d and no word of why", exit_status);
}

static enum fa_status read_output(struct counters *counters, FILE *out, FILE *err, int exit_status,
                                  struct fa_error *error)
{
    size_t n_out = 0, n_err = 0;
    char *text = read_back(out, &n_out), *errors = read_back(err, &n_err);
    enum fa_status status = FA_OK;
    if (!text || !errors)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for what ncu printed");
    else if (exit_status != 0)
        status = refuse(text, errors, exit_status, error);
    else
        status = ncu_csv_parse("ncu", text, n_out, &counters->csv, error);
    /* It may end well and have measured nothing. */
    if (status == FA_BAD_FILE && text && errors &&
        (strstr(text, "ERR_NVGPUCTRPERM") || strstr(errors, "ERR_NVGPUCTRPERM")))
        status = refuse(text, errors, exit_status, error);
    free(text);
    free(errors);
    return status;
}

enum fa_status counters_profile(struct counters *counters, struct fa_error *error)
{
    struct words words = {.n = 0};
    struct gpu_device device;
    int exit_status = 0;
    FILE *out = NULL, *err = NULL;
    enum fa_status status = gpu_device_find(&device, error);
    if (status == FA_OK)
        status = make_words(&words, counters, error);
    if (status != FA_OK)
        return status;
    out = open_scratch();
    err = open_scratch();
    if (out && err)
        status = run_words(&words, out, err, &exit_status, error);
    else
        status =
            fa_fail(error, FA_IO, "a file for ncu's output cannot be made: %s", strerror(errno));
    if (status == FA_OK)
        status = read_output(counters, out, err, exit_status, error);
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return status;
}
