/* The fenced blocks of a step: what the stage shows, a question, something to break. */
#include <ctype.h>
#include <string.h>

#include "lessons/answers.h"
#include "lessons/yaml.h"

/* ---- show ---- */

const char *const lesson_stages[] = {"cross", "row",   "scale",  "plot",  "mask",
                                     "bits",  "waves", "errors", "tiles", NULL};
static const char *const panels[] = {"lesson", "code", "traffic", "plot", "check", NULL};
static const char *const togethers[] = {"work", "tile", "traffic", NULL};
static const char *const bits[] = {"place", "turn", NULL};

static const char *after_digits(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 9 ? text + n : NULL;
}

/* "K[2]" and "S[1,2]", "row 4" and "column 2". */
static bool is_counted_point(const char *text)
{
    const char *end = NULL;
    if (strncmp(text, "row ", 4) == 0 || strncmp(text, "column ", 7) == 0) {
        end = after_digits(strchr(text, ' ') + 1);
        return end && *end == '\0';
    }
    while (isalpha((unsigned char)*text))
        text++;
    if (*text == '[')
        end = after_digits(text + 1);
    if (end && *end == ',')
        end = after_digits(end + 1);
    return end && strcmp(end, "]") == 0;
}

static enum fa_status set_point(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                void *object)
{
    static const char *const names[] = {"capacity",
                                        "read lane",
                                        "write lane",
                                        "L2",
                                        "checks",
                                        "track",
                                        "sentence",
                                        "panel",
                                        /* by their numbers: */ "row 4",
                                        "column 2",
                                        NULL};
    static const struct lesson_key any = {.name = "a point", .kind = LESSON_KEY_NAME};
    static const struct lesson_key word = {
        .name = "a point (or K[2], S[1,2])", .kind = LESSON_KEY_WORD, .words = names};
    struct lesson_show *show = object;
    const char *text = lesson_yaml_scalar(node);
    return lesson_yaml_value(yaml, node, text && is_counted_point(text) ? &any : &word,
                             &show->point[index]);
}

static enum fa_status set_points(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson_show *show = object;
    return lesson_yaml_list(yaml, node, "points", LESSON_POINTS, set_point, object,
                            &show->n_points);
}

static enum fa_status read_show(struct lesson_yaml *yaml, struct lesson_step *step)
{
#define AT(member) offsetof(struct lesson_show, member)
    static const struct lesson_key keys[] = {
        {.name = "scenario", .kind = LESSON_KEY_OPTIONS, .offset = AT(scenario)},
        {.name = "compare", .kind = LESSON_KEY_OPTIONS, .offset = AT(compare)},
        {.name = "stage", .kind = LESSON_KEY_WORD, .offset = AT(stage), .words = lesson_stages},
        {.name = "panel", .kind = LESSON_KEY_WORD, .offset = AT(panel), .words = panels},
        {.name = "at", .kind = LESSON_KEY_PLACE, .offset = AT(at)},
        {.name = "play_to", .kind = LESSON_KEY_PLACE, .offset = AT(play_to)},
        {.name = "points", .kind = LESSON_KEY_OTHER, .set = set_points},
        {.name = "keep_together",
         .kind = LESSON_KEY_WORD,
         .offset = AT(keep_together),
         .words = togethers},
        {.name = "elements", .kind = LESSON_KEY_FLAG, .offset = AT(elements)},
        {.name = "bits", .kind = LESSON_KEY_WORD, .offset = AT(bits), .words = bits},
        {.name = "l2", .kind = LESSON_KEY_OPTIONS, .offset = AT(l2)},
    };
#undef AT
    struct lesson_reader *reader = yaml->reader;
    struct lesson_show show = step->show;
    char words[LESSON_WORDS];
    struct fa_error inner;
    show.at = NULL;
    show.scenario = NULL;
    enum fa_status status =
        lesson_yaml_read(yaml, yaml->root, "show", keys, sizeof keys / sizeof *keys, &show);
    if (status != FA_OK)
        return status;
    if (show.l2 && show.compare)
        return lesson_refuse(reader, yaml->first_line,
                             "l2 and compare: expected one of them, since an L2 is drawn between "
                             "the memories of one run");
    if (show.scenario) {
        if (lesson_words_join(reader->lesson->scenario, show.scenario, words, sizeof words,
                              &inner) != FA_OK)
            return lesson_refuse(reader, yaml->first_line, "scenario: %s", inner.text);
        show.scenario = lesson_keep(reader->lesson->memory, words, strlen(words));
        if (!show.scenario)
            return lesson_no_memory(reader);
    } else {
        show.scenario = reader->lesson->scenario;
    }
    step->show = show;
    return FA_OK;
}

