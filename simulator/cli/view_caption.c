/* What a saved picture says of the run that it shows. */
#define _GNU_SOURCE /* getcwd(NULL, 0) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/cli/view_lessons.h"
#ifdef FLASHLAB_HAVE_LESSONS
#include "simulator/cli/lesson_runner.h"
#include "visualizer/lesson_view.h"
#endif

/* Names the step of a lesson that the frame shows as the lesson has it. */
static bool say_step(const struct cli_view *view, const struct view_frame *frame, char *text,
                     size_t size)
{
#ifdef FLASHLAB_HAVE_LESSONS
    const struct view_lesson *shown = frame->lesson;
    const struct lesson *lesson = shown ? shown->lesson : NULL;
    if (!lesson || shown->page != VIEW_PAGE_STAGE || shown->changed)
        return false;
    int last = lesson->n_steps - 1, step = shown->step < last ? shown->step : last;
    if (cli_lesson_is_seeded(lesson, lesson->step[step].show.scenario, view->lesson_seed))
        return false; /* view takes no seed beside a lesson: its run by its options */
    cli_lesson_command(lesson, shown->step, view->lessons_folder, text, size);
    return true;
#else
    (void)view, (void)frame, (void)text, (void)size;
    return false;
#endif
}

/* The path without the folder that it lies in; NULL: it does not. */
static const char *inside(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    return n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1
                                                                                   : NULL;
}

/* Files by the names that they have from here, or in the lessons' folder: a picture is looked at on
 * other computers too. */
static void shorten(struct cli_words *words, const char *lessons)
{
    static const char *const files[] = {"in", "mask", "bias", "dropout-mask", "block-mask"};
    char *here = getcwd(NULL, 0), path[1024];
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int w = 0; w < words->n; w++) {
            const char *word = cli_word(words, w), *name;
            size_t n = strlen(files[f]);
            if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, files[f], n) != 0 ||
                word[2 + n] != '=')
                continue;
            snprintf(path, sizeof path, "%s", word + 3 + n);
            name = inside(path, here);
            name = name ? name : inside(path, lessons);
            if (name)
                cli_words_set(words, files[f], name, NULL); /* shorter, so there is room */
            break;
        }
    free(here);
}

void cli_view_caption(const struct cli_view *view, const struct view_frame *frame, char *text,
                      size_t size)
{
    if (say_step(view, frame, text, size))
        return;
    struct cli_view_runs *runs = malloc(sizeof *runs);
    text[0] = '\0';
    if (!runs)
        return;
    *runs = view->runs;
    shorten(&runs->words, cli_view_lessons_folder(view));
    cli_view_command(runs, text, size);
    free(runs);
}
