/* The sheet: what every sign means and what every key does, in as many columns as there is room
 * for; what is higher than the window is scrolled by whole rows. */
#include <math.h>
#include <stdio.h>

#include "visualizer/scene_help.h"

enum row_kind {
    ROW_HEADING,
    ROW_TENSORS,
    ROW_STAGES,
    ROW_EVENT,
    ROW_STATES,
    ROW_LEVEL,
    ROW_LINE,
    ROW_KEY,
    ROW_NOTE
};

struct row {
    enum row_kind kind;
    int index; /* of its kind; of a heading its words */
};

static const char *const headings[] = {"Tensors", "Gradients: a double frame", "Events",
                                       "What a tile can be", "How near you are", "On the time line",
                                       "Keys"};

static const enum fa_tensor_id tensors[][4] = {{FA_Q, FA_K, FA_V, FA_S},
                                               {FA_P, FA_O, FA_M, FA_LSE},
                                               {FA_DQ, FA_DK, FA_DV, FA_DO},
                                               {FA_DP, FA_DS, FA_MASK, FA_BIAS}};

/* By pairs, left and right. */
static const struct {
    enum fa_tensor_id id;
    unsigned states;
    const char *text;
} states[] = {
    {FA_Q, VIEW_TILE_REST, "at rest"},
    {FA_S, VIEW_TILE_SKIPPED, "skipped"},
    {FA_Q, VIEW_TILE_FULL | VIEW_TILE_RING, "in use now"},
    {FA_S, VIEW_TILE_FULL | VIEW_TILE_CUT, "cut by mask"},
    {FA_S, VIEW_TILE_GHOST, "never stored"},
    {FA_P, VIEW_TILE_FULL | VIEW_TILE_AGAIN, "recomputed"},
    {FA_O, VIEW_TILE_AHEAD, "not yet written"},
    {FA_O, VIEW_TILE_BAD, "NaN written"},
    {FA_O, VIEW_TILE_STALE, "stale copy"},
    {FA_S, VIEW_TILE_USED, "used, dropped"},
};

static const char *const levels[] = {"cell at least 30 × 16: its number",
                                     "cell at least 4: a shade of 8, cut corner below 0",
                                     "tile at least 6: a square; smaller: many tiles a square"};

static const char *const lines[] = {"a row’s maximum rose: ℓ and O shrink", "tiles were skipped",
                                    "reads up, writes down, by tensor"};

static const struct {
    const char *keys, *text;
} keys[] = {
    {"Space", "play, pause"},
    {"← →", "an event back, on"},
    {"Shift ← →", "a tile"},
    {"↑ ↓", "an outer iteration (row)"},
    {"PgUp PgDn", "a phase"},
    {"Home End", "the start, the end"},
    {"[ ]", "slower, faster"},
    {"A B", "the ends of the loop"},
    {"/", "go to an event or a tile"},
    {"C", "next panel; comparing: next clock"},
    {"V L", "next stage; all stages"},
    {"+ − 0", "zoom in, out, fit"},
    {"U D", "bytes or elements; one head or all"},
    {"T", "dark, light"},
    {"S G", "save a picture, a movie"},
    {"Enter", "read a cell, then arrows"},
    {"F11", "hide bar and panel"},
    {"P H N", "in a lesson: question, hint, next"},
    {"Tab ← ↑ → ↓", "tiles: the corner; Enter runs"},
    {"Tab Esc", "next control; close, let go"},
    {"Ctrl Q", "quit"},
};

enum {
    COUNT_TENSORS = sizeof tensors / sizeof *tensors,
    COUNT_EVENTS = SIM_EVENT_KINDS,
    COUNT_STATES = sizeof states / sizeof *states,
    COUNT_LEVELS = sizeof levels / sizeof *levels,
    COUNT_LINES = sizeof lines / sizeof *lines,
    COUNT_KEYS = sizeof keys / sizeof *keys,
    MOST_ROWS = 64,
    MOST_COLUMNS = 4,
    COLUMN = 276,
    GAP = 28
};

