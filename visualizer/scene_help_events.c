/* The events on the sheet: what each is, and how it looks at its start, on its way and landed. The
 * pictures are of no run: they hold signs and no numbers. */
#include <math.h>

#include "visualizer/scene_help.h"

enum { STAGES = 4, GAP = 6, WORDS = 38, PICTURE = 38, TILE = 16, COPY = 14, PAD = 5, BAR = 12 };

struct strip {
    struct view_draw *draw;
    struct view_box box; /* inside its plate */
    float share;         /* of its way: 0, 1/3, 2/3, 1 */
};

static float middle(const struct strip *s, float height)
{
    return floorf(s->box.y + (s->box.h - height) / 2);
}

static void draw_tile(const struct strip *s, struct view_box box, enum fa_tensor_id id,
                      unsigned states)
{
    struct view_look look = view_tensor_look(s->draw->theme, id);
    view_tile(s->draw, box, id, states & ~(unsigned)VIEW_TILE_RING);
    if (states & VIEW_TILE_RING) /* nearer than on the stage: there is little room */
        view_ring(s->draw, box, 1, 2, s->draw->theme->text);
    if (states & VIEW_TILE_FULL)
        view_text_in(s->draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_CELL, view_ink(look.fill)), "%s",
                     look.letter);
}

/* From one memory to the other: the source is ringed, a copy goes, and the other end is ringed. */
static void draw_move(const struct strip *s, enum fa_tensor_id id, bool load)
{
    float y = middle(s, TILE), left = s->box.x + 2, right = s->box.x + s->box.w - TILE - 2;
    struct view_box from = {load ? left : right, y, TILE, TILE};
    struct view_box to = {load ? right : left, y, TILE, TILE};
    const struct view_theme *theme = s->draw->theme;
    bool landed = s->share >= 1;
    float t = fminf(1, fmaxf(0, (s->share * 420 - 80) / 280)); /* as the clock has it */
    float way = t < 0.5f ? 4 * t * t * t : 1 - powf(2 - 2 * t, 3) / 2;

    view_line_dashed(s->draw, left + TILE + 4, y + TILE / 2.0f, right - 4, y + TILE / 2.0f, 1, 2, 3,
                     theme->text2);
    draw_tile(s, from, id, VIEW_TILE_FULL | (landed ? 0 : VIEW_TILE_RING));
    draw_tile(s, to, id, landed ? VIEW_TILE_FULL | VIEW_TILE_RING : VIEW_TILE_AHEAD);
    if (landed || s->share <= 0)
        return;
    float start = load ? left + TILE + 3 : right - COPY - 3; /* beside both ends */
    float end = load ? right - COPY - 2 : left + TILE + 2;
    struct view_box copy = {roundf(start + (end - start) * way), y + 1, COPY, COPY};
    draw_tile(s, copy, id, VIEW_TILE_FULL);
    view_frame_box(s->draw, copy, 0, 2, theme->text);
}

static void draw_load(const struct strip *s)
{
    draw_move(s, FA_K, true);
}

static void draw_store(const struct strip *s)
{
    draw_move(s, FA_O, false);
}

/* The operands are ringed, and the result fills row by row behind a line. */
static void draw_compute(const struct strip *s)
{
    const struct view_theme *theme = s->draw->theme;
    float y = middle(s, TILE), x = s->box.x + 2, end = s->box.x + s->box.w - TILE - 2;
    bool landed = s->share >= 1;
    unsigned ring = landed ? 0 : VIEW_TILE_RING;
    struct view_box result = {end, y, TILE, TILE}, filled = result;

    draw_tile(s, view_box_make(x, y, COPY, TILE), FA_Q, VIEW_TILE_FULL | ring);
    draw_tile(s, view_box_make(x + COPY + 5, y, COPY, TILE), FA_K, VIEW_TILE_FULL | ring);
    if (s->share > 0)
        view_arrow(s->draw, x + 2 * COPY + 7, y + TILE / 2.0f, end - 2, y + TILE / 2.0f, 1.5f,
                   theme->text);
    if (landed) {
        draw_tile(s, result, FA_S, VIEW_TILE_FULL | VIEW_TILE_RING);
        return;
    }
    draw_tile(s, result, FA_S, VIEW_TILE_AHEAD);
    filled.h = roundf(TILE * s->share);
    if (filled.h < 1)
        return;
    view_fill(s->draw, filled, view_tensor_look(theme, FA_S).fill);
    view_fill(s->draw, view_box_make(filled.x, filled.y + filled.h, filled.w, 2), theme->text);
}

/* The capacity bar with Q in it, and a block of S that takes `share` of its room. */
static void draw_room(const struct strip *s, float share)
{
    const struct view_theme *theme = s->draw->theme;
    struct view_box bar = {s->box.x, middle(s, BAR), s->box.w, BAR};
    float held = floorf(bar.w * 0.3f), wide = roundf(bar.w * 0.4f * share);
    struct view_look look = view_tensor_look(theme, FA_S);

    view_fill(s->draw, bar, theme->bg);
    view_frame_box(s->draw, bar, 0, 1, theme->edge);
    view_tensor_bar(s->draw, view_box_make(bar.x, bar.y, held, bar.h), FA_Q, NULL);
    struct view_box block = {bar.x + held, bar.y, wide, bar.h};
    if (wide < 1)
        return;
    view_fill(s->draw, block, view_fade(look.fill, 0.35));
    view_frame_dashed(s->draw, block, 1, 3, 3, look.line);
}

static void draw_alloc(const struct strip *s)
{
    draw_room(s, s->share);
}

