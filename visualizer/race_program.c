#include "visualizer/race.h"

#include <math.h>

/* ---- counts ---- */

static uint64_t volume(const struct view_frame *frame, struct sim_volume of)
{
    return frame->bytes ? of.bytes : of.elements;
}

/* All that was moved up to the state, by tensor. Returns the sum. */
static uint64_t count_of(const struct view_frame *frame, const struct view_run *run,
                         struct sim_state state, double moved[FA_HBM_TENSORS])
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    uint64_t sum = 0;
    sim_counters_merge_pd(&state.counters);
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        uint64_t here =
            volume(frame, sim_counters_read(&state.counters, problem, (enum fa_tensor_id)id)) +
            volume(frame, sim_counters_write(&state.counters, problem, (enum fa_tensor_id)id));
        moved[id] = (double)here;
        sum += here;
    }
    return sum;
}

/* The part of the event in flight: its tensor's share of what landing it adds. */
static void add_flight(const struct view_frame *frame, const struct view_moment *moment,
                       struct view_race_program *program)
{
    const struct sim_event *next = moment->next;
    double after[FA_HBM_TENSORS];
    struct sim_state state = moment->state;

    if (!next || !(moment->at.flight > 0) || (next->kind != SIM_LOAD && next->kind != SIM_STORE))
        return;
    sim_state_apply(&state, view_run_header(moment->run), next);
    count_of(frame, moment->run, state, after);
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        program->moved[id] += (double)moment->at.flight * (after[id] - program->moved[id]);
}

void view_race_count(struct view_race *race, const struct view_scene *scene)
{
    double by_end[FA_HBM_TENSORS];
    for (int which = 0; which < 2; which++) {
        const struct view_moment *moment = &scene->moment[which];
        struct view_race_program *program = &race->program[which];
        struct sim_state end;
        view_run_state(moment->run, view_run_length(moment->run), &end);
        program->name = view_run_header(moment->run)->algorithm->name;
        program->stores_scores = view_run_header(moment->run)->algorithm->stores_scores;
        program->in_all = count_of(scene->frame, moment->run, end, by_end);
        program->landed = count_of(scene->frame, moment->run, moment->state, program->moved);
        program->done = moment->at.landed >= view_run_length(moment->run);
        add_flight(scene->frame, moment, program);
    }
    race->most = VIEW_RACE_HIGH;
    if (scene->frame->lesson->race_phase >= 2 && race->program[1].in_all > 0)
        race->most =
            fmax(race->most, (double)race->program[0].in_all / (double)race->program[1].in_all);
}

float view_race_x(const struct view_race *race, double times)
{
    return race->scale.x + race->scale.w * (float)(times / race->most);
}

/* ---- the tiles: Q left, K above, V below, O right of the scores ---- */

struct tiles {
    int64_t tr, tc;
    float cell, gap;
    struct view_box scores;
};

static struct tiles tiles_of(const struct view_scene *scene, int which, struct view_box box)
{
    const struct view_run *run = scene->moment[which].run;
    struct tiles t = {.tr = view_run_tr(run), .tc = view_run_tc(run)};
    int64_t more = t.tr > t.tc ? t.tr : t.tc;
    t.gap = 6;
    t.cell = floorf((box.h - 2 * t.gap) / (float)(more + 2));
    t.cell = fminf(t.cell, 31);
    t.scores = view_box_make(box.x + t.cell + t.gap,
                             box.y + t.cell + t.gap +
                                 floorf((box.h - 2 * t.gap - t.cell * (float)(t.tr + 2)) / 2),
                             t.cell * (float)t.tc, t.cell * (float)t.tr);
    return t;
}

float view_race_tiles_width(const struct view_scene *scene, int which, float height)
{
    struct tiles t = tiles_of(scene, which, view_box_make(0, 0, height, height));
    return t.cell < 6 ? 0 : t.scores.w + 2 * (t.cell + t.gap);
}

