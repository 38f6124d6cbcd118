/*
 * The lessons by chapters, what is begun and done, and the ways on: start or continue, look around
 * freely, a track, a search, the terms, the race once more.
 */
#include <math.h>
#include <stdio.h>

#include "visualizer/contents.h"

static struct view_type type_of(const struct view_draw *draw, enum view_style style, float size,
                                bool second)
{
    return view_type_make(style, size, second ? draw->theme->text2 : draw->theme->text);
}

/* ---- the search, and what stands where nothing is shown ---- */

static void draw_search(struct view_sheet *sheet)
{
    const struct view_theme *theme = sheet->draw->theme;
    const struct view_lesson *lesson = sheet->lesson;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text);
    float width = fminf(220, sheet->bar.w - 8);
    const char *text = lesson->search;

    if (width < 72)
        return;
    struct view_box box = view_cut_right(&sheet->bar, width);
    box = view_box_make(box.x, 6, box.w, 28);
    view_fill_round(sheet->draw, box, 4, theme->bg);
    view_frame_box(sheet->draw, box, 4, lesson->searching ? 2 : 1,
                   lesson->searching ? theme->text : theme->edge);
    view_focus_ring(sheet->draw, sheet->frame, box);
    view_hit(sheet->draw, box, VIEW_LESSON_SEARCH, 1, false, "Search the lessons");
    view_cut_right(&sheet->bar, 8);
    struct view_box inside = view_box_inset(box, 10, 0);
    if (!lesson->searching && !text[0]) {
        type.color = theme->text2;
        if (!view_text_in(sheet->draw, inside, VIEW_LEFT, type, "/  search the lessons"))
            view_text_in(sheet->draw, inside, VIEW_LEFT, type, "/  search");
        return;
    }
    while (*text && view_text_width(sheet->draw, type, text) > inside.w - 4)
        do /* its end is what is being typed */
            text++;
        while ((*text & 0xc0) == 0x80);
    float end = inside.x + view_text_width(sheet->draw, type, text);
    view_text_in(sheet->draw, inside, VIEW_LEFT, type, "%s", text);
    if (lesson->searching)
        view_fill(sheet->draw, view_box_make(end + 1, box.y + 7, 1, 14), theme->text);
}

/* Words in the middle, with one button. */
static void draw_nothing(const struct view_sheet *sheet, float top, const char *heading,
                         const char *text, unsigned states, enum view_action action,
                         const char *name)
{
    struct view_draw *draw = sheet->draw;
    struct view_type big = type_of(draw, VIEW_BOLD, VIEW_SIZE_TITLE, false);
    struct view_type body = type_of(draw, VIEW_SANS, VIEW_SIZE_BODY, false);
    float width = fminf(560, sheet->frame->width - 40);
    struct view_box box = {floorf((sheet->frame->width - width) / 2), sheet->view.y + top, width,
                           fmaxf(0, sheet->view.h - top)};

    if (view_text_width(draw, big, heading) > width)
        big.size = VIEW_SIZE_BODY;
    float head = view_text_height(draw, width, big, 0, heading), foot = 20 + 32;
    while (body.size > VIEW_SIZE_CELL &&
           head + 12 + view_text_height(draw, width, body, 0, text) + foot > box.h)
        body.size--;
    float all = head + 12 + view_text_height(draw, width, body, 0, text) + foot;
    box.y += floorf(fmaxf(8, (box.h - all) * 0.4f));
    box.y += view_sheet_text(sheet, box, big, heading) + 12;
    box.y += view_sheet_text(sheet, box, body, text) + 20;
    view_sheet_button(
        sheet, view_box_make(box.x, box.y, view_sheet_button_width(draw, states, name) + 16, 32),
        states, action, 0, name, name);
}

static void draw_empty(struct view_sheet *sheet)
{
    const struct view_lesson *lesson = sheet->lesson;
    char heading[1100], text[1600];

    if (lesson->shelf)
        snprintf(heading, sizeof heading, "No lesson in %s", lesson->shelf->folder);
    else
        snprintf(heading, sizeof heading, "No lessons here");
    snprintf(text, sizeof text, "%s%sA folder of lessons is given by --lessons DIR.",
             lesson->missing ? lesson->missing : "", lesson->missing ? "\n" : "");
    draw_nothing(sheet, 0, heading, text, VIEW_BUTTON_PRIMARY, VIEW_EXPLORE, "Explore freely");
}