static void draw_free(const struct strip *s)
{
    draw_room(s, 1 - s->share);
}

static void draw_skip(const struct strip *s)
{
    float pitch = TILE - 1, y = middle(s, TILE - 3);
    int crossed = (int)lroundf(3 * s->share);
    for (int tile = 0; tile < 4; tile++) {
        struct view_box box = {s->box.x + (float)tile * pitch, y, TILE - 3, TILE - 3};
        view_frame_box(s->draw, box, 0, 1, s->draw->theme->hair);
        if (tile == 0)
            view_tile(s->draw, box, FA_S, VIEW_TILE_USED);
        else if (tile <= crossed)
            view_tile(s->draw, box, FA_S, VIEW_TILE_SKIPPED);
    }
}

/* The block that has no room comes to the bar and hangs over its end. */
static void draw_refuse(const struct strip *s)
{
    static const enum fa_tensor_id held[] = {FA_Q, FA_O, FA_K, FA_V};
    const struct view_theme *theme = s->draw->theme;
    float y = middle(s, BAR), each = floorf(s->box.w * 0.16f), end = s->box.x + 4.2f * each;
    float t = fminf(1, s->share * 1.5f), away = (1 - t) * (1 - t) * (1 - t);
    struct view_look look = view_tensor_look(theme, FA_S);

    view_fill(s->draw, view_box_make(s->box.x, y, end - s->box.x, BAR), theme->bg);
    view_frame_box(s->draw, view_box_make(s->box.x, y, end - s->box.x, BAR), 0, 1, theme->edge);
    for (int tile = 0; tile < 4; tile++)
        view_tensor_bar(s->draw, view_box_make(s->box.x + (float)tile * each, y, each, BAR),
                        held[tile], NULL);
    float x = s->box.x + 4 * each, right = s->box.x + s->box.w;
    x = roundf(x + away * (right - x - each / 2));
    struct view_box block = {x, y, right - x, BAR}, over = block;
    view_fill(s->draw, block, view_fade(look.fill, 0.35));
    view_frame_dashed(s->draw, block, 1, 3, 3, look.line);
    if (s->share < 1)
        return;
    over.x = end;
    over.w = right - end;
    view_hatch(s->draw, over, VIEW_RISING, theme->bad);
    view_frame_box(s->draw, over, 0, 2, theme->bad);
}

static const struct {
    enum sim_event_kind kind;
    const char *name, *time, *text;
    void (*draw)(const struct strip *strip);
} events[SIM_EVENT_KINDS] = {
    {SIM_LOAD, "load", "420 ms", "HBM to SRAM: a copy, the source stays", draw_load},
    {SIM_STORE, "store", "420 ms", "SRAM to HBM: a stale copy is renewed", draw_store},
    {SIM_COMPUTE, "compute", "520 ms", "on tiles in SRAM alone: no traffic", draw_compute},
    {SIM_ALLOC, "alloc", "160 ms", "room on chip, nothing in it yet", draw_alloc},
    {SIM_FREE, "free", "160 ms", "room given back, its numbers are gone", draw_free},
    {SIM_SKIP, "skip", "160 ms", "a tile that the mask hides: 0 bytes", draw_skip},
    {SIM_REFUSE, "refuse", "600 ms", "it does not fit: the run ends here", draw_refuse},
};

static struct view_type type_of(const struct view_draw *draw, enum view_style style,
                                enum view_type_size size, bool quiet)
{
    return view_type_make(style, (float)size, quiet ? draw->theme->text2 : draw->theme->text);
}

static struct view_box stage_box(struct view_box box, int stage)
{
    float width = floorf((box.w - (STAGES - 1) * GAP) / STAGES);
    return view_box_make(box.x + (float)stage * (width + GAP), box.y, width, box.h);
}

void view_help_stages(struct view_draw *draw, struct view_box box)
{
    static const char *const names[STAGES] = {"start", "one third", "two thirds", "landed"};
    box.h = 16;
    for (int stage = 0; stage < STAGES; stage++)
        view_text_in(draw, stage_box(box, stage), VIEW_LEFT,
                     type_of(draw, VIEW_SANS, VIEW_SIZE_CELL, true), "%s", names[stage]);
}

void view_help_event(struct view_draw *draw, struct view_box box, int index)
{
    struct view_box words = view_cut_top(&box, WORDS), icon = view_cut_left(&words, 20);
    struct view_type text = type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, true);
    icon.h = 36;
    view_event_icon(draw, icon, events[index].kind, draw->theme->text);
    view_cut_left(&words, 12);
    struct view_box first = {words.x, words.y, words.w, 19};
    struct view_box second = {words.x, words.y + 19, words.w, 17};
    view_text_in(draw, first, VIEW_LEFT, type_of(draw, VIEW_BOLD, VIEW_SIZE_CONTROL, false), "%s",
                 events[index].name);
    view_text_in(draw, first, VIEW_RIGHT, text, "%s", events[index].time);
    if (view_text_width(draw, text, events[index].text) > second.w)
        text.size = VIEW_SIZE_CELL;
    view_text_in(draw, second, VIEW_LEFT, text, "%s", events[index].text);
    box.h = PICTURE;
    for (int stage = 0; stage < STAGES; stage++) {
        struct view_box plate = stage_box(box, stage);
        view_plate(draw, plate, draw->theme->panel, draw->theme->hair);
        events[index].draw(
            &(struct strip){draw, view_box_inset(plate, PAD, 0), (float)stage / (STAGES - 1)});
    }
}
