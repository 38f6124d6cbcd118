/* What the lesson panel says and where, in all its states, at all sizes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lesson_case.h"
#include "tests/lesson_player.h"

/* All kinds of blocks, answers and points, with words as long as they may be. */
static const char wordy_lesson[] =
    "---\n"
    "lesson: 40\n"
    "title: A lesson with a rather long title in it\n"
    "card: How often does one tile come back?\n"
    "chapter: The cost\n"
    "minutes: 9\n"
    "level: 1\n"
    "scenario: --algorithm flash2 --n 16 --d 4 --tiles 4x4 --sram 4K\n"
    "beliefs:\n"
    "  - A flash pass reads each matrix once.\n"
    "know: Every tile of queries sends for all of K and V, as often as there are tiles.\n"
    "recall:\n"
    "  id: scores\n"
    "  kind: number\n"
    "  scenario: --algorithm flash2 --n 8 --d 2 --tiles 2x2 --sram 4K\n"
    "  text: How many scores has one head here?\n"
    "  unit: elements\n"
    "  expression: nq * nk\n"
    "  why: Each of {nq} queries meets each of {nk} keys.\n"
    "---\n"
    "\n"
    "## A step with all kinds of blocks\n"
    "\n"
    "Queries run down and keys run across. The tile K[2] is loaded again for each tile of queries.\n"
    "\n"
    "- Q[1] is kept.\n"
    "- K[2] and V[2] come and go.\n"
    "\n"
    "1. Load.\n"
    "2. Compute.\n"
    "\n"
    "| tile | loaded for |\n"
    "|------|------------|\n"
    "| K[2] | {tr} tiles of queries |\n"
    "\n"
    "```\n"
    "for (i = 0; i < tr; i++) load(Q[i]);\n"
    "```\n"
    "\n"
    "```show\n"
    "at: 1,2\n"
    "panel: traffic\n"
    "points:\n"
    "  - K[2]\n"
    "  - S[1,2]\n"
    "  - row 4\n"
    "  - capacity\n"
    "```\n"
    "\n"
    "## A choice\n"
    "\n"
    "Row 4 of Q[1] found a larger score than any before. What it has gathered so far was weighed against the old "
    "maximum.\n"
    "\n"
    "```ask\n"
    "id: factor\n"
    "kind: choice\n"
    "text: By what factor must the old sum and the old output of row 4 be multiplied now?\n"
    "choices:\n"
    "  - label: 1, nothing changes at all in this row\n"
    "    feedback: Then the old part would still weigh as it did against the smaller maximum.\n"
    "  - label: exp of the old maximum less the new one\n"
    "    right: true\n"
    "  - label: the old maximum divided by the new one\n"
    "    feedback: Weights are exponentials, so a quotient of maxima means nothing to them.\n"
    "  - label: exp of the new maximum less the old one\n"
    "    feedback: That grows, where it should shrink.\n"
    "hints:\n"
    "  - Look at the two maxima of this row on the bench.\n"
    "  - exp of a difference.\n"
    "  - exp of the old one less the new one.\n"
    "why: A weight that was made with the old maximum is too large, and so is each sum of weights.\n"
    "reveal: 1,3\n"
    "```\n"
    "\n"
    "## A slider\n"
    "\n"
    "Guess it.\n"
    "\n"
    "```show\n"
    "points:\n"
    "  - read lane\n"
    "  - write lane\n"
    "  - checks\n"
    "  - track\n"
    "```\n"
    "\n"
    "```ask\n"
    "id: all\n"
    "kind: slider\n"
    "text: How many elements move in the whole run, for one head?\n"
    "expression: moved()\n"
    "unit: elements\n"
    "low: 10\n"
    "high: 100000\n"
    "why: They are {moved()}, of which K and V are {moved(K) + moved(V)}.\n"
    "reveal: end\n"
    "```\n"
    "\n"
    "```break\n"
    "text: Make the tiles of queries taller, and look at how often K comes.\n"
    "options: [tiles, n]\n"
    "run: --tiles 8x4\n"
    "consequence: 'Now {moved(K)} elements of K move, where it was {with(\"--tiles 4x4\", moved(K))} before.'\n"
    "```\n"
    "\n"
    "## A number\n"
    "\n"
    "Count them.\n"
    "\n"
    "```show\n"
    "points:\n"
    "  - K[0]\n"
    "  - O[1]\n"
    "  - sentence\n"
    "  - panel\n"
    "```\n"
    "\n"
    "```ask\n"
    "id: trips\n"
    "kind: number\n"
    "text: How many trips does K[2] make in the whole run, for one head?\n"
    "unit: trips\n"
    "expression: tr\n"
    "why: There are {tr} tiles of queries.\n"
    "```\n";