static struct view_box cell_at(const struct tiles *t, float x, float y)
{
    float apart = t->cell >= 12 ? 2 : 1;
    return view_box_make(x, y, t->cell - apart, t->cell - apart);
}

/* Whether the tile is on chip, or on its way there. */
static bool in_use(const struct view_moment *moment, enum fa_tensor_id id, int64_t tile,
                   int64_t size)
{
    const struct sim_resident *held = &moment->state.on_chip[id];
    const struct sim_event *next = moment->next;
    if (next && next->tensor == (unsigned)id && (int64_t)next->row / size == tile &&
        (next->kind == SIM_LOAD || next->kind == SIM_STORE))
        return true;
    return held->live && held->loaded && (int64_t)held->row / size == tile;
}

/* In a strip's first tile. */
static void draw_letter(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                        unsigned states)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    struct view_color ground = states & VIEW_TILE_AHEAD ? draw->theme->bg
                               : states & VIEW_TILE_FULL
                                   ? look.fill
                                   : view_mix(draw->theme->panel, look.fill, 0.45);
    if (box.h >= 13)
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_CELL, view_ink(ground)), "%s",
                     look.letter);
}

static void draw_strip(struct view_draw *draw, const struct view_moment *moment,
                       const struct tiles *t, enum fa_tensor_id id, bool upright, float at)
{
    struct fa_tiles sizes = view_run_tiles(moment->run);
    int64_t n = upright ? t->tr : t->tc, size = upright ? sizes.br : sizes.bc;
    for (int64_t k = 0; k < n; k++) {
        struct view_box box = upright ? cell_at(t, at, t->scores.y + (float)k * t->cell)
                                      : cell_at(t, t->scores.x + (float)k * t->cell, at);
        unsigned states = VIEW_TILE_REST;
        if (id == FA_O && view_run_past(moment->run, FA_O, 0, k, 0, moment->at.landed).stores == 0)
            states = VIEW_TILE_AHEAD;
        if (in_use(moment, id, k, size))
            states = VIEW_TILE_FULL;
        view_tile(draw, box, id, states);
        if (k == 0)
            draw_letter(draw, box, id, states);
    }
}

static void draw_scores(struct view_draw *draw, const struct view_moment *moment,
                        const struct tiles *t, bool stored)
{
    uint64_t landed = moment->at.landed;
    for (int64_t i = 0; i < t->tr; i++)
        for (int64_t j = 0; j < t->tc; j++) {
            struct view_box box =
                cell_at(t, t->scores.x + (float)j * t->cell, t->scores.y + (float)i * t->cell);
            enum view_score score = view_run_score(moment->run, 0, i, j, landed, NULL, NULL);
            bool now = score == VIEW_SCORE_NOW || (stored && i == moment->i && j == moment->j);
            bool weights = stored && view_run_past(moment->run, FA_P, 0, i, j, landed).stores > 0;
            unsigned states = score == VIEW_SCORE_AHEAD     ? VIEW_TILE_AHEAD
                              : score == VIEW_SCORE_SKIPPED ? VIEW_TILE_SKIPPED
                              : now                         ? VIEW_TILE_FULL
                              : stored                      ? VIEW_TILE_REST
                                                            : VIEW_TILE_USED;
            view_tile(draw, box, weights ? FA_P : FA_S, states);
        }
}

static void draw_tiles(struct view_draw *draw, const struct view_scene *scene, int which,
                       struct view_box box, bool stored)
{
    const struct view_moment *moment = &scene->moment[which];
    struct tiles t = tiles_of(scene, which, box);
    float far = t.cell + t.gap;
    draw_strip(draw, moment, &t, FA_Q, true, t.scores.x - far);
    draw_strip(draw, moment, &t, FA_O, true, t.scores.x + t.scores.w + t.gap);
    draw_strip(draw, moment, &t, FA_K, false, t.scores.y - far);
    draw_strip(draw, moment, &t, FA_V, false, t.scores.y + t.scores.h + t.gap);
    draw_scores(draw, moment, &t, stored);
}

/* ---- the program ---- */

