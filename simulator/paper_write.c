/* The rows in words, in JSON, as Markdown and as CSV. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "simulator/paper_parts.h"

enum { NOTE_WIDTH = 96 };

static const char *const how_words[] = {
    [SIM_PAPER_COUNTED] = "counted",
    [SIM_PAPER_CLOSED_FORM] = "closed form",
    [SIM_PAPER_TIME_MODEL] = "time model",
    [SIM_PAPER_EMULATED] = "emulated",
};

const char *sim_paper_value_text(double value, char text[SIM_PAPER_VALUE_TEXT])
{
    char digits[SIM_NUMBER_TEXT];
    if (isnan(value))
        snprintf(text, SIM_PAPER_VALUE_TEXT, "-");
    else if (value >= 1000 && value < 1e15)
        snprintf(text, SIM_PAPER_VALUE_TEXT, "%s",
                 sim_number_text((uint64_t)(value + 0.5), digits));
    else
        snprintf(text, SIM_PAPER_VALUE_TEXT, "%.4g", value);
    return text;
}

static const char *verdict(const struct sim_paper_row *row)
{
    return !row->exact ? "" : row->pass ? "met" : "MISSED";
}

/* The first row of the topic with the same note; a note is printed once, under its number. */
static int first_with_note(const struct sim_paper *paper, int index)
{
    for (int i = 0; i < index; i++)
        if (paper->rows[i].topic == paper->rows[index].topic &&
            strcmp(paper->rows[i].variant, paper->rows[index].variant) == 0)
            return i;
    return index;
}

/* Its number: from 1 in each topic. */
static int note_of(const struct sim_paper *paper, int index)
{
    int first = first_with_note(paper, index), note = 0;
    for (int i = 0; i <= first; i++)
        note += paper->rows[i].topic == paper->rows[index].topic && first_with_note(paper, i) == i;
    return note;
}

/* Text after `indent` columns, of which the first line's are written; broken between words. */
static void print_wrapped(FILE *file, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > NOTE_WIDTH) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

static bool starts_topic(const struct sim_paper *paper, int i)
{
    return i == 0 || paper->rows[i].topic != paper->rows[i - 1].topic;
}

static bool ends_topic(const struct sim_paper *paper, int i)
{
    return i + 1 == paper->n_rows || paper->rows[i].topic != paper->rows[i + 1].topic;
}

static int topic_start(const struct sim_paper *paper, int i)
{
    while (!starts_topic(paper, i))
        i--;
    return i;
}

static void text_row(FILE *file, const struct sim_paper *paper, int i)
{
    const struct sim_paper_row *row = &paper->rows[i];
    char ours[SIM_PAPER_VALUE_TEXT], published[SIM_PAPER_VALUE_TEXT], ratio[SIM_PAPER_VALUE_TEXT];
    fprintf(file, "%-46s%11s%11s%8s  %-9s%-12s%-7s[%d]\n", row->title,
            sim_paper_value_text(row->ours, ours), sim_paper_value_text(row->published, published),
            sim_paper_value_text(sim_paper_ratio(row), ratio), row->unit, how_words[row->how],
            verdict(row), note_of(paper, i));
}

void sim_paper_text(FILE *file, const struct sim_paper *paper)
{
    int exact = 0;
    for (int i = 0; i < paper->n_rows; i++) {
        exact += paper->rows[i].exact;
        if (starts_topic(paper, i))
            fprintf(file, "%s%s\n\n%-46s%11s%11s%8s  %-9s%-12s%-7snote\n", i ? "\n" : "",
                    sim_paper_topic_title(paper->rows[i].topic), "", "ours", "published", "ratio",
                    "unit", "how", "exact");
        text_row(file, paper, i);
        if (!ends_topic(paper, i))
            continue;
        fputc('\n', file);
        for (int r = topic_start(paper, i); r <= i; r++) {
            char number[16];
            if (first_with_note(paper, r) != r)
                continue;
            snprintf(number, sizeof number, "[%d]", note_of(paper, r));
            fprintf(file, "%-5s", number);
            print_wrapped(file, paper->rows[r].variant, 5);
        }
    }
    if (exact > 0)
        fprintf(file, "\n%d of %d exact rows are met", exact - sim_paper_missed(paper), exact);
    fprintf(file, "%s the ratio (ours / published) speaks.\n",
            exact > 0 ? "; of the others" : "\nNone of these rows is exact:");
}

