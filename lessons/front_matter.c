/* A lesson's front matter: what the contents page says of it, its terms and its recall. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"
#include "lessons/yaml.h"

const char *const lesson_chapters[LESSON_CHAPTERS] = {"The problem", "The idea", "The cost",
                                                      "The hard parts", "In practice"};

static const char *const chapter_words[] = {"The problem",    "The idea",    "The cost",
                                            "The hard parts", "In practice", NULL};

static enum fa_status set_need(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                               void *object)
{
    static const struct lesson_key key = {
        .name = "needs", .kind = LESSON_KEY_INTEGER, .low = 0, .high = LESSON_NUMBERS - 1};
    struct lesson *lesson = object;
    return lesson_yaml_value(yaml, node, &key, &lesson->needs[index]);
}

static enum fa_status set_needs(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson *lesson = object;
    lesson->needs_line = lesson_yaml_line(yaml, node);
    return lesson_yaml_list(yaml, node, "needs", LESSON_NEEDS, set_need, object, &lesson->n_needs);
}

static enum fa_status set_variant(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                  void *object)
{
    static const struct lesson_key key = {.name = "vary", .kind = LESSON_KEY_OPTIONS};
    struct lesson *lesson = object;
    return lesson_yaml_value(yaml, node, &key, &lesson->vary[index]);
}

static enum fa_status set_vary(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson *lesson = object;
    return lesson_yaml_list(yaml, node, "vary", LESSON_VARIES, set_variant, object,
                            &lesson->n_varies);
}

static enum fa_status set_belief(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                 void *object)
{
    static const struct lesson_key key = {.name = "a belief", .kind = LESSON_KEY_TEXT};
    struct lesson *lesson = object;
    return lesson_yaml_value(yaml, node, &key, &lesson->belief[index]);
}

static enum fa_status set_beliefs(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson *lesson = object;
    return lesson_yaml_list(yaml, node, "beliefs", LESSON_BELIEFS, set_belief, object,
                            &lesson->n_beliefs);
}

/* Digits into a number of 1 to LESSON_STEPS. */
static bool read_step(const char **text, int *step)
{
    if (!isdigit((unsigned char)**text))
        return false;
    *step = *(*text)++ - '0';
    return *step >= 1 && *step <= LESSON_STEPS;
}

/* "kernel", "class 3", "class 3-4"; the steps are numbered from 1 in the file. */
static enum fa_status set_track(struct lesson_yaml *yaml, const yaml_node_t *node, int index,
                                void *object)
{
    static const struct lesson_key key = {.name = "a track", .kind = LESSON_KEY_NAME};
    struct lesson *lesson = object;
    struct lesson_track *track = &lesson->tracks[index];
    const char *text, *at;
    int first = 1, last = 0; /* 0: all of them */
    enum fa_status status = lesson_yaml_value(yaml, node, &key, &text);
    if (status != FA_OK)
        return status;
    for (at = text; islower((unsigned char)*at) || *at == '-'; at++)
        ;
    size_t n = (size_t)(at - text);
    bool fine = n > 0;
    if (fine && *at == ' ') {
        at++;
        fine = read_step(&at, &first);
        last = first;
        if (fine && *at == '-') {
            at++;
            fine = read_step(&at, &last) && last >= first;
        }
    }
    if (!fine || *at)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "the track '%s': expected a name of small letters, and perhaps steps: "
                             "kernel, class 3, class 3-4",
                             text);
    track->name = lesson_keep(lesson->memory, text, n);
    track->first = first - 1;
    track->last = last - 1;
    track->line = lesson_yaml_line(yaml, node);
    return track->name ? FA_OK : lesson_no_memory(yaml->reader);
}

static enum fa_status set_tracks(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson *lesson = object;
    return lesson_yaml_list(yaml, node, "tracks", LESSON_TRACKS, set_track, object,
                            &lesson->n_tracks);
}

static enum fa_status set_terms(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    static const struct lesson_key name_key = {.name = "a term", .kind = LESSON_KEY_TEXT};
    static const struct lesson_key meaning_key = {.name = "a term's meaning",
                                                  .kind = LESSON_KEY_TEXT};
    struct lesson *lesson = object;
    enum fa_status status = FA_OK;
    if (node->type != YAML_MAPPING_NODE)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "terms: expected lines as 'name: meaning'");
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top && status == FA_OK; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&yaml->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&yaml->document, pair->value);
        int line = lesson_yaml_line(yaml, name);
        if (lesson->n_terms == LESSON_TERMS)
            return lesson_refuse(yaml->reader, line, "one more term: expected at most %d",
                                 LESSON_TERMS);
        struct lesson_term *term = &lesson->term[lesson->n_terms];
        term->line = line;
        status = lesson_yaml_value(yaml, name, &name_key, &term->name);
        if (status == FA_OK)
            status = lesson_yaml_value(yaml, value, &meaning_key, &term->meaning);
        for (int t = 0; status == FA_OK && t < lesson->n_terms; t++)
            if (strcmp(lesson->term[t].name, term->name) == 0)
                return lesson_refuse(yaml->reader, line, "the term '%s' stands there twice",
                                     term->name);
        lesson->n_terms += status == FA_OK;
    }
    return status;
}

