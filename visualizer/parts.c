#include "visualizer/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float pi = 3.14159265f;

void view_ring(struct view_draw *draw, struct view_box box, float distance, float width,
               struct view_color color)
{
    float out = distance + width;
    view_frame_box(draw, view_box_make(box.x - out, box.y - out, box.w + 2 * out, box.h + 2 * out),
                   3, width, color);
}

void view_tensor_frame(struct view_draw *draw, struct view_box box, enum fa_tensor_id id)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    view_frame_box(draw, box, 0, 1, look.line);
    if (look.gradient && box.w >= 10 && box.h >= 10)
        view_frame_box(draw, view_box_inset(box, 3, 3), 0, 1, look.line);
}

/* Three quarters of a turn with a head: computed once more. */
static void turning_arrow(struct view_draw *draw, float x, float y, float radius,
                          struct view_color color)
{
    enum { PARTS = 9 };
    float from = -0.4f * pi, turn = 1.5f * pi;
    for (int i = 0; i < PARTS; i++) {
        float a = from + turn * (float)i / PARTS, b = from + turn * (float)(i + 1) / PARTS;
        view_line(draw, x + radius * cosf(a), y + radius * sinf(a), x + radius * cosf(b),
                  y + radius * sinf(b), 1.5f, color);
    }
    float end = from + turn, ex = x + radius * cosf(end), ey = y + radius * sinf(end);
    view_triangle(draw, ex - 3.5f, ey + 0.5f, ex + 3.5f, ey + 0.5f, ex, ey - 4.5f, color);
}

void view_tile(struct view_draw *draw, struct view_box box, enum fa_tensor_id id, unsigned states)
{
    const struct view_theme *theme = draw->theme;
    struct view_look look = view_tensor_look(theme, id);
    float side = fminf(box.w, box.h);
    bool bare = states & (VIEW_TILE_GHOST | VIEW_TILE_AHEAD | VIEW_TILE_SKIPPED | VIEW_TILE_USED);

    if (states & VIEW_TILE_FULL)
        view_fill(draw, box, look.fill);
    else if (!bare)
        view_fill(draw, box, view_mix(theme->panel, look.fill, 0.45));
    if (states & VIEW_TILE_CUT && side >= 6)
        view_triangle(draw, box.x, box.y, box.x + box.w, box.y, box.x + box.w, box.y + box.h,
                      theme->panel);
    if (states & VIEW_TILE_USED && side < 12)
        view_fill(draw, view_box_inset(box, 0.5f, 0.5f), view_mix(theme->panel, look.fill, 0.30));
    else if (states & VIEW_TILE_USED)
        view_fill(draw,
                  view_box_make(box.x + box.w / 2 - side * 0.14f, box.y + box.h / 2 - side * 0.14f,
                                side * 0.28f, side * 0.28f),
                  view_mix(theme->panel, look.fill, 0.8));
    if (states & VIEW_TILE_STALE)
        view_hatch(draw, box, VIEW_RISING, theme->text);
    if (states & VIEW_TILE_BAD)
        view_hatch(draw, box, VIEW_CROSSES, theme->bad);
    if (states & VIEW_TILE_SKIPPED && side >= 4) {
        float arm = fminf(side * 0.25f, 8);
        float x = box.x + box.w / 2, y = box.y + box.h / 2;
        view_line(draw, x - arm, y - arm, x + arm, y + arm, 1, theme->text2);
        view_line(draw, x - arm, y + arm, x + arm, y - arm, 1, theme->text2);
    }
    if (states & VIEW_TILE_GHOST)
        view_frame_dashed(draw, box, 1, 5, 4, look.line);
    else if (states & VIEW_TILE_AHEAD)
        view_frame_dashed(draw, box, 1, 2, 3, look.line);
    else if (states & VIEW_TILE_BAD)
        view_frame_box(draw, box, 0, 2, theme->bad);
    else if (!bare && side > 2)
        view_tensor_frame(draw, box, id);
    if (states & VIEW_TILE_AGAIN && side >= 16)
        turning_arrow(draw, box.x + box.w / 2, box.y + box.h / 2, fminf(side * 0.22f, 9),
                      view_ink(states & VIEW_TILE_FULL ? look.fill
                                                       : view_mix(theme->panel, look.fill, 0.45)));
    if (states & VIEW_TILE_RING)
        view_ring(draw, box, side < 12 ? 1 : 3, 2, theme->text);
}

