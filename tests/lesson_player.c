#include "tests/lesson_player.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lesson_case.h"

static const char first_lesson[] =
    "---\n"
    "lesson: 40\n"
    "title: Trips\n"
    "card: How often does one tile come back?\n"
    "chapter: The cost\n"
    "minutes: 4\n"
    "level: 1\n"
    "tracks: [class 2-3, kernel]\n"
    "scenario: --algorithm flash2 --n 16 --d 4 --tiles 4x4 --sram 4K\n"
    "beliefs:\n"
    "  - A flash pass reads each matrix once.\n"
    "know: Every tile of queries sends for all of K and V again.\n"
    "---\n"
    "\n"
    "## One tile\n"
    "\n"
    "There are {nq} queries.\n"
    "\n"
    "```show\n"
    "at: start\n"
    "play_to: 0,2\n"
    "panel: traffic\n"
    "points:\n"
    "  - K[2]\n"
    "  - read lane\n"
    "```\n"
    "\n"
    "## Which\n"
    "\n"
    "Think first.\n"
    "\n"
    "```show\n"
    "at: 0,2\n"
    "```\n"
    "\n"
    "```ask\n"
    "id: most\n"
    "kind: choice\n"
    "text: Which tensors make up most of the {moved()} elements, for one head?\n"
    "expression: max(moved(Q), moved(K) + moved(V))\n"
    "unit: elements\n"
    "choices:\n"
    "  - label: Q alone\n"
    "    expression: moved(Q)\n"
    "    feedback: Q moves {moved(Q)} elements, once each.\n"
    "  - expression: moved(K) + moved(V)\n"
    "    feedback: They come {tr} times.\n"
    "why: K and V come {tr} times.\n"
    "reveal: end\n"
    "```\n"
    "\n"
    "## How many\n"
    "\n"
    "Guess it.\n"
    "\n"
    "```show\n"
    "at: start\n"
    "```\n"
    "\n"
    "```ask\n"
    "id: all\n"
    "kind: slider\n"
    "text: How many elements move, for one head?\n"
    "expression: moved()\n"
    "unit: elements\n"
    "low: 10\n"
    "high: 100000\n"
    "tolerance: 0.05\n"
    "why: They are {moved()}.\n"
    "reveal: end\n"
    "```\n"
    "\n"
    "```break\n"
    "text: Make the tiles of queries taller.\n"
    "options: [tiles, n]\n"
    "run: --tiles 8x4\n"
    "consequence: 'Now {moved(K)} elements of K move.'\n"
    "```\n"
    "\n"
    "## Trips\n"
    "\n"
    "Count them.\n"
    "\n"
    "```ask\n"
    "id: trips\n"
    "kind: number\n"
    "text: How many trips does K[2] make in the whole run, for one head?\n"
    "unit: trips\n"
    "expression: tr\n"
    "choices:\n"
    "  - expression: tr * tc + 1\n"
    "    feedback: There are {tr * tc} score tiles.\n"
    "hints:\n"
    "  - Count the tiles of Q.\n"
    "  - One trip for each of {tr} tiles.\n"
    "why: There are {tr} tiles of queries.\n"
    "reveal: end\n"
    "```\n";

static const char second_lesson[] =
    "---\n"
    "lesson: 41\n"
    "title: Two runs\n"
    "card: Which of two moves less?\n"
    "chapter: The cost\n"
    "minutes: 2\n"
    "level: 1\n"
    "tracks: [kernel]\n"
    "scenario: --algorithm flash1 --n 16 --d 4 --tiles 4x4 --sram 4K\n"
    "beliefs:\n"
    "  - The order of loops does not matter.\n"
    "know: O travels in one of them.\n"
    "recall:\n"
    "  id: scores\n"
    "  kind: number\n"
    "  scenario: --algorithm flash2 --n 8 --d 2 --tiles 2x2 --sram 4K\n"
    "  text: How many scores has one head here?\n"
    "  expression: nq * nk\n"
    "  why: Each of {nq} queries meets each of {nk} keys.\n"
    "---\n"
    "\n"
    "## Side by side\n"
    "\n"
    "They run at once.\n"
    "\n"
    "```show\n"
    "compare: --algorithm flash2\n"
    "keep_together: traffic\n"
    "elements: true\n"
    "play_to: end\n"
    "```\n";

