/* The contents page, its cards and their key frames, and the glossary. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "reference/dropout.h"
#include "tests/shelf_case.h"
#include "visualizer/thumb.h"

#ifdef FLASHLAB_HAVE_LESSONS

static const float sizes[][2] = {{400, 300},  {480, 640},  {640, 480},  {800, 600},
                                 {1000, 700}, {1280, 720}, {1600, 900}, {1920, 1080}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct view_draw list;
static struct view_thumb thumb;
static const struct view_thumb *thumbs[LESSON_NUMBERS];

static const struct lesson_progress begun = {
    .mark = {{0, 8, true, false}, {1, 0, false, true}, {4, 4, false, false}},
    .n = 3,
    .race_seen = true,
    .last_lesson = 4};

static int open_all(void **state)
{
    (void)state;
    view_draw_open(&list, &view_builtin_face, &view_dark);
    struct view_run *run = view_case_open(&view_case_tidy);
    view_thumb_make(run, NULL, "cross", &thumb);
    view_run_close(run);
    for (int l = 0; l < LESSON_NUMBERS; l++)
        thumbs[l] = l % 2 ? &thumb : NULL;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    view_draw_close(&list);
    return 0;
}

static struct view_frame frame_of(const struct view_lesson *lesson, float width, float height)
{
    struct view_frame frame = view_case_frame(NULL, NULL, width, height, 0);
    frame.lesson = lesson;
    return frame;
}

static void draw(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&list);
    list.theme = frame->theme;
    if (frame->lesson->page == VIEW_PAGE_CONTENTS)
        view_scene_contents(&list, &scene);
    else
        view_scene_glossary(&list, &scene);
    assert_false(list.failed);
    view_case_check_texts(&list, frame->width, frame->height);
    for (size_t h = 0; h < list.n_hits; h++) {
        struct view_box box = list.hits[h].box;
        assert_true(box.x >= -0.5f && box.x + box.w <= frame->width + 0.5f);
        assert_true(box.y >= -0.5f && box.y + box.h <= frame->height + 0.5f);
        if (list.hits[h].label)
            assert_true(box.w >= 28 && box.h >= 28);
    }
}

static const struct view_hit *hit_of(enum view_action action, int64_t value)
{
    for (size_t h = 0; h < list.n_hits; h++)
        if (list.hits[h].action == action && list.hits[h].value == value && list.hits[h].label)
            return &list.hits[h];
    return NULL;
}

static struct view_box card_of(int number)
{
    const struct view_hit *hit = hit_of(VIEW_LESSON_OPEN, number);
    if (!hit)
        fail_msg("no card of lesson %d", number);
    return hit->box;
}

/* At its beginning, in the middle and at the end of its scrolling, in both themes. */
static void draw_everywhere(const struct view_lesson *lesson)
{
    for (size_t s = 0; s < 2 * SIZES; s++) {
        struct view_frame frame = frame_of(lesson, sizes[s / 2][0], sizes[s / 2][1]);
        frame.theme = s % 2 ? &view_light : &view_dark;
        draw(&frame);
        for (float most = list.scroll_most, at = 0; at <= 4; at++) {
            frame.scroll = floorf(most * at / 4);
            draw(&frame);
        }
    }
}

static void all_sizes_and_states_are_in_order(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    draw_everywhere(&lesson);
    lesson.thumb = thumbs;
    lesson.progress = &begun;
    lesson.card = 4;
    draw_everywhere(&lesson);
    lesson.reset_asked = true;
    draw_everywhere(&lesson);
    lesson.reset_asked = false;
    lesson.track = "class";
    draw_everywhere(&lesson);
    lesson.searching = true;
    snprintf(lesson.search, sizeof lesson.search, "no such words in any of them ");
    draw_everywhere(&lesson);
    lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    lesson.shelf = NULL;
    lesson.missing = "No folder of lessons: /usr/share/flashlab/lessons and lessons were tried.";
    draw_everywhere(&lesson);
    lesson = shelf_case_view(VIEW_PAGE_GLOSSARY);
    draw_everywhere(&lesson);
}

