#include "tests/shelf_case.h"

#include <math.h>

enum { LESSONS = 15 };

static struct lesson lessons[LESSONS];
static struct lesson *all[LESSONS];
static struct lesson_shelf shelf;

static const struct {
    const char *title, *card, *chapter;
    int minutes, level, class_first, class_last; /* steps on the track "class"; -1: not on it */
    bool kernel;
    const char *term, *meaning;
} table[LESSONS] = {
    {"Attention by hand", "What do Q, K and V do?", "The problem", 6, 1, 0, 8, false, "query",
     "A row of Q: what one token asks of all others."},
    {"Two memories", "Does the score matrix fit on chip?", "The problem", 8, 1, 0, 3, false, "HBM",
     "The large memory of a GPU, beside its chip. All matrices lie there."},
    {"What standard attention moves", "Where do 9 of 10 bytes go?", "The problem", 9, 1, -1, -1,
     false, "one pass", "Standard attention with each matrix read once a step."},
    {"Softmax on a stream", "Can you normalise before you have seen all?", "The idea", 10, 2, 0, 8,
     false, "running maximum",
     "The largest score that a row has seen so far, m. It only rises, and what was summed before "
     "is "
     "scaled by exp of the difference."},
    {"Tiling", "What must shrink when a row finds a new maximum?", "The idea", 10, 2, 0, 8, false,
     "tile", "A block of rows and columns that is worked on at once."},
    {"What fits", "Do the paper's tiles fit their SRAM?", "The idea", 7, 2, -1, -1, false,
     "capacity", "How much SRAM holds at a time."},
    {"Loop order", "Which tensor should travel?", "The cost", 8, 2, 0, 8, true, "stale",
     "Of a copy in HBM: the chip has a newer one."},
    {"Which side of the tile", "Does a wider K tile help?", "The cost", 8, 2, -1, -1, true, "Br",
     "Rows of a tile of queries."},
    {"When flash loses", "At what tile size does it move more?", "The cost", 10, 3, 5, 5, false,
     "bound", "What no program can stay below."},
    {"Find the bug", "Why did the small test pass?", "The hard parts", 10, 3, -1, -1, true, "probe",
     "An input that makes a fault show."},
    {"Backward", "Can computing twice be cheaper?", "The hard parts", 10, 3, -1, -1, false,
     "recomputation", "Forming a value again, in place of keeping it."},
    {"Causal and ragged", "Is half a matrix half the work?", "The hard parts", 9, 2, -1, -1, true,
     "causal", "A query sees no later key."},
    {"Block sparsity", "Is 90 % sparse ten times cheaper?", "In practice", 8, 3, -1, -1, false,
     "block mask", "Says which tiles are visited."},
    {"Dropout without a mask", "How do both passes draw the same bits?", "In practice", 7, 3, -1,
     -1, false, "keep bit", "1 where a weight is kept."},
    {"From algorithm to kernel", "Why does DRAM see fewer bytes?", "In practice", 10, 3, -1, -1,
     true, "wave", "Thread blocks that run at the same time."},
};

static void fill(int l)
{
    struct lesson *lesson = &lessons[l];
    *lesson = (struct lesson){.number = l,
                              .file = "a lesson",
                              .title = table[l].title,
                              .card = table[l].card,
                              .chapter = table[l].chapter,
                              .minutes = table[l].minutes,
                              .level = table[l].level,
                              .n_steps = 9,
                              .n_terms = 1};
    lesson->term[0] = (struct lesson_term){table[l].term, table[l].meaning, 1};
    if (table[l].class_first >= 0)
        lesson->tracks[lesson->n_tracks++] =
            (struct lesson_track){"class", table[l].class_first, table[l].class_last, 1};
    if (table[l].kernel)
        lesson->tracks[lesson->n_tracks++] = (struct lesson_track){"kernel", 0, 8, 1};
    for (int s = 0; s < lesson->n_steps; s++)
        lesson->step[s].show.stage = "cross";
    all[l] = lesson;
}

const struct lesson_shelf *shelf_case(void)
{
    for (int l = 0; l < LESSONS; l++)
        fill(l);
    shelf.lesson = all;
    shelf.n = LESSONS;
    return &shelf;
}

struct view_lesson shelf_case_view(enum view_page page)
{
    return (struct view_lesson){
        .shelf = shelf_case(), .page = page, .choice = -1, .slider = NAN, .race_guess = NAN};
}
