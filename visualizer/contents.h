/*
 * The contents page's cards: which are shown, and where. Private to scene_contents.c
 * and the files contents_*.c.
 */
#ifndef VIEW_CONTENTS_H
#define VIEW_CONTENTS_H

#include "visualizer/sheet.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_chapter {
    const char *name;
    int card[LESSON_NUMBERS]; /* indices in the shelf */
    int n;
    struct view_box heading;
};

/* Boxes are those of the page before it is scrolled: y from 0 at its top. */
struct view_contents {
    const struct view_lesson *lesson;
    const struct lesson_shelf *shelf;
    bool list;         /* rows in place of cards */
    float left, width; /* of all that is on the page */
    int columns;       /* chapters beside each other */
    float card_height;
    struct view_chapter chapter[LESSON_CHAPTERS];
    int n_chapters;
    struct view_box place[LESSON_NUMBERS]; /* of the shelf's lessons */
    bool shown[LESSON_NUMBERS];
    float height; /* of the page */
};

/* What is on the page below a header of that height; the list of chapters is empty where nothing
 * is shown. */
void view_contents_lay(struct view_contents *contents, const struct view_scene *scene,
                       float header);

/* The page's left margin and width. */
void view_contents_margins(struct view_contents *contents, const struct view_scene *scene);

/* The header's height, and with a sheet its drawing. */
float view_contents_header(struct view_contents *contents, const struct view_draw *draw,
                           const struct view_scene *scene, const struct view_sheet *sheet);

/* Whether there is anything to forget; and what the button for it does, in words. */
bool view_contents_may_reset(const struct view_lesson *lesson);
extern const char view_contents_reset[];

/* One lesson of the shelf, as a card or as a row of a list, in its place on the sheet. */
void view_contents_card(const struct view_contents *contents, const struct view_sheet *sheet,
                        int card);
void view_contents_row(const struct view_contents *contents, const struct view_sheet *sheet,
                       int card);

/* Minutes of its steps on the track (NULL: of all), 1 at least; 0: it is not on it. */
int view_lesson_minutes(const struct lesson *lesson, const char *track);

#ifdef __cplusplus
}
#endif
#endif