static void five_chapters_stand_beside_each_other(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    struct view_frame frame = frame_of(&lesson, 1280, 720);
    draw(&frame);
    for (int l = 0; l < 15; l++) {
        struct view_box box = card_of(l);
        assert_true(box.w == 232 && box.h >= 156);
        assert_true(box.x == 28 + 248.0f * (float)(l / 3));
        assert_true(box.y == 200 + (box.h + 16) * (float)(l % 3));
    }
    assert_true(list.scroll_most == 0);
    frame = frame_of(&lesson, 800, 600);
    draw(&frame);
    assert_true(card_of(0).x < card_of(3).x && card_of(0).y == card_of(3).y);
    assert_null(hit_of(VIEW_LESSON_OPEN, 6)); /* below what is in view */
    assert_true(list.scroll_most > 500);
    frame = frame_of(&lesson, 480, 640);
    draw(&frame);
    assert_true(card_of(0).x == card_of(3).x && card_of(0).h < 60);
}

static void what_was_done_is_told(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    struct view_frame frame = frame_of(&lesson, 1280, 720);
    draw(&frame);
    assert_true(view_case_says(&list, "Start: 0 Attention by hand"));
    assert_non_null(hit_of(VIEW_LESSON_KNOWN, 0));
    assert_null(hit_of(VIEW_LESSON_RESET, 0));
    assert_false(view_case_says(&list, "done"));

    lesson.progress = &begun;
    lesson.card = 4;
    draw(&frame);
    assert_true(view_case_says(&list, "Continue: 4 Tiling"));
    assert_true(view_case_says(&list, "step 5 of 9, 6 min left"));
    assert_int_equal(hit_of(VIEW_LESSON_START, 4)->value, 4);
    assert_null(hit_of(VIEW_LESSON_KNOWN, 0));
    assert_non_null(hit_of(VIEW_LESSON_RESET, 0));
    assert_true(view_case_says(&list, "done"));
    assert_true(view_case_says(&list, "known"));
    assert_true(view_case_says(&list, "step 5 of 9"));
    assert_non_null(strstr(hit_of(VIEW_LESSON_OPEN, 4)->label, "step 5 of 9"));
    /* Five ninths of the card's lower edge. */
    struct view_box card = card_of(4);
    int bars = 0;
    for (size_t n = 0; n < list.n_items; n++) {
        const struct view_box *box = &list.items[n].box;
        if (list.items[n].kind == VIEW_FILL && box->h == 3 && box->x == card.x + 2 &&
            box->y == card.y + card.h - 4) {
            assert_true(box->w == floorf((card.w - 4) * 5 / 9));
            bars++;
        }
    }
    assert_int_equal(bars, 1);
}

static int cards_shown(void)
{
    int n = 0;
    for (int l = 0; l < LESSON_NUMBERS; l++)
        n += hit_of(VIEW_LESSON_OPEN, l) != NULL;
    return n;
}

static void tracks_and_search_choose_cards(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    struct view_frame frame = frame_of(&lesson, 1280, 720);
    draw(&frame);
    assert_int_equal(cards_shown(), 15);
    /* 6 + 4 of 8 minutes for four steps of nine, 10, 10, 8, and one step of 10 minutes. */
    assert_true(view_case_says(&list, "class, 40 min"));
    assert_true(view_case_says(&list, "kernel, 45 min"));
    lesson.track = "class";
    draw(&frame);
    assert_int_equal(cards_shown(), 6);
    assert_null(hit_of(VIEW_LESSON_OPEN, 2));
    assert_true(view_case_says(&list, "2 min"));
    lesson.track = NULL;
    snprintf(lesson.search, sizeof lesson.search, "SOFTMAX");
    draw(&frame);
    assert_int_equal(cards_shown(), 1);
    assert_non_null(hit_of(VIEW_LESSON_OPEN, 3));
    snprintf(lesson.search, sizeof lesson.search, "qqq");
    draw(&frame);
    assert_true(view_case_says(&list, "Nothing found"));
    assert_non_null(hit_of(VIEW_LESSON_SEARCH, 0));
}

