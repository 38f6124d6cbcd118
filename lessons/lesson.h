/*
 * A lesson: what one text file in this folder says, read and checked.
 *
 * A file is Markdown with a YAML front matter and YAML in fenced blocks (README.md teaches how to
 * write one). No answer stands in a file: a question holds expressions, and answers.h computes them
 * from runs of the scenario. So they hold for changed parameters and other seeds too.
 */
#ifndef LESSON_LESSON_H
#define LESSON_LESSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits that reading enforces, by file and line. */
enum {
    LESSON_STEPS = 9,
    LESSON_QUESTIONS = 3,       /* of a lesson */
    LESSON_BELIEFS = 2,
    LESSON_STEP_WORDS = 60,
    LESSON_SENTENCE_WORDS = 20,
    LESSON_CHOICES = 5,
    LESSON_HINTS = 3,
    LESSON_TERMS = 8,
    LESSON_POINTS = 4,
    LESSON_BLOCKS = 12,
    LESSON_MINUTES = 10,
    LESSON_LEVELS = 3,
    LESSON_NUMBERS = 64,        /* lessons have the numbers 0 to 63 */
    LESSON_WORDS = 1024,        /* bytes of a scenario */
    LESSON_FILE_BYTES = 256 * 1024
};

/* Words of a run's options, as on the command line: "--algorithm flash2 --n 16 --d 4". In
 * differences from other words "--no-causal" takes an option out (see lesson_words_join in
 * answers.h). */
typedef const char *lesson_words;

enum lesson_block_kind {
    LESSON_PARAGRAPH,
    LESSON_ITEM, /* of a list */
    LESSON_CODE, /* lines as they stand, apart by line feeds; its braces are braces */
    LESSON_ROW   /* of a table: cells apart by tabs */
};

struct lesson_block {
    enum lesson_block_kind kind;
    const char *text; /* plain UTF-8 without emphasis; {expressions} in it are for lesson_fill */
    int line;         /* in the file, from 1 */
    int number;       /* of an item of a numbered list, from 1; 0: a bullet */
    bool heading;     /* of a row: a table's first, its headings */
};

/*
 * What the stage shows at a step. What a step's file does not say is filled in here as in the step
 * before, so that a link to any step needs no other; the first step has "cross", "lesson", "start".
 * `compare`, `play_to`, the points, `bits` and `l2` are of this step alone. `at` is where the step
 * before ended (its reveal, else play_to, else at), or "start" where the scenario is another.
 */
struct lesson_show {
    lesson_words scenario;    /* whole: the lesson's, with the step's differences from it */
    lesson_words compare;     /* a second run's differences from this one; NULL: none */
    const char *stage;        /* "cross" "row" "scale" "plot" "mask" "bits" "waves" "errors"
                               * "tiles" */
    const char *panel;        /* "lesson" "code" "traffic" "plot" "check" */
    const char *at;           /* as view --at: "46", "46.5", "1,2", "start", "end" */
    const char *play_to;      /* it plays on to there, after an answer if one is asked */
    /* What is ringed: "K[2]", "S[1,2]", "row 4", "column 2", "capacity", "read lane", "write lane",
     * "L2", "checks", "track", "sentence", "panel". */
    const char *point[LESSON_POINTS];
    int n_points;
    const char *keep_together; /* "work", "tile", "traffic" */
    bool elements;            /* counts in elements */
    const char *bits;         /* of the stage of bits: "place", or "turn": dealt out one by one */
    /* An L2 between the two memories: of the run with these differences. NULL: none is drawn. */
    lesson_words l2;
};

enum lesson_question_kind { LESSON_CHOICE, LESSON_NUMBER, LESSON_SLIDER };

struct lesson_choice {
    const char *expression; /* its value; its place from 1 where the file has labels alone */
    const char *label;      /* how it is shown, {expressions} computed; NULL: the value alone */
    const char *feedback;   /* what this answer would mean; may be NULL of a right one */
    bool right; /* the file says so; where of none, the question's `expression` decides */
};

struct lesson_question {
    const char *id;       /* unique in the lesson: letters, digits, - */
    int line;             /* in the file */
    enum lesson_question_kind kind;
    const char *text;     /* names one quantity, its unit, one head or all, the tensor */
    const char *unit;     /* "bytes", "elements", "times", "" ... */
    const char *expression; /* the right answer; of a choice the right one's by default */
    double tolerance;     /* relative: .02 by default, when whole numbers below 100 are exact */
    bool tolerance_given; /* it holds for those too */
    double low, high;     /* of a slider: at least 100 : 1 */
    /* Of a choice: 2 or more, one right; of a number or slider: wrong answers that earn a
     * sentence. */
    struct lesson_choice choice[LESSON_CHOICES];
    int n_choices;
    const char *hint[LESSON_HINTS];
    int n_hints;
    const char *why;      /* one sentence, after the answer; {expressions} in it are computed */
    const char *reveal;   /* where the stage goes after the answer, as `at`; NULL: stays */
};

