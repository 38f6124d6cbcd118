/* Questions about the shelf and what is kept, for the player and for the pages. */
#include "visualizer/lesson_view.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int view_lesson_tracks(const struct lesson_shelf *shelf, const char *names[LESSON_NUMBERS])
{
    int n = 0;
    for (int i = 0; shelf && i < shelf->n; i++)
        for (int t = 0; t < shelf->lesson[i]->n_tracks; t++) {
            const char *name = shelf->lesson[i]->tracks[t].name;
            bool known = n == LESSON_NUMBERS;
            for (int k = 0; k < n; k++)
                known = known || strcmp(names[k], name) == 0;
            if (!known)
                names[n++] = name;
        }
    return n;
}

bool view_lesson_on_track(const struct lesson *lesson, const char *track, int *first, int *last)
{
    int from = 0, to = lesson->n_steps - 1;
    bool on = track == NULL;
    for (int t = 0; track && t < lesson->n_tracks; t++)
        if (strcmp(lesson->tracks[t].name, track) == 0) {
            from = lesson->tracks[t].first;
            to = lesson->tracks[t].last;
            on = true;
        }
    if (first)
        *first = from;
    if (last)
        *last = to;
    return on;
}

/* Without regard to case; of ASCII alone, as titles are searched by their words. */
static bool has_words(const char *text, const char *words, size_t n)
{
    for (; *text; text++) {
        size_t same = 0;
        while (same < n && tolower((unsigned char)text[same]) == tolower((unsigned char)words[same]))
            same++;
        if (same == n)
            return true;
    }
    return n == 0;
}

bool view_lesson_found(const struct lesson *lesson, const char *search)
{
    char number[16];
    snprintf(number, sizeof number, "%d", lesson->number);
    while (*search) {
        size_t n = strcspn(search, " ");
        bool found = (strlen(number) == n && strncmp(number, search, n) == 0) ||
                     has_words(lesson->title, search, n) || has_words(lesson->card, search, n) ||
                     has_words(lesson->chapter, search, n);
        if (!found)
            return false;
        search += n;
        search += strspn(search, " ");
    }
    return true;
}

static const struct lesson_mark *mark_of(const struct lesson_progress *progress, int number)
{
    for (int m = 0; progress && m < progress->n; m++)
        if (progress->mark[m].number == number)
            return &progress->mark[m];
    return NULL;
}

const struct lesson_mark *view_lesson_mark(const struct view_lesson *lesson, int number)
{
    return mark_of(lesson->progress, number);
}

static bool is_open(const struct view_lesson *view, const struct lesson *lesson)
{
    const struct lesson_mark *mark = view_lesson_mark(view, lesson->number);
    return view_lesson_on_track(lesson, view->track, NULL, NULL) &&
           !(mark && (mark->done || mark->skipped));
}

const struct lesson *view_lesson_start(const struct view_lesson *view, bool *again)
{
    const struct lesson *first = NULL, *open = NULL, *here = NULL;
    int last = view->progress ? view->progress->last_lesson : -1;
    *again = view->progress && view->progress->n > 0;
    for (int i = 0; view->shelf && i < view->shelf->n; i++) {
        const struct lesson *lesson = view->shelf->lesson[i];
        if (!first && view_lesson_on_track(lesson, view->track, NULL, NULL))
            first = lesson;
        if (!is_open(view, lesson))
            continue;
        if (!open)
            open = lesson;
        if (!here && last >= 0 && lesson->number >= last)
            here = lesson; /* where the learner was, else the next one that is open */
    }
    return here ? here : open ? open : first;
}