static const char *const shelf[] = {wordy_lesson, NULL};

enum state { READ, CHOICE, CHOSEN, AGAIN, RIGHT, WRONG, SHOWN, HINTED, SLIDER, SLID, RUN, MARKS, BREAK,
             BROKEN, NUMBER, REFUSED, CHANGED, END, RECALLED, STATES };

/* Brings the player into a state by its actions. */
static void bring(struct lesson_player *p, enum state state)
{
    static const int steps[STATES] = {[CHOICE] = 1, [CHOSEN] = 1,  [AGAIN] = 1, [RIGHT] = 1,   [WRONG] = 1,
                                      [SHOWN] = 1,  [HINTED] = 1,  [SLIDER] = 2, [SLID] = 2,   [RUN] = 2,
                                      [MARKS] = 2,  [BREAK] = 2,   [BROKEN] = 2, [NUMBER] = 3, [REFUSED] = 3,
                                      [CHANGED] = 3, [END] = 4,    [RECALLED] = 4};
    lesson_player_go(p, 40, steps[state]);
    bool answers = state == AGAIN || state == WRONG || state == RIGHT || state == CHOSEN;
    if (answers)
        lesson_player_do(p, VIEW_LESSON_CHOOSE, state == RIGHT ? 1 : 2);
    if (answers && state != CHOSEN)
        lesson_player_do(p, VIEW_LESSON_CHECK, 0);
    if (state == WRONG) {
        lesson_player_do(p, VIEW_LESSON_AGAIN, 0);
        lesson_player_do(p, VIEW_LESSON_CHOOSE, 0);
        lesson_player_do(p, VIEW_LESSON_CHECK, 0);
    }
    if (state == SHOWN || state == BREAK || state == BROKEN)
        lesson_player_do(p, VIEW_LESSON_SHOW, 0);
    if (state == HINTED)
        lesson_player_do(p, VIEW_LESSON_HINT, 0);
    if (state == SLID || state == RUN || state == MARKS)
        lesson_player_key(p, VIEW_KEY_RIGHT);
    for (int n = 0; n < 2 && (state == RUN || state == MARKS); n++) {
        lesson_player_key(p, VIEW_KEY_RIGHT);
        lesson_player_do(p, VIEW_LESSON_CHECK, 0);
        if (n == 0)
            lesson_player_do(p, VIEW_LESSON_AGAIN, 0);
        lesson_player_key(p, VIEW_KEY_RIGHT);
    }
    if (state == REFUSED) {
        lesson_player_type(p, "1p2x");
        lesson_player_do(p, VIEW_LESSON_CHECK, 0);
    }
    if (state == CHANGED)
        lesson_player_change(p, "n", "32");
    if (state == RECALLED) {
        lesson_player_type(p, "64");
        lesson_player_key(p, VIEW_KEY_ENTER);
    }
    if (state != RUN)
        view_state_settle(p->state);
    if (state == BREAK || state == BROKEN)
        lesson_player_do(p, VIEW_LESSON_NEXT, 0);
    if (state == BROKEN)
        lesson_player_do(p, VIEW_LESSON_RUN_IT, 0);
    if (state != RUN)
        view_state_settle(p->state);
}

/* ---- what is said ------------------------------------------------------------------------ */

