/*
 * The top of the contents page: what it is, where to start or go on, the tracks. Controls in rows,
 * measured and drawn by the same code.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/contents.h"

enum { GAP = 12, BIG = 40, SMALL = 28 };

const char view_contents_reset[] = "Forget what was done in all lessons";

bool view_contents_may_reset(const struct view_lesson *lesson)
{
    return lesson->progress && lesson->progress->n > 0 && !lesson->present;
}

static struct view_type type_of(const struct view_draw *draw, enum view_style style, float size,
                                bool second)
{
    return view_type_make(style, size, second ? draw->theme->text2 : draw->theme->text);
}

struct header {
    const struct view_contents *contents;
    const struct view_draw *draw;
    const struct view_sheet *sheet; /* NULL: it is measured */
    struct view_box row;            /* what is free of it */
    float left, right;
};

static float sheet_y(const struct header *h, float y)
{
    return h->sheet ? y + h->sheet->view.y - h->sheet->scroll : y;
}

/* A new row where the width is not free in this one. */
static struct view_box take(struct header *h, float width)
{
    width = fminf(width, h->right - h->left);
    if (width > h->row.w) {
        h->row.x = h->left;
        h->row.w = h->right - h->left;
        h->row.y += h->row.h + 8;
    }
    struct view_box box = view_cut_left(&h->row, width);
    view_cut_left(&h->row, 6);
    box.y = sheet_y(h, box.y);
    return box;
}

static void button(struct header *h, unsigned states, enum view_action action, int64_t value,
                   const char *text, const char *label)
{
    float width = view_sheet_button_width(h->draw, states, text) + (h->row.h > SMALL ? 20 : 0);
    struct view_box box = take(h, width);
    if (h->sheet)
        view_sheet_button(h->sheet, box, states, action, value, text, label);
}

/* What the bar has no room for on a small frame. */
static void more(struct header *h)
{
    button(h, VIEW_BUTTON_REST, VIEW_PAGE, VIEW_PAGE_GLOSSARY, "Glossary", "All terms");
    button(h, VIEW_BUTTON_REST, VIEW_PAGE, VIEW_PAGE_RACE, "The race", "The race, once more");
    if (view_contents_may_reset(h->contents->lesson))
        button(h, VIEW_BUTTON_REST, VIEW_LESSON_RESET, 0, "Reset", view_contents_reset);
}

static void tracks(struct header *h)
{
    const struct view_lesson *lesson = h->contents->lesson;
    const char *names[LESSON_NUMBERS];
    int n = view_lesson_tracks(h->contents->shelf, names);
    struct view_type type = type_of(h->draw, VIEW_SANS, VIEW_SIZE_CONTROL, true);

    if (n == 0)
        return;
    struct view_box box = take(h, ceilf(view_text_width(h->draw, type, "Show")));
    if (h->sheet)
        view_sheet_line(h->sheet, box, VIEW_LEFT, type, "Show");
    button(h, lesson->track ? VIEW_BUTTON_REST : VIEW_BUTTON_ON, VIEW_LESSON_TRACK, -1, "all",
           "Show all lessons");
    for (int t = 0; t < n; t++) {
        char text[80], label[112];
        int minutes = 0;
        for (int l = 0; l < h->contents->shelf->n; l++)
            minutes += view_lesson_minutes(h->contents->shelf->lesson[l], names[t]);
        snprintf(text, sizeof text, "%s, %d min", names[t], minutes);
        snprintf(label, sizeof label, "Show the track %s", names[t]);
        button(h,
               lesson->track && strcmp(lesson->track, names[t]) == 0 ? VIEW_BUTTON_ON
                                                                     : VIEW_BUTTON_REST,
               VIEW_LESSON_TRACK, t, text, label);
    }
}

/* Start or Continue, what it is, and how long it takes. False: there is no lesson to open. */
struct start {
    const struct lesson *lesson;
    char text[160], brief[64], note[64];
};

static bool start_of(const struct view_lesson *lesson, struct start *start)
{
    bool again = false;
    const struct lesson *next = start->lesson = view_lesson_start(lesson, &again);
    if (!next)
        return false;
    const struct lesson_mark *mark = view_lesson_mark(lesson, next->number);
    const char *verb = again ? "Continue" : "Start";
    snprintf(start->text, sizeof start->text, "%s: %d %s", verb, next->number, next->title);
    snprintf(start->brief, sizeof start->brief, "%s: lesson %d", verb, next->number);
    if (again && mark && !mark->done && mark->step < next->n_steps) {
        int left = next->n_steps - mark->step;
        snprintf(start->note, sizeof start->note, "step %d of %d, %d min left", mark->step + 1,
                 next->n_steps, (next->minutes * left + next->n_steps - 1) / next->n_steps);
    } else {
        snprintf(start->note, sizeof start->note, "%d min", next->minutes);
    }
    return true;
}

/* Lesson 0 is there, and neither done nor skipped. */
static bool may_be_known(const struct view_lesson *lesson)
{
    const struct lesson_mark *mark = view_lesson_mark(lesson, 0);
    return lesson->shelf->lesson[0]->number == 0 && !(mark && (mark->done || mark->skipped));
}

struct way {
    unsigned states;
    enum view_action action;
    int64_t value;
    const char *text, *note, *label;
    float width;
};

