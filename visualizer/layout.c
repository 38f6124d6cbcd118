#include "visualizer/layout.h"

#include <math.h>

/* Two rows beside a panel, in a compact window: narrower, the panel is a page. */
enum { LEAST_BESIDE = 760 };

/* Heights, margins and shares of a class. */
struct measures {
    float bar, sentence, track, margin, top, bottom, lanes, gap;
};

static enum view_class class_of(float width, float height)
{
    if (width < 640 || height < 480)
        return VIEW_MINI;
    if (width < 1000)
        return VIEW_COMPACT;
    return width < 1600 ? VIEW_REGULAR : VIEW_WIDE;
}

static float within(float value, float low, float high)
{
    return fmaxf(low, fminf(high, value));
}

float view_layout_scale(float wanted, float width, float height)
{
    enum { LEAST_WIDTH = 1066, LEAST_HEIGHT = 600 };
    return fminf(wanted, fmaxf(1, fminf(width / LEAST_WIDTH, height / LEAST_HEIGHT)));
}

/*
 * Whether the bench's cells can be numbers of 30 x 16 at 1280 x 720: a question to the run's tiles
 * alone, so that HBM and SRAM keep their shares of the stage from the first event to the last.
 */
static bool run_has_numbers(const struct view_run *run)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    struct fa_tiles tiles = view_run_tiles(run);
    int64_t br = tiles.br < p->nq ? tiles.br : p->nq, bc = tiles.bc < p->nk ? tiles.bc : p->nk;
    return bc + p->d + p->dv <= 13 && br + p->d + p->dv <= 20;
}

static struct measures measures_of(const struct view_frame *frame, enum view_class class,
                                   bool numbers)
{
    bool compare = frame->run[1] != NULL;
    switch (class) {
    case VIEW_MINI: /* a line of the sentence a run */
        return (struct measures){32, compare ? 48 : 28, 40, 4, 4, 4, 56, 0};
    case VIEW_COMPACT:
        return (struct measures){36, 44, 74, 8, 6, 4, 76, 8};
    case VIEW_REGULAR:
        return (struct measures){40, 60, 88, 12, 8, compare ? 4 : 8, numbers && !compare ? 84 : 92,
                                 8};
    case VIEW_WIDE:
        break;
    }
    return (struct measures){40, 64, 92, 12, 8, 8, 104, 8};
}

/* HBM's part of a row of the stage. Compare's rows are low: there its cross needs less width. */
static float hbm_share(enum view_class class, bool numbers, bool compare)
{
    if (compare)
        return 378.f / 912;
    if (class < VIEW_REGULAR)
        return 236.f / 784;
    if (numbers)
        return 304.f / 916;
    return class == VIEW_REGULAR ? 522.f / 916 : 812.f / 1420;
}

/* The width of a panel beside the stage. */
static float panel_width(enum view_class class, float width)
{
    if (class == VIEW_COMPACT)
        return 300 + floorf((width - LEAST_BESIDE) * 0.18f);
    return class == VIEW_WIDE ? within(floorf(width / 4), 400, 640) : 344;
}

/* The panels right of what is left of the window: two where both have room to be read. */
static void place_side_panels(struct view_layout *layout, struct view_box *left, bool two,
                              bool lesson)
{
    enum { LEAST_FOR_TWO = 760 };
    float share = lesson ? 600.f / 948 : 452.f / 948; /* a question needs more than a table */
    struct view_box side = view_cut_right(left, panel_width(layout->class, left->w));
    layout->panel = side;
    if (two && side.h >= LEAST_FOR_TWO) {
        layout->panel = view_cut_top(&side, floorf(side.h * share));
        layout->second_panel = side;
    }
}

