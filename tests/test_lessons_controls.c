/*
 * Whatever the window's size, a step shows without scrolling what it asks and where it is answered:
 * every step of every lesson, at the sizes that windows and projectors have, with --present too,
 * which draws all half as large again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/lesson_stage.h"

static struct lesson_stage stage;

/* Logical sizes; with --present what is left of a window, view_layout_scale. */
static const struct {
    float width, height;
    const char *name;
} sizes[] = {
    {1280, 720, "1280x720"},           {800, 600, "800x600"}, {1920, 1080, "1920x1080"},
    {1066, 600, "1280x720 --present"}, {640, 480, "640x480"}, {533, 400, "533x400"},
};

static const struct view_theme *const themes[] = {&view_dark, &view_light};

static const char *where(size_t size)
{
    static char text[128];
    snprintf(text, sizeof text, "lesson %d, step %d, %s, %s", stage.lesson->lesson->number,
             stage.lesson->step + 1, sizes[size].name,
             stage.frame->theme == &view_dark ? "dark" : "light");
    return text;
}

static void check_hit(size_t size, enum view_action action, int64_t value, const char *what)
{
    const struct view_hit *hit = lesson_stage_hit(&stage, action, value);
    if (!hit)
        fail_msg("%s: no %s", where(size), what);
    const struct view_box *box = &hit->box;
    if (!(box->w >= 28 && box->h >= 26 && box->x >= 0 && box->y >= 0 &&
          box->x + box->w <= stage.frame->width && box->y + box->h <= stage.frame->height))
        fail_msg("%s: %s lies at (%g, %g), %g x %g", where(size), what, (double)box->x,
                 (double)box->y, (double)box->w, (double)box->h);
}

/* All words of a text stand on screen one after the other, line by line. */
static void check_read(size_t size, const char *text)
{
    const struct view_draw *draw = view_state_draw(stage.state);
    for (size_t i = 0; i < draw->n_items; i++) {
        const char *rest = text;
        for (size_t k = i; k < draw->n_items && *rest; k++) {
            const struct view_item *item = &draw->items[k];
            size_t n = item->kind == VIEW_TEXT ? strlen(item->text) : 0;
            if (item->kind != VIEW_TEXT || n == 0 || strncmp(rest, item->text, n) != 0)
                break;
            rest += n;
            rest += strspn(rest, " ");
        }
        if (!*rest)
            return;
    }
    fail_msg("%s: not all of \"%s\" is on screen", where(size), text);
}

/* One way of writing thousands, wherever words are (code and commands are set in mono). */
static void check_groups(size_t size)
{
    const struct view_draw *draw = view_state_draw(stage.state);
    for (size_t i = 0; i < draw->n_items; i++)
        if (draw->items[i].kind == VIEW_TEXT && draw->items[i].style != VIEW_MONO &&
            !lesson_stage_groups(draw->items[i].text))
            fail_msg("%s: \"%s\"", where(size), draw->items[i].text);
}

/* A step that counts in elements says so on the stage and in all panels, and nothing in bytes: but
 * for the chip of the option, the button that changes it and the lesson's own words. */
static void check_units(void)
{
    static const char *const words[] = {"byte", "KiB", "MiB", " B"};
    for (int panel = 0; panel < VIEW_PANELS; panel++) {
        struct view_scene scene;
        if (panel == VIEW_PANEL_LESSON)
            continue;
        stage.frame->panel = (enum view_panel)panel;
        lesson_stage_resize(&stage, 1280, 720, stage.frame->theme); /* drawn anew */
        view_scene_make(&scene, stage.frame);
        const struct view_draw *draw = view_state_draw(stage.state);
        for (size_t i = 0; i < draw->n_items; i++) {
            const struct view_item *item = &draw->items[i];
            if (item->kind != VIEW_TEXT || item->style == VIEW_MONO ||
                item->box.y < scene.layout.bar.h || strcmp(item->text, "bytes") == 0)
                continue;
            for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
                const char *at = strstr(item->text, words[w]);
                bool unit = at && at > item->text && isdigit((unsigned char)at[-1]);
                if (at && (w < 3 || (unit && (!at[2] || at[2] == ' '))))
                    fail_msg("%s, %s: \"%s\" where elements count", where(0),
                             view_panel_names[panel], item->text);
            }
        }
    }
    stage.frame->panel = VIEW_PANEL_LESSON;
    lesson_stage_resize(&stage, 1280, 720, stage.frame->theme);
}

static void check_prose(size_t size, const struct lesson_step *step)
{
    for (int b = 0; b < step->n_blocks; b++)
        if (step->block[b].kind == LESSON_PARAGRAPH || step->block[b].kind == LESSON_ITEM)
            check_read(size, stage.lesson->prose[b]);
}

static void check_question(size_t size)
{
    const struct lesson_question *question = stage.lesson->question;
    check_read(size, stage.lesson->ask);
    if (question->kind == LESSON_CHOICE)
        for (int c = 0; c < question->n_choices; c++)
            check_hit(size, VIEW_LESSON_CHOOSE, c, "choice");
    else
        check_hit(size, question->kind == LESSON_NUMBER ? VIEW_LESSON_FIELD : VIEW_LESSON_SLIDER, 0,
                  "place for the answer");
    check_hit(size, VIEW_LESSON_CHECK, 0, "Check");
    check_hit(size, VIEW_LESSON_SHOW, 0, "Show me");
}