const char *const lesson_player_shelf[] = {first_lesson, second_lesson, NULL};

static bool find(const char *words, const char *name, char value[64])
{
    const char *at = strstr(words, name);
    if (!at)
        return false;
    at += strlen(name);
    snprintf(value, 64, "%.*s", (int)strcspn(at, " "), at);
    return true;
}

/* The words as a case; what they point to lies in `name`. */
static struct view_case case_of(const char *words, char name[64])
{
    struct view_case c = {.profile = FA_PROFILE_TIDY};
    struct fa_error error;
    char value[64];
    if (find(words, "--algorithm ", name))
        c.algorithm = name;
    if (find(words, "--n ", value))
        c.n = strtoll(value, NULL, 10);
    if (find(words, "--d ", value))
        c.d = strtoll(value, NULL, 10);
    if (find(words, "--tiles ", value)) {
        char *end;
        c.br = strtoll(value, &end, 10);
        c.bc = strtoll(end + 1, NULL, 10);
    }
    if (find(words, "--sram ", value))
        assert_int_equal(sim_parse_bytes(value, &c.sram, &error), FA_OK);
    return c;
}

static void add_option(struct view_option *options, int *n, const char *words, const char *name)
{
    char dashed[32], value[64];
    snprintf(dashed, sizeof dashed, "--%s ", name);
    if (!find(words, dashed, value))
        return;
    struct view_option *option = &options[(*n)++];
    memset(option, 0, sizeof *option);
    snprintf(option->name, sizeof option->name, "%s", name);
    snprintf(option->value, sizeof option->value, "%.60s", value);
    snprintf(option->label, sizeof option->label, "%s %.60s", name, value);
    option->editable = true;
}

static struct view_run *run_words(const char *words, struct view_option *options, int *n)
{
    static const char *const names[] = {"algorithm", "n", "d", "tiles", "sram"};
    char name[64];
    struct view_case c = case_of(words, name);
    *n = 0;
    for (size_t o = 0; o < sizeof names / sizeof *names; o++)
        add_option(options, n, words, names[o]);
    return view_case_open(&c);
}

static enum fa_status open_words(void *context, const char *words, const char *compare,
                                 const struct fa_watch *watch, struct view_opened *opened,
                                 struct fa_error *error)
{
    struct lesson_player *player = context;
    char second[LESSON_WORDS];
    (void)watch;
    player->opens++;
    if (player->fails)
        return fa_fail(error, FA_BAD_ARGUMENT, "--n: expected 0 or more");
    snprintf(player->words, sizeof player->words, "%s", words);
    opened->run[0] = run_words(words, opened->options[0], &opened->n_options[0]);
    if (!compare)
        return FA_OK;
    assert_int_equal(lesson_words_join(words, compare, second, sizeof second, error), FA_OK);
    opened->run[1] = run_words(second, opened->options[1], &opened->n_options[1]);
    return FA_OK;
}

static enum fa_status words_of(void *context, char *words, size_t size, struct fa_error *error)
{
    struct lesson_player *player = context;
    (void)error;
    snprintf(words, size, "%s", player->words);
    return FA_OK;
}

static enum fa_status save(void *context, const struct lesson_progress *progress,
                           struct fa_error *error)
{
    struct lesson_player *player = context;
    (void)error;
    assert_ptr_equal(progress, &player->progress);
    player->saves++;
    return FA_OK;
}

/* A chip was changed: the same words with its value. */
static enum fa_status open_run(void *context, int which, struct view_option *options, int *n,
                               const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct lesson_player *player = context;
    (void)blocks, (void)watch;
    for (int o = 0; o < *n && which == 0; o++) {
        char more[160], words[LESSON_WORDS];
        snprintf(more, sizeof more, "--%s %s", options[o].name, options[o].value);
        assert_int_equal(lesson_words_join(player->words, more, words, sizeof words, error), FA_OK);
        snprintf(player->words, sizeof player->words, "%s", words);
    }
    *run = run_words(player->words, options, n);
    return FA_OK;
}

