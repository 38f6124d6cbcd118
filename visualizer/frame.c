#include "visualizer/frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/lesson_view.h"
#include "simulator/digits.h"

int view_panel_at(const struct view_frame *frame, int place)
{
    static const int others[] = {VIEW_PANEL_CODE, VIEW_PANEL_TRAFFIC, VIEW_PANEL_PLOT,
                                 VIEW_PANEL_CHECK};
    const int n = sizeof others / sizeof *others;
    if (frame->lesson && frame->lesson->lesson && place-- == 0)
        return VIEW_PANEL_LESSON;
    return place >= 0 && place < n ? others[place] : -1;
}

enum view_panel view_second_panel(const struct view_frame *frame)
{
    if (frame->second_panel != frame->panel)
        return frame->second_panel;
    return frame->panel == VIEW_PANEL_CODE ? VIEW_PANEL_TRAFFIC : VIEW_PANEL_CODE;
}

/* From the top bit down: on 1, which 1, chip 1, id 6, row 24, column 24. */
int64_t view_cell_pack(struct view_cell cell)
{
    return (int64_t)((uint64_t)cell.on << 56 | (uint64_t)(cell.which & 1) << 55 |
                     (uint64_t)cell.chip << 54 | (uint64_t)cell.id << 48 |
                     ((uint64_t)cell.row & 0xffffff) << 24 | ((uint64_t)cell.column & 0xffffff));
}

struct view_cell view_cell_unpack(int64_t value)
{
    uint64_t bits = (uint64_t)value;
    return (struct view_cell){
        .on = bits >> 56 & 1,
        .which = (int)(bits >> 55 & 1),
        .chip = bits >> 54 & 1,
        .id = (enum fa_tensor_id)(bits >> 48 & 63),
        .row = (int64_t)(bits >> 24 & 0xffffff),
        .column = (int64_t)(bits & 0xffffff),
    };
}

void view_moment_make(const struct view_frame *frame, int which, struct view_moment *moment)
{
    struct view_run *run = frame->run[which];
    struct view_position at = frame->at[which];
    uint64_t length = view_run_length(run);

    memset(moment, 0, sizeof *moment);
    if (at.landed >= length)
        at = (struct view_position){length, 0};
    moment->run = run;
    moment->which = which;
    moment->at = at;
    if (at.landed > 0)
        moment->last = view_run_event(run, at.landed - 1);
    if (at.flight > 0)
        moment->next = view_run_event(run, at.landed);
    view_run_state(run, at.landed, &moment->state);
    moment->head = 0;
    moment->i = moment->j = -1;
    const struct sim_event *here = moment->next ? moment->next : moment->last;
    if (here) {
        moment->head = here->head;
        moment->i = here->i == SIM_NO_TILE ? -1 : (int64_t)here->i;
        moment->j = here->j == SIM_NO_TILE ? -1 : (int64_t)here->j;
    }
    moment->values = view_run_values(run, at.landed);
    for (int id = 0; id < FA_TENSORS; id++)
        moment->most[id] = view_run_most(run, (enum fa_tensor_id)id);
}

/* Digits alone, at most 18 of them. */
static bool read_digits(const char **text, uint64_t *value)
{
    const char *start = *text;
    *value = 0;
    for (; **text >= '0' && **text <= '9' && *text - start < 18; (*text)++)
        *value = *value * 10 + (uint64_t)(**text - '0');
    return *text > start;
}

/* ".5" or nothing; read by hand, so that no locale's comma matters. */
static bool read_fraction(const char *text, float *fraction)
{
    double unit = 0.1, sum = 0;
    *fraction = 0;
    if (*text == '\0')
        return true;
    if (*text++ != '.' || *text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++, unit /= 10)
        sum += (*text - '0') * unit;
    *fraction = (float)sum < 0.999f ? (float)sum : 0.999f;
    return *text == '\0';
}

enum fa_status view_position_parse(const struct view_run *run, const char *text,
                                   struct view_position *at, struct fa_error *error)
{
    uint64_t length = view_run_length(run), event, j, landed;
    const char *rest = text;
    float flight;
    if (strcmp(text, "end") == 0 || strcmp(text, "start") == 0) {
        *at = (struct view_position){text[0] == 'e' ? length : 0, 0};
        return FA_OK;
    }
    if (!read_digits(&rest, &event))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: expected an event (46, or 46.5 half way into the next), a tile (1,2), "
                       "start or end", text);
    if (*rest == ',') {
        rest++;
        if (!read_digits(&rest, &j) || *rest)
            return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a tile as I,J, as in 1,2", text);
        enum fa_status status =
            view_run_find_tile(run, (int64_t)event, (int64_t)j, &landed, error);
        if (status == FA_OK)
            *at = (struct view_position){landed, 0};
        return status;
    }
    if (!read_fraction(rest, &flight))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected an event as 46 or 46.5", text);
    if (event >= length)
        return fa_fail(error, FA_BAD_ARGUMENT, "event %s: this run has %s events, from 0 to %s",
                       text, SIM_GROUPED(length), SIM_GROUPED(length ? length - 1 : 0));
    *at = (struct view_position){event + 1, event + 1 < length ? flight : 0};
    return FA_OK;
}