static void add_rows(struct row *rows, int *n, enum row_kind kind, int first, int end)
{
    for (int index = first; index < end; index++)
        rows[(*n)++] = (struct row){kind, index};
}

static int all_rows(struct row rows[MOST_ROWS])
{
    int n = 0;
    add_rows(rows, &n, ROW_HEADING, 0, 1);
    add_rows(rows, &n, ROW_TENSORS, 0, 2);
    add_rows(rows, &n, ROW_HEADING, 1, 2);
    add_rows(rows, &n, ROW_TENSORS, 2, COUNT_TENSORS);
    add_rows(rows, &n, ROW_HEADING, 2, 3);
    add_rows(rows, &n, ROW_STAGES, 0, 1);
    add_rows(rows, &n, ROW_EVENT, 0, COUNT_EVENTS);
    add_rows(rows, &n, ROW_HEADING, 3, 4);
    add_rows(rows, &n, ROW_STATES, 0, COUNT_STATES / 2);
    add_rows(rows, &n, ROW_HEADING, 4, 5);
    add_rows(rows, &n, ROW_LEVEL, 0, COUNT_LEVELS);
    add_rows(rows, &n, ROW_HEADING, 5, 6);
    add_rows(rows, &n, ROW_LINE, 0, COUNT_LINES);
    add_rows(rows, &n, ROW_HEADING, 6, 7);
    add_rows(rows, &n, ROW_KEY, 0, COUNT_KEYS);
    add_rows(rows, &n, ROW_NOTE, 0, 1);
    return n;
}

static float height_of(enum row_kind kind, bool first)
{
    static const float heights[] = {[ROW_HEADING] = 44, [ROW_TENSORS] = 40, [ROW_STAGES] = 20,
                                    [ROW_EVENT] = 84,   [ROW_STATES] = 46,  [ROW_LEVEL] = 60,
                                    [ROW_LINE] = 26,    [ROW_KEY] = 28,     [ROW_NOTE] = 40};
    return kind == ROW_HEADING && first ? 28 : heights[kind];
}

/* ---- rows
 * ---------------------------------------------------------------------------------------------- */

static struct view_type type_of(const struct view_draw *draw, enum view_style style,
                                enum view_type_size size, bool quiet)
{
    return view_type_make(style, (float)size, quiet ? draw->theme->text2 : draw->theme->text);
}

static void draw_tensors(struct view_draw *draw, struct view_box box, int index)
{
    float width = (box.w - 24) / 4;
    for (int t = 0; t < 4; t++) {
        struct view_box swatch = {box.x + (float)t * (width + 8), box.y + 2, width, 30};
        struct view_look look = view_tensor_look(draw->theme, tensors[index][t]);
        if (look.gradient) {
            view_frame_box(draw, swatch, 0, 2, look.line);
            swatch = view_box_inset(swatch, 5, 5);
        }
        view_tensor_bar(draw, swatch, tensors[index][t], look.letter);
    }
}

static void draw_states(struct view_draw *draw, struct view_box box, int index)
{
    for (int side = 0; side < 2; side++) {
        int which = 2 * index + side;
        float x = box.x + (float)side * box.w / 2;
        struct view_box tile = {x + 6, box.y + 6, 30, 30};
        struct view_box text = {x + 48, box.y, box.w / 2 - 48, 42};
        view_tile(draw, tile, states[which].id, states[which].states);
        if (states[which].states & VIEW_TILE_SKIPPED)
            view_frame_box(draw, tile, 0, 1, draw->theme->hair);
        view_text_in(draw, text, VIEW_LEFT, type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, false), "%s",
                     states[which].text);
    }
}

