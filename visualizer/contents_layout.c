#include "visualizer/contents.h"

#include <math.h>
#include <string.h>

enum {
    GAP = 16,
    CARD = 156,
    MOST_CARD = 196,
    LEAST_COLUMN = 208,
    MOST_COLUMN = 300,
    ROW = 44,
    HEADING = 44,
    FOOT = 20
};

int view_lesson_minutes(const struct lesson *lesson, const char *track)
{
    int first = 0, last = lesson->n_steps - 1, all = lesson->n_steps > 0 ? lesson->n_steps : 1;
    if (!view_lesson_on_track(lesson, track, &first, &last))
        return 0;
    int minutes = (lesson->minutes * (last - first + 1) + all - 1) / all;
    return minutes < 1 ? 1 : minutes;
}

/* The chapters that have a lesson shown, in the order of their lessons' numbers. */
static void collect(struct view_contents *c)
{
    for (int l = 0; c->shelf && l < c->shelf->n && l < LESSON_NUMBERS; l++) {
        const struct lesson *lesson = c->shelf->lesson[l];
        int k = 0;
        if (!view_lesson_on_track(lesson, c->lesson->track, NULL, NULL) ||
            !view_lesson_found(lesson, c->lesson->search))
            continue;
        while (k < c->n_chapters && strcmp(c->chapter[k].name, lesson->chapter) != 0)
            k++;
        if (k == LESSON_CHAPTERS)
            continue;
        if (k == c->n_chapters)
            c->chapter[c->n_chapters++].name = lesson->chapter;
        c->chapter[k].card[c->chapter[k].n++] = l;
        c->shown[l] = true;
    }
}

void view_contents_margins(struct view_contents *c, const struct view_scene *scene)
{
    float width = scene->frame->width;
    float margin = scene->layout.class == VIEW_MINI ? 12 : width < 1000 ? 20 : 28;
    const float most = 5 * MOST_COLUMN + 4 * GAP;
    c->lesson = scene->frame->lesson;
    c->shelf = c->lesson->shelf;
    c->list = scene->layout.class == VIEW_MINI;
    c->width = fminf(width - 2 * margin, most);
    c->left = floorf((width - c->width) / 2);
}

static void lay_list(struct view_contents *c, float y)
{
    for (int k = 0; k < c->n_chapters; k++) {
        struct view_chapter *chapter = &c->chapter[k];
        chapter->heading = view_box_make(c->left, y, c->width, 32);
        y += 32;
        for (int n = 0; n < chapter->n; n++, y += ROW)
            c->place[chapter->card[n]] = view_box_make(c->left, y, c->width, ROW - 4);
        y += 8;
    }
    c->height = y + 4;
}

void view_contents_lay(struct view_contents *c, const struct view_scene *scene, float header)
{
    float y = header, room;

    collect(c);
    if (c->list) {
        lay_list(c, y + 4);
        return;
    }
    c->columns = c->width >= 5 * LEAST_COLUMN + 4 * GAP ? 5 : c->width >= 860 ? 3 : 2;
    if (c->n_chapters > 0 && c->n_chapters < c->columns && c->columns < 5)
        c->columns = c->n_chapters;
    float width = floorf((c->width - GAP * (float)(c->columns - 1)) / (float)c->columns);
    room = (scene->frame->height - VIEW_SHEET_BAR - header - HEADING - FOOT - 2 * GAP) / 3;
    c->card_height = c->columns == 5 ? floorf(fminf(fmaxf(room, CARD), MOST_CARD)) : CARD;
    for (int k = 0; k < c->n_chapters; k += c->columns) {
        int most = 0;
        for (int n = k; n < k + c->columns && n < c->n_chapters; n++) {
            struct view_chapter *chapter = &c->chapter[n];
            float x = c->left + (float)(n - k) * (width + GAP);
            chapter->heading = view_box_make(x, y + 14, width, 22);
            for (int card = 0; card < chapter->n; card++)
                c->place[chapter->card[card]] = view_box_make(
                    x, y + HEADING + (float)card * (c->card_height + GAP), width, c->card_height);
            most = chapter->n > most ? chapter->n : most;
        }
        y += HEADING + (float)most * (c->card_height + GAP) - GAP;
    }
    c->height = y + FOOT;
}

/* ---- the keyboard ---- */

static void lay_all(struct view_contents *c, const struct view_draw *draw,
                    const struct view_scene *scene)
{
    memset(c, 0, sizeof *c);
    view_contents_margins(c, scene);
    view_contents_lay(c, scene, view_contents_header(c, draw, scene, NULL));
}

int view_contents_step(const struct view_draw *draw, const struct view_scene *scene, int dx, int dy)
{
    struct view_contents c;
    int here = scene->frame->lesson->card, best = -1;
    float least = INFINITY;

    lay_all(&c, draw, scene);
    if (here < 0 || here >= LESSON_NUMBERS || !c.shown[here]) {
        for (int l = 0; l < LESSON_NUMBERS; l++)
            if (c.shown[l])
                return l;
        return -1;
    }
    if (c.list && dx != 0) { /* rows have no neighbours beside them: the order of reading */
        dy = dx;
        dx = 0;
    }
    struct view_box from = c.place[here];
    for (int l = 0; l < LESSON_NUMBERS; l++) {
        float right = c.place[l].x - from.x, down = c.place[l].y - from.y;
        float along = (float)dx * right + (float)dy * down;
        float aside = fabsf(dx != 0 ? down : right);
        /* What is straight ahead comes first; what lies aside counts more than it is far. */
        if (c.shown[l] && along > 1 && along + 8 * aside < least) {
            least = along + 8 * aside;
            best = l;
        }
    }
    return best < 0 ? here : best;
}

float view_contents_scroll(const struct view_draw *draw, const struct view_scene *scene, int card)
{
    struct view_contents c;
    float scroll = scene->frame->scroll, view = scene->frame->height - VIEW_SHEET_BAR;

    lay_all(&c, draw, scene);
    if (card < 0 || card >= LESSON_NUMBERS || !c.shown[card])
        return scroll;
    struct view_box place = c.place[card];
    float top = place.y - (c.list ? 40 : HEADING), bottom = place.y + place.h + 8;
    scroll = fminf(scroll, fmaxf(0, top));
    if (scroll + view < bottom)
        scroll = fminf(bottom - view, fmaxf(0, place.y - 8));
    return fmaxf(0, fminf(scroll, c.height - view));
}