static enum fa_status set_card_show(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
#define AT(member) offsetof(struct lesson_show, member)
    static const struct lesson_key show_keys[] = {
        {.name = "scenario", .kind = LESSON_KEY_OPTIONS, .offset = AT(scenario)},
        {.name = "compare", .kind = LESSON_KEY_OPTIONS, .offset = AT(compare)},
        {.name = "stage", .kind = LESSON_KEY_WORD, .offset = AT(stage), .words = lesson_stages},
    };
#undef AT
    struct lesson *lesson = object;
    lesson->card_show = (struct lesson_show){.scenario = "", .stage = "cross"};
    lesson->card_show_line = lesson_yaml_line(yaml, node);
    return lesson_yaml_read(yaml, node, "card_show", show_keys,
                            sizeof show_keys / sizeof *show_keys, &lesson->card_show);
}

static enum fa_status set_recall(struct lesson_yaml *yaml, const yaml_node_t *node, void *object)
{
    struct lesson *lesson = object;
    struct lesson_question *question = lesson_take(lesson->memory, sizeof *question);
    if (!question)
        return lesson_no_memory(yaml->reader);
    lesson->recall = question;
    return lesson_question_read(yaml, node, question, &lesson->recall_scenario);
}

#define AT(member) offsetof(struct lesson, member)
static const struct lesson_key keys[] = {
    {.name = "lesson",
     .kind = LESSON_KEY_INTEGER,
     .offset = AT(number),
     .required = true,
     .low = 0,
     .high = LESSON_NUMBERS - 1},
    {.name = "title", .kind = LESSON_KEY_TEXT, .offset = AT(title), .required = true},
    {.name = "card", .kind = LESSON_KEY_TEXT, .offset = AT(card), .required = true},
    {.name = "chapter",
     .kind = LESSON_KEY_WORD,
     .offset = AT(chapter),
     .required = true,
     .words = chapter_words},
    {.name = "minutes",
     .kind = LESSON_KEY_INTEGER,
     .offset = AT(minutes),
     .required = true,
     .low = 1,
     .high = LESSON_MINUTES},
    {.name = "level",
     .kind = LESSON_KEY_INTEGER,
     .offset = AT(level),
     .required = true,
     .low = 1,
     .high = LESSON_LEVELS},
    {.name = "scenario", .kind = LESSON_KEY_OPTIONS, .offset = AT(scenario), .required = true},
    {.name = "beliefs", .kind = LESSON_KEY_OTHER, .set = set_beliefs, .required = true},
    {.name = "know", .kind = LESSON_KEY_TEXT, .offset = AT(now_you_know), .required = true},
    {.name = "card_show", .kind = LESSON_KEY_OTHER, .set = set_card_show},
    {.name = "tracks", .kind = LESSON_KEY_OTHER, .set = set_tracks},
    {.name = "vary", .kind = LESSON_KEY_OTHER, .set = set_vary},
    {.name = "needs", .kind = LESSON_KEY_OTHER, .set = set_needs},
    {.name = "terms", .kind = LESSON_KEY_OTHER, .set = set_terms},
    {.name = "recall", .kind = LESSON_KEY_OTHER, .set = set_recall},
};
#undef AT

/* A file "04-tiling.md" holds lesson 4. */
static enum fa_status check_number(struct lesson_reader *reader, int line)
{
    const char *slash = strrchr(reader->name, '/');
    const char *base = slash ? slash + 1 : reader->name;
    if (strspn(base, "0123456789") == 2 && base[2] == '-' &&
        (base[0] - '0') * 10 + base[1] - '0' != reader->lesson->number)
        return lesson_refuse(reader, line,
                             "it is lesson %d: expected %.2s, as the file's name says",
                             reader->lesson->number, base);
    for (int i = 0; i < reader->lesson->n_needs; i++)
        if (reader->lesson->needs[i] >= reader->lesson->number)
            return lesson_refuse(reader, reader->lesson->needs_line,
                                 "it needs lesson %d: expected ones before it, %d",
                                 reader->lesson->needs[i], reader->lesson->number);
    return FA_OK;
}

/* The card's run is the lesson's with differences, which may stand above it. */
static enum fa_status join_card_show(struct lesson_reader *reader)
{
    struct lesson *lesson = reader->lesson;
    char words[LESSON_WORDS];
    struct fa_error inner;
    if (!lesson->card_show.scenario)
        return FA_OK;
    if (lesson_words_join(lesson->scenario, lesson->card_show.scenario, words, sizeof words,
                          &inner) != FA_OK)
        return lesson_refuse(reader, lesson->card_show_line, "card_show: %s", inner.text);
    lesson->card_show.scenario = lesson_keep(lesson->memory, words, strlen(words));
    return lesson->card_show.scenario ? FA_OK : lesson_no_memory(reader);
}

enum fa_status lesson_front_matter_read(struct lesson_reader *reader, const char *bytes, size_t n,
                                        int first_line)
{
    struct lesson_yaml yaml;
    enum fa_status status = lesson_yaml_open(&yaml, reader, bytes, n, first_line);
    if (status != FA_OK)
        return status;
    status = lesson_yaml_read(&yaml, yaml.root, "the front matter", keys,
                              sizeof keys / sizeof *keys, reader->lesson);
    if (status == FA_OK)
        status = check_number(reader, first_line);
    if (status == FA_OK)
        status = join_card_show(reader);
    lesson_yaml_close(&yaml);
    return status;
}