/* A number in a cell or under a bar. */
static bool is_number(const struct view_item *item)
{
    return item->kind == VIEW_TEXT && item->style == VIEW_MONO && item->size == VIEW_SIZE_CELL &&
           strpbrk(item->text, "0123456789") != NULL;
}

/* What stands under the bars of one row in a larger window stands there in this one too. */
static void check_numbers(size_t size)
{
    char numbers[64][16];
    int n = 0;
    if (stage.frame->stage != VIEW_STAGE_ROW || stage.frame->run[1])
        return;
    lesson_stage_resize(&stage, 1280, 720, stage.frame->theme);
    const struct view_draw *draw = view_state_draw(stage.state);
    for (size_t i = 0; i < draw->n_items && n < 64; i++)
        if (is_number(&draw->items[i]))
            snprintf(numbers[n++], sizeof numbers[0], "%.15s", draw->items[i].text);
    lesson_stage_resize(&stage, sizes[size].width, sizes[size].height, stage.frame->theme);
    draw = view_state_draw(stage.state);
    for (int k = 0; k < n; k++) {
        size_t i = 0;
        while (i < draw->n_items &&
               !(is_number(&draw->items[i]) && strcmp(draw->items[i].text, numbers[k]) == 0))
            i++;
        if (i == draw->n_items)
            fail_msg("%s: the number %s is not there", where(size), numbers[k]);
    }
}

static void check_step(size_t size)
{
    const struct view_lesson *view = stage.lesson;
    check_hit(size, VIEW_LESSON_NEXT, 0, "Next");
    if (view->question)
        check_question(size);
    if (view->phase == VIEW_LESSON_BREAK) {
        const struct lesson_break *breaks = view->lesson->step[view->step].breaks;
        check_read(size, view->task);
        if (breaks->run)
            check_hit(size, VIEW_LESSON_RUN_IT, 0, "Run it");
    }
}

static void test_lesson(void **state)
{
    const struct lesson *lesson = *state;
    lesson_stage_open(&stage, lesson);
    for (int s = 0; s <= lesson->n_steps; s++) {
        lesson_stage_go(&stage, lesson, s);
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (size_t t = 0; t < sizeof themes / sizeof *themes; t++) {
                lesson_stage_resize(&stage, sizes[n].width, sizes[n].height, themes[t]);
                check_step(n);
                check_groups(n);
                if (sizes[n].width >= 1280 && s < lesson->n_steps)
                    check_prose(n, &lesson->step[s]);
                if (!stage.frame->bytes && sizes[n].width == 1280)
                    check_units();
                if (sizes[n].width >= 800)
                    check_numbers(n);
                if (lesson->number == 10 && s == 3 && sizes[n].width >= 800)
                    assert_true(view_case_says(view_state_draw(stage.state), "recomputed"));
            }
    }
}

/* Another value of an option's list is chosen. */
static void change(const char *name, const char *value)
{
    const struct view_frame *frame = stage.frame;
    int chip = 0, choice = 0;
    while (chip < frame->n_options && strcmp(frame->options[chip].name, name) != 0)
        chip++;
    assert_true(chip < frame->n_options);
    view_state_do(stage.state, VIEW_CHIP, chip);
    while (strcmp(frame->options[chip].choices[choice], value) != 0)
        choice++;
    view_state_do(stage.state, VIEW_CHIP_VALUE, choice);
    view_state_settle(stage.state);
}

/* What cannot be asked of a changed run is said, with the way back, and no scrolling. */
static void test_what_cannot_be_asked(void **unused)
{
    (void)unused;
    const struct lesson *lesson = lesson_find(lesson_stage_shelf(), 2);
    lesson_stage_open(&stage, lesson);
    lesson_stage_go(&stage, lesson, 3);
    change("sram", "256");
    assert_null(stage.lesson->question);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        lesson_stage_resize(&stage, sizes[n].width, sizes[n].height, &view_dark);
        check_read(n, "You changed SRAM. The question cannot be asked of it, since its answer "
                      "cannot be computed.");
        check_hit(n, VIEW_LESSON_RETURN, 0, "way back");
        check_hit(n, VIEW_LESSON_NEXT, 0, "Next");
    }
}

static int leave(void **unused)
{
    (void)unused;
    lesson_stage_close(&stage);
    return 0;
}

int main(void)
{
    static struct CMUnitTest tests[LESSON_NUMBERS + 1] = {
        {"what cannot be asked", test_what_cannot_be_asked, NULL, leave, NULL},
    };
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    for (int i = 0; i < shelf->n; i++)
        tests[1 + i] = (struct CMUnitTest){shelf->lesson[i]->title, test_lesson, NULL, leave,
                                           shelf->lesson[i]};
    return _cmocka_run_group_tests("controls", tests, (size_t)shelf->n + 1, NULL,
                                   lesson_stage_close_shelf);
}
