#include "lessons/learner.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_MOST = 4096, MARKS = 64, FILE_BYTES = 64 * 1024 };

static const char schema[] = "flashlab.progress/1";

/* ---- where ---- */

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

enum fa_status lesson_progress_path(char *path, size_t size, struct fa_error *error)
{
    const char *data = environment("FLASHLAB_DATA"), *home = environment("HOME");
    const char *xdg = environment("XDG_DATA_HOME");
    int n;
    if (data)
        n = snprintf(path, size, "%s/progress.json", data);
#if defined(__APPLE__)
    else if (home)
        n = snprintf(path, size, "%s/Library/Application Support/flashlab/progress.json", home);
#else
    else if (xdg && xdg[0] == '/') /* a relative one is to be ignored, its specification says */
        n = snprintf(path, size, "%s/flashlab/progress.json", xdg);
    else if (home)
        n = snprintf(path, size, "%s/.local/share/flashlab/progress.json", home);
#endif
    else
        return fa_fail(error, FA_IO,
                       "no folder for the progress: expected HOME or FLASHLAB_DATA in the "
                       "environment");
    (void)xdg;
    if (n < 0 || (size_t)n >= size)
        return fa_fail(error, FA_IO,
                       "the progress's path is too long: expected one of less than %zu "
                       "bytes",
                       size);
    return FA_OK;
}

/* ---- loading ---- */

void lesson_progress_reset(struct lesson_progress *progress)
{
    memset(progress, 0, sizeof *progress);
    progress->last_lesson = -1;
}

/* The whole number from `least` to `most` at the key; false: there is none. */
static bool take_integer(const json_t *object, const char *key, int least, int most, int *value)
{
    const json_t *number = json_object_get(object, key);
    json_int_t found = json_integer_value(number);
    if (!json_is_integer(number) || found < least || found > most)
        return false;
    *value = (int)found;
    return true;
}

static bool take_flag(const json_t *object, const char *key, bool *value)
{
    const json_t *flag = json_object_get(object, key);
    *value = json_is_true(flag);
    return json_is_boolean(flag);
}

static bool take_mark(const json_t *object, struct lesson_progress *progress)
{
    struct lesson_mark mark;
    if (progress->n == MARKS ||
        !take_integer(object, "number", 0, LESSON_NUMBERS - 1, &mark.number) ||
        !take_integer(object, "step", 0, LESSON_STEPS - 1, &mark.step) ||
        !take_flag(object, "done", &mark.done) || !take_flag(object, "skipped", &mark.skipped))
        return false;
    for (int i = 0; i < progress->n; i++)
        if (progress->mark[i].number == mark.number)
            return false;
    progress->mark[progress->n++] = mark;
    return true;
}

static bool take_progress(const char *bytes, size_t n, struct lesson_progress *progress)
{
    json_t *root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *lessons = json_object_get(root, "lessons");
    const char *name = json_string_value(json_object_get(root, "schema"));
    bool fine = name && strcmp(name, schema) == 0 && json_is_array(lessons) &&
                take_flag(root, "race_seen", &progress->race_seen) &&
                take_integer(root, "last_lesson", -1, LESSON_NUMBERS - 1, &progress->last_lesson);
    for (size_t i = 0; fine && i < json_array_size(lessons); i++)
        fine = take_mark(json_array_get(lessons, i), progress);
    json_decref(root);
    return fine;
}

enum fa_status lesson_progress_load(const char *path, struct lesson_progress *progress,
                                    struct fa_error *error)
{
    struct lesson_progress made;
    char backup[PATH_MOST];
    FILE *file = fopen(path, "rb");
    lesson_progress_reset(&made);
    if (!file && errno == ENOENT) {
        *progress = made;
        return FA_OK;
    }
    char *bytes = malloc(FILE_BYTES);
    size_t n = file && bytes ? fread(bytes, 1, FILE_BYTES, file) : 0;
    bool failed = !file || ferror(file);
    int cause = errno;
    if (file)
        fclose(file);
    if (failed || !bytes) {
        free(bytes);
        return fa_fail(error, failed ? FA_IO : FA_NO_MEMORY, "%s: cannot be read: %s", path,
                       failed ? strerror(cause) : "no memory");
    }
    bool fine = n < FILE_BYTES && take_progress(bytes, n, &made);
    free(bytes);
    if (!fine) {
        lesson_progress_reset(&made);
        made.kept_backup = true;
        if ((size_t)snprintf(backup, sizeof backup, "%s.bak", path) >= sizeof backup ||
            rename(path, backup) != 0)
            return fa_fail(error, FA_IO, "%.900s: is no progress and cannot be renamed", path);
    }
    *progress = made;
    return FA_OK;
}

/* ---- saving ---- */

/* The folders above a file. */
static bool make_folders(const char *path)
{
    char part[PATH_MOST];
    size_t n = strlen(path);
    if (n >= sizeof part)
        return false;
    memcpy(part, path, n + 1);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST && errno != EISDIR)
            return false;
        *slash = '/';
    }
    return true;
}

static json_t *to_json(const struct lesson_progress *progress)
{
    json_t *lessons = json_array();
    for (int i = 0; i < progress->n; i++) {
        const struct lesson_mark *mark = &progress->mark[i];
        json_array_append_new(lessons,
                              json_pack("{s:i, s:i, s:b, s:b}", "number", mark->number, "step",
                                        mark->step, "done", mark->done, "skipped", mark->skipped));
    }
    return json_pack("{s:s, s:b, s:i, s:o}", "schema", schema, "race_seen", progress->race_seen,
                     "last_lesson", progress->last_lesson, "lessons", lessons);
}

/* All of the text, and to the disk. */
static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool fine = fputs(text, file) >= 0 && fputc('\n', file) != EOF && fflush(file) == 0 &&
                (fsync(fileno(file)) == 0 || errno == EINVAL);
    return fclose(file) == 0 && fine;
}

enum fa_status lesson_progress_save(const char *path, const struct lesson_progress *progress,
                                    struct fa_error *error)
{
    char part[PATH_MOST];
    enum fa_status status = FA_OK;
    json_t *json = to_json(progress);
    char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    json_decref(json);
    if (!text)
        return fa_fail(error, FA_NO_MEMORY, "%.900s: no memory to save it", path);
    if ((size_t)snprintf(part, sizeof part, "%s.part-%ld", path, (long)getpid()) >= sizeof part) {
        status =
            fa_fail(error, FA_IO, "%.900s: expected a path of less than %d bytes", path, PATH_MOST);
    } else if (!make_folders(path) || !write_file(part, text) || rename(part, path) != 0) {
        status = fa_fail(error, FA_IO, "%.900s: cannot be saved: %s", path, strerror(errno));
        remove(part);
    }
    free(text);
    return status;
}

struct lesson_mark *lesson_progress_mark(struct lesson_progress *progress, int number)
{
    for (int i = 0; i < progress->n; i++)
        if (progress->mark[i].number == number)
            return &progress->mark[i];
    if (progress->n == MARKS)
        return NULL;
    struct lesson_mark *mark = &progress->mark[progress->n++];
    *mark = (struct lesson_mark){.number = number};
    return mark;
}
