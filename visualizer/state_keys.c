#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/player_parts.h"

void view_state_close_all(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    frame->help_open = frame->speed_open = frame->stages_open = frame->go_open = false;
    frame->open_chip = -1;
    frame->cell.on = false;
    frame->focus = -1;
    state->cell_cursor = false;
    state->dirty = true;
}

/* chip -1: the field for a place; -2: none, all are closed. */
void view_state_open_field(struct view_state *state, int chip)
{
    struct view_frame *frame = &state->frame;
    view_state_close_all(state);
    state->edit[0] = '\0';
    if (chip == -1) {
        frame->go_open = true;
    } else if (chip >= 0 && chip < frame->n_options && frame->options[chip].editable) {
        frame->open_chip = chip;
        if (!frame->options[chip].choices)
            snprintf(state->edit, sizeof state->edit, "%s", frame->options[chip].value);
    }
}

/* "46", "46.5" or "1,2": as --at takes them. */
static void go_to_text(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    struct fa_error error = {FA_OK, ""};
    struct view_position at;
    frame->go_open = false;
    if (!frame->run[0] || !state->edit[0])
        return;
    if (view_position_parse(frame->run[0], state->edit, &at, &error) == FA_OK)
        view_state_seek(state, at);
    else
        view_state_note(state, error.text);
}

/* A key while a text field is open. */
static bool edit_key(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    size_t n = strlen(state->edit);
    switch (input->key) {
    case VIEW_KEY_TEXT:
    case VIEW_KEY_SPACE:
        if (n + strlen(input->key == VIEW_KEY_SPACE ? " " : input->text) + 1 < sizeof state->edit)
            snprintf(state->edit + n, sizeof state->edit - n, "%s",
                     input->key == VIEW_KEY_SPACE ? " " : input->text);
        break;
    case VIEW_KEY_BACKSPACE:
        while (n > 0 && (state->edit[n - 1] & 0xC0) == 0x80) /* a sign's bytes go together */
            state->edit[--n] = '\0';
        if (n > 0)
            state->edit[n - 1] = '\0';
        break;
    case VIEW_KEY_ENTER:
        if (frame->go_open) {
            go_to_text(state);
        } else {
            char value[VIEW_EDIT_TEXT];
            snprintf(value, sizeof value, "%s", state->edit);
            view_state_choose(state, frame->open_chip, value);
        }
        break;
    case VIEW_KEY_ESCAPE:
    case VIEW_KEY_TAB:
        view_state_close_all(state);
        break;
    default:
        return false;
    }
    state->dirty = true;
    return true;
}

/* The hit that Tab's focus is on, NULL where there is none. */
static const struct view_hit *focused(struct view_state *state)
{
    const struct view_draw *draw = view_state_draw(state);
    int stop = 0;
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].label && stop++ == state->frame.focus)
            return &draw->hits[i];
    return NULL;
}

static void move_focus(struct view_state *state, int direction)
{
    const struct view_draw *draw = view_state_draw(state);
    int stops = 0;
    for (size_t i = 0; i < draw->n_hits; i++)
        stops += draw->hits[i].label != NULL;
    if (stops == 0)
        return;
    int focus = state->frame.focus;
    state->frame.focus = focus < 0 ? (direction > 0 ? 0 : stops - 1) : (focus + direction + stops) % stops;
    state->dirty = true;
}

/* The cell cursor starts on the tile that the last event was about. */
static void start_cell_cursor(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    uint64_t landed = frame->at[0].landed;
    if (!frame->run[0] || frame->stage != VIEW_STAGE_CROSS)
        return;
    struct view_cell cell = {.on = true, .id = FA_Q};
    if (landed > 0) {
        const struct sim_event *event = view_run_event(frame->run[0], landed - 1);
        struct fa_tiles tiles = view_run_tiles(frame->run[0]);
        cell.id = (enum fa_tensor_id)event->tensor;
        if (event->kind == SIM_LOAD || event->kind == SIM_STORE) {
            cell.row = (int64_t)event->row;
            cell.column = (int64_t)event->column;
        } else if (event->kind == SIM_COMPUTE) {
            cell.chip = true;
            if (event->i != SIM_NO_TILE)
                cell.row = (int64_t)event->i * tiles.br;
            if (event->j != SIM_NO_TILE && (cell.id == FA_S || cell.id == FA_P))
                cell.column = (int64_t)event->j * tiles.bc;
        } else {
            cell.id = FA_Q;
        }
    }
    frame->cell = cell;
    state->cell_cursor = true;
}