static void test_states_say_what_they_are(void **unused)
{
    static const struct {
        enum state state;
        const char *says, *says_not;
    } cases[] = {
        {READ, "Step 1 of 4, 9 min left", "Check the answer"},
        {READ, "4 tiles of queries", "{tr}"},
        {READ, "for (i = 0; i < tr; i++)", NULL},
        {READ, "2.", NULL},
        {READ, "Look at Traffic", NULL},
        {CHOICE, "Predict", "Right"},
        {CHOICE, "Hint 1 of 3", NULL},
        {HINTED, "Look at the two maxima", "Hint 3 of 3"},
        {AGAIN, "Try once more", "A weight that was made"},
        {RIGHT, "Right: exp of the old", "Not quite"},
        {WRONG, "Not quite: 1, nothing", "Right"},
        {WRONG, "A weight that was made", "Try once more"},
        {SHOWN, "It is exp of the old", "Not quite"},
        {SLIDER, "100\u202f000", "1\u202f000"},
        {SLID, "1\u202f000 elements", NULL},
        {MARKS, "the run ", "Predict"},
        {MARKS, "you ", NULL},
        {RUN, "The run goes on", "the run "},
        {BREAK, "Run it", "Back to the lesson's run"},
        {BROKEN, "128 elements of K move", "Run it"},
        {BROKEN, "Back to the lesson's run", NULL},
        {NUMBER, "Type a number", "Hint"},
        {REFUSED, "expected a number", NULL},
        {CHANGED, "You changed N.", NULL},
        {END, "What you now know", "Step 5"},
        {END, "Do you remember?", "64"},
        {RECALLED, "Right: 64 elements", "Do you remember?"},
    };
    (void)unused;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct lesson_player p;
        lesson_player_open(&p, shelf, 1280, 720, false);
        bring(&p, cases[c].state);
        if (!lesson_player_says(&p, cases[c].says) ||
            (cases[c].says_not && lesson_player_says(&p, cases[c].says_not)))
            fail_msg("case %zu: expected \"%s\", and not \"%s\"", c, cases[c].says,
                     cases[c].says_not ? cases[c].says_not : "");
        lesson_player_close(&p);
    }
}

/* Nothing of a frame with an open question holds the answer, in texts and in labels. */
static void test_what_is_covered_does_not_tell(void **unused)
{
    (void)unused;
    static const int panels[] = {VIEW_PANEL_LESSON, VIEW_PANEL_CODE, VIEW_PANEL_TRAFFIC,
                                 VIEW_PANEL_PLOT, VIEW_PANEL_CHECK};
    for (int panel = 0; panel < 5; panel++)
        for (int at_end = 0; at_end < 2; at_end++) {
            struct lesson_player p;
            char right[LESSON_NUMBER_TEXT];
            lesson_player_open(&p, shelf, 1280, 720, false);
            lesson_player_go(&p, 40, 2);
            assert_true(p.frame->covered);
            lesson_number_text(p.view->answers.right, right);
            if (at_end)
                lesson_player_key(&p, VIEW_KEY_END);
            lesson_player_do(&p, VIEW_PANEL, panels[panel]);
            const struct view_draw *draw = view_state_draw(p.state);
            assert_null(view_case_text(draw, right));
            assert_non_null(view_case_text(draw, "?"));
            for (size_t h = 0; h < draw->n_hits; h++)
                assert_true(!draw->hits[h].label || !strstr(draw->hits[h].label, right));
            lesson_player_do(&p, VIEW_PANEL, VIEW_PANEL_LESSON);
            lesson_player_click(&p, VIEW_LESSON_SHOW, 0);
            view_state_settle(p.state);
            assert_true(lesson_player_says(&p, right)); /* this would have found it */
            lesson_player_close(&p);
        }
}

static void test_the_tab_is_there_with_a_lesson_alone(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, shelf, 1280, 720, false);
    lesson_player_go(&p, 40, 0);
    assert_int_equal(view_panel_at(p.frame, 0), VIEW_PANEL_LESSON);
    assert_int_equal(view_panel_at(p.frame, 4), VIEW_PANEL_CHECK);
    assert_non_null(lesson_player_hit(&p, VIEW_PANEL, VIEW_PANEL_LESSON));
    lesson_player_do(&p, VIEW_EXPLORE, 0);
    assert_int_equal(view_panel_at(p.frame, 0), VIEW_PANEL_CODE);
    assert_int_equal(view_panel_at(p.frame, 4), -1);
    assert_null(lesson_player_hit(&p, VIEW_PANEL, VIEW_PANEL_LESSON));
    lesson_player_close(&p);
}

