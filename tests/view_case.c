#include "tests/view_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensors {
    struct fa_tensor q, k, v, o, lse, dout, dq, dk, dv;
};

const struct view_case view_case_tidy = {.sram = 512, .profile = FA_PROFILE_TIDY};

static void release(void *owner)
{
    struct tensors *tensors = owner;
    struct fa_tensor *const all[] = {&tensors->q,  &tensors->k,   &tensors->v,
                                     &tensors->o,  &tensors->lse, &tensors->dout,
                                     &tensors->dq, &tensors->dk,  &tensors->dv};
    for (size_t t = 0; t < sizeof all / sizeof *all; t++)
        fa_tensor_free(all[t]);
    free(tensors);
}

static void create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t heads, int64_t rows,
                   int64_t columns)
{
    const int64_t shape[4] = {1, heads, rows, columns};
    assert_int_equal(fa_tensor_create(tensor, dtype, shape, NULL), FA_OK);
}

static struct fa_problem problem_of(const struct view_case *which)
{
    int64_t n = which->n ? which->n : 16, d = which->d ? which->d : 4;
    struct fa_problem problem = fa_problem_make(n, which->nk ? which->nk : n, d);
    problem.dv = which->dv ? which->dv : d;
    problem.heads = problem.kv_heads = which->heads ? which->heads : 1;
    problem.causal = which->causal ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_NONE;
    if (which->window > 0) {
        problem.window_left = which->window;
        problem.window_right = 0;
    }
    problem.blocks = which->blocks;
    problem.dropout_p = which->dropout_p;
    problem.dropout_seed = 7;
    problem.dtype = which->dtype == FA_F64 ? FA_F32 : which->dtype;
    return problem;
}

struct view_source view_case_source(const struct view_case *which)
{
    const struct fa_problem p = problem_of(which);
    struct tensors *t = calloc(1, sizeof *t);
    uint64_t seed = which->seed ? which->seed : 1;

    assert_non_null(t);
    create(&t->q, p.dtype, p.heads, p.nq, p.d);
    create(&t->k, p.dtype, p.heads, p.nk, p.d);
    create(&t->v, p.dtype, p.heads, p.nk, p.dv);
    create(&t->o, p.dtype, p.heads, p.nq, p.dv);
    create(&t->lse, FA_F32, p.heads, p.nq, 1);
    create(&t->dout, p.dtype, p.heads, p.nq, p.dv);
    create(&t->dq, p.dtype, p.heads, p.nq, p.d);
    create(&t->dk, p.dtype, p.heads, p.nk, p.d);
    create(&t->dv, p.dtype, p.heads, p.nk, p.dv);
    fa_profile_fill(which->profile, seed, &p, &t->q, &t->k, &t->v);
    fa_profile_fill_dout(seed, &p, &t->dout);

    struct view_source source = {.owner = t, .release = release};
    struct sim_experiment *e = &source.experiment;
    e->algorithm = fa_algorithm_find(which->algorithm ? which->algorithm : "flash2");
    assert_non_null(e->algorithm);
    e->pass = which->backward ? SIM_BACKWARD : SIM_FORWARD;
    e->problem = p;
    snprintf(e->machine.name, sizeof e->machine.name, "test");
    e->machine.sram_bytes = which->sram ? which->sram : 1 << 20;
    e->lift_capacity = which->sram == 0;
    e->tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, which->br ? which->br : 4,
                                        which->bc ? which->bc : 4};
    e->mode = SIM_COUNTED;
    e->threads = 1;
    e->q = &t->q, e->k = &t->k, e->v = &t->v, e->o = &t->o, e->lse = &t->lse;
    if (which->backward)
        e->dout = &t->dout, e->dq = &t->dq, e->dk = &t->dk, e->dv = &t->dv;
    snprintf(e->trace_header.profile, sizeof e->trace_header.profile, "%s",
             fa_profile_name(which->profile));
    snprintf(e->trace_header.version, sizeof e->trace_header.version, "0");
    snprintf(e->trace_header.command, sizeof e->trace_header.command, "flashlab view");
    e->trace_header.seed = seed;
    return source;
}

struct view_run *view_case_open(const struct view_case *which)
{
    struct view_source source = view_case_source(which);
    struct view_run *run = NULL;
    struct fa_error error = {0};

    if (view_run_open(&source, NULL, &run, &error) != FA_OK)
        fail_msg("no run: %s", error.text);
    return run;
}