static void draw_bar(struct view_draw *draw, const struct view_race *race, int which,
                     struct view_box box)
{
    const struct view_race_program *program = &race->program[which];
    double unit = (double)race->program[1].in_all, before = 0;
    struct view_box scale = view_box_make(race->scale.x, box.y, race->scale.w, box.h);

    view_fill(draw, scale, draw->theme->panel);
    view_frame_box(draw, scale, 0, 1, draw->theme->hair);
    for (int id = 0; id < FA_HBM_TENSORS && unit > 0; id++) {
        float left = roundf(view_race_x(race, before / unit));
        before += program->moved[id];
        float right = roundf(view_race_x(race, before / unit));
        view_tensor_bar(draw, view_box_make(left, box.y, right - left, box.h),
                        (enum fa_tensor_id)id,
                        view_tensor_look(draw->theme, (enum fa_tensor_id)id).letter);
    }
}

/* Name and what it does with its scores on the left, the count on the right. */
static void draw_names(const struct view_sheet *sheet, const struct view_race_program *program,
                       struct view_box box)
{
    struct view_draw *draw = sheet->draw;
    const struct view_theme *theme = draw->theme;
    bool large = box.h >= 56;
    struct view_type name = view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text2);
    struct view_type number =
        view_type_make(VIEW_BOLD, large ? VIEW_SIZE_BIG : VIEW_SIZE_HEADING, theme->text);
    struct view_box line =
        view_box_make(box.x, box.y + box.h - (large ? 42 : 24), box.w, large ? 38 : 24);
    const char *unit = sheet->frame->bytes ? "bytes moved" : "elements moved";
    char count[VIEW_COUNT_TEXT];

    float width = ceilf(view_text_width(draw, small, unit));
    view_sheet_line(sheet, view_cut_right(&line, width), VIEW_RIGHT, small, unit);
    view_cut_right(&line, 8);
    width = ceilf(view_text_width(draw, number, view_count_text(program->landed, count)));
    view_sheet_line(sheet, view_cut_right(&line, width), VIEW_RIGHT, number, count);
    if (program->done) {
        view_cut_right(&line, 24);
        view_tick(draw, line.x + line.w + 4, floorf(line.y + line.h / 2) - 7, theme->text);
    }
    struct view_box left = large ? view_box_make(box.x, box.y + box.h - 44, line.w, 24) : line;
    width = ceilf(view_text_width(draw, name, program->name));
    view_sheet_line(sheet, view_cut_left(&left, width), VIEW_LEFT, name, program->name);
    if (large)
        left = view_box_make(box.x, box.y + box.h - 22, line.w - 12, 18);
    else
        view_cut_left(&left, 10);
    view_sheet_line(sheet, left, VIEW_LEFT, small,
                    program->stores_scores ? "S and P go through HBM" : "S never leaves the chip");
}

struct view_box view_race_program(const struct view_race *race, const struct view_sheet *sheet,
                                  const struct view_scene *scene, int which, struct view_box box,
                                  bool tiles)
{
    const struct view_race_program *program = &race->program[which];
    struct view_box right = view_box_make(race->scale.x, box.y, race->scale.w, box.h);
    float high = box.h >= 260 ? 56 : box.h >= 110 ? 40 : box.h >= 76 ? 28 : 20;
    float head = box.h >= 110 ? 60 : 26;

    if (tiles && right.x > box.x) {
        /* Name and bar lie together in the middle of the height. */
        draw_tiles(sheet->draw, scene, which, box, program->stores_scores);
        right.y += fmaxf(0, floorf((box.h - head - high) / 2) - (box.h >= 110 ? 8 : 0));
    } else if (tiles) {
        right.y += box.h - head - high;
        draw_tiles(sheet->draw, scene, which, view_box_make(box.x, box.y, box.w, right.y - box.y),
                   program->stores_scores);
    }
    draw_names(sheet, program, view_box_make(right.x, right.y, right.w, head));
    right = view_box_make(right.x, right.y + head, right.w, high);
    draw_bar(sheet->draw, race, which, right);
    return right;
}