/* A picture of cells or tiles as small as the words beside it say. */
static void draw_level(struct view_draw *draw, struct view_box box, int index)
{
    static const double values[2][3] = {{1.5, -0.5, 2}, {0.25, 1, -1.5}};
    struct view_box picture = {box.x, box.y + 4, 102, 44};
    for (int r = 0; index == 0 && r < 2; r++)
        for (int c = 0; c < 3; c++)
            view_cell_draw(
                draw, view_box_make(picture.x + 34 * (float)c, picture.y + 22 * (float)r, 34, 22),
                FA_Q, VIEW_CELL_VALUE, values[r][c], 2);
    for (int r = 0; index == 1 && r < 4; r++)
        for (int c = 0; c < 9; c++)
            view_cell_draw(
                draw, view_box_make(picture.x + 11 * (float)c, picture.y + 11 * (float)r, 11, 11),
                FA_K, VIEW_CELL_VALUE, sin(1.7 * (r * 9 + c)) * 2, 2);
    for (int r = 0; index == 2 && r < 4; r++)
        for (int c = 0; c < 9; c++)
            view_tile(draw,
                      view_box_make(picture.x + 11 * (float)c, picture.y + 11 * (float)r, 9, 9),
                      FA_S, r * 9 + c < 20 ? VIEW_TILE_USED : VIEW_TILE_GHOST);
    view_cut_left(&box, 116);
    box.h -= 6;
    struct view_type type = type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, false);
    float height = view_text_height(draw, box.w, type, 0, levels[index]);
    box.y += fmaxf(0, floorf((box.h - height) / 2));
    box.h = height;
    view_text_wrapped(draw, box, type, 0, levels[index], NULL);
}

static void draw_line_sign(struct view_draw *draw, struct view_box box, int index)
{
    struct view_color color = draw->theme->text2;
    float x = box.x + 10, y = box.y + 8;
    if (index == 0) {
        view_triangle(draw, x, y, x - 4, y + 7, x + 4, y + 7, color);
    } else if (index == 1) {
        view_line(draw, x - 3, y, x + 3, y + 6, 1.5f, color);
        view_line(draw, x - 3, y + 6, x + 3, y, 1.5f, color);
    } else {
        view_fill(draw, view_box_make(x - 8, y - 4, 6, 8),
                  view_tensor_look(draw->theme, FA_K).line);
        view_fill(draw, view_box_make(x - 1, y - 4, 6, 8),
                  view_tensor_look(draw->theme, FA_V).line);
        view_fill(draw, view_box_make(x + 6, y + 4, 6, 6),
                  view_tensor_look(draw->theme, FA_O).line);
    }
    view_cut_left(&box, 32);
    view_text_in(draw, box, VIEW_LEFT, type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, false), "%s",
                 lines[index]);
}

static void draw_key(struct view_draw *draw, struct view_box box, int index)
{
    struct view_type mono = type_of(draw, VIEW_MONO, VIEW_SIZE_LABEL, false);
    float width = ceilf(view_text_width(draw, mono, keys[index].keys)) + 12;
    struct view_box cap = {box.x, box.y + 2, width, 22}, text = box;
    view_fill_round(draw, cap, 4, draw->theme->raised);
    view_frame_box(draw, cap, 4, 1, draw->theme->hair);
    view_text_in(draw, cap, VIEW_CENTRE, mono, "%s", keys[index].keys);
    view_cut_left(&text, fmaxf(width + 8, 92));
    text.h = 26;
    struct view_type type = type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, false);
    if (view_text_width(draw, type, keys[index].text) > text.w)
        type.size = VIEW_SIZE_CELL;
    view_text_in(draw, text, VIEW_LEFT, type, "%s", keys[index].text);
}

static void draw_row(struct view_draw *draw, struct view_box box, struct row row, bool first)
{
    switch (row.kind) {
    case ROW_HEADING:
        view_text(draw, box.x, box.y + (first ? 0 : 16), VIEW_LEFT,
                  type_of(draw, VIEW_BOLD, VIEW_SIZE_BODY, false), "%s", headings[row.index]);
        return;
    case ROW_TENSORS:
        draw_tensors(draw, box, row.index);
        return;
    case ROW_STAGES:
        view_help_stages(draw, box);
        return;
    case ROW_EVENT:
        view_help_event(draw, box, row.index);
        return;
    case ROW_STATES:
        draw_states(draw, box, row.index);
        return;
    case ROW_LEVEL:
        draw_level(draw, box, row.index);
        return;
    case ROW_LINE:
        draw_line_sign(draw, box, row.index);
        return;
    case ROW_KEY:
        draw_key(draw, box, row.index);
        return;
    case ROW_NOTE:
        view_text_wrapped(draw, view_box_inset(box, 0, 2),
                          type_of(draw, VIEW_SANS, VIEW_SIZE_CELL, true), 0,
                          draw->face == &view_builtin_face
                              ? "Drawn with the built-in typeface."
                              : "All numbers come from the executed run.",
                          NULL);
        return;
    }
}

