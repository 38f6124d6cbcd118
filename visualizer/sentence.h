/*
 * Each event in words: verb first, then why it matters, at most 130 characters; before them, where
 * a check fails, which. Tiles are named K[2], from 0, as in the code. The same text stands under the stage, is read by screen readers
 * (--describe) and is tested. Every number in it comes from the trace or from the values on chip.
 */
#ifndef VIEW_SENTENCE_H
#define VIEW_SENTENCE_H

#include "visualizer/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_SENTENCE_TEXT = 768, VIEW_SENTENCE_MOST = 130 };

struct view_sentence {
    char text[VIEW_SENTENCE_TEXT];
    enum sim_event_kind kind;
    uint64_t bytes, elements; /* moved by the event; 0 for all but loads and stores */
    bool read;                /* a load */
    bool bad;                 /* a check fails from this event on; `text` begins with what */
};

/* Of event `index` of the run; at index = the run's length, what the run did in all. A run of
 * skips, of allocs and of frees is told as one, by its last event. Amounts are in bytes, or in
 * elements. kind is SIM_EVENT_KINDS at the end of a run that the machine did not refuse. */
void view_sentence(struct view_run *run, uint64_t index, bool bytes,
                   struct view_sentence *sentence);

/* A tensor's tile by name: "K[2]", "S[1,2]", "O[3]"; rows of `standard` "S rows 8 to 15". */
enum { VIEW_TILE_NAME = 64 };
const char *view_tile_name(const struct view_run *run, const struct sim_event *event,
                           char text[VIEW_TILE_NAME]);

#ifdef __cplusplus
}
#endif
#endif