void lesson_player_open(struct lesson_player *player, const char *const *texts, float width,
                        float height, bool present)
{
    struct fa_error error = {FA_OK, ""};
    const struct view_host host = {.open_run = open_run, .context = player};
    memset(player, 0, sizeof *player);
    lesson_progress_reset(&player->progress);
    for (int i = 0; texts[i]; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d-test.md", 40 + i);
        if (lesson_parse(name, texts[i], strlen(texts[i]), &player->lessons[i], &error) != FA_OK)
            fail_msg("%s", error.text);
        player->shelf.n++;
    }
    player->shelf.lesson = player->lessons;
    const struct view_lesson_host lessons = {
        .shelf = &player->shelf, .progress = &player->progress, .present = present,
        .open_words = open_words, .words = words_of, .save = save, .runner = lesson_case_runner,
        .context = player,
    };
    assert_int_equal(view_state_open(&host, &view_builtin_face, width, height, &player->state,
                                     &error),
                     FA_OK);
    assert_int_equal(view_player_open(player->state, &lessons, &error), FA_OK);
    player->frame = view_state_frame(player->state);
    player->view = player->frame->lesson;
}

void lesson_player_open_at(struct lesson_player *player, int step)
{
    lesson_player_open(player, lesson_player_shelf, 1280, 720, false);
    lesson_player_go(player, 40, step);
}

void lesson_player_close(struct lesson_player *player)
{
    view_state_close(player->state);
    for (int i = 0; i < player->shelf.n; i++)
        lesson_free(player->lessons[i]);
}

void lesson_player_go(struct lesson_player *player, int number, int step)
{
    struct fa_error error = {FA_OK, ""};
    if (view_player_go(player->state, number, step, &error) != FA_OK)
        fail_msg("lesson %d, step %d: %s", number, step, error.text);
}

void lesson_player_do(struct lesson_player *player, enum view_action action, int64_t value)
{
    view_state_do(player->state, action, value);
}

void lesson_player_key(struct lesson_player *player, enum view_key key)
{
    const struct view_input input = {.kind = VIEW_INPUT_KEY, .key = key};
    view_state_take(player->state, &input);
}

void lesson_player_type(struct lesson_player *player, const char *text)
{
    for (; *text; text++) {
        struct view_input input = {.kind = VIEW_INPUT_KEY, .key = VIEW_KEY_TEXT};
        input.text[0] = *text;
        view_state_take(player->state, &input);
    }
}

void lesson_player_wait(struct lesson_player *player)
{
    for (int tick = 0; tick < 2000; tick++) {
        view_state_tick(player->state, 50);
        view_state_draw(player->state);
        if (view_state_idle(player->state))
            return;
    }
    fail_msg("it plays for 100 seconds");
}

const struct view_hit *lesson_player_hit(struct lesson_player *player, enum view_action action,
                                         int64_t value)
{
    const struct view_draw *draw = view_state_draw(player->state);
    for (size_t i = draw->n_hits; i-- > 0;)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            return &draw->hits[i];
    return NULL;
}

void lesson_player_click(struct lesson_player *player, enum view_action action, int64_t value)
{
    const struct view_hit *hit = lesson_player_hit(player, action, value);
    if (!hit || hit->off)
        fail_msg("nothing to click for action %d, value %d", (int)action, (int)value);
    struct view_input input = {.kind = VIEW_INPUT_PRESS, .x = hit->box.x + hit->box.w / 2,
                               .y = hit->box.y + hit->box.h / 2};
    view_state_take(player->state, &input);
    input.kind = VIEW_INPUT_RELEASE;
    view_state_take(player->state, &input);
}

void lesson_player_change(struct lesson_player *player, const char *option, const char *value)
{
    for (int o = 0; o < player->frame->n_options; o++) {
        if (strcmp(player->frame->options[o].name, option) != 0)
            continue;
        view_state_do(player->state, VIEW_CHIP, o);
        for (int k = 0; k < 32; k++)
            lesson_player_key(player, VIEW_KEY_BACKSPACE);
        lesson_player_type(player, value);
        lesson_player_key(player, VIEW_KEY_ENTER);
        return;
    }
    fail_msg("no chip %s", option);
}

bool lesson_player_says(struct lesson_player *player, const char *words)
{
    return view_case_text(view_state_draw(player->state), words) != NULL;
}