void view_tensor_bar(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                     const char *letter)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    struct view_color ink = view_ink(look.fill);
    if (box.w <= 0 || box.h <= 0)
        return;
    view_fill(draw, box, look.fill);
    view_hatch(draw, box, look.pattern, view_fade(ink, 0.45));
    if (box.w > 3)
        view_tensor_frame(draw, box, id);
    if (!letter || !*letter)
        return;
    struct view_type type = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, ink);
    float width = view_text_width(draw, type, letter) + 6;
    if (width > box.w - 2 || box.h < 16)
        return;
    float height = fminf(box.h - 4, 16);
    struct view_box plate = {floorf(box.x + (box.w - width) / 2), floorf(box.y + (box.h - height) / 2),
                             width, height};
    view_fill(draw, plate, look.fill);
    view_text_in(draw, plate, VIEW_CENTRE, type, "%s", letter);
}

void view_cell_draw(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                    enum view_cell_state state, double value, double most)
{
    const struct view_theme *theme = draw->theme;
    struct view_color fill = theme->panel;
    char text[VIEW_NUMBER_TEXT];
    bool numbers = box.w >= 30 && box.h >= 16;

    if (state == VIEW_CELL_NONE)
        return;
    if (state == VIEW_CELL_UNWRITTEN) {
        if (box.w >= 12 && box.h >= 12)
            view_frame_dashed(draw, view_box_inset(box, 0.5f, 0.5f), 1, 2, 3,
                              view_tensor_look(theme, id).line);
        return;
    }
    if (isnan(value)) {
        view_hatch(draw, box, VIEW_CROSSES, view_fade(theme->bad, 0.6));
        view_frame_box(draw, box, 0, numbers ? 2 : 1, theme->bad);
        if (numbers) {
            view_fill(draw, view_box_inset(box, 3, 3), theme->panel);
            view_text_in(draw, box, VIEW_CENTRE,
                         view_type_make(VIEW_MONO, VIEW_SIZE_CELL, theme->bad), "NaN");
        }
        return;
    }
    if (value == -INFINITY)
        fill = theme->bg;
    else
        fill = view_shade(theme, id, value, most);
    view_fill(draw, box, fill);
    if (value < 0 && value != -INFINITY && box.w >= 8 && box.h >= 8) {
        float corner = fminf(5, box.w * 0.4f);
        view_triangle(draw, box.x, box.y, box.x + corner, box.y, box.x, box.y + corner,
                      theme->panel);
    }
    if (numbers)
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_MONO, VIEW_SIZE_CELL, view_ink(fill)), "%s",
                     view_number_short(value, text));
}

/* ---- numbers in words ------------------------------------------------------------------------ */

/* printf writes a hyphen, and in some places of the world a decimal comma. */
static void tidy_number(const char *raw, char *text, size_t size)
{
    size_t n = 0;
    for (; *raw && n + 4 < size; raw++) {
        if (*raw == '-') {
            memcpy(text + n, "−", 3); /* a minus sign is three bytes in UTF-8 */
            n += 3;
        } else {
            text[n++] = *raw == ',' ? '.' : *raw;
        }
    }
    text[n] = '\0';
}

/* A literal into a text of at least its size. */
static const char *say(char *text, size_t size, const char *literal)
{
    snprintf(text, size, "%s", literal);
    return text;
}

const char *view_number_short(double value, char text[VIEW_NUMBER_TEXT])
{
    char raw[48];
    const char *sign = value < 0 ? "-" : "";
    double size = fabs(value);
    int digits = value < 0 ? 2 : 3; /* a point is the fourth glyph, or the third */

    if (isnan(value))
        return say(text, VIEW_NUMBER_TEXT, "NaN");
    if (isinf(value))
        return say(text, VIEW_NUMBER_TEXT, value < 0 ? "−∞" : "∞");
    if (digits == 3 && size < 9.995)
        snprintf(raw, sizeof raw, "%.2f", size);
    else if (size < (digits == 3 ? 99.95 : 9.95))
        snprintf(raw, sizeof raw, "%s%.1f", sign, size);
    else if (size < (digits == 3 ? 9999.5 : 999.5))
        snprintf(raw, sizeof raw, "%s%.0f", sign, size);
    else { /* %.0e rounds, and so knows the exponent after rounding; "2e+05" becomes "2e5" */
        char plain[32];
        snprintf(plain, sizeof plain, "%.0e", size);
        snprintf(raw, sizeof raw, "%s%ce%ld", sign, plain[0], strtol(strchr(plain, 'e') + 1, NULL, 10));
    }
    tidy_number(raw, text, VIEW_NUMBER_TEXT);
    return text;
}

