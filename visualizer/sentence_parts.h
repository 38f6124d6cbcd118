/* What the sentences of moves and of computations share: names, numbers, and a text that never
 * grows past its length. Private to sentence*.c. */
#ifndef VIEW_SENTENCE_PARTS_H
#define VIEW_SENTENCE_PARTS_H

#include "visualizer/parts.h"
#include "visualizer/sentence.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_words {
    struct view_run *run;
    const struct sim_trace_header *header;
    const struct sim_event *event;
    uint64_t index;
    struct view_measure unit;
    char *text; /* VIEW_SENTENCE_TEXT */
};

/* Appends, if all of it still fits VIEW_SENTENCE_MOST characters; else nothing happens: what is
 * said first matters most. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void view_words_say(struct view_words *words, const char *format, ...);

/* The tensor's tile where the event's loops stand: "Q[1]", "K[2]", "S[1,2]"; the letter alone where
 * they stand nowhere. In a row-wise step "S rows 8 to 15". */
const char *view_words_tile(const struct view_words *words, enum fa_tensor_id id,
                            char text[VIEW_TILE_NAME]);

const char *view_words_letter(enum fa_tensor_id id); /* "Q", "ℓ" */

/* Three significant digits, with a real minus: "0.368", "−1.5", "−∞". */
const char *view_words_value(double value, char text[32]);

/* The event's phase by its name, "softmax"; whether that goes by rows; and the tensor that its
 * product makes, if it is one: S of "S = Q K^T". False of all others. */
const char *view_words_phase(const struct view_words *words);
bool view_words_by_rows(const struct sim_trace_header *header, const struct sim_event *event);
bool view_words_product(const struct view_words *words, enum fa_tensor_id *made);

/* The names of the tiles that an operation is about, where the loops stand. */
struct view_names {
    char q[VIEW_TILE_NAME], k[VIEW_TILE_NAME], v[VIEW_TILE_NAME], o[VIEW_TILE_NAME];
    char s[VIEW_TILE_NAME], p[VIEW_TILE_NAME], dp[VIEW_TILE_NAME], ds[VIEW_TILE_NAME];
    char d_o[VIEW_TILE_NAME], dq[VIEW_TILE_NAME], dk[VIEW_TILE_NAME], dv[VIEW_TILE_NAME];
    char delta[VIEW_TILE_NAME], lse[VIEW_TILE_NAME];
};

void view_names_make(const struct view_words *words, struct view_names *n);

/* Appends that the tile is smaller than the others at the matrix's edge, or that a mask cuts it. */
void view_words_edges(struct view_words *words);

void view_words_load(struct view_words *words);
void view_words_store(struct view_words *words);
void view_words_compute(struct view_words *words);
void view_words_dropout(struct view_words *words, const struct view_names *n);
void view_words_gradient(struct view_words *words, const struct view_names *n);

#ifdef __cplusplus
}
#endif
#endif
