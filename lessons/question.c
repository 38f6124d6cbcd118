/* A question, from the YAML of an `ask` block or of a recall. */
#include <ctype.h>
#include <string.h>

#include "lessons/yaml.h"

/* What a question's keys are read into: the recall's scenario is no part of the question. */
struct asked {
    struct lesson_question question;
    const char *kind;
    lesson_words scenario;
};

static const char *const kinds[] = {"choice", "number", "slider", NULL};

static enum fa_status set_choice(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                 void *object)
{
#define AT(member) offsetof(struct lesson_choice, member)
    static const struct lesson_key keys[] = {
        {.name = "expression", .kind = LESSON_KEY_EXPRESSION, .offset = AT(expression)},
        {.name = "label", .kind = LESSON_KEY_TEXT, .offset = AT(label)},
        {.name = "feedback", .kind = LESSON_KEY_TEXT, .offset = AT(feedback)},
        {.name = "right", .kind = LESSON_KEY_FLAG, .offset = AT(right)},
    };
#undef AT
    struct asked *asked = object;
    struct lesson_choice *choice = &asked->question.choice[index];
    enum fa_status status =
        lesson_yaml_read(yaml, node, "a choice", keys, sizeof keys / sizeof *keys, choice);
    if (status == FA_OK && !choice->expression && !choice->label)
        status = lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                               "a choice has no expression and no label: expected one of them");
    return status;
}

static enum fa_status set_choices(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct asked *asked = object;
    if (node->type != YAML_SEQUENCE_NODE)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "choices: expected a list, each line of it beginning with '- '");
    return lesson_yaml_list(yaml, node, "choices", LESSON_CHOICES, set_choice, object,
                            &asked->question.n_choices);
}

static enum fa_status set_hint(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                               void *object)
{
    static const struct lesson_key key = {.name = "a hint", .kind = LESSON_KEY_TEXT};
    struct asked *asked = object;
    return lesson_yaml_value(yaml, node, &key, &asked->question.hint[index]);
}

static enum fa_status set_hints(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct asked *asked = object;
    return lesson_yaml_list(yaml, node, "hints", LESSON_HINTS, set_hint, object,
                            &asked->question.n_hints);
}

