/* What the race says and offers in each phase. */
#include <math.h>
#include <stdio.h>

#include "visualizer/race.h"

/* "4.0" */
static const char *times_text(double times, char text[16])
{
    int whole = (int)times, tenths = (int)lround((times - whole) * 10);
    if (tenths == 10) {
        whole++;
        tenths = 0;
    }
    snprintf(text, 16, "%d.%d", whole, tenths);
    return text;
}

/* The largest difference of the two runs' outputs; NaN where it is not known. */
static double difference(const struct view_scene *scene)
{
    enum { MOST = 1 << 16 };
    const struct view_values *values[2];
    int64_t rows, columns;
    double most = 0;

    view_run_shape(scene->moment[0].run, FA_O, &rows, &columns);
    if (rows * columns > MOST)
        return NAN;
    for (int which = 0; which < 2; which++) {
        struct view_run *run = scene->moment[which].run;
        values[which] = view_run_values(run, view_run_length(run));
        if (!values[which])
            return NAN;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            double a, b;
            if (view_values_hbm(values[0], FA_O, 0, r, c, &a) != VIEW_CELL_VALUE ||
                view_values_hbm(values[1], FA_O, 0, r, c, &b) != VIEW_CELL_VALUE)
                return NAN;
            most = fmax(most, fabs(a - b));
        }
    return most;
}

/* "Both outputs agree to 2.4e-07. Your mark: 4.0 times." */
static void say_result(const struct view_scene *scene, char *text, size_t size)
{
    double apart = difference(scene), guess = scene->frame->lesson->race_guess;
    char number[VIEW_NUMBER_TEXT], mark[16];
    int n = 0;
    text[0] = '\0';
    if (!isnan(guess))
        n = snprintf(text, size, "Your mark: %s times. ", times_text(guess, mark));
    if (isnan(apart))
        return;
    if (apart > 0)
        snprintf(text + n, size - (size_t)n, "Both outputs agree to %s.",
                 view_value_text(apart, number));
    else
        snprintf(text + n, size - (size_t)n, "Both outputs are equal in every bit.");
}

void view_race_say(const struct view_race *race, const struct view_scene *scene,
                   struct view_race_words *words)
{
    const struct view_race_program *p = race->program;
    const char *unit = scene->frame->bytes ? "bytes" : "elements";
    const struct view_lesson *lesson = scene->frame->lesson;
    char first[VIEW_COUNT_TEXT], second[VIEW_COUNT_TEXT], mark[16];

    view_count_text(p[0].in_all, first);
    view_count_text(p[1].in_all, second);
    words->large = false;
    words->small[0] = '\0';
    switch (lesson->race_phase) {
    case VIEW_RACE_RUNS:
        snprintf(words->big, sizeof words->big, "Which one is done first?");
        snprintf(words->small, sizeof words->small,
                 "Each bar is what its program has moved between HBM and the chip.");
        break;
    case VIEW_RACE_ASKS:
        snprintf(words->big, sizeof words->big,
                 "%s is done: %s %s. How many times as much will %s move?", p[1].name, second, unit,
                 p[0].name);
        if (isnan(lesson->race_guess))
            snprintf(words->small, sizeof words->small, "Put a mark on the scale of %s.",
                     p[0].name);
        else
            snprintf(words->small, sizeof words->small, "Your mark: %s times.",
                     times_text(lesson->race_guess, mark));
        break;
    case VIEW_RACE_RUNS_ON:
        snprintf(words->big, sizeof words->big, "%s goes on.", p[0].name);
        if (!isnan(lesson->race_guess))
            snprintf(words->small, sizeof words->small, "Your mark: %s times.",
                     times_text(lesson->race_guess, mark));
        break;
    default:
        words->large = true;
        if (p[1].in_all > 0)
            snprintf(words->big, sizeof words->big, "%s against %s %s: %.2f times", first, second,
                     unit, (double)p[0].in_all / (double)p[1].in_all);
        say_result(scene, words->small, sizeof words->small);
        break;
    }
    for (char *c = words->big; *c; c++) /* a decimal comma of the place of the world */
        if (*c == ',' && c[1] >= '0' && c[1] <= '9')
            *c = '.';
}

int view_race_choose(const struct view_scene *scene,
                     struct view_race_choice choices[VIEW_RACE_CHOICES])
{
    const struct view_lesson *lesson = scene->frame->lesson;
    bool again = false;
    const struct lesson *start = lesson->shelf ? view_lesson_start(lesson, &again) : NULL;
    int n = 0;
    switch (lesson->race_phase) {
    case VIEW_RACE_RUNS:
        if (scene->frame->reduced_motion)
            choices[n++] = (struct view_race_choice){VIEW_BUTTON_PRIMARY, VIEW_RACE_ON, 0, "Next",
                                                     "Next: the lower one is done"};
        return n;
    case VIEW_RACE_ASKS:
        choices[n++] = (struct view_race_choice){isnan(lesson->race_guess) ? VIEW_BUTTON_OFF
                                                                           : VIEW_BUTTON_PRIMARY,
                                                 VIEW_RACE_ON, 0, "Let it run", "Let it run on"};
        return n;
    case VIEW_RACE_RUNS_ON:
        return n;
    default:
        break;
    }
    if (start)
        choices[n++] = (struct view_race_choice){
            VIEW_BUTTON_PRIMARY, VIEW_LESSON_START, start->number, again ? "Continue" : "Start",
            again ? "Continue the lessons" : "Start the lessons"};
    if (start && start->number == 0)
        choices[n++] =
            (struct view_race_choice){VIEW_BUTTON_REST, VIEW_LESSON_KNOWN, 0, "I know attention",
                                      "I know attention: skip lesson 0"};
    choices[n++] =
        (struct view_race_choice){start ? VIEW_BUTTON_REST : VIEW_BUTTON_PRIMARY, VIEW_EXPLORE, 0,
                                  "Explore", "Explore freely, without a lesson"};
    choices[n++] = (struct view_race_choice){VIEW_BUTTON_REST, VIEW_RACE_AGAIN, 0, "Once more",
                                             "The race once more"};
    return n;
}