const char *view_value_text(double value, char text[VIEW_NUMBER_TEXT])
{
    char raw[48];
    if (isnan(value))
        return say(text, VIEW_NUMBER_TEXT, "NaN");
    if (isinf(value))
        return say(text, VIEW_NUMBER_TEXT, value < 0 ? "−∞" : "∞");
    snprintf(raw, sizeof raw, "%.4g", value == 0 ? 0 : value);
    tidy_number(raw, text, VIEW_NUMBER_TEXT);
    return text;
}

const char *view_count_exact(uint64_t count, char text[VIEW_COUNT_TEXT])
{
    return sim_digits_text(count, text);
}

const char *view_count_text(uint64_t count, char text[VIEW_COUNT_TEXT])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}, {1e15, "quadrillion"}};
    char raw[VIEW_COUNT_TEXT];
    if (count < 10000000)
        return view_count_exact(count, text);
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && (double)count >= units[unit + 1].unit)
        unit++;
    double value = (double)count / units[unit].unit;
    snprintf(raw, sizeof raw, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
             units[unit].name);
    tidy_number(raw, text, VIEW_COUNT_TEXT);
    return text;
}

struct view_measure view_measure_of(const struct view_run *run, bool bytes)
{
    if (bytes)
        return (struct view_measure){1, "bytes"};
    return (struct view_measure){fa_dtype_bytes(view_run_header(run)->problem.dtype), "elements"};
}

const char *view_bytes_text(uint64_t bytes, char text[VIEW_COUNT_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char raw[VIEW_COUNT_TEXT];
    double value = (double)bytes / 1024;
    int unit = 0;
    if (bytes < 10240) {
        char exact[VIEW_COUNT_TEXT];
        snprintf(text, VIEW_COUNT_TEXT, "%s bytes", view_count_exact(bytes, exact));
        return text;
    }
    for (; value >= 1024; unit++)
        value /= 1024;
    snprintf(raw, sizeof raw, "%.*f", value < 99.95 && value != floor(value) ? 1 : 0, value);
    tidy_number(raw, text, VIEW_COUNT_TEXT);
    size_t n = strlen(text);
    snprintf(text + n, VIEW_COUNT_TEXT - n, " %s", units[unit]);
    return text;
}

/* ---- controls -------------------------------------------------------------------------------- */

void view_plate(struct view_draw *draw, struct view_box box, struct view_color fill,
                struct view_color line)
{
    view_fill_round(draw, box, 6, fill);
    view_frame_box(draw, box, 6, 1, line);
}

/* How many hits with a label there are in the list so far: the place of the next one in Tab's
 * order. */
static int next_stop(const struct view_draw *draw)
{
    int n = 0;
    for (size_t i = 0; i < draw->n_hits; i++)
        n += draw->hits[i].label != NULL;
    return n;
}

void view_focus_ring(struct view_draw *draw, const struct view_frame *frame, struct view_box box)
{
    if (frame->focus >= 0 && frame->focus == next_stop(draw))
        view_ring(draw, box, 3, 2, draw->theme->text);
}

struct view_color view_button(struct view_draw *draw, const struct view_frame *frame,
                              struct view_box box, unsigned states, enum view_action action,
                              int64_t value, const char *text, const char *label)
{
    const struct view_theme *theme = draw->theme;
    bool off = states & VIEW_BUTTON_OFF, quiet = states & VIEW_BUTTON_QUIET;
    bool hover = !off && view_box_has(box, frame->pointer_x, frame->pointer_y);
    bool pressed = hover && frame->pressed && strcmp(frame->pressed, label) == 0;
    bool inverted = (states & VIEW_BUTTON_PRIMARY || pressed) && !off;
    struct view_color fill = inverted                  ? theme->text
                             : hover                   ? theme->hair
                             : quiet || off            ? theme->bg
                                                       : theme->raised;
    struct view_color ink = inverted ? theme->bg : off ? theme->text2 : theme->text;

    if (quiet && !inverted && !hover) {
        ink = theme->text2;
    } else {
        if (!off)
            view_fill_round(draw, box, 4, fill);
        if (off)
            view_frame_dashed(draw, box, 1, 3, 3, theme->text2);
        else if (!quiet)
            view_frame_box(draw, box, 4, 1, states & VIEW_BUTTON_ON ? theme->text : theme->edge);
    }
    if (states & VIEW_BUTTON_ON)
        view_fill(draw, view_box_make(box.x + 4, box.y + box.h - 4, box.w - 8, 2),
                  inverted ? theme->bg : theme->text);
    if (text && !(states & VIEW_BUTTON_ICON))
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(states & VIEW_BUTTON_PRIMARY ? VIEW_BOLD : VIEW_SANS,
                                    VIEW_SIZE_CONTROL, ink),
                     "%s", text);
    /* The rows of a menu touch each other: there the ring lies inside. */
    view_focus_ring(draw, frame, draw->layer == VIEW_POPUP ? view_box_inset(box, 5, 5) : box);
    view_hit(draw, box, action, value, off, label);
    return ink;
}