/* L2 in the middle, with lanes on both sides: the memories beside them get the same width. */
static bool place_l2(struct view_layout *layout, struct view_box row, float lanes)
{
    enum { LEAST_MEMORY = 200, MORE = 8 }; /* their totals are of many heads */
    float wide = lanes + MORE, memory = floorf((row.w - 3 * wide) / 2);
    if (memory < LEAST_MEMORY)
        return false;
    layout->hbm[0] = view_cut_left(&row, memory);
    layout->dram = view_cut_left(&row, wide);
    layout->l2 = view_cut_left(&row, wide);
    layout->lanes[0] = view_cut_left(&row, wide);
    layout->sram[0] = row;
    return true;
}

/* HBM, lanes and SRAM side by side in a row of the stage. */
static void place_row(struct view_layout *layout, int which, struct view_box row, float share,
                      float lanes)
{
    layout->hbm[which] = view_cut_left(&row, roundf(row.w * share));
    layout->lanes[which] = view_cut_left(&row, fminf(lanes, row.w));
    layout->sram[which] = row;
}

static void place_stage(struct view_layout *layout, const struct view_frame *frame,
                        const struct measures *m)
{
    bool compare = frame->run[1] != NULL, side = layout->class >= VIEW_REGULAR;
    struct view_box box = layout->stage;
    float share = hbm_share(layout->class, layout->numbers, compare);
    float heading = side ? 30 : 24;

    /* Beside a panel the margin is the gap to its edge, of compare the full one. */
    view_cut_left(&box, m->margin);
    view_cut_right(&box, compare || layout->panel.w <= 0 || !side ? m->margin : m->gap);
    view_cut_bottom(&box, m->bottom);
    if (!compare) {
        view_cut_top(&box, m->top);
        if (frame->l2.capacity == 0 || !place_l2(layout, box, m->lanes))
            place_row(layout, 0, box, share, m->lanes);
        return;
    }
    float height = floorf(box.h / 2);
    for (int which = 0; which < 2; which++) {
        struct view_box row = view_cut_top(&box, height);
        layout->heading[which] = view_cut_top(&row, heading);
        place_row(layout, which, row, share, m->lanes);
    }
}

void view_layout_make(const struct view_frame *frame, struct view_layout *layout)
{
    struct view_box left = view_box_make(0, 0, fmaxf(frame->width, 0), fmaxf(frame->height, 0));
    enum view_class class = class_of(left.w, left.h);
    bool panel = frame->panel_open && frame->chrome_open, compare = frame->run[1] != NULL;

    *layout = (struct view_layout){.class = class};
    layout->numbers = frame->run[0] && run_has_numbers(frame->run[0]);
    struct measures m = measures_of(frame, class, layout->numbers);
    if (frame->chrome_open)
        layout->bar = view_cut_top(&left, m.bar);
    layout->track = view_cut_bottom(&left, m.track);
    if (panel && class >= VIEW_REGULAR)
        place_side_panels(layout, &left, class == VIEW_WIDE, frame->panel == VIEW_PANEL_LESSON);
    /* Two rows and a sheet below them need more height than a compact window has: there the panel
     * stands beside the rows, under which the sentences keep the whole width. */
    bool narrow = class == VIEW_COMPACT && compare;
    layout->beside = panel && (class >= VIEW_REGULAR || (narrow && left.w >= LEAST_BESIDE));
    /* A question needs more height than a table: it has a page where a sheet would be too low. */
    bool lesson = frame->panel == VIEW_PANEL_LESSON;
    float sheet = lesson ? 220 : 170;
    bool low = lesson && left.h < 440;
    bool page = panel && !layout->beside && (class == VIEW_MINI || narrow || low);
    if (panel && class == VIEW_COMPACT && !page && !narrow)
        layout->panel = view_cut_bottom(&left, sheet + floorf((left.h - 490) * 0.4f));
    layout->sentence = view_cut_bottom(&left, m.sentence);
    if (page) {
        layout->panel = left;
        return;
    }
    if (narrow && layout->beside)
        layout->panel = view_cut_right(&left, panel_width(class, left.w));
    layout->stage = left;
    place_stage(layout, frame, &m);
}
