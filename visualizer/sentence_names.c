/* Names of tiles and numbers, as the sentences say them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/trace_ops.h"
#include "visualizer/sentence_parts.h"
#include "visualizer/theme.h"
#include "simulator/digits.h"

const char *view_words_letter(enum fa_tensor_id id)
{
    return view_tensor_look(&view_dark, id).letter;
}

const char *view_words_value(double value, char text[32])
{
    char plain[16];
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value < 0 ? "−∞" : "∞";
    snprintf(plain, sizeof plain, "%.3g", fabs(value));
    char *comma = strchr(plain, ','), *minus = strstr(plain, "e-");
    if (comma) /* another locale's */
        *comma = '.';
    if (minus)
        *minus = '\0';
    snprintf(text, 32, "%s%s%s%s", value < 0 ? "−" : "", plain, minus ? "e−" : "",
             minus ? minus + 2 : "");
    return text;
}

bool view_words_by_rows(const struct sim_trace_header *header, const struct sim_event *event)
{
    const struct fa_algorithm *algorithm = header->algorithm;
    if (!sim_goes_by_rows(algorithm))
        return false;
    const char *phase = algorithm->phases[algorithm->steps[event->step].phase];
    return strcmp(phase, "softmax") == 0 || strstr(phase, " by rows") != NULL;
}

const char *view_words_phase(const struct view_words *words)
{
    const struct fa_algorithm *algorithm = words->header->algorithm;
    return algorithm->phases[algorithm->steps[words->event->step].phase];
}

bool view_words_product(const struct view_words *words, enum fa_tensor_id *made)
{
    const char *phase = view_words_phase(words), *end = strstr(phase, " = ");
    for (int id = 0; end && id < FA_HBM_TENSORS; id++) {
        const char *letter = view_words_letter((enum fa_tensor_id)id);
        if (strlen(letter) == (size_t)(end - phase) &&
            strncmp(letter, phase, (size_t)(end - phase)) == 0) {
            *made = (enum fa_tensor_id)id;
            return true;
        }
    }
    return false;
}

/* "rows 8 to 15", "row 8, keys 0 to 49" behind the letter. */
static void name_rows(char text[VIEW_TILE_NAME], const char *letter, int64_t row, int64_t rows,
                      int64_t column, int64_t columns, bool whole)
{
    char keys[40] = "";
    if (!whole)
        snprintf(keys, sizeof keys, ", keys %s to %s", SIM_GROUPED(column),
                 SIM_GROUPED(column + columns - 1));
    if (rows == 1)
        snprintf(text, VIEW_TILE_NAME, "%s row %s%s", letter, SIM_GROUPED(row), keys);
    else
        snprintf(text, VIEW_TILE_NAME, "%s rows %s to %s%s", letter, SIM_GROUPED(row),
                 SIM_GROUPED(row + rows - 1), keys);
}

static void name_at(char text[VIEW_TILE_NAME], enum fa_tensor_id id, int64_t i, int64_t j)
{
    const char *letter = view_words_letter(id);
    if (sim_is_score_tile(id) && i >= 0 && j >= 0)
        snprintf(text, VIEW_TILE_NAME, "%s[%" PRId64 ",%" PRId64 "]", letter, i, j);
    else if (!sim_is_score_tile(id) && (sim_is_key_side(id) ? j : i) >= 0)
        snprintf(text, VIEW_TILE_NAME, "%s[%" PRId64 "]", letter, sim_is_key_side(id) ? j : i);
    else
        snprintf(text, VIEW_TILE_NAME, "%s", letter);
}

static int64_t loop_at(uint64_t place)
{
    return place == SIM_NO_TILE ? -1 : (int64_t)place;
}

static const char *tile_of(const struct sim_trace_header *header, const struct sim_event *event,
                           enum fa_tensor_id id, char text[VIEW_TILE_NAME])
{
    const struct fa_tiles *tiles = &header->tiles;
    const struct fa_problem *p = &header->problem;
    int64_t i = loop_at(event->i), j = loop_at(event->j);

    if (i >= 0 && view_words_by_rows(header, event)) {
        int64_t row = i * tiles->row_block, column = j < 0 ? 0 : j * tiles->column_chunk;
        int64_t rows = p->nq - row < tiles->row_block ? p->nq - row : tiles->row_block;
        int64_t left = p->nk - column;
        int64_t columns = left < tiles->column_chunk ? left : tiles->column_chunk;
        name_rows(text, view_words_letter(id), row, rows, column, columns, j < 0);
    } else {
        name_at(text, id, i, j);
    }
    return text;
}

const char *view_words_tile(const struct view_words *words, enum fa_tensor_id id,
                            char text[VIEW_TILE_NAME])
{
    return tile_of(words->header, words->event, id, text);
}

/* Of a load or a store, by the place in HBM. */
static void name_moved(const struct view_run *run, const struct sim_event *event,
                       char text[VIEW_TILE_NAME])
{
    const struct sim_trace_header *header = view_run_header(run);
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    int64_t row = (int64_t)event->row, column = (int64_t)event->column;
    int64_t columns = (int64_t)event->columns, all_rows, all_columns;

    sim_matrix_size(&header->problem, id, &all_rows, &all_columns);
    if (view_words_by_rows(header, event)) {
        name_rows(text, view_words_letter(id), row, (int64_t)event->rows, column, columns,
                  columns == all_columns);
        return;
    }
    if (id == FA_BIAS || id == FA_MASK) { /* a broadcast one has no tiles of its own */
        name_at(text, id, loop_at(event->i), loop_at(event->j));
        return;
    }
    int64_t height = sim_is_key_side(id) ? header->tiles.bc : header->tiles.br;
    int64_t i = row / height;
    name_at(text, id, i, sim_is_score_tile(id) ? column / header->tiles.bc : i);
    size_t used = strlen(text);
    if (!sim_is_score_tile(id) && columns == 1 && all_columns > 1)
        snprintf(text + used, VIEW_TILE_NAME - used, " column %s", SIM_GROUPED(column));
    else if (!sim_is_score_tile(id) && columns < all_columns)
        snprintf(text + used, VIEW_TILE_NAME - used, " columns %s to %s", SIM_GROUPED(column),
                 SIM_GROUPED(column + columns - 1));
}

const char *view_tile_name(const struct view_run *run, const struct sim_event *event,
                           char text[VIEW_TILE_NAME])
{
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_LOAD:
    case SIM_STORE:
        name_moved(run, event, text);
        break;
    case SIM_COMPUTE:
    case SIM_SKIP:
        tile_of(view_run_header(run), event, id, text);
        break;
    default:
        snprintf(text, VIEW_TILE_NAME, "%s", view_words_letter(id));
        break;
    }
    return text;
}

void view_names_make(const struct view_words *words, struct view_names *n)
{
    view_words_tile(words, FA_Q, n->q);
    view_words_tile(words, FA_K, n->k);
    view_words_tile(words, FA_V, n->v);
    view_words_tile(words, FA_O, n->o);
    view_words_tile(words, FA_S, n->s);
    view_words_tile(words, FA_P, n->p);
    view_words_tile(words, FA_DP, n->dp);
    view_words_tile(words, FA_DS, n->ds);
    view_words_tile(words, FA_DO, n->d_o);
    view_words_tile(words, FA_DQ, n->dq);
    view_words_tile(words, FA_DK, n->dk);
    view_words_tile(words, FA_DV, n->dv);
    view_words_tile(words, FA_DELTA, n->delta);
    view_words_tile(words, FA_LSE, n->lse);
}
