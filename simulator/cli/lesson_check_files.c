/* flashlab lesson check: files that are no lessons, and options that are none. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simulator/cli/lesson_check.h"

/* ---- files --------------------------------------------------------------------------------- */

static int is_lesson_file(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t n = strlen(name);
    return n > 6 && strspn(name, "0123456789") == 2 && name[2] == '-' &&
           strcmp(name + n - 3, ".md") == 0;
}

void cli_check_files(const char *folder, int number, struct cli_findings *findings)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_lesson_file, alphasort);
    for (int e = 0; e < n; e++) {
        struct lesson *lesson = NULL;
        struct fa_error error;
        char path[2048];
        int file_number = (entries[e]->d_name[0] - '0') * 10 + entries[e]->d_name[1] - '0';
        snprintf(path, sizeof path, "%s/%s", folder, entries[e]->d_name);
        if ((number < 0 || number == file_number) && lesson_read(path, &lesson, &error) != FA_OK)
            cli_check_tell(findings, file_number, error.text, true);
        lesson_free(lesson);
        free(entries[e]);
    }
    if (n >= 0)
        free(entries);
}

/* A name that a teacher may have meant as a lesson's: it begins with a digit or ends like one, and
 * is not the folder's README. */
static int is_meant(const struct dirent *entry)
{
    const char *name = entry->d_name, *dot = strrchr(name, '.');
    bool text = dot && (strcasecmp(dot, ".md") == 0 || strcasecmp(dot, ".markdown") == 0);
    return name[0] != '.' && (text || isdigit((unsigned char)name[0])) && !is_lesson_file(entry) &&
           strncasecmp(name, "README", 6) != 0;
}

void cli_check_names(const char *folder, struct cli_findings *findings)
{
    struct dirent **entries;
    char text[1400];
    int n = scandir(folder, &entries, is_meant, alphasort);
    for (int e = 0; e < n; e++) {
        snprintf(text, sizeof text,
                 "%.800s/%.400s was not read: expected a name as 04-tiling.md, if it is a lesson",
                 folder, entries[e]->d_name);
        cli_check_tell(findings, -1, text, false);
        free(entries[e]);
    }
    if (n >= 0)
        free(entries);
}

/* ---- options ------------------------------------------------------------------------------- */

void cli_check_options(const struct cli_check *check)
{
    struct cli_words *words = malloc(sizeof *words);
    struct cli_problem options;
    struct fa_error inner, error;
    const struct lesson *lesson = check->lesson;
    for (const struct lesson_said *said = lesson->said; said && words; said = said->next) {
        enum fa_status status =
            cli_lesson_words_read(said->words, check->lessons->shelf.folder, words, &inner);
        if (status == FA_OK)
            status = cli_words_parse(words, &options, &inner);
        if (status == FA_OK)
            continue;
        fa_fail(&error, FA_BAD_FILE, "%.300s:%d: %s", lesson->file, said->line, inner.text);
        cli_check_is_fine(check, FA_BAD_FILE, &error);
    }
    free(words);
}