/* Markdown's own characters, and HTML's, are taken literally. */
static void markdown_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (strchr("|*_<>[]`\\", *text))
            fputc('\\', file);
        fputc(*text, file);
    }
}

static void markdown_row(FILE *file, const struct sim_paper *paper, int i)
{
    const struct sim_paper_row *row = &paper->rows[i];
    char ours[SIM_PAPER_VALUE_TEXT], published[SIM_PAPER_VALUE_TEXT], ratio[SIM_PAPER_VALUE_TEXT];
    fputs("| ", file);
    markdown_text(file, row->title);
    fprintf(file, " | %s | %s | %s | %s | %s | %s | %d |\n", sim_paper_value_text(row->ours, ours),
            sim_paper_value_text(row->published, published),
            sim_paper_value_text(sim_paper_ratio(row), ratio), row->unit,
            sim_paper_how_name(row->how), verdict(row), note_of(paper, i));
}

void sim_paper_markdown(FILE *file, const struct sim_paper *paper,
                        const struct sim_provenance *provenance)
{
    fprintf(
        file,
        "# FlashAttention's published numbers beside FlashLab's\n\nMade by FlashLab %s:\n\n    ",
        provenance->version);
    for (const char *at = provenance->command; *at; at++)
        fputc((unsigned char)*at < ' ' ? '?' : *at, file);
    fputs(
        "\n\nExact rows must be met; of the others the ratio (ours / published) speaks. Times are "
        "estimates.\n",
        file);
    for (int i = 0; i < paper->n_rows; i++) {
        if (starts_topic(paper, i)) {
            fputs("\n## ", file);
            markdown_text(file, sim_paper_topic_title(paper->rows[i].topic));
            fputs("\n\n| row | ours | published | ratio | unit | how | exact | note |\n"
                  "|---|--:|--:|--:|---|---|---|--:|\n",
                  file);
        }
        markdown_row(file, paper, i);
        if (!ends_topic(paper, i))
            continue;
        fputc('\n', file);
        for (int r = topic_start(paper, i); r <= i; r++) {
            if (first_with_note(paper, r) != r)
                continue;
            fprintf(file, "%d. ", note_of(paper, r));
            markdown_text(file, paper->rows[r].variant);
            fputc('\n', file);
        }
        if (sim_paper_figure_script(NULL, paper, paper->rows[i].topic))
            fprintf(file, "\n![%s](paper-%s.svg)\n", sim_paper_topic_title(paper->rows[i].topic),
                    sim_paper_topic_name(paper->rows[i].topic));
    }
}

static void csv_text(FILE *file, const char *text)
{
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    if (quoted)
        fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    if (quoted)
        fputc('"', file);
}

static void csv_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, "%.17g", value);
    fputc(',', file);
}

void sim_paper_csv(FILE *file, const struct sim_paper *paper)
{
    fputs("id,topic,title,ours,published,ratio,unit,how,exact,pass,variant\n", file);
    for (int i = 0; i < paper->n_rows; i++) {
        const struct sim_paper_row *row = &paper->rows[i];
        csv_text(file, row->id);
        fprintf(file, ",%s,", sim_paper_topic_name(row->topic));
        csv_text(file, row->title);
        fputc(',', file);
        csv_number(file, row->ours);
        csv_number(file, row->published);
        csv_number(file, sim_paper_ratio(row));
        fprintf(file, "%s,%s,%s,%s,", row->unit, sim_paper_how_name(row->how),
                row->exact ? "true" : "false",
                !row->exact ? ""
                : row->pass ? "true"
                            : "false");
        csv_text(file, row->variant);
        fputc('\n', file);
    }
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *sim_paper_json(const struct sim_paper *paper)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (int i = 0; i < paper->n_rows && good; i++) {
        const struct sim_paper_row *row = &paper->rows[i];
        json_t *object =
            json_pack("{s:s,s:o,s:o,s:s,s:b,s:o,s:s,s:s,s:s,s:o,s:s}", "id", row->id, "ours",
                      number(row->ours), "published", number(row->published), "how",
                      sim_paper_how_name(row->how), "exact", (int)row->exact, "pass",
                      row->exact ? json_boolean(row->pass) : json_null(), "topic",
                      sim_paper_topic_name(row->topic), "title", row->title, "unit", row->unit,
                      "ratio", number(sim_paper_ratio(row)), "variant", row->variant);
        good = json_array_append_new(list, object) == 0;
    }
    if (good)
        return list;
    json_decref(list);
    return NULL;
}