static int step_from(struct view_lesson *lesson, float width, float height, int card, int dx,
                     int dy)
{
    struct view_frame frame = frame_of(lesson, width, height);
    struct view_scene scene = view_case_scene(&frame);
    lesson->card = card;
    return view_contents_step(&list, &scene, dx, dy);
}

static void arrows_walk_the_cards(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    assert_int_equal(step_from(&lesson, 1280, 720, 4, 1, 0), 7);
    assert_int_equal(step_from(&lesson, 1280, 720, 4, -1, 0), 1);
    assert_int_equal(step_from(&lesson, 1280, 720, 4, 0, -1), 3);
    assert_int_equal(step_from(&lesson, 1280, 720, 4, 0, 1), 5);
    assert_int_equal(step_from(&lesson, 1280, 720, 14, 1, 0), 14);
    assert_int_equal(step_from(&lesson, 800, 600, 2, 0, 1), 6);
    assert_int_equal(step_from(&lesson, 480, 640, 2, 1, 0), 3);
    lesson.track = "kernel";
    assert_int_equal(step_from(&lesson, 1280, 720, 0, 1, 0), 6);
    snprintf(lesson.search, sizeof lesson.search, "qqq");
    assert_int_equal(step_from(&lesson, 1280, 720, 0, 1, 0), -1);
}

static void the_page_scrolls_to_the_card(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    for (size_t s = 0; s < SIZES; s++)
        for (int l = 0; l < 30; l++) {
            struct view_frame frame = frame_of(&lesson, sizes[s][0], sizes[s][1]);
            struct view_scene scene = view_case_scene(&frame);
            lesson.card = l < 15 ? l : 29 - l;
            scene.frame = &frame;
            frame.scroll = view_contents_scroll(&list, &scene, lesson.card);
            draw(&frame);
            struct view_box box = card_of(lesson.card);
            assert_true(box.h >= 40 && box.y >= 40 && box.y + box.h <= frame.height);
        }
}

static void an_empty_folder_is_explained(void **state)
{
    (void)state;
    struct lesson_shelf none = {.folder = "/home/me/course"};
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    struct view_frame frame = frame_of(&lesson, 1280, 720);
    lesson.shelf = &none;
    lesson.missing = "There is no file NN-name.md in it.";
    draw(&frame);
    assert_true(view_case_says(&list, "No lesson in /home/me/course"));
    assert_non_null(view_case_text(&list, "NN-name.md"));
    assert_non_null(view_case_text(&list, "--lessons DIR"));
    assert_non_null(hit_of(VIEW_EXPLORE, 0));
}

/* ---- key frames ---- */

static struct view_thumb thumb_of(const struct view_case *first, const struct view_case *second,
                                  const char *stage)
{
    struct view_run *run = view_case_open(first), *other = second ? view_case_open(second) : NULL;
    struct view_thumb made;
    view_thumb_make(run, other, stage, &made);
    view_run_close(run);
    if (other)
        view_run_close(other);
    return made;
}