/* Letters, digits and -, and not given before. */
static enum fa_status set_id(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    static const struct lesson_key key = {.name = "id", .kind = LESSON_KEY_NAME};
    struct lesson_reader *reader = yaml->reader;
    struct asked *asked = object;
    int line = lesson_yaml_line(yaml, node);
    enum fa_status status = lesson_yaml_value(yaml, node, &key, &asked->question.id);
    if (status != FA_OK)
        return status;
    for (const char *c = asked->question.id; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-')
            return lesson_refuse(reader, line,
                                 "id has other signs: expected letters, digits and -");
    for (int i = 0; i < reader->n_ids; i++)
        if (strcmp(reader->ids[i], asked->question.id) == 0)
            return lesson_refuse(reader, line, "id '%s' is that of line %d: expected another",
                                 asked->question.id, reader->id_lines[i]);
    if (reader->n_ids < LESSON_QUESTIONS + 1) {
        reader->ids[reader->n_ids] = asked->question.id;
        reader->id_lines[reader->n_ids++] = line;
    }
    return FA_OK;
}

static enum fa_status set_tolerance(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    static const struct lesson_key key = {
        .name = "tolerance", .kind = LESSON_KEY_NUMBER, .low = 0, .high = 10};
    struct asked *asked = object;
    asked->question.tolerance_given = true;
    return lesson_yaml_value(yaml, node, &key, &asked->question.tolerance);
}

/* The last key is a recall's alone. */
#define AT(member) offsetof(struct asked, member)
static const struct lesson_key question_keys[] = {
    {.name = "id", .kind = LESSON_KEY_OTHER, .set = set_id, .required = true},
    {.name = "kind", .kind = LESSON_KEY_WORD, .offset = AT(kind), .words = kinds, .required = true},
    {.name = "text", .kind = LESSON_KEY_TEXT, .offset = AT(question.text), .required = true},
    {.name = "unit", .kind = LESSON_KEY_NAME, .offset = AT(question.unit)},
    {.name = "expression", .kind = LESSON_KEY_EXPRESSION, .offset = AT(question.expression)},
    {.name = "tolerance", .kind = LESSON_KEY_OTHER, .set = set_tolerance},
    {.name = "low",
     .kind = LESSON_KEY_NUMBER,
     .offset = AT(question.low),
     .low = 1e-12,
     .high = 1e15},
    {.name = "high",
     .kind = LESSON_KEY_NUMBER,
     .offset = AT(question.high),
     .low = 1e-12,
     .high = 1e15},
    {.name = "choices", .kind = LESSON_KEY_OTHER, .set = set_choices},
    {.name = "hints", .kind = LESSON_KEY_OTHER, .set = set_hints},
    {.name = "why", .kind = LESSON_KEY_TEXT, .offset = AT(question.why), .required = true},
    {.name = "reveal", .kind = LESSON_KEY_PLACE, .offset = AT(question.reveal)},
    {.name = "scenario", .kind = LESSON_KEY_OPTIONS, .offset = AT(scenario), .required = true},
};
#undef AT

/* Labels alone: each choice's value is its place. */
static enum fa_status number_choices(struct lesson_reader *reader, struct lesson_question *question)
{
    static const char *const places[LESSON_CHOICES] = {"1", "2", "3", "4", "5"};
    int without = 0;
    for (int i = 0; i < question->n_choices; i++)
        without += !question->choice[i].expression;
    if (without > 0 && without < question->n_choices)
        return lesson_refuse(
            reader, question->line,
            "some choices have expressions and some have not: expected all or none");
    for (int i = 0; without > 0 && i < question->n_choices; i++)
        question->choice[i].expression = places[i];
    return FA_OK;
}

static enum fa_status check_choice(struct lesson_reader *reader, struct lesson_question *question)
{
    int right = 0;
    if (question->n_choices < 2)
        return lesson_refuse(reader, question->line,
                             "a question of kind choice with %d: expected choices, 2 to %d",
                             question->n_choices, LESSON_CHOICES);
    for (int i = 0; i < question->n_choices; i++) {
        right += question->choice[i].right;
        if (question->choice[i].right && !question->expression)
            question->expression = question->choice[i].expression;
    }
    if (right > 1 || !question->expression)
        return lesson_refuse(reader, question->line,
                             "%d choices are right: expected exactly one 'right: true', or an "
                             "expression that one of them equals",
                             right);
    /* Where the expression decides, any one of them may be the right one. */
    int silent = right == 1 ? 0 : -1;
    for (int i = 0; i < question->n_choices; i++)
        if (!question->choice[i].right && !question->choice[i].feedback && silent++ >= 0)
            return lesson_refuse(reader, question->line,
                                 "choice %d has no feedback: expected what that answer would mean",
                                 i + 1);
    return FA_OK;
}

static enum fa_status check_number(struct lesson_reader *reader,
                                   const struct lesson_question *question)
{
    bool slider = question->kind == LESSON_SLIDER;
    if (!question->expression)
        return lesson_refuse(
            reader, question->line,
            "a question of kind %s without an expression: expected the right answer's",
            slider ? "slider" : "number");
    for (int i = 0; i < question->n_choices; i++)
        if (question->choice[i].right || !question->choice[i].feedback)
            return lesson_refuse(reader, question->line,
                                 "choice %d of a %s: expected a wrong answer and its feedback",
                                 i + 1, slider ? "slider" : "number");
    if (!slider && (question->low > 0 || question->high > 0))
        return lesson_refuse(reader, question->line,
                             "low and high: expected them of a slider alone");
    if (slider && !(question->low > 0 && question->high >= 100 * question->low))
        return lesson_refuse(reader, question->line,
                             "a slider from low to high: expected high at least 100 times low");
    return FA_OK;
}

enum fa_status lesson_question_read(struct lesson_yaml *yaml, const yaml_node_t *node,
                                    struct lesson_question *question, lesson_words *scenario)
{
    struct asked asked = {
        .question = {.tolerance = .02, .unit = "", .line = lesson_yaml_line(yaml, node)}};
    int n_keys = (int)(sizeof question_keys / sizeof *question_keys) - !scenario;
    enum fa_status status = lesson_yaml_read(yaml, node, scenario ? "a recall" : "a question",
                                             question_keys, n_keys, &asked);
    if (status != FA_OK)
        return status;
    for (int kind = 0; kinds[kind]; kind++)
        if (strcmp(asked.kind, kinds[kind]) == 0)
            asked.question.kind = (enum lesson_question_kind)kind;
    status = number_choices(yaml->reader, &asked.question);
    if (status == FA_OK && asked.question.kind == LESSON_CHOICE)
        status = check_choice(yaml->reader, &asked.question);
    else if (status == FA_OK)
        status = check_number(yaml->reader, &asked.question);
    if (status != FA_OK)
        return status;
    *question = asked.question;
    if (scenario)
        *scenario = asked.scenario;
    return FA_OK;
}
