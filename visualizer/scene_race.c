/*
 * The first minute: two programs with the same answer run side by side, moving as much a second.
 * When the lower one is done it asks how far the upper one has to go, and then lets it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "visualizer/race.h"

enum { AXIS = 34 };

static struct view_type type_of(const struct view_draw *draw, enum view_style style, float size,
                                bool second)
{
    return view_type_make(style, size, second ? draw->theme->text2 : draw->theme->text);
}

/* ---- the scale and the mark on it ---- */

/* "1", "2" ... "10" below the bar: how many times as much as the other program in all. */
static void draw_axis(const struct view_sheet *sheet, const struct view_race *race,
                      struct view_box bar)
{
    struct view_draw *draw = sheet->draw;
    struct view_type type = type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, true);
    int step = 1;
    float apart = race->scale.w / (float)race->most;
    if (!(apart >= 1))
        return;
    while (apart * (float)step < 28)
        step++;
    for (int t = 1; (double)t <= race->most; t++) {
        float x = floorf(view_race_x(race, t));
        view_fill(draw, view_box_make(x - 1, bar.y + bar.h + 3, 1, 5), draw->theme->text2);
        char text[16];
        snprintf(text, sizeof text, "%d", t);
        float left = fminf(x - 12, sheet->frame->width - 28);
        if (t % step == 0)
            view_sheet_line(sheet, view_box_make(left, bar.y + bar.h + 12, 24, 17), VIEW_CENTRE,
                            type, text);
    }
}

static void draw_mark(const struct view_sheet *sheet, const struct view_race *race,
                      struct view_box bar)
{
    struct view_draw *draw = sheet->draw;
    const struct view_theme *theme = draw->theme;
    double guess = sheet->lesson->race_guess;
    if (isnan(guess))
        return;
    float x = roundf(view_race_x(race, fmin(guess, race->most)));
    float foot = bar.y + bar.h;
    view_fill(draw, view_box_make(x - 2, bar.y, 4, bar.h), theme->bg);
    view_fill(draw, view_box_make(x - 1, bar.y - 2, 2, bar.h + 4), theme->text);
    view_triangle(draw, x - 7, foot + 11, x + 7, foot + 11, x, foot + 1, theme->text);
}

static void draw_slider(const struct view_sheet *sheet, const struct view_race *race,
                        struct view_box bar)
{
    float from = view_race_x(race, VIEW_RACE_LOW), to = view_race_x(race, VIEW_RACE_HIGH);
    struct view_box box = {from, bar.y, to - from, bar.h + 28};
    view_focus_ring(sheet->draw, sheet->frame, box);
    view_hit(sheet->draw, box, VIEW_RACE_GUESS, 0, false,
             "How many times as much: a mark from 1 to 10");
}

/* ---- the page ---- */

/* In rows of what fits, from the left. Returns the height; sheet NULL: it is measured. */
static float draw_choices(const struct view_draw *draw, const struct view_sheet *sheet,
                          const struct view_race_choice *choices, int n, struct view_box box,
                          float high)
{
    float x = box.x, y = box.y;
    for (int c = 0; c < n; c++) {
        float width = view_sheet_button_width(draw, choices[c].states, choices[c].text);
        width += high > 32 ? 20 : 0;
        if (x > box.x && x + width > box.x + box.w) {
            x = box.x;
            y += high + 8;
        }
        if (sheet)
            view_sheet_button(sheet, view_box_make(x, y, width, high), choices[c].states,
                              choices[c].action, choices[c].value, choices[c].text,
                              choices[c].label);
        x += width + 8;
    }
    return n > 0 ? y + high - box.y : 0;
}

struct page {
    struct view_type head, big, small;
    float margin, width, high; /* of a button */
    char line[160];            /* what is computed, below the headline; "": no room */
    bool beside;               /* the one button stands at the end of the last line */
    /* Heights: of the words, with the buttons, of each program, of headline and line, of all. */
    float words, foot, rows, head_height, height;
    float top, gap;
    bool above;  /* the tiles stand above the bars, not beside them */
    float tiles; /* their width; 0: no room */
};

static const char headline[] = "Two programs, the same answer, the same bandwidth.";

