/* The lessons of a folder, and the terms that they may use of each other. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lessons/reader.h"

/* ---- the folder ---- */

/* "04-tiling.md" */
static bool is_lesson(const char *name)
{
    size_t n = strlen(name);
    return n > 6 && strspn(name, "0123456789") == 2 && name[2] == '-' &&
           strcmp(name + n - 3, ".md") == 0;
}

/* Lessons in a folder; -1: it cannot be read. */
static int count_lessons(const char *folder)
{
    DIR *directory = opendir(folder);
    int n = 0;
    if (!directory)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory));)
        n += is_lesson(entry->d_name);
    closedir(directory);
    return n;
}

/* The folder beside the running binary; "" where the system does not say where that is. */
static void folder_beside(char *folder, size_t size)
{
    char binary[900];
    ssize_t n = readlink("/proc/self/exe", binary, sizeof binary - 1);
    folder[0] = '\0';
    if (n <= 0)
        return;
    binary[n] = '\0';
    char *slash = strrchr(binary, '/');
    if (slash) {
        *slash = '\0';
        snprintf(folder, size, "%s/../share/flashlab/lessons", binary);
    }
}

static enum fa_status find_folder(const char *folder, char found[1024], struct fa_error *error)
{
    char beside[1024], tried[900] = "";
    size_t length = 0;
    folder_beside(beside, sizeof beside);
    const char *const places[] = {beside, FLASHLAB_LESSONS_INSTALLED, FLASHLAB_LESSONS_SOURCE};
    if (folder) {
        int n = count_lessons(folder);
        if (n < 0)
            return fa_fail(error, FA_IO, "%.500s: the folder of lessons cannot be read: %s", folder,
                           strerror(errno));
        if (n == 0 || strlen(folder) >= 1024)
            return fa_fail(error, FA_IO, "%.500s: no lesson in it: expected files as 04-tiling.md",
                           folder);
        snprintf(found, 1024, "%s", folder);
        return FA_OK;
    }
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        if (!*places[p])
            continue;
        if (count_lessons(places[p]) > 0) {
            snprintf(found, 1024, "%s", places[p]);
            return FA_OK;
        }
        if (length < sizeof tried - 1)
            length += (size_t)snprintf(tried + length, sizeof tried - length, "%s%s",
                                       length ? ", " : "", places[p]);
    }
    return fa_fail(error, FA_IO, "no lessons: tried %s", tried);
}

/* ---- what one lesson asks of the others ---- */

/* Which lessons of the shelf the one of the index needs, straight or through others. */
static enum fa_status find_path(const struct lesson_shelf *shelf, int index, bool *path,
                                struct fa_error *error)
{
    memset(path, 0, (size_t)shelf->n * sizeof *path);
    path[index] = true;
    /* Needs go to lower numbers, and the shelf is in order: one pass down finds all. */
    for (int i = index; i >= 0; i--)
        for (int need = 0; path[i] && need < shelf->lesson[i]->n_needs; need++) {
            int number = shelf->lesson[i]->needs[need], other = 0;
            while (other < i && shelf->lesson[other]->number != number)
                other++;
            if (other == i)
                return fa_fail(
                    error, FA_BAD_FILE, "%.400s:%d: it needs lesson %d: expected one of %.400s",
                    shelf->lesson[i]->file, shelf->lesson[i]->needs_line, number, shelf->folder);
            path[other] = true;
        }
    path[index] = false;
    return FA_OK;
}

static const struct lesson_term *find_term(const struct lesson *lesson, const char *name)
{
    for (int t = 0; t < lesson->n_terms; t++)
        if (strcmp(lesson->term[t].name, name) == 0)
            return &lesson->term[t];
    return NULL;
}

static int step_use(const struct lesson_step *step, const char *term)
{
    const char *text;
    int line;
    for (int i = 0; lesson_step_text(step, i, &text, &line); i++)
        if (text && lesson_uses_term(text, term))
            return line;
    return 0;
}

/* The first text of a lesson, its recall's too, that uses the term; 0: none. */
static int first_use(const struct lesson *lesson, const char *term)
{
    const struct lesson_step recall = {.title = "", .question = lesson->recall};
    int line = 0;
    for (int s = 0; s < lesson->n_steps && line == 0; s++)
        line = step_use(&lesson->step[s], term);
    return line > 0 ? line : step_use(&recall, term);
}