static void move_cell(struct view_state *state, int rows, int columns)
{
    struct view_cell *cell = &state->frame.cell;
    int64_t height, width;
    view_run_shape(state->frame.run[cell->which], cell->id, &height, &width);
    if (cell->row + rows >= 0 && cell->row + rows < height)
        cell->row += rows;
    if (cell->column + columns >= 0 && cell->column + columns < width)
        cell->column += columns;
    state->dirty = true;
}

static bool cell_key(struct view_state *state, enum view_key key)
{
    bool turned = state->frame.cell.id == FA_K || state->frame.cell.id == FA_V;
    int rows = 0, columns = 0;
    switch (key) {
    case VIEW_KEY_LEFT:
        columns = -1;
        break;
    case VIEW_KEY_RIGHT:
        columns = 1;
        break;
    case VIEW_KEY_UP:
        rows = -1;
        break;
    case VIEW_KEY_DOWN:
        rows = 1;
        break;
    default:
        return false;
    }
    if (turned && !state->frame.cell.chip) /* K and V lie on their side: down the picture is along a row */
        move_cell(state, columns, rows);
    else
        move_cell(state, rows, columns);
    return true;
}

/* One more or less, with Shift the double or the half. */
static int64_t moved_side(int64_t side, int steps, bool by_halves, int64_t most)
{
    int64_t next = !by_halves ? side + steps : steps > 0 ? 2 * side : steps < 0 ? side / 2 : side;
    return next < 1 ? 1 : next > most ? most : next;
}

/* The corner on the stage of tiles, where Tab's focus is on it: arrows drag it, Enter lets it go.
 * Esc lets go of the tiles that were tried, however they were dragged. */
static bool tiles_key(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    int rows = (input->key == VIEW_KEY_DOWN) - (input->key == VIEW_KEY_UP);
    int columns = (input->key == VIEW_KEY_RIGHT) - (input->key == VIEW_KEY_LEFT);
    bool tried = frame->tiles.br > 0, arrow = rows != 0 || columns != 0;
    if (!frame->run[0] || frame->stage != VIEW_STAGE_TILES ||
        !(arrow || (tried && (input->key == VIEW_KEY_ESCAPE || input->key == VIEW_KEY_ENTER))))
        return false;
    if (input->key == VIEW_KEY_ESCAPE) {
        state->held = VIEW_NOTHING;
        frame->tiles.br = frame->tiles.bc = 0;
        return true;
    }
    const struct view_hit *hit = focused(state);
    if (!hit || hit->action != VIEW_TILES_DRAG)
        return false;
    if (!arrow) {
        int focus = frame->focus;
        view_state_take_tiles(state);
        frame->focus = focus;
        return true;
    }
    const struct fa_problem *problem = &view_run_header(frame->run[0])->problem;
    struct fa_tiles own = view_run_tiles(frame->run[0]);
    view_state_try_tiles(
        state, moved_side(tried ? frame->tiles.br : own.br, rows, input->shift, problem->nq),
        moved_side(tried ? frame->tiles.bc : own.bc, columns, input->shift, problem->nk));
    return true;
}

/* The tab right of the open one, after the last the first. */
static int next_panel(const struct view_frame *frame)
{
    int place = 0;
    while (view_panel_at(frame, place) >= 0 && view_panel_at(frame, place) != (int)frame->panel)
        place++;
    int next = view_panel_at(frame, place + 1);
    return next >= 0 ? next : view_panel_at(frame, 0);
}

