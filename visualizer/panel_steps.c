/* The paper's steps, from the algorithm's own table. */
#include "visualizer/panel_code.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the paper's steps in signs ---------------------------------------------------------- */

/* What stands in the algorithms' tables as ASCII, and how it is read. The longest first. */
static const struct {
    const char *plain, *sign;
} signs[] = {
    {"m_new", "m′"}, {"l_new", "ℓ′"}, {"_ij", "[i,j]"}, {"_i", "[i]"}, {"_j", "[j]"},
    {"^T", "ᵀ"},     {"-inf", "−∞"},  {" - ", " − "},   {"l~", "ℓ~"},
};

/* A letter l by itself is the row sum. */
static bool is_sum(const char *text, size_t at)
{
    bool before = at == 0 || !isalpha((unsigned char)text[at - 1]);
    return text[at] == 'l' && before && !isalpha((unsigned char)text[at + 1]);
}

static void put(char *text, size_t size, size_t *n, const char *piece, size_t bytes)
{
    if (*n + bytes >= size)
        return;
    memcpy(text + *n, piece, bytes);
    *n += bytes;
    text[*n] = '\0';
}

static void read_step(const char *plain, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t at = 0; plain[at];) {
        size_t s = 0, n_signs = sizeof signs / sizeof *signs;
        while (s < n_signs && strncmp(plain + at, signs[s].plain, strlen(signs[s].plain)) != 0)
            s++;
        if (s < n_signs) {
            put(text, size, &n, signs[s].sign, strlen(signs[s].sign));
            at += strlen(signs[s].plain);
        } else if (is_sum(plain, at)) {
            put(text, size, &n, "ℓ", strlen("ℓ"));
            at++;
        } else {
            put(text, size, &n, plain + at++, 1);
        }
    }
}

/* "9" of "Algorithm 1, line 9", "12–13" of "lines 12 and 13"; "" where the step has no such
 * number. */
static void step_number(const char *line, char number[16])
{
    const char *at = strncmp(line, "Algorithm", 9) == 0 ? strstr(line, ", line") : NULL;
    number[0] = '\0';
    if (!at)
        return;
    at += strlen(", line");
    at += *at == 's';
    const char *and = strstr(at, " and ");
    if (and)
        snprintf(number, 16, "%d–%d", (int)strtol(at, NULL, 10), (int)strtol(and+5, NULL, 10));
    else
        snprintf(number, 16, "%d", (int)strtol(at, NULL, 10));
}

/* The tensor that the text loads or stores first: its colour marks the bytes. */
static bool step_tensor(const char *text, enum fa_tensor_id *id)
{
    static const struct {
        const char *name;
        enum fa_tensor_id id;
    } names[] = {{"LSE", FA_LSE}, {"dQ", FA_DQ}, {"dK", FA_DK},    {"dV", FA_DV}, {"dO", FA_DO},
                 {"dP", FA_DP},   {"dS", FA_DS}, {"D_", FA_DELTA}, {"Q", FA_Q},   {"K", FA_K},
                 {"V", FA_V},     {"O", FA_O},   {"P", FA_P},      {"S", FA_S},   {"l", FA_L}};
    const char *at = strstr(text, "load ");
    at = at ? at + 5 : strstr(text, "store ") ? strstr(text, "store ") + 6 : text;
    if (strncmp(at, "rows of ", 8) == 0)
        at += 8;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strncmp(at, names[n].name, strlen(names[n].name)) == 0) {
            *id = names[n].id;
            return true;
        }
    return false;
}

/* ---- steps ------------------------------------------------------------------------------- */

enum { STEP_TEXT = 512, STEPS_MOST = 64, HANGING = 12, STEP_MARGIN = 3, LEAST_BAR = 72 };

/* A step as it lies in the list. */
struct step_row {
    char text[STEP_TEXT], number[16];
    uint64_t now, end;          /* bytes */
    float top, height, heading; /* heading: the height of a phase's name above it, or 0 */
    bool reference; /* what the table says of where it is from, since it has no number */
};

struct step_list {
    struct step_row rows[STEPS_MOST];
    int n;
    uint64_t most;
    float bytes, height; /* width of the column of bytes */
};

static void measure_steps(const struct view_listing *l, struct step_list *list)
{
    uint64_t length = view_run_length(l->moment->run);
    struct view_type plain = view_listing_type(l, VIEW_SANS, VIEW_SIZE_CONTROL);
    list->n = l->algorithm->n_steps < STEPS_MOST ? l->algorithm->n_steps : STEPS_MOST;
    for (int s = 0; s < list->n; s++) {
        struct step_row *row = &list->rows[s];
        row->now = view_run_step_bytes(l->moment->run, s, l->moment->at.landed);
        row->end = view_run_step_bytes(l->moment->run, s, length);
        list->most = row->end > list->most ? row->end : list->most;
        list->bytes = fmaxf(list->bytes, view_listing_bytes_width(l, row->end));
    }
    if (list->bytes > 0 && l->box.w >= 280)
        list->bytes = fmaxf(list->bytes, LEAST_BAR);
    float y = 0;
    for (int s = 0; s < list->n; s++) {
        struct step_row *row = &list->rows[s];
        const struct fa_step *step = &l->algorithm->steps[s];
        float width = l->box.w - l->number - (row->end > 0 ? list->bytes : 0);
        read_step(step->text, row->text, sizeof row->text);
        step_number(step->line, row->number);
        row->reference = row->number[0] == '\0' && strcmp(step->line, step->text) != 0;
        bool begins = l->algorithm->n_phases > 1 && (s == 0 || step[-1].phase != step->phase);
        row->heading = begins ? 26 : 0;
        row->top = y + row->heading;
        row->height = view_text_height(l->draw, width, plain, HANGING, row->text) + 2 * STEP_MARGIN;
        if (row->reference)
            row->height += view_line_height(VIEW_SIZE_LABEL);
        y = row->top + row->height;
    }
    list->height = y;
}

