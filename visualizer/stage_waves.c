/*
 * Thread blocks over the SMs. The run that is watched works one unit after the other; here the
 * units are the thread blocks that a GPU would be given, laid over the machine's SMs in waves, as
 * the time model does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/kernels.h"
#include "simulator/time_model.h"
#include "visualizer/stage_parts.h"

/* The kernel of the current event, and its block. */
struct waves {
    char kernel[48]; /* name of the phase */
    int nth, kernels;
    uint64_t blocks, sms;
    struct sim_waves waves;
    bool has_block;
    uint64_t block; /* heads in order, all units of each */
    int64_t head, unit, units;
    enum fa_tensor_id makes; /* what its units store most of */
};

/* The machine as the run had it, or a preset of the name that a loaded trace gives. */
static const struct sim_machine *machine_of(const struct view_run *run)
{
    const struct sim_experiment *experiment = view_run_experiment(run);
    int n = 0;
    if (experiment)
        return &experiment->machine;
    const struct sim_machine *presets = sim_machine_presets(&n);
    for (int m = 0; m < n; m++)
        if (strcmp(presets[m].name, view_run_header(run)->machine) == 0)
            return &presets[m];
    return NULL;
}

static enum fa_status open_kernels(const struct view_run *run, const struct sim_machine *machine,
                                   struct sim_kernels *kernels, struct fa_error *error)
{
    const struct sim_trace_header *header = view_run_header(run);
    const struct sim_experiment *experiment = view_run_experiment(run);
    struct sim_result result;
    memset(&result, 0, sizeof result);
    result.algorithm = header->forward ? header->forward : header->algorithm;
    result.pass = view_run_backward(run) ? SIM_BACKWARD : SIM_FORWARD;
    result.problem = experiment ? experiment->problem : header->problem;
    result.tiles = view_run_tiles(run);
    result.machine = *machine;
    result.capacity_lifted = header->sram_bytes == 0;
    return sim_kernels_open(kernels, &result, false, error);
}

bool view_run_blocks(const struct view_run *run, uint64_t *blocks, uint64_t *sms)
{
    const struct sim_machine *machine = machine_of(run);
    struct sim_kernels kernels;
    struct fa_error error;
    if (!machine || machine->sms == 0 || open_kernels(run, machine, &kernels, &error) != FA_OK)
        return false;
    *sms = machine->sms;
    *blocks = kernels.n > 0 ? kernels.kernel[0].blocks : 0;
    bool any = kernels.n > 0;
    sim_kernels_close(&kernels);
    return any;
}

/* The largest store at the unit's end: there it leaves what it was for. */
static enum fa_tensor_id made_by(const struct view_run *run, struct view_unit unit)
{
    enum { LAST_EVENTS = 64 };
    uint64_t from = unit.end - unit.first > LAST_EVENTS ? unit.end - LAST_EVENTS : unit.first;
    enum fa_tensor_id made = FA_O;
    uint64_t most = 0;
    for (uint64_t e = from; e < unit.end; e++) {
        const struct sim_event *event = view_run_event(run, e);
        uint64_t elements = (uint64_t)event->rows * event->columns;
        if (event->kind == SIM_STORE && elements > most) {
            most = elements;
            made = (enum fa_tensor_id)event->tensor;
        }
    }
    return made;
}

static bool find_waves(const struct view_scene *scene, int which, struct waves *found,
                       struct fa_error *error)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_run *run = moment->run;
    const struct sim_machine *machine = machine_of(run);
    struct sim_kernels kernels;
    uint64_t length = view_run_length(run);

    memset(found, 0, sizeof *found);
    if (!machine || machine->sms == 0) {
        fa_fail(error, FA_UNSUPPORTED,
                "The number of SMs of the machine “%s” is not known. Run on one that states it: "
                "--machine a100.",
                view_run_header(run)->machine);
        return false;
    }
    if (length == 0 || open_kernels(run, machine, &kernels, error) != FA_OK)
        return false;
    uint64_t here =
        moment->next || moment->at.landed == 0 ? moment->at.landed : moment->at.landed - 1;
    struct view_unit unit = view_run_unit(run, view_run_unit_of(run, here));
    const struct sim_kernel *kernel = NULL;
    found->kernels = kernels.n;
    for (int k = 0; k < kernels.n; k++)
        if (!kernel && kernels.kernel[k].phase == unit.phase) {
            kernel = &kernels.kernel[k];
            found->nth = k;
        }
    if (kernel) {
        snprintf(found->kernel, sizeof found->kernel, "%s",
                 kernel->algorithm->phases[kernel->phase]);
        found->blocks = kernel->blocks;
        found->sms = machine->sms;
        found->units = kernel->units;
        found->waves = sim_waves(kernel->blocks, machine->sms, 1);
        found->head =
            kernel->group_heads == 1 && kernels.group > 1 ? unit.head / kernels.group : unit.head;
        found->unit = kernel->units == 1 ? 0 : unit.index;
        found->has_block = found->unit >= 0 && found->unit < kernel->units;
        found->block = (uint64_t)(found->head * kernel->units + found->unit);
        found->makes = made_by(run, unit);
    } else {
        fa_fail(error, FA_UNSUPPORTED, "This event belongs to no kernel: step on.");
    }
    sim_kernels_close(&kernels);
    return kernel != NULL;
}