static bool letter(struct view_state *state, char c)
{
    struct view_frame *frame = &state->frame;
    uint64_t landed = frame->at[0].landed;
    switch (c) {
    case '[':
    case ']': {
        int speed = (int)frame->speed + (c == ']' ? 1 : -1);
        if (speed >= 0 && speed < VIEW_SPEEDS)
            frame->speed = (enum view_speed)speed;
        break;
    }
    case 'a':
        frame->mark_a = frame->mark_a == landed ? UINT64_MAX : landed;
        break;
    case 'b':
        frame->mark_b = frame->mark_b == landed ? UINT64_MAX : landed;
        break;
    case 'c':
        if (frame->run[1])
            view_state_do(state, VIEW_COMPARE_CLOCK, (frame->clock + 1) % VIEW_CLOCKS);
        else
            view_state_do(state, VIEW_PANEL, next_panel(frame));
        break;
    case 't':
        view_state_do(state, VIEW_THEME, 0);
        break;
    case '+':
    case '=':
        view_state_do(state, VIEW_ZOOM, 1);
        break;
    case '-':
        view_state_do(state, VIEW_ZOOM, -1);
        break;
    case '0':
        view_state_do(state, VIEW_ZOOM, 0);
        break;
    case 's':
        view_state_do(state, VIEW_SAVE, 0);
        break;
    case 'g':
        view_state_do(state, VIEW_SAVE, 1);
        break;
    case 'v':
        view_state_do(state, VIEW_STAGE, frame->stage + 1);
        break;
    case 'l':
        view_state_do(state, VIEW_CONTENTS, 0);
        break;
    case 'u':
        view_state_do(state, VIEW_UNITS, 0);
        break;
    case 'd':
        view_state_do(state, VIEW_HEADS, 0);
        break;
    case '/':
        view_state_open_field(state, -1);
        break;
    case '?':
        view_state_do(state, VIEW_HELP, 0);
        break;
    default:
        return false;
    }
    state->dirty = true;
    return true;
}

static bool arrow_key(struct view_state *state, const struct view_input *input)
{
    switch (input->key) {
    case VIEW_KEY_LEFT:
    case VIEW_KEY_RIGHT:
        view_state_do(state,
                      input->ctrl    ? VIEW_STEP_ROW
                      : input->shift ? VIEW_STEP_TILE
                                     : VIEW_STEP_EVENT,
                      input->key == VIEW_KEY_LEFT ? -1 : 1);
        return true;
    case VIEW_KEY_UP:
    case VIEW_KEY_DOWN:
        view_state_do(state, VIEW_STEP_ROW, input->key == VIEW_KEY_UP ? -1 : 1);
        return true;
    case VIEW_KEY_PAGE_UP:
    case VIEW_KEY_PAGE_DOWN:
        view_state_do(state, VIEW_STEP_PHASE, input->key == VIEW_KEY_PAGE_UP ? -1 : 1);
        return true;
    case VIEW_KEY_HOME:
        view_state_do(state, VIEW_HOME, 0);
        return true;
    case VIEW_KEY_END:
        view_state_do(state, VIEW_END, 0);
        return true;
    default:
        return false;
    }
}

static bool enter(struct view_state *state)
{
    const struct view_hit *hit = focused(state);
    if (state->frame.message.remedy != VIEW_REMEDY_NONE && !hit)
        view_state_do(state, VIEW_RETRY, state->frame.message.remedy);
    else if (hit && !hit->off)
        view_state_do(state, hit->action, hit->value);
    else if (!hit)
        start_cell_cursor(state);
    state->dirty = true;
    return true;
}