/* A step in which the learner changes a parameter and sees the consequence. */
enum { LESSON_OPTIONS = 4 };

struct lesson_break {
    int line;
    const char *text;       /* what to try */
    const char *options[LESSON_OPTIONS]; /* that may be changed: "n", "tiles", "sram" */
    int n_options;
    lesson_words run;       /* differences that "Run it" sets; NULL: the learner's own change */
    const char *consequence; /* one sentence; {expressions} are computed from the changed run */
};

struct lesson_step {
    const char *title;
    int line;
    struct lesson_block block[LESSON_BLOCKS];
    int n_blocks, n_words;
    struct lesson_show show;
    const struct lesson_question *question; /* NULL: none */
    const struct lesson_break *breaks;      /* NULL: none */
    const char *introduces; /* the lesson's term that is used here first; NULL: none */
};

struct lesson_term {
    const char *name, *meaning;
    int line;
};

/* Words of options as they stand in the file, for who knows which options there are. */
struct lesson_said {
    const char *words;
    int line;
    const struct lesson_said *next; /* NULL: the last */
};

enum { LESSON_TRACKS = 4, LESSON_NEEDS = 4, LESSON_VARIES = 8 };

struct lesson_track {
    const char *name; /* "class", "kernel" */
    int first, last;  /* steps of it, from 0, both included */
    int line;
};

struct lesson {
    int number;
    const char *file;      /* path as it was read */
    const char *title, *card; /* the contents page's question */
    const char *chapter;   /* one of lesson_chapters */
    int minutes, level;    /* level 1 to 3 */
    struct lesson_track tracks[LESSON_TRACKS]; /* that it is on */
    int n_tracks;
    int needs[LESSON_NEEDS]; /* lessons before it; its path is they and what they need */
    int n_needs, needs_line;
    lesson_words scenario;
    struct lesson_show card_show; /* its card's key frame: scenario, compare, stage; scenario NULL: not given */
    int card_show_line;
    const struct lesson_said *said;   /* all words of options in the file */
    lesson_words vary[LESSON_VARIES]; /* differences from it, of which a student's seed picks one, or none */
    int n_varies;
    struct lesson_term term[LESSON_TERMS];
    int n_terms;
    const char *belief[LESSON_BELIEFS]; /* that it removes */
    int n_beliefs;
    const char *now_you_know; /* one line at the end */
    const struct lesson_question *recall; /* of two lessons before, other numbers; NULL: none */
    lesson_words recall_scenario;         /* whole */
    struct lesson_step step[LESSON_STEPS];
    int n_steps, n_questions; /* without the recall */
    struct lesson_memory *memory; /* where its texts lie */
};

enum { LESSON_CHAPTERS = 5 };
extern const char *const lesson_chapters[LESSON_CHAPTERS]; /* "The problem", ... */

/*
 * Reads a lesson from bytes; a name NN-... must have its number. Errors: FA_BAD_FILE with
 * "name:line: what stands there: what was expected"; FA_NO_MEMORY; lesson_read: FA_IO. *lesson is
 * untouched then.
 */
enum fa_status lesson_parse(const char *name, const char *bytes, size_t n_bytes,
                            struct lesson **lesson, struct fa_error *error);
enum fa_status lesson_read(const char *path, struct lesson **lesson, struct fa_error *error);
void lesson_free(struct lesson *lesson);

/* All lessons of a folder (NN-name.md; README.md is none), by number. */
struct lesson_shelf {
    struct lesson **lesson;
    int n;
    char folder[1024];
};

/*
 * folder NULL: where the lessons lie: beside the binary (../share/flashlab/lessons), else where
 * they were installed, else in the source tree that was built. Errors: FA_IO (no such folder, or
 * none with a lesson in it, with what was tried), FA_BAD_FILE (the first bad file, two of one
 * number, a need that is not there, a term used before any lesson on its path introduced it, or
 * introduced twice on a path), FA_NO_MEMORY.
 */
enum fa_status lesson_shelf_open(const char *folder, struct lesson_shelf *shelf,
                                 struct fa_error *error);
void lesson_shelf_close(struct lesson_shelf *shelf);
const struct lesson *lesson_find(const struct lesson_shelf *shelf, int number); /* NULL: none */

/* The texts that a learner reads at a step, in order: its title, prose, question, break. False past
 * the last; *text is NULL for one that there is not. */
bool lesson_step_text(const struct lesson_step *step, int index, const char **text, int *line);

#ifdef __cplusplus
}
#endif
#endif