static enum fa_status check_terms(const struct lesson_shelf *shelf, int index, const bool *path,
                                  struct fa_error *error)
{
    const struct lesson *lesson = shelf->lesson[index];
    for (int o = 0; o < shelf->n; o++) {
        const struct lesson *other = shelf->lesson[o];
        for (int t = 0; o != index && t < other->n_terms; t++) {
            const char *name = other->term[t].name;
            const struct lesson_term *own = find_term(lesson, name);
            bool known = own != NULL;
            for (int p = 0; p < shelf->n && !known; p++)
                known = path[p] && find_term(shelf->lesson[p], name);
            if (own && path[o])
                return fa_fail(error, FA_BAD_FILE,
                               "%.400s:%d: the term '%s' was introduced by lesson %d on its path",
                               lesson->file, own->line, name, other->number);
            int line = known ? 0 : first_use(lesson, name);
            if (line > 0)
                return fa_fail(
                    error, FA_BAD_FILE,
                    "%.400s:%d: '%s' is a term of lesson %d: expected that lesson among its "
                    "needs, or another word",
                    lesson->file, line, name, other->number);
        }
    }
    return FA_OK;
}

static int by_number(const void *a, const void *b)
{
    const struct lesson *const *first = a, *const *second = b;
    return (*first)->number - (*second)->number;
}

static enum fa_status check_shelf(struct lesson_shelf *shelf, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    bool *path = calloc((size_t)shelf->n, sizeof *path);
    if (!path)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the lessons");
    for (int i = 1; i < shelf->n && status == FA_OK; i++)
        if (shelf->lesson[i]->number == shelf->lesson[i - 1]->number)
            status = fa_fail(
                error, FA_BAD_FILE, "%.400s:1: lesson %d is also in %.400s: expected one",
                shelf->lesson[i]->file, shelf->lesson[i]->number, shelf->lesson[i - 1]->file);
    for (int i = 0; i < shelf->n && status == FA_OK; i++) {
        status = find_path(shelf, i, path, error);
        if (status == FA_OK)
            status = check_terms(shelf, i, path, error);
    }
    free(path);
    return status;
}

/* ---- opening ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Paths of the folder's lessons in order, each to be freed; *n are there, of room for most. */
static enum fa_status list_lessons(const char *folder, char **paths, int most, int *n,
                                   struct fa_error *error)
{
    DIR *directory = opendir(folder);
    enum fa_status status = FA_OK;
    if (!directory)
        return fa_fail(error, FA_IO, "%.500s: cannot be read: %s", folder, strerror(errno));
    for (struct dirent *entry; status == FA_OK && (entry = readdir(directory));) {
        size_t size = strlen(folder) + strlen(entry->d_name) + 2;
        if (!is_lesson(entry->d_name) || *n == most)
            continue;
        paths[*n] = malloc(size);
        if (!paths[*n])
            status = fa_fail(error, FA_NO_MEMORY, "no memory for the lessons");
        else
            snprintf(paths[(*n)++], size, "%s/%s", folder, entry->d_name);
    }
    closedir(directory);
    qsort(paths, (size_t)*n, sizeof *paths, by_name);
    return status;
}

enum fa_status lesson_shelf_open(const char *folder, struct lesson_shelf *shelf,
                                 struct fa_error *error)
{
    enum { MOST = 2 * LESSON_NUMBERS }; /* more files than numbers: two of one number are told so */
    struct lesson_shelf made = {.n = 0};
    char **paths = calloc(MOST, sizeof *paths);
    int n = 0;
    made.lesson = calloc(MOST, sizeof *made.lesson);
    enum fa_status status = find_folder(folder, made.folder, error);
    if (status == FA_OK && (!paths || !made.lesson))
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the lessons");
    if (status == FA_OK)
        status = list_lessons(made.folder, paths, MOST, &n, error);
    for (int i = 0; i < n && status == FA_OK; i++) {
        status = lesson_read(paths[i], &made.lesson[made.n], error);
        made.n += status == FA_OK;
    }
    if (status == FA_OK) {
        qsort(made.lesson, (size_t)made.n, sizeof *made.lesson, by_number);
        status = check_shelf(&made, error);
    }
    for (int i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    if (status == FA_OK)
        *shelf = made;
    else
        lesson_shelf_close(&made);
    return status;
}

void lesson_shelf_close(struct lesson_shelf *shelf)
{
    for (int i = 0; i < shelf->n; i++)
        lesson_free(shelf->lesson[i]);
    free(shelf->lesson);
    *shelf = (struct lesson_shelf){.n = 0};
}

const struct lesson *lesson_find(const struct lesson_shelf *shelf, int number)
{
    for (int i = 0; i < shelf->n; i++)
        if (shelf->lesson[i]->number == number)
            return shelf->lesson[i];
    return NULL;
}