/* The focus goes to the next value of the open menu; from elsewhere, from the value that it has. */
static void move_in_menu(struct view_state *state, int direction)
{
    struct view_frame *frame = &state->frame;
    const struct view_option *option = &frame->options[frame->open_chip];
    const struct view_draw *draw = view_state_draw(state);
    int first = -1, n = 0, at = 0, stop = 0;
    while (option->choices[n] && strcmp(option->choices[n], option->value) != 0)
        n++;
    at = option->choices[n] ? n : 0;
    n = 0;
    for (size_t i = 0; i < draw->n_hits; i++) {
        if (draw->hits[i].action == VIEW_CHIP_VALUE && draw->hits[i].label) {
            first = first < 0 ? stop : first;
            at = stop == frame->focus ? n : at;
            n++;
        }
        stop += draw->hits[i].label != NULL;
    }
    if (n > 0)
        frame->focus = first + (at + direction + n) % n;
}

/* Tab stays in the open menu: the options and values on its plate, which was drawn before them. */
static void tab_in_menu(struct view_state *state, int direction)
{
    struct view_frame *frame = &state->frame;
    const struct view_draw *draw = view_state_draw(state);
    int stop = 0, plate = 0, first = -1, last = -1, n;
    for (size_t i = 0; i < draw->n_hits; i++) {
        const struct view_hit *hit = &draw->hits[i];
        if (!hit->label && last < 0)
            plate = stop;
        if (hit->action == VIEW_CHIP_VALUE && hit->label) {
            first = plate;
            last = stop;
        }
        stop += hit->label != NULL;
    }
    n = last - first + 1;
    if (last < 0)
        return;
    if (frame->focus < first || frame->focus > last)
        frame->focus = direction > 0 ? first : last;
    else
        frame->focus = first + (frame->focus - first + direction + n) % n;
}

/* A key while a chip's menu is open: nothing behind it is moved or answered. */
static bool menu_key(struct view_state *state, const struct view_input *input)
{
    const struct view_hit *hit;
    switch (input->key) {
    case VIEW_KEY_UP:
    case VIEW_KEY_LEFT:
        move_in_menu(state, -1);
        break;
    case VIEW_KEY_DOWN:
    case VIEW_KEY_RIGHT:
        move_in_menu(state, 1);
        break;
    case VIEW_KEY_TAB:
        tab_in_menu(state, input->shift ? -1 : 1);
        break;
    case VIEW_KEY_ENTER:
        hit = focused(state);
        if (hit && !hit->off)
            view_state_do(state, hit->action, hit->value);
        else
            view_state_close_all(state);
        break;
    case VIEW_KEY_ESCAPE:
        view_state_close_all(state);
        break;
    case VIEW_KEY_TEXT:
    case VIEW_KEY_SPACE:
        break;
    default:
        return false;
    }
    state->dirty = true;
    return true;
}

bool view_state_key(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    bool typing = frame->go_open ||
                  (frame->open_chip >= 0 && !frame->options[frame->open_chip].choices);
    if (typing)
        return edit_key(state, input);
    if (input->ctrl && input->key == VIEW_KEY_TEXT && input->text[0] && strchr("qQwW", input->text[0])) {
        state->quits = true;
        return false;
    }
    if (frame->open_chip >= 0 && !frame->help_open && menu_key(state, input))
        return true;
    if (!frame->help_open && (tiles_key(state, input) || view_player_key(state, input))) {
        state->dirty = true;
        return true;
    }
    switch (input->key) {
    case VIEW_KEY_TEXT:
        return !input->ctrl && input->text[1] == '\0' &&
               letter(state, (char)(input->text[0] >= 'A' && input->text[0] <= 'Z'
                                        ? input->text[0] + 32
                                        : input->text[0]));
    case VIEW_KEY_SPACE:
        view_state_do(state, VIEW_PLAY, 0);
        return true;
    case VIEW_KEY_ENTER:
        return enter(state);
    case VIEW_KEY_ESCAPE:
        view_state_close_all(state);
        return true;
    case VIEW_KEY_TAB:
        move_focus(state, input->shift ? -1 : 1);
        return true;
    case VIEW_KEY_F11:
        frame->chrome_open = !frame->chrome_open;
        state->dirty = true;
        return true;
    default:
        if (state->cell_cursor && cell_key(state, input->key))
            return true;
        return arrow_key(state, input);
    }
}