/* ---- where ------------------------------------------------------------------------------- */

static const float sizes[][2] = {{400, 300},   {480, 360},  {640, 480},  {800, 600},  {999, 700},
                                 {1000, 700},  {1280, 720}, {1600, 900}, {1920, 1080}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void check_hits(const struct view_draw *draw, float width, float height)
{
    for (size_t h = 0; h < draw->n_hits; h++) {
        const struct view_hit *hit = &draw->hits[h];
        if (hit->action < VIEW_LESSON_OPEN || hit->action > VIEW_LESSON_RETURN)
            continue;
        if (hit->box.w < 28 || hit->box.h < 28 || hit->box.x < 0 || hit->box.y < 0 ||
            hit->box.x + hit->box.w > width || hit->box.y + hit->box.h > height)
            fail_msg("\"%s\" is %g x %g at (%g, %g)", hit->label, (double)hit->box.w,
                     (double)hit->box.h, (double)hit->box.x, (double)hit->box.y);
    }
}

static void test_texts_lie_inside_and_apart(void **unused)
{
    (void)unused;
    for (int s = 0; s < SIZES; s++)
        for (int state = 0; state < STATES; state++) {
            struct lesson_player p;
            lesson_player_open(&p, shelf, sizes[s][0], sizes[s][1], state % 2 == 1);
            bring(&p, (enum state)state);
            const struct view_draw *draw = view_state_draw(p.state);
            float most = draw->scroll_most;
            view_case_check_texts(draw, sizes[s][0], sizes[s][1]);
            check_hits(draw, sizes[s][0], sizes[s][1]);
            for (int part = 1; part <= 2 && most > 1; part++) {
                view_state_frame(p.state)->scroll = most * (float)part / 2;
                draw = view_state_draw(p.state);
                view_case_check_texts(draw, sizes[s][0], sizes[s][1]);
                check_hits(draw, sizes[s][0], sizes[s][1]);
            }
            lesson_player_close(&p);
        }
}

static void test_beside_two_runs_too(void **unused)
{
    (void)unused;
    for (int s = 0; s < SIZES; s++)
        for (int step = 0; step < 2; step++) {
            struct lesson_player p;
            lesson_player_open(&p, lesson_player_shelf, sizes[s][0], sizes[s][1], step == 1);
            lesson_player_go(&p, 41, step);
            view_state_settle(p.state);
            assert_non_null(p.frame->run[1]);
            /* At the end a small window has room for the question alone. */
            assert_true(lesson_player_says(&p, step == 0 ? "Side by side" : "What you now know") ||
                        (step == 1 && sizes[s][1] < 480 &&
                         lesson_player_says(&p, "How many scores")));
            view_case_check_texts(view_state_draw(p.state), sizes[s][0], sizes[s][1]);
            check_hits(view_state_draw(p.state), sizes[s][0], sizes[s][1]);
            lesson_player_close(&p);
        }
}

/* Scrolled from top to bottom, a button is in the list somewhere: nothing is lost. */
static bool is_reached(struct lesson_player *p, enum view_action action, int64_t value)
{
    float most = view_state_draw(p->state)->scroll_most;
    for (float scroll = 0; scroll < most + 8; scroll += 8) {
        view_state_frame(p->state)->scroll = scroll;
        if (lesson_player_hit(p, action, value))
            return true;
    }
    return false;
}

static void reach(struct lesson_player *p, enum view_action action, int64_t value)
{
    if (!is_reached(p, action, value))
        fail_msg("action %d, value %d is nowhere at %g x %g", (int)action, (int)value,
                 (double)p->frame->width, (double)p->frame->height);
}

static void test_every_control_can_be_reached(void **unused)
{
    (void)unused;
    for (int s = 0; s < SIZES; s++) {
        struct lesson_player p;
        lesson_player_open(&p, shelf, sizes[s][0], sizes[s][1], false);
        bring(&p, CHOICE);
        for (int c = 0; c < 4; c++)
            reach(&p, VIEW_LESSON_CHOOSE, c);
        reach(&p, VIEW_LESSON_CHECK, 0);
        reach(&p, VIEW_LESSON_HINT, 0);
        reach(&p, VIEW_LESSON_SHOW, 0);
        reach(&p, VIEW_LESSON_BACK, 0);
        bring(&p, SLIDER);
        reach(&p, VIEW_LESSON_SLIDER, 0);
        bring(&p, BREAK);
        reach(&p, VIEW_LESSON_RUN_IT, 0);
        bring(&p, NUMBER);
        reach(&p, VIEW_LESSON_FIELD, 0);
        reach(&p, VIEW_LESSON_NEXT, 0);
        lesson_player_close(&p);
    }
}

/* ---- points ------------------------------------------------------------------------------ */

static void test_what_is_pointed_at_is_on_screen(void **unused)
{
    (void)unused;
    for (int s = 3; s < SIZES; s++) /* below them the panel is a page, and the stage behind it */
        for (int step = 0; step < 4; step++) {
            struct lesson_player p;
            lesson_player_open(&p, shelf, sizes[s][0], sizes[s][1], false);
            lesson_player_go(&p, 40, step);
            view_state_settle(p.state);
            const struct lesson_show *show = &p.view->lesson->step[step].show;
            struct view_scene scene = view_case_scene(p.frame);
            for (int n = 0; n < show->n_points; n++) {
                struct view_box box;
                bool low = strcmp(show->point[n], "checks") == 0 && sizes[s][0] < 1000;
                if (low) /* SRAM is too low for them there */
                    continue;
                if (!view_point_box(&scene, show->point[n], &box))
                    fail_msg("%s is not on screen at %g wide", show->point[n], (double)sizes[s][0]);
                assert_true(box.x >= 0 && box.y >= 0 && box.x + box.w <= sizes[s][0] + 1 &&
                            box.y + box.h <= sizes[s][1] + 1);
            }
            lesson_player_close(&p);
        }
}

static void test_points_are_where_the_things_are(void **unused)
{
    struct lesson_player p;
    struct view_box box, tile;
    (void)unused;
    lesson_player_open(&p, shelf, 1280, 720, false);
    lesson_player_go(&p, 40, 0);
    struct view_scene scene = view_case_scene(p.frame);
    assert_true(view_point_box(&scene, "K[2]", &box));
    assert_true(view_hbm_tile(&scene, 0, FA_K, 2, 0, &tile));
    assert_memory_equal(&box, &tile, sizeof box);
    assert_true(view_point_box(&scene, "m[1]", &box)); /* of the tile on chip */
    assert_false(view_point_box(&scene, "m[3]", &box));
    assert_false(view_point_box(&scene, "K[9]", &box));
    assert_false(view_point_box(&scene, "X[0]", &box));
    assert_false(view_point_box(&scene, "row 99", &box));
    assert_true(view_point_box(&scene, "column 9", &box));
    assert_true(view_hbm_tile(&scene, 0, FA_K, 2, 0, &tile));
    assert_true(box.x >= tile.x - 1 && box.x + box.w <= tile.x + tile.w + 1);
    p.frame->stage = VIEW_STAGE_MASK; /* tiles there, of 4 x 4 */
    struct view_box row, column;
    assert_true(view_point_box(&scene, "row 5", &row));
    assert_true(view_point_box(&scene, "column 15", &column));
    assert_true(view_point_box(&scene, "S[1,3]", &box));
    assert_true(box.x == column.x && box.y == row.y && box.w == column.w && box.h == row.h);
    assert_false(view_point_box(&scene, "row 16", &row));
    p.frame->stage = VIEW_STAGE_WAVES;
    assert_false(view_point_box(&scene, "K[2]", &box));
    assert_false(view_point_box(&scene, "capacity", &box));
    lesson_player_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_say_what_they_are),
        cmocka_unit_test(test_what_is_covered_does_not_tell),
        cmocka_unit_test(test_the_tab_is_there_with_a_lesson_alone),
        cmocka_unit_test(test_texts_lie_inside_and_apart),
        cmocka_unit_test(test_beside_two_runs_too),
        cmocka_unit_test(test_every_control_can_be_reached),
        cmocka_unit_test(test_what_is_pointed_at_is_on_screen),
        cmocka_unit_test(test_points_are_where_the_things_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