/* The large buttons from the most important on. */
static int ways_of(const struct view_draw *draw, const struct view_lesson *lesson,
                   struct start *start, struct way ways[3])
{
    int n = 0;
    if (start_of(lesson, start))
        ways[n++] = (struct way){VIEW_BUTTON_PRIMARY,
                                 VIEW_LESSON_START,
                                 start->lesson->number,
                                 start->text,
                                 start->note,
                                 start->text,
                                 0};
    if (may_be_known(lesson))
        ways[n++] = (struct way){VIEW_BUTTON_REST,
                                 VIEW_LESSON_KNOWN,
                                 0,
                                 "I know attention",
                                 "skips lesson 0",
                                 "I know attention: skip lesson 0",
                                 0};
    ways[n++] = (struct way){VIEW_BUTTON_REST,
                             VIEW_EXPLORE,
                             0,
                             "Explore freely",
                             "any run, your files",
                             "Explore freely, without a lesson",
                             0};
    for (int w = 0; w < n; w++) {
        struct view_type small = type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, true);
        ways[w].width = fmaxf(view_sheet_button_width(draw, ways[w].states, ways[w].text) + 12,
                              ceilf(view_text_width(draw, small, ways[w].note)));
        if (ways[w].states & VIEW_BUTTON_PRIMARY)
            ways[w].width = fmaxf(ways[w].width + 12, 200);
    }
    return n;
}

/* In a row from the right, each with its note below. */
static void draw_ways(const struct view_sheet *sheet, const struct way *ways, int n, float right,
                      float y)
{
    struct view_type small = type_of(sheet->draw, VIEW_SANS, VIEW_SIZE_LABEL, true);
    float x = right + GAP;
    for (int w = 0; w < n; w++)
        x -= ways[w].width + GAP;
    for (int w = 0; w < n; x += ways[w++].width + GAP) {
        view_sheet_button(sheet, view_box_make(x, y, ways[w].width, BIG), ways[w].states,
                          ways[w].action, ways[w].value, ways[w].text, ways[w].label);
        view_sheet_line(sheet, view_box_make(x, y + BIG + 8, ways[w].width, 17), VIEW_CENTRE, small,
                        ways[w].note);
    }
}

static const char title[] = "Watch FlashAttention move less data, tile by tile";

static void subtitle(const struct lesson_shelf *shelf, char text[128])
{
    snprintf(text, 128, "%d short lesson%s. Every number comes from a run you can step through.",
             shelf->n, shelf->n == 1 ? "" : "s");
}

/* Title, line and tracks on the left, the large buttons on the right. 0: there is no room for
 * that. */
static float wide_header(struct header *h, const struct way *ways, int n)
{
    enum { HEIGHT = 116 };
    struct view_type big = type_of(h->draw, VIEW_BOLD, VIEW_SIZE_TITLE, false);
    struct view_type body = type_of(h->draw, VIEW_SANS, VIEW_SIZE_BODY, true);
    char line[128];
    float right = 0;

    subtitle(h->contents->shelf, line);
    for (int w = 0; w < n; w++)
        right += ways[w].width + GAP;
    float room = h->right - h->left - right - 12;
    if (view_text_width(h->draw, body, line) > room || view_text_width(h->draw, big, title) > room)
        return 0;
    if (h->sheet) {
        float y = sheet_y(h, 0);
        view_sheet_line(h->sheet, view_box_make(h->left, y + 20, room, 28), VIEW_LEFT, big, title);
        view_sheet_line(h->sheet, view_box_make(h->left, y + 50, room, 20), VIEW_LEFT, body, line);
        draw_ways(h->sheet, ways, n, h->right, y + 26);
    }
    h->right = h->left + room;
    h->row = view_box_make(h->left, 80, room, SMALL);
    tracks(h);
    return fmaxf(HEIGHT, h->row.y + h->row.h + 8);
}

/* All of it one below the other. */
static float narrow_header(struct header *h, const struct start *start, const struct way *ways,
                           int n)
{
    struct view_type big = type_of(h->draw, VIEW_BOLD, VIEW_SIZE_TITLE, false);
    struct view_type body = type_of(h->draw, VIEW_SANS, VIEW_SIZE_CONTROL, true);
    bool mini = h->contents->list;
    float width = h->right - h->left, y = mini ? 12 : 18;
    char line[128];

    if (!mini) {
        struct view_box box = {h->left, sheet_y(h, y), width, 400};
        subtitle(h->contents->shelf, line);
        y += view_text_height(h->draw, width, big, 0, title) + 2;
        if (h->sheet)
            view_sheet_text(h->sheet, box, big, title);
        box.y = sheet_y(h, y);
        y += view_text_height(h->draw, width, body, 0, line) + 12;
        if (h->sheet)
            view_sheet_text(h->sheet, box, body, line);
    }
    h->row = view_box_make(h->left, y, width, mini ? 36 : BIG);
    for (int w = 0; w < n; w++) {
        const char *text = ways[w].text;
        if (ways[w].action == VIEW_LESSON_START &&
            view_sheet_button_width(h->draw, ways[w].states, text) + 20 > width)
            text = start->brief;
        button(h, ways[w].states, ways[w].action, ways[w].value, text, ways[w].label);
    }
    h->row = view_box_make(h->left, h->row.y + h->row.h + GAP, width, SMALL);
    tracks(h);
    if (mini)
        more(h);
    else if (h->row.w == width) /* no tracks */
        return h->row.y;
    return h->row.y + h->row.h + GAP;
}

float view_contents_header(struct view_contents *contents, const struct view_draw *draw,
                           const struct view_scene *scene, const struct view_sheet *sheet)
{
    struct header h = {contents,     draw,           sheet,
                       {0, 0, 0, 0}, contents->left, contents->left + contents->width};
    struct start start;
    struct way ways[3];

    (void)scene;
    if (!contents->shelf || contents->shelf->n == 0)
        return 0;
    int n = ways_of(draw, contents->lesson, &start, ways);
    float height = contents->list ? 0 : wide_header(&h, ways, n);
    return height > 0 ? height : narrow_header(&h, &start, ways, n);
}