static void draw_unfound(struct view_sheet *sheet, float top)
{
    char text[160];
    snprintf(text, sizeof text, "No lesson%s has “%s” in its number, title or question.",
             sheet->lesson->track ? " of this track" : "", sheet->lesson->search);
    draw_nothing(sheet, top, "Nothing found", text, VIEW_BUTTON_REST, VIEW_LESSON_SEARCH,
                 "Show all");
}

/* Asks once more before anything is forgotten. */
static void draw_reset(const struct view_sheet *sheet)
{
    static const char words[] =
        "Forget which lessons were begun and done? The lessons themselves stay.";
    struct view_draw *draw = sheet->draw;
    const struct view_theme *theme = draw->theme;
    struct view_type type = type_of(draw, VIEW_SANS, VIEW_SIZE_BODY, false);
    float width = fminf(360, sheet->frame->width - 24);
    float high = view_text_height(draw, width - 32, type, 0, words);
    struct view_box box = {sheet->frame->width - width - 12, VIEW_SHEET_BAR + 8, width,
                           high + 16 + 12 + 32 + 16};

    draw->layer = VIEW_POPUP;
    view_hit(draw, view_box_make(0, 0, sheet->frame->width, sheet->frame->height),
             VIEW_LESSON_RESET, -1, false, NULL);
    view_plate(draw, box, theme->panel, theme->edge);
    view_hit(draw, box, VIEW_NOTHING, 0, false, NULL);
    box = view_box_inset(box, 16, 16);
    view_text_wrapped(draw, box, type, 0, words, NULL);
    view_cut_top(&box, high + 12);
    view_button(draw, sheet->frame, view_box_make(box.x, box.y, 96, 32), VIEW_BUTTON_REST,
                VIEW_LESSON_RESET, 1, "Forget", "Forget it");
    view_button(draw, sheet->frame, view_box_make(box.x + 104, box.y, 96, 32), VIEW_BUTTON_REST,
                VIEW_LESSON_RESET, -1, "Keep", "Keep it");
    draw->layer = VIEW_BASE;
}

void view_scene_contents(struct view_draw *draw, const struct view_scene *scene)
{
    struct view_contents contents = {0};
    struct view_sheet sheet;

    view_contents_margins(&contents, scene);
    float header = view_contents_header(&contents, draw, scene, NULL);
    view_contents_lay(&contents, scene, header);
    bool empty = !contents.shelf || contents.shelf->n == 0;
    view_sheet_open(&sheet, draw, scene, false, "FlashLab",
                    contents.n_chapters > 0 ? contents.height : 0);
    if (empty) {
        draw_empty(&sheet);
        view_sheet_close(&sheet);
        return;
    }
    float top = sheet.view.y - sheet.scroll;
    if (!contents.list) {
        view_fill(draw, view_box_make(0, top, sheet.view.w, header), draw->theme->panel);
        view_fill(draw, view_box_make(0, top + header - 1, sheet.view.w, 1), draw->theme->hair);
    }
    view_contents_header(&contents, draw, scene, &sheet);
    for (int k = 0; k < contents.n_chapters; k++) {
        struct view_box heading = contents.chapter[k].heading;
        heading.y += top;
        view_sheet_line(&sheet, heading, VIEW_LEFT,
                        type_of(draw, VIEW_BOLD, VIEW_SIZE_BODY, contents.list),
                        contents.chapter[k].name);
        for (int n = 0; n < contents.chapter[k].n; n++)
            (contents.list ? view_contents_row : view_contents_card)(&contents, &sheet,
                                                                     contents.chapter[k].card[n]);
    }
    if (contents.n_chapters == 0)
        draw_unfound(&sheet, header);
    view_sheet_close(&sheet);
    if (!contents.list) {
        if (view_contents_may_reset(sheet.lesson))
            view_sheet_bar_button(&sheet, VIEW_LESSON_RESET, 0, "Reset", view_contents_reset);
        view_sheet_bar_button(&sheet, VIEW_PAGE, VIEW_PAGE_RACE, "The race", "The race, once more");
        view_sheet_bar_button(&sheet, VIEW_PAGE, VIEW_PAGE_GLOSSARY, "Glossary", "All terms");
    }
    draw_search(&sheet);
    if (sheet.lesson->reset_asked)
        draw_reset(&sheet);
}