/* ---- columns
 * ------------------------------------------------------------------------------------------- */

/* What has to stand together with row r: a heading with all of its section, or with its first row.
 */
static float height_together(const struct row *rows, int n, int r, bool first, bool sections)
{
    float height = height_of(rows[r].kind, first);
    if (rows[r].kind != ROW_HEADING)
        return height;
    for (int k = r + 1; k < n && rows[k].kind != ROW_HEADING && (sections || k == r + 1); k++)
        height += height_of(rows[k].kind, false);
    return height;
}

/* Puts the rows into columns of that height, whole sections or a heading with its first row at
 * least; false if they need more columns. With a draw list those that show in whole are drawn,
 * `scroll` higher. */
static bool flow(struct view_draw *draw, const struct row *rows, int n, struct view_box area,
                 float column_width, int columns, float height, bool sections, float scroll)
{
    int column = 0;
    float y = 0;
    for (int r = 0; r < n; r++) {
        if (y > 0 && y + height_together(rows, n, r, false, sections) > height) {
            column++;
            y = 0;
        }
        if (column >= columns || y + height_together(rows, n, r, y == 0, sections) > height)
            return false;
        float own = height_of(rows[r].kind, y == 0);
        struct view_box box = {area.x + (float)column * (column_width + GAP), area.y + y - scroll,
                               column_width, own};
        if (draw && box.y >= area.y - 0.5f && box.y + own <= area.y + area.h + 0.5f)
            draw_row(draw, box, rows[r], y == 0);
        y += own;
    }
    return true;
}

static void draw_title(struct view_draw *draw, const struct view_scene *scene,
                       struct view_box *area)
{
    struct view_box head = view_cut_top(area, 44);
    head.y += 8;
    head.h = 28;
    view_button(draw, scene->frame, view_cut_right(&head, 60), VIEW_BUTTON_REST, VIEW_HELP, 0,
                "Close", "Close the sheet");
    view_text_in(draw, head, VIEW_LEFT, type_of(draw, VIEW_BOLD, VIEW_SIZE_TITLE, false),
                 "Keys and signs");
}

void view_scene_help(struct view_draw *draw, const struct view_scene *scene)
{
    const struct view_frame *frame = scene->frame;
    struct view_box area = view_box_make(0, 0, frame->width, frame->height);
    struct row rows[MOST_ROWS];
    int n = all_rows(rows), columns;

    view_fill(draw, area, draw->theme->bg);
    view_hit(draw, area, VIEW_NOTHING, 0, false, NULL);
    area = view_box_inset(area, frame->width < 640 ? 12 : 20, 0);
    draw_title(draw, scene, &area);
    view_cut_bottom(&area, 12);
    columns = (int)((area.w + GAP) / (COLUMN + GAP));
    columns = columns < 1 ? 1 : columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
    /* Wider columns do not read better: what is left stays free on the right. */
    float width = fminf((area.w - GAP * (float)(columns - 1)) / (float)columns, 400), height = 200;
    bool sections = flow(NULL, rows, n, area, width, columns, area.h, true, 0);
    while (!flow(NULL, rows, n, area, width, columns, height, sections, 0)) /* as even as can be */
        height += 8;
    float most = fmaxf(0, height - area.h);
    float scroll = floorf(fminf(fmaxf(frame->scroll, 0), most));
    draw->scroll_most = fmaxf(draw->scroll_most, most);
    flow(draw, rows, n, area, width, columns, height, sections, scroll);
    if (most > 0) {
        float length = fmaxf(24, area.h * area.h / height);
        view_fill_round(
            draw,
            view_box_make(frame->width - 7, area.y + (area.h - length) * scroll / most, 3, length),
            1.5f, draw->theme->edge);
    }
}