/* ---- ask ---- */

static enum fa_status read_ask(struct lesson_yaml *yaml, struct lesson_step *step, int line)
{
    struct lesson_reader *reader = yaml->reader;
    struct lesson_question *question = lesson_take(reader->lesson->memory, sizeof *question);
    if (!question)
        return lesson_no_memory(reader);
    if (reader->lesson->n_questions == LESSON_QUESTIONS)
        return lesson_refuse(reader, line, "one more question: expected at most %d",
                             LESSON_QUESTIONS);
    reader->lesson->n_questions++;
    step->question = question;
    return lesson_question_read(yaml, yaml->root, question, NULL);
}

/* ---- break ---- */

static enum fa_status set_option(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                 void *object)
{
    static const struct lesson_key key = {.name = "an option", .kind = LESSON_KEY_NAME};
    struct lesson_break *breaks = object;
    enum fa_status status = lesson_yaml_value(yaml, node, &key, &breaks->options[index]);
    if (status != FA_OK)
        return status;
    const char *name = breaks->options[index];
    if (!islower((unsigned char)*name) || name[strspn(name, "abcdefghijklmnopqrstuvwxyz-")])
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "the option '%s': expected the name of one, without --", name);
    return FA_OK;
}

static enum fa_status set_options(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson_break *breaks = object;
    return lesson_yaml_list(yaml, node, "options", LESSON_OPTIONS, set_option, object,
                            &breaks->n_options);
}

static enum fa_status read_break(struct lesson_yaml *yaml, struct lesson_step *step, int line)
{
#define AT(member) offsetof(struct lesson_break, member)
    static const struct lesson_key keys[] = {
        {.name = "text", .kind = LESSON_KEY_TEXT, .offset = AT(text), .required = true},
        {.name = "options", .kind = LESSON_KEY_OTHER, .set = set_options},
        {.name = "run", .kind = LESSON_KEY_OPTIONS, .offset = AT(run)},
        {.name = "consequence",
         .kind = LESSON_KEY_TEXT,
         .offset = AT(consequence),
         .required = true},
    };
#undef AT
    struct lesson_break *breaks = lesson_take(yaml->reader->lesson->memory, sizeof *breaks);
    if (!breaks)
        return lesson_no_memory(yaml->reader);
    breaks->line = line;
    step->breaks = breaks;
    enum fa_status status =
        lesson_yaml_read(yaml, yaml->root, "break", keys, sizeof keys / sizeof *keys, breaks);
    if (status == FA_OK && breaks->n_options == 0 && !breaks->run)
        status = lesson_refuse(yaml->reader, line,
                               "break has no options and no run: expected what may be changed");
    return status;
}

enum fa_status lesson_step_block_read(struct lesson_reader *reader, struct lesson_step *step,
                                      const char *kind, const char *bytes, size_t n, int block_line)
{
    struct lesson_yaml yaml;
    bool show = strcmp(kind, "show") == 0, ask = strcmp(kind, "ask") == 0;
    if (show ? reader->has_show : ask ? step->question != NULL : step->breaks != NULL)
        return lesson_refuse(reader, block_line, "one more '%s': expected at most one a step",
                             kind);
    enum fa_status status = lesson_yaml_open(&yaml, reader, bytes, n, block_line + 1);
    if (status != FA_OK)
        return status;
    reader->has_show |= show;
    if (show)
        status = read_show(&yaml, step);
    else if (ask)
        status = read_ask(&yaml, step, block_line);
    else
        status = read_break(&yaml, step, block_line);
    lesson_yaml_close(&yaml);
    return status;
}