static void key_frames_are_what_runs_did(void **state)
{
    (void)state;
    const struct view_case causal = {.n = 32, .causal = true};
    const struct view_case wide = {.n = 512, .br = 4, .bc = 4};
    const struct view_case standard = {
        .algorithm = "standard", .n = 128, .d = 16, .br = 16, .bc = 16};
    const struct view_case flash = {.n = 128, .d = 16, .br = 16, .bc = 16};
    const struct view_case dropped = {.n = 32, .dropout_p = 0.3};

    struct view_thumb made = thumb_of(&causal, NULL, "mask");
    assert_int_equal(made.kind, VIEW_THUMB_TILES);
    assert_int_equal(made.rows, 8);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            assert_int_equal(made.cell[8 * r + c], c > r    ? VIEW_THUMB_SKIPPED
                                                   : c == r ? VIEW_THUMB_CUT
                                                            : VIEW_THUMB_DONE);
    made = thumb_of(&wide, NULL, "cross");
    assert_int_equal(made.rows, 32);
    assert_int_equal(made.columns, 32);
    assert_int_equal(made.cell[31 * 32 + 31], VIEW_THUMB_DONE);

    made = thumb_of(&standard, &flash, "cross");
    uint64_t moved[2] = {0, 0};
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        moved[0] += made.moved[0][id];
        moved[1] += made.moved[1][id];
    }
    assert_int_equal(made.kind, VIEW_THUMB_TRAFFIC);
    assert_int_equal(moved[0], 4 * 102400);
    assert_int_equal(moved[1], 4 * 36992);

    made = thumb_of(&view_case_tidy, NULL, "row");
    double sum = 0;
    for (int k = 0; k < made.columns; k++)
        sum += (double)made.weight[k];
    assert_int_equal(made.kind, VIEW_THUMB_ROW);
    assert_int_equal(made.columns, 16);
    assert_true(fabs(sum - 1) < 1e-5);

    made = thumb_of(&view_case_tidy, NULL, "scale");
    assert_int_equal(made.sram, 512);
    assert_int_equal(made.scores, 16 * 16 * 4);

    struct view_run *run = view_case_open(&dropped);
    uint8_t keep[18];
    fa_dropout_bits(&view_run_header(run)->problem, 0, 0, 3, 0, 18, keep);
    view_thumb_make(run, NULL, "bits", &made);
    assert_int_equal(made.kind, VIEW_THUMB_BITS);
    assert_memory_equal(&made.cell[3 * 18], keep, 18);
    view_run_close(run);
}

/* The other kinds: what had no room, the tile's shape, what the checks say, the first wave. */
static void key_frames_of_their_own(void **state)
{
    (void)state;
    const struct view_case small = {
        .algorithm = "flash1", .n = 128, .d = 16, .br = 16, .bc = 16, .sram = 4096};
    const struct view_case tall = {.n = 64, .br = 16, .bc = 4}, flat = {.n = 64, .br = 4, .bc = 16};
    struct view_thumb made = thumb_of(&small, NULL, "cross");
    int last = made.n_blocks - 1;
    assert_int_equal(made.kind, VIEW_THUMB_BLOCKS);
    assert_int_equal(made.sram, 4096);
    assert_int_equal(made.block[last].id, FA_S);
    assert_int_equal(made.block[last].bytes, 4 * 256);
    uint64_t before = 0;
    for (int b = 0; b < last; b++)
        before += made.block[b].bytes;
    assert_int_equal(made.block[last].place, before);
    assert_true(before <= 4096 && before + made.block[last].bytes > 4096);

    made = thumb_of(&tall, &flat, "tiles");
    assert_int_equal(made.kind, VIEW_THUMB_SHAPES);
    assert_int_equal(made.br[0], 16);
    assert_int_equal(made.bc[0], 4);
    assert_int_equal(made.br[1], 4);
    assert_int_equal(made.bc[1], 16);
    assert_true(made.moved[1][FA_K] == 4 * made.moved[0][FA_K]);

    made = thumb_of(&view_case_tidy, NULL, "errors");
    assert_int_equal(made.kind, VIEW_THUMB_CHECKS);
    assert_int_equal(made.columns, 4);
    assert_int_equal(made.cell[0] + made.cell[1] + made.cell[2] + made.cell[3], 4);
}

