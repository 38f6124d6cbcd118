/* All terms of the lessons, by the alphabet: what each means, and the lesson that introduces it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "visualizer/sheet.h"

enum { MOST = LESSON_NUMBERS * LESSON_TERMS, LETTER = 36, GAP = 14 };

struct entry {
    const struct lesson_term *term;
    const struct lesson *lesson;
};

/* Small and capital letters are one, so "HBM" stands beside "head". */
static int compare(const void *first, const void *second)
{
    const struct entry *x = first, *y = second;
    const char *a = x->term->name, *b = y->term->name;
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    int order = tolower((unsigned char)*a) - tolower((unsigned char)*b);
    return order != 0 ? order : x->lesson->number - y->lesson->number;
}

static int collect(const struct lesson_shelf *shelf, struct entry entries[MOST])
{
    int n = 0;
    for (int l = 0; shelf && l < shelf->n; l++)
        for (int t = 0; t < shelf->lesson[l]->n_terms && n < MOST; t++)
            entries[n++] = (struct entry){&shelf->lesson[l]->term[t], shelf->lesson[l]};
    qsort(entries, (size_t)n, sizeof *entries, compare);
    return n;
}

/* Where the parts of a row stand: beside each other, or the meaning below its name. */
struct columns {
    float left, name, meaning, width, button;
    bool below;
};

static struct columns columns_of(const struct view_scene *scene)
{
    struct columns c = {.button = 84};
    float all = fminf(scene->frame->width - (scene->layout.class == VIEW_MINI ? 24 : 56), 920);
    c.left = floorf((scene->frame->width - all) / 2);
    c.below = all < 640;
    c.name = c.below ? c.left : c.left + LETTER;
    c.meaning = c.below ? c.left : c.name + 200;
    c.width = c.left + all - c.meaning - (c.below ? 0 : c.button + 16);
    return c;
}

static struct view_type name_type(const struct view_draw *draw)
{
    return view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, draw->theme->text);
}

static struct view_type meaning_type(const struct view_draw *draw)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_BODY, draw->theme->text);
}

/* A row's height; with a sheet it is drawn at y. */
static float row(const struct view_draw *draw, const struct view_sheet *sheet,
                 const struct columns *c, const struct entry *entry, float y)
{
    float name_width = c->below ? c->width - c->button - 8 : 184;
    float name = fmaxf(view_text_height(draw, name_width, name_type(draw), 0, entry->term->name),
                       c->below ? 28 : 0);
    float meaning = view_text_height(draw, c->width, meaning_type(draw), 0, entry->term->meaning);
    float down = c->below ? name + 2 : 0;
    char text[32], label[160];

    if (!sheet)
        return fmaxf(fmaxf(name, down + meaning), 28) + GAP;
    view_sheet_text(sheet, view_box_make(c->name, y + (c->below ? 4 : 0), name_width, name),
                    name_type(draw), entry->term->name);
    view_sheet_text(sheet, view_box_make(c->meaning, y + down, c->width, meaning),
                    meaning_type(draw), entry->term->meaning);
    snprintf(text, sizeof text, "lesson %d", entry->lesson->number);
    snprintf(label, sizeof label, "%s: open lesson %d, %s", entry->term->name,
             entry->lesson->number, entry->lesson->title);
    float x = c->below ? c->left + c->width - c->button : c->meaning + c->width + 16;
    view_sheet_button(sheet, view_box_make(x, y - (c->below ? 0 : 4), c->button, 28),
                      VIEW_BUTTON_REST, VIEW_LESSON_OPEN, entry->lesson->number, text, label);
    return 0;
}

void view_scene_glossary(struct view_draw *draw, const struct view_scene *scene)
{
    struct columns c = columns_of(scene);
    struct entry entries[MOST];
    struct view_sheet sheet;
    int n = collect(scene->frame->lesson->shelf, entries), letter = 0;
    float height = 24, y;

    for (int e = 0; e < n; e++)
        height += row(draw, NULL, &c, &entries[e], 0);
    view_sheet_open(&sheet, draw, scene, true, "Glossary", height + 12);
    y = sheet.view.y + 24 - sheet.scroll;
    if (n == 0)
        view_sheet_text(&sheet, view_box_make(c.left, y, c.width, 100), meaning_type(draw),
                        "No lesson here introduces a term.");
    for (int e = 0; e < n; e++) {
        float high = row(draw, NULL, &c, &entries[e], 0);
        int first = toupper((unsigned char)entries[e].term->name[0]);
        if (y + high >= sheet.view.y && y <= sheet.view.y + sheet.view.h) {
            char text[2] = {(char)first, '\0'};
            if (!c.below && first != letter && isalpha(first))
                view_sheet_line(&sheet, view_box_make(c.left, y - 3, LETTER, 26), VIEW_LEFT,
                                view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, draw->theme->text2),
                                text);
            row(draw, &sheet, &c, &entries[e], y);
        }
        letter = first;
        y += high;
    }
    view_sheet_close(&sheet);
}