static void draw_step(const struct view_listing *l, const struct step_list *list, int s, float y)
{
    struct view_draw *draw = l->draw;
    const struct view_theme *theme = draw->theme;
    const struct step_row *row = &list->rows[s];
    const struct fa_step *step = &l->algorithm->steps[s];
    bool now = l->event && (int)l->event->step == s;
    struct view_type type = view_listing_type(l, now ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_CONTROL);
    struct view_type plain = view_listing_type(l, VIEW_SANS, VIEW_SIZE_CONTROL);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_box box = {l->box.x, y + STEP_MARGIN, l->box.w, row->height - 2 * STEP_MARGIN};
    float line = view_line_height(VIEW_SIZE_CONTROL);
    enum fa_tensor_id id;

    if (now)
        view_listing_mark(l, y, row->height);
    struct view_box numbers = view_cut_left(&box, l->number);
    numbers.h = line;
    view_text_in(draw, numbers, VIEW_LEFT,
                 now ? view_listing_type(l, VIEW_BOLD, VIEW_SIZE_LABEL) : small, "%s", row->number);
    if (row->end > 0 && list->bytes > 0) {
        struct view_box bytes = view_cut_right(&box, list->bytes);
        bytes.h = line;
        view_listing_bytes(l, bytes, row->now);
        view_cut_left(&bytes, 12);
        bytes = view_box_make(bytes.x, bytes.y + line - 1, bytes.w, 3);
        view_fill(draw, bytes, theme->hair);
        bytes.w *= (float)((double)row->now / (double)list->most);
        view_fill(draw, bytes,
                  step_tensor(step->text, &id) ? view_tensor_look(theme, id).line : theme->text2);
    }
    /* Bold letters are wider: where they would take one line more, all below would jump. */
    float used = view_text_height(draw, box.w, plain, HANGING, row->text);
    if (view_text_height(draw, box.w, type, HANGING, row->text) > used)
        type = plain;
    view_text_wrapped(draw, box, type, HANGING, row->text, NULL);
    if (row->reference) {
        view_cut_top(&box, used);
        view_text_in(draw, box, VIEW_LEFT, small, "%s", step->line);
    }
}

static void draw_phase(const struct view_listing *l, int phase, struct view_box box)
{
    char text[STEP_TEXT];
    read_step(l->algorithm->phases[phase], text, sizeof text);
    view_text_in(l->draw, box, VIEW_LEFT, view_listing_type(l, VIEW_BOLD, VIEW_SIZE_CONTROL), "%s",
                 text);
}

/* What is scrolled away: whole steps, so that the current one shows, a third from the top or as
 * far on as it is scrolled. */
static float first_offset(const struct step_list *list, int now, float shown, float scroll)
{
    const struct step_row *current = &list->rows[now];
    float wanted = fminf(current->top - shown / 3 + scroll, list->height - shown);
    for (int s = 0; s <= now; s++) {
        float begin = list->rows[s].top - list->rows[s].heading;
        if (current->top + current->height - begin <= shown && (begin >= wanted || s == now))
            return begin;
    }
    return current->top;
}

void view_listing_steps(struct view_listing *l)
{
    struct step_list list = {0};
    char number[16];
    struct view_type bold = view_listing_type(l, VIEW_BOLD, VIEW_SIZE_LABEL);
    int now = l->event && l->event->step < l->algorithm->n_steps ? (int)l->event->step : 0;

    l->number = 12;
    for (int s = 0; s < l->algorithm->n_steps; s++) {
        step_number(l->algorithm->steps[s].line, number);
        l->number = fmaxf(l->number, ceilf(view_text_width(l->draw, bold, number)) + 12);
    }
    measure_steps(l, &list);
    if (list.n == 0)
        return;
    float offset = first_offset(&list, now, l->box.h, l->scene->frame->scroll);
    l->draw->scroll_most = fmaxf(l->draw->scroll_most, list.height - l->box.h);
    for (int s = 0; s < list.n; s++) {
        const struct step_row *row = &list.rows[s];
        float y = l->box.y + row->top - offset;
        if (y < l->box.y || y + row->height > l->box.y + l->box.h)
            continue;
        if (row->heading > 0 && y - row->heading >= l->box.y)
            draw_phase(l, l->algorithm->steps[s].phase,
                       view_box_make(l->box.x, y - row->heading, l->box.w, row->heading));
        draw_step(l, &list, s, y);
    }
}