struct view_box view_button_fit(struct view_draw *draw, const struct view_frame *frame, float x,
                                float y, unsigned states, enum view_action action, int64_t value,
                                const char *text, const char *label)
{
    struct view_type type = view_type_make(states & VIEW_BUTTON_PRIMARY ? VIEW_BOLD : VIEW_SANS,
                                           VIEW_SIZE_CONTROL, draw->theme->text);
    float width = ceilf(view_text_width(draw, type, text)) + 20;
    struct view_box box = {x, y, width < 28 ? 28 : width, 28};
    view_button(draw, frame, box, states, action, value, text, label);
    return box;
}

/* ---- signs ----------------------------------------------------------------------------------- */

void view_event_icon(struct view_draw *draw, struct view_box box, enum sim_event_kind kind,
                     struct view_color color)
{
    float size = fminf(fminf(box.w, box.h), 20), half = size / 2;
    float x = floorf(box.x + box.w / 2), y = floorf(box.y + box.h / 2);
    switch (kind) {
    case SIM_LOAD:
        view_arrow(draw, x - half, y, x + half, y, 2, color);
        break;
    case SIM_STORE:
        view_arrow(draw, x + half, y, x - half, y, 2, color);
        break;
    case SIM_COMPUTE:
        for (int i = 0; i < 3; i++) {
            float a = pi * (float)i / 3, dx = half * cosf(a), dy = half * sinf(a);
            view_line(draw, x - dx, y - dy, x + dx, y + dy, 2, color);
        }
        break;
    case SIM_ALLOC:
    case SIM_FREE:
        view_frame_dashed(draw, view_box_make(x - half, y - half, size, size), 2, 3, 3, color);
        view_line(draw, x - half * 0.5f, y, x + half * 0.5f, y, 2, color);
        if (kind == SIM_ALLOC)
            view_line(draw, x, y - half * 0.5f, x, y + half * 0.5f, 2, color);
        break;
    default:
        half *= 0.75f;
        view_line(draw, x - half, y - half, x + half, y + half, 2, color);
        view_line(draw, x - half, y + half, x + half, y - half, 2, color);
        break;
    }
}

void view_tick(struct view_draw *draw, float x, float y, struct view_color color)
{
    view_line(draw, x + 1, y + 7.5f, x + 5, y + 11.5f, 2.5f, color);
    view_line(draw, x + 5, y + 11.5f, x + 13, y + 2.5f, 2.5f, color);
}

void view_cross(struct view_draw *draw, float x, float y, struct view_color color)
{
    view_line(draw, x + 2, y + 2, x + 12, y + 12, 2.5f, color);
    view_line(draw, x + 2, y + 12, x + 12, y + 2, 2.5f, color);
}