static void what_runs(const struct view_scene *scene, char line[160])
{
    const struct fa_problem *p = &view_run_header(scene->moment[1].run)->problem;
    struct fa_tiles tiles = view_run_tiles(scene->moment[1].run);
    snprintf(line, 160,
             "Attention of %s queries and %s keys of %s"
             " numbers, in tiles of %s × %s.",
             SIM_GROUPED(p->nq), SIM_GROUPED(p->nk), SIM_GROUPED(p->d), SIM_GROUPED(tiles.br),
             SIM_GROUPED(tiles.bc));
}

/* Sizes of type by the room, so that both programs have at least their bars. */
static void lay(struct page *page, const struct view_draw *draw, const struct view_scene *scene,
                const struct view_race_words *words, const struct view_race_choice *choices, int n)
{
    const struct view_frame *frame = scene->frame;
    bool mini = scene->layout.class == VIEW_MINI;
    page->margin = mini ? 12 : 28;
    page->width = fminf(frame->width - 2 * page->margin, 1480);
    page->margin = floorf((frame->width - page->width) / 2);
    page->high = mini ? 28 : 40;
    page->head = type_of(draw, VIEW_BOLD, mini ? VIEW_SIZE_BODY : VIEW_SIZE_BIG, false);
    if (!mini && (frame->height < 560 || view_text_width(draw, page->head, headline) > page->width))
        page->head.size = VIEW_SIZE_TITLE;
    if (view_text_width(draw, page->head, headline) > page->width)
        page->head.size = mini ? VIEW_SIZE_CONTROL : VIEW_SIZE_HEADING;
    page->big = type_of(draw, VIEW_BOLD,
                        mini           ? VIEW_SIZE_CONTROL
                        : words->large ? VIEW_SIZE_BIG
                                       : VIEW_SIZE_HEADING,
                        false);
    if (words->large && view_text_width(draw, page->big, words->big) > page->width)
        page->big.size = VIEW_SIZE_HEADING;
    page->small = type_of(draw, VIEW_SANS, mini ? VIEW_SIZE_LABEL : VIEW_SIZE_BODY, true);
    page->line[0] = '\0';
    if (!mini)
        what_runs(scene, page->line);
    page->words = view_text_height(draw, page->width, page->big, 0, words->big) + 4 +
                  view_text_height(draw, page->width, page->small, 0, words->small);
    page->beside = mini && n == 1;
    if (page->beside)
        page->foot = view_text_height(draw, page->width, page->big, 0, words->big) + 4 + page->high;
    else
        page->foot = page->words + (n > 0 ? 12 : 0) +
                     draw_choices(draw, NULL, choices, n,
                                  view_box_make(page->margin, 0, page->width, 0), page->high);
    /* As high in each phase, so that nothing jumps. */
    page->foot = fmaxf(page->foot, mini ? 68 : 115);
}

static void draw_words(const struct view_sheet *sheet, const struct page *page,
                       const struct view_race_words *words, const struct view_race_choice *choices,
                       int n, float y)
{
    struct view_box box = view_box_make(page->margin, y, page->width, page->foot);
    float used = view_sheet_text(sheet, box, page->big, words->big);
    view_cut_top(&box, used + 4);
    if (page->beside) {
        float width = view_sheet_button_width(sheet->draw, choices[0].states, choices[0].text);
        struct view_box line = view_box_make(box.x, box.y, box.w, page->high);
        draw_choices(sheet->draw, sheet, choices, n, view_cut_right(&line, width), page->high);
        view_sheet_line(sheet, line, VIEW_LEFT, page->small, words->small);
        return;
    }
    view_sheet_text(sheet, box, page->small, words->small);
    box.y = y + page->words + 12;
    draw_choices(sheet->draw, sheet, choices, n, box, page->high);
}