/* flash1 has a thread block for each head, and a machine whose SMs are not known no waves. */
static void key_frames_of_waves(void **state)
{
    (void)state;
    const struct view_case flash1 = {.algorithm = "flash1", .heads = 3};
    struct view_thumb made = thumb_of(&flash1, NULL, "waves");
    assert_int_equal(made.kind, VIEW_THUMB_TILES);
    struct view_source source = view_case_source(&flash1);
    struct view_run *run;
    source.experiment.machine.sms = 10;
    assert_int_equal(view_run_open(&source, NULL, &run, NULL), FA_OK);
    view_thumb_make(run, NULL, "waves", &made);
    view_run_close(run);
    assert_int_equal(made.kind, VIEW_THUMB_WAVES);
    assert_int_equal(made.n_sms, 10);
    for (int sm = 0; sm < 10; sm++)
        assert_int_equal(made.cell[sm], sm < 3);
}

static void a_key_frame_is_of_the_last_stage(void **state)
{
    (void)state;
    struct lesson lesson = *shelf_case()->lesson[0];
    assert_ptr_equal(view_thumb_show(&lesson), &lesson.step[8].show);
    lesson.step[2].show.stage = "scale";
    lesson.step[5].show.stage = "row";
    assert_ptr_equal(view_thumb_show(&lesson), &lesson.step[5].show);
    lesson.card_show = (struct lesson_show){.scenario = "--n 8", .stage = "mask"};
    assert_ptr_equal(view_thumb_show(&lesson), &lesson.card_show);
}

static int fills_of(enum fa_tensor_id id)
{
    struct view_color fill = view_tensor_look(&view_dark, id).fill;
    int n = 0;
    for (size_t i = 0; i < list.n_items; i++)
        n += list.items[i].kind == VIEW_FILL && list.items[i].box.y > 40 &&
             memcmp(&list.items[i].color, &fill, sizeof fill) == 0;
    return n;
}

static void nothing_is_drawn_before_a_run(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_CONTENTS);
    struct view_frame frame = frame_of(&lesson, 1280, 720);
    draw(&frame);
    assert_int_equal(fills_of(FA_S) + fills_of(FA_K), 0);
    lesson.thumb = thumbs; /* of every second lesson, 16 tiles and a bar with K in it */
    draw(&frame);
    assert_int_equal(fills_of(FA_S), 7 * 16);
    assert_int_equal(fills_of(FA_K), 7);
}

/* ---- glossary ---- */

static void the_glossary_is_sorted_and_leads_to_lessons(void **state)
{
    (void)state;
    struct view_lesson lesson = shelf_case_view(VIEW_PAGE_GLOSSARY);
    struct view_frame frame = frame_of(&lesson, 1280, 2000);
    const char *before = "";
    int n = 0;
    draw(&frame);
    for (size_t h = 0; h < list.n_hits; h++) {
        if (list.hits[h].action != VIEW_LESSON_OPEN)
            continue;
        const struct lesson *its = lesson.shelf->lesson[list.hits[h].value];
        assert_true(strcasecmp(before, its->term[0].name) < 0);
        before = its->term[0].name;
        assert_true(view_case_says(&list, before));
        assert_memory_equal(list.hits[h].label, before, strlen(before));
        n++;
    }
    assert_int_equal(n, 15);
    assert_true(view_case_says(&list, "A query sees no later key."));
    assert_non_null(hit_of(VIEW_PAGE, VIEW_PAGE_CONTENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_and_states_are_in_order),
        cmocka_unit_test(five_chapters_stand_beside_each_other),
        cmocka_unit_test(what_was_done_is_told),
        cmocka_unit_test(tracks_and_search_choose_cards),
        cmocka_unit_test(arrows_walk_the_cards),
        cmocka_unit_test(the_page_scrolls_to_the_card),
        cmocka_unit_test(an_empty_folder_is_explained),
        cmocka_unit_test(key_frames_are_what_runs_did),
        cmocka_unit_test(key_frames_of_their_own),
        cmocka_unit_test(key_frames_of_waves),
        cmocka_unit_test(a_key_frame_is_of_the_last_stage),
        cmocka_unit_test(nothing_is_drawn_before_a_run),
        cmocka_unit_test(the_glossary_is_sorted_and_leads_to_lessons),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

#else

int main(void)
{
    return 77; /* skipped: there are no lessons without md4c and libyaml */
}

#endif