struct view_frame view_case_frame(struct view_run *run, struct view_run *second, float width,
                                  float height, uint64_t landed)
{
    return (struct view_frame){
        .run = {run, second},
        .at = {{landed, 0},
               {second && landed > view_run_length(second) ? view_run_length(second) : landed, 0}},
        .width = width,
        .height = height,
        .theme = &view_dark,
        .panel = VIEW_PANEL_CODE,
        .second_panel = VIEW_PANEL_PLOT,
        .panel_open = true,
        .chrome_open = true,
        .speed = VIEW_AUTO,
        .bytes = true,
        .zoom = 1,
        .zoom_x = 0.5f,
        .zoom_y = 0.5f,
        .mark_a = UINT64_MAX,
        .mark_b = UINT64_MAX,
        .pointer_x = -1,
        .pointer_y = -1,
        .focus = -1,
        .title = "Explore",
        .open_chip = -1,
        .progress = -1,
    };
}

struct view_scene view_case_scene(const struct view_frame *frame)
{
    struct view_scene scene = {.frame = frame};
    view_layout_make(frame, &scene.layout);
    for (int which = 0; which < 2 && frame->run[which]; which++) {
        view_moment_make(frame, which, &scene.moment[which]);
        scene.runs++;
    }
    return scene;
}

uint64_t view_case_after(const struct view_run *run, enum sim_event_kind kind, enum fa_tensor_id id,
                         int64_t i, int64_t j)
{
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind == kind && event->tensor == (unsigned)id &&
            (i < 0 || event->i == (uint64_t)i) && (j < 0 || event->j == (uint64_t)j))
            return e + 1;
    }
    fail_msg("no %s of %s", sim_event_kind_name(kind), fa_tensor_name(id));
    return 0;
}

const struct view_item *view_case_text(const struct view_draw *draw, const char *words)
{
    for (size_t n = 0; n < draw->n_items; n++)
        if (draw->items[n].kind == VIEW_TEXT && strstr(draw->items[n].text, words))
            return &draw->items[n];
    return NULL;
}

bool view_case_says(const struct view_draw *draw, const char *text)
{
    for (size_t n = 0; n < draw->n_items; n++)
        if (draw->items[n].kind == VIEW_TEXT && strcmp(draw->items[n].text, text) == 0)
            return true;
    return false;
}

const struct view_hit *view_case_hit(const struct view_draw *draw, enum view_action action,
                                     int64_t value)
{
    for (size_t h = 0; h < draw->n_hits; h++)
        if (draw->hits[h].action == action && draw->hits[h].value == value)
            return &draw->hits[h];
    return NULL;
}

static struct view_box cut(struct view_box box, struct view_box by)
{
    float right = box.x + box.w < by.x + by.w ? box.x + box.w : by.x + by.w;
    float bottom = box.y + box.h < by.y + by.h ? box.y + box.h : by.y + by.h;
    float x = box.x > by.x ? box.x : by.x, y = box.y > by.y ? box.y : by.y;
    return view_box_make(x, y, right > x ? right - x : 0, bottom > y ? bottom - y : 0);
}

/* The ink of a line lies in the middle of its line box: from the capitals' top to the
 * descenders. */
static struct view_box ink(const struct view_item *item)
{
    float top = view_baseline(item->size) - 0.74f * item->size;
    float bottom = view_baseline(item->size) + 0.22f * item->size;
    return view_box_make(item->box.x, item->box.y + top, item->box.w, bottom - top);
}

void view_case_check_texts(const struct view_draw *draw, float width, float height)
{
    enum { MOST = 4096 };
    static struct {
        struct view_box box;
        const struct view_item *item;
    } texts[MOST];
    struct view_box clip[VIEW_LAYERS];
    size_t n = 0;

    for (int layer = 0; layer < VIEW_LAYERS; layer++)
        clip[layer] = view_box_make(0, 0, width, height);
    for (size_t k = 0; k < draw->n_items; k++) {
        const struct view_item *item = &draw->items[k];
        if (item->kind == VIEW_CLIP)
            clip[item->layer] = item->box.w < 0 ? view_box_make(0, 0, width, height) : item->box;
        if (item->kind != VIEW_TEXT || item->text[0] == '\0')
            continue;
        struct view_box box = ink(item);
        if (box.x < -1 || box.y < -1 || box.x + box.w > width + 1 || box.y + box.h > height + 1)
            fail_msg("\"%s\" at (%g, %g) %g x %g leaves the frame", item->text, (double)box.x,
                     (double)box.y, (double)box.w, (double)box.h);
        box = cut(box, clip[item->layer]);
        if (box.w <= 0 || box.h <= 0)
            continue;
        for (size_t m = 0; m < n; m++)
            if (texts[m].item->layer == item->layer &&
                view_box_meets(view_box_inset(texts[m].box, 1, 1), view_box_inset(box, 1, 1)))
                fail_msg("\"%s\" lies over \"%s\" at (%g, %g)", item->text, texts[m].item->text,
                         (double)box.x, (double)box.y);
        assert_true(n < MOST);
        texts[n].box = box;
        texts[n++].item = item;
    }
}