/* Until both programs have run there is nothing to race. */
static void draw_waiting(struct view_draw *draw, const struct view_scene *scene)
{
    struct view_sheet sheet;
    const struct view_message *message = &scene->frame->message;
    view_sheet_open(&sheet, draw, scene, true, "The race", 0);
    struct view_box box = view_box_inset(sheet.view, fminf(28, sheet.view.w / 20), 28);
    struct view_type type = type_of(draw, VIEW_SANS, VIEW_SIZE_BODY, false);
    if (message->title[0])
        box.y += view_sheet_text(&sheet, box, type_of(draw, VIEW_BOLD, VIEW_SIZE_HEADING, false),
                                 message->title) +
                 8;
    view_sheet_text(&sheet, box, type,
                    message->title[0] ? message->text : "Both programs are being run.");
    view_sheet_close(&sheet);
}

/* Heights of the parts, from the frame's. */
static void place(struct page *page, const struct view_draw *draw, const struct view_scene *scene)
{
    bool mini = scene->layout.class == VIEW_MINI;
    float least = mini ? 48 : 76;
    page->top = mini ? 8 : 24;
    page->gap = mini ? 8 : 16;
    page->head_height = view_text_height(draw, page->width, page->head, 0, headline);
    if (page->line[0])
        page->head_height += 4 + view_text_height(draw, page->width, page->small, 0, page->line);
    float rest = page->top + page->head_height + AXIS + 3 * page->gap + page->foot;
    float room = scene->frame->height - VIEW_SHEET_BAR - rest;
    page->above = page->width < 560;
    page->rows = floorf(fminf(fmaxf(room / 2, least), page->above ? 260 : 330));
    bool tiles = page->rows >= (page->above ? 190 : 110);
    if (page->above && !tiles)
        page->rows = fminf(page->rows, 124);
    page->height = rest + 2 * page->rows;
    page->tiles = tiles ? fmaxf(view_race_tiles_width(scene, 0, page->rows),
                                view_race_tiles_width(scene, 1, page->rows))
                        : 0;
}

/* Both, with the scale and the mark under the first one. Returns where they end. */
static float draw_programs(const struct view_sheet *sheet, const struct view_scene *scene,
                           const struct page *page, struct view_race *race, float y)
{
    int phase = sheet->lesson->race_phase;
    struct view_box box = view_box_make(page->margin, y, page->width, page->rows);
    race->scale = view_box_make(page->margin, 0, page->width, 0);
    if (page->tiles > 0 && !page->above)
        view_cut_left(&race->scale, page->tiles + 28);
    struct view_box bar = view_race_program(race, sheet, scene, 0, box, page->tiles > 0);
    if (phase != VIEW_RACE_RUNS) {
        draw_axis(sheet, race, bar);
        draw_mark(sheet, race, bar);
    }
    if (phase == VIEW_RACE_ASKS)
        draw_slider(sheet, race, bar);
    box.y += page->rows + AXIS;
    view_race_program(race, sheet, scene, 1, box, page->tiles > 0);
    return box.y + box.h;
}

void view_scene_race(struct view_draw *draw, const struct view_scene *scene)
{
    struct view_race race;
    struct view_sheet sheet;
    struct view_race_words words;
    struct view_race_choice choices[VIEW_RACE_CHOICES];
    struct page page;

    if (scene->runs < 2) {
        draw_waiting(draw, scene);
        return;
    }
    view_race_count(&race, scene);
    view_race_say(&race, scene, &words);
    int n = view_race_choose(scene, choices);
    lay(&page, draw, scene, &words, choices, n);
    place(&page, draw, scene);
    view_sheet_open(&sheet, draw, scene, false, "FlashLab", page.height);
    float y = sheet.view.y - sheet.scroll + page.top;
    struct view_box box = view_box_make(page.margin, y, page.width, page.head_height);
    view_cut_top(&box, view_sheet_text(&sheet, box, page.head, headline) + 4);
    if (page.line[0])
        view_sheet_text(&sheet, box, page.small, page.line);
    y = draw_programs(&sheet, scene, &page, &race, y + page.head_height + page.gap);
    draw_words(&sheet, &page, &words, choices, n, y + page.gap);
    view_sheet_close(&sheet);
    bool done = sheet.lesson->race_phase == VIEW_RACE_DONE;
    view_sheet_bar_button(&sheet, VIEW_PAGE, VIEW_PAGE_CONTENTS, done ? "Lessons" : "Skip",
                          done ? "To the lessons" : "Skip the race");
}