static uint64_t wave_of(const struct waves *w)
{
    return w->has_block ? w->block / w->sms : 0;
}

/* The blocks of a wave: as many as there are SMs, of the last one the rest. */
static uint64_t blocks_in(const struct waves *w, uint64_t wave)
{
    uint64_t before = wave * w->sms;
    return w->blocks - before < w->sms ? w->blocks - before : w->sms;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *headline(const struct view_frame *frame, const struct waves *w, char *text,
                            size_t size)
{
    char blocks[VIEW_COUNT_TEXT], sms[VIEW_COUNT_TEXT];
    uint64_t whole = w->blocks / w->sms, rest = w->blocks % w->sms;
    view_count_text(w->blocks, blocks);
    view_count_text(w->sms, sms);
    const char *s = w->blocks == 1 ? "" : "s";
    if (frame->covered)
        snprintf(text, size, "%s block%s on %s SMs: ? waves", blocks, s, sms);
    else if (whole == 0)
        snprintf(text, size, "%s block%s on %s SMs: %.2f waves, %s SMs stay dark", blocks, s, sms,
                 w->waves.waves, SIM_GROUPED(w->sms - rest));
    else if (rest == 0)
        snprintf(text, size, "%s block%s on %s SMs: %s full wave%s", blocks, s, sms,
                 SIM_GROUPED(whole), whole == 1 ? "" : "s");
    else
        snprintf(text, size, "%s block%s on %s SMs: %.2f waves, the last one %.0f %% full", blocks,
                 s, sms, w->waves.waves, 100.0 * (double)rest / (double)w->sms);
    return text;
}

static const char *block_text(const struct view_frame *frame, const struct waves *w, char *text,
                              size_t size)
{
    if (!w->has_block)
        snprintf(text, size, "No block yet.");
    else if (frame->covered)
        snprintf(text, size, "Now: block %s.", SIM_GROUPED(w->block));
    else if (w->units == 1)
        snprintf(text, size, "Now: block %s, all of head %s, in wave %s.", SIM_GROUPED(w->block),
                 SIM_GROUPED(w->head), SIM_GROUPED(wave_of(w) + 1));
    else
        snprintf(text, size,
                 "Now: block %s, tile %s of head %s, in wave %s"
                 ".",
                 SIM_GROUPED(w->block), SIM_GROUPED(w->unit), SIM_GROUPED(w->head),
                 SIM_GROUPED(wave_of(w) + 1));
    return text;
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* Columns that make n cells in the box largest: cells about as wide as half again their height. */
static int64_t columns_for(struct view_box box, uint64_t n)
{
    int64_t best = 1;
    float largest = 0;
    for (int64_t columns = 1; columns <= (int64_t)n && columns <= 256; columns++) {
        int64_t rows = (int64_t)((n + (uint64_t)columns - 1) / (uint64_t)columns);
        float width = box.w / (float)columns, height = box.h / (float)rows;
        float size = fminf(width / 1.5f, height);
        if (size > largest) {
            largest = size;
            best = columns;
        }
    }
    return best;
}

static void draw_sm(struct view_draw *draw, const struct waves *w, struct view_box box, uint64_t sm,
                    uint64_t wave)
{
    const struct view_theme *theme = draw->theme;
    struct view_look look = view_tensor_look(theme, w->makes);
    bool lit = sm < blocks_in(w, wave), now = w->has_block && w->block == wave * w->sms + sm;
    struct view_color fill = now   ? look.fill
                             : lit ? view_mix(theme->panel, look.fill, 0.45)
                                   : theme->bg;
    view_fill(draw, box, fill);
    view_frame_box(draw, box, 0, 1, lit ? look.line : theme->hair);
    if (lit && box.w >= 30 && box.h >= 16)
        view_text_in(draw, box, VIEW_CENTRE,
                     view_type_make(VIEW_MONO, VIEW_SIZE_CELL, view_ink(fill)), "%" PRIu64,
                     wave * w->sms + sm);
    if (now)
        view_ring(draw, box, 0, 2, theme->text);
}

/* One square an SM, those lit that have a block in the wave of the current block. */
static void draw_sms(struct view_draw *draw, const struct waves *w, struct view_box box)
{
    enum { GAP = 4, WIDEST = 96, HIGHEST = 56, MOST = 4096 };
    uint64_t sms = w->sms < MOST ? w->sms : MOST;
    int64_t columns = columns_for(box, sms);
    int64_t rows = ((int64_t)sms + columns - 1) / columns;
    float width = fminf(floorf(box.w / (float)columns), WIDEST);
    float height = fminf(floorf(box.h / (float)rows), HIGHEST);
    float gap = fminf(width, height) >= 12 ? GAP : 1;
    if (width < 3 || height < 3)
        return;
    float left = box.x - gap / 2;
    for (uint64_t sm = 0; sm < sms; sm++) {
        float x = left + (float)((int64_t)sm % columns) * width;
        float y = box.y + (float)((int64_t)sm / columns) * height;
        draw_sm(draw, w, view_box_make(x + gap / 2, y + gap / 2, width - gap, height - gap), sm,
                wave_of(w));
    }
}

/* The waves one after the other, each as wide as all SMs, filled as far as it has blocks. */
static void draw_waves(struct view_draw *draw, const struct waves *w, struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    struct view_look look = view_tensor_look(theme, w->makes);
    uint64_t n = w->blocks / w->sms + (w->blocks % w->sms != 0);
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CELL, theme->text2);
    struct view_box names = view_cut_bottom(&box, view_line_height(VIEW_SIZE_CELL));
    float each = box.w / (float)n;
    if (n == 0 || each < 4) { /* too many to part: one bar, filled up to where the run is */
        double share = (double)(wave_of(w) + 1) / (double)(n ? n : 1);
        view_frame_box(draw, box, 0, 1, theme->edge);
        view_fill(draw, view_box_make(box.x, box.y, box.w * (float)share, box.h), look.fill);
        view_text_in(draw, names, VIEW_LEFT, type, "wave %" PRIu64 " of %" PRIu64, wave_of(w) + 1,
                     n);
        return;
    }
    each = fminf(each, 240);
    for (uint64_t wave = 0; wave < n; wave++) {
        struct view_box slot = view_box_make(box.x + floorf((float)wave * each), box.y,
                                             floorf(each) - (each >= 12 ? 4 : 1), box.h);
        struct view_box full = slot;
        full.w = slot.w * (float)blocks_in(w, wave) / (float)w->sms;
        bool now = wave == wave_of(w) && w->has_block;
        view_fill(draw, full, view_mix(theme->panel, look.fill, now ? 1 : 0.45));
        view_frame_box(draw, slot, 0, 1, theme->edge);
        if (each >= 56)
            view_text_in(draw, view_box_make(slot.x, names.y, slot.w, names.h), VIEW_CENTRE, type,
                         "wave %" PRIu64, wave + 1);
    }
    if (each < 56)
        view_text_in(draw, names, VIEW_LEFT, type, "wave %" PRIu64 " of %" PRIu64 " now",
                     wave_of(w) + 1, n);
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    enum { WAVES_HIGH = 20 };
    struct fa_error error = {FA_OK, ""};
    struct waves w;
    char note[128], text[256];

    if (!find_waves(scene, which, &w, &error)) {
        struct view_box box = view_stage_open(draw, plate, "SMs in waves", NULL, NULL);
        view_stage_says(draw, box, error.text);
        return;
    }
    snprintf(note, sizeof note, "kernel “%s”, %d of %d; an estimate", w.kernel, w.nth + 1,
             w.kernels);
    struct view_box box = view_stage_open(draw, plate, "SMs in waves", note, NULL);
    view_stage_headline(draw, &box, headline(scene->frame, &w, text, sizeof text));
    view_cut_top(&box, 4);
    size_t n = strlen(block_text(scene->frame, &w, text, sizeof text));
    if (box.h >= 200)
        snprintf(text + n, sizeof text - n,
                 " One block an SM at a time, as if all blocks took the same time; this run works "
                 "them one after the other.");
    view_stage_lines(draw, &box, text);
    view_cut_top(&box, 8);
    if (box.h >= 80 && !scene->frame->covered) {
        draw_waves(draw, &w, view_cut_bottom(&box, WAVES_HIGH + view_line_height(VIEW_SIZE_CELL)));
        view_cut_bottom(&box, 8);
    }
    if (!scene->frame->covered)
        draw_sms(draw, &w, box);
}

void view_stage_waves(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
