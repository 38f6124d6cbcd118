/* Gradients and dropout in words. */
#include "visualizer/sentence_parts.h"

static void say_start_dkv(struct view_words *words, const struct view_names *n)
{
    struct sim_state state;
    view_run_state(words->run, words->index, &state);
    bool has_k = state.on_chip[FA_DK].live, has_v = state.on_chip[FA_DV].live;
    if (has_k && has_v)
        view_words_say(words, "Set %s = 0 and %s = 0: no query has passed yet.", n->dk, n->dv);
    else
        view_words_say(words, "Set %s = 0 before the sum over the queries.", has_k ? n->dk : n->dv);
}

void view_words_dropout(struct view_words *words, const struct view_names *n)
{
    double p = words->header->problem.dropout_p;
    char chance[32], kept[32];
    view_words_value(p, chance);
    switch ((enum fa_op)words->event->op) {
    case FA_OP_KEEP:
        view_words_say(words, "Draw the keep bits of %s from the seed: no traffic.", n->p);
        return;
    case FA_OP_DROPOUT_DP:
        view_words_say(words, "Drop in %s what dropout dropped in %s.", n->dp, n->p);
        return;
    default:
        break;
    }
    if (p >= 1)
        view_words_say(words, "Drop all weights of %s: p = 1.", n->p);
    else
        view_words_say(words, "Drop weights of %s with p = %s; those kept are divided by %s.", n->p,
                       chance, view_words_value(1 - p, kept));
}

void view_words_gradient(struct view_words *words, const struct view_names *n)
{
    char scale[32];
    view_words_value(words->header->problem.scale, scale);
    switch ((enum fa_op)words->event->op) {
    case FA_OP_START_DQ:
        view_words_say(words, "Set %s = 0: no key has passed yet.", n->dq);
        return;
    case FA_OP_START_DELTA:
        view_words_say(words, "Set δ = 0 for %s.", n->ds);
        return;
    case FA_OP_START_DKV:
        say_start_dkv(words, n);
        return;
    case FA_OP_DELTA:
        view_words_say(words,
                       "Compute %s = rowsum(dO O): one number a row that all of its dS need.",
                       n->delta);
        return;
    case FA_OP_DP:
        view_words_say(words, "Compute %s = %s %sᵀ: what each weight would change in the loss.",
                       n->dp, n->d_o, n->v);
        view_words_edges(words);
        return;
    case FA_OP_GRAD_S:
        view_words_say(words, "Turn %s into dS = P (dP − δ), where it lies.", n->dp);
        return;
    case FA_OP_GRAD_V:
        view_words_say(words, "%s gains %sᵀ %s.", n->dv, n->p, n->d_o);
        return;
    case FA_OP_GRAD_Q:
        view_words_say(words, "%s gains %s %s × %s.", n->dq, n->ds, n->k, scale);
        return;
    case FA_OP_GRAD_K:
        view_words_say(words, "%s gains %sᵀ %s × %s.", n->dk, n->ds, n->q, scale);
        return;
    case FA_OP_GRAD_S_ROWS:
        view_words_say(words, "Turn %s into dS = P (dP − δ), with δ = rowsum(P dP).", n->dp);
        return;
    default:
        view_words_say(words, "Add rowsum(P dP) of %s to δ of its rows.", n->dp);
        return;
    }
}
