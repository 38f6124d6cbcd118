/* How the tour writes to a terminal. */
#include "simulator/cli/tour.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool says_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value)
            continue;
        const char *dot = strchr(value, '.');
        return dot && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
    }
    return false;
}

struct cli_tour cli_tour_make(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool capable = term && *term && strcmp(term, "dumb") != 0;
    return (struct cli_tour){
        .file = file,
        .utf8 = says_utf8(),
        .colour = isatty(fileno(file)) == 1 && !(no_color && *no_color) && capable,
    };
}

const char *cli_tour_pick(const struct cli_tour *tour, const char *utf8, const char *ascii)
{
    return tour->utf8 ? utf8 : ascii;
}

const char *cli_tour_bold(const struct cli_tour *tour)
{
    return tour->colour ? "\033[1m" : "";
}

const char *cli_tour_plain(const struct cli_tour *tour)
{
    return tour->colour ? "\033[0m" : "";
}

/* The nearest of a terminal's 256 colours to those of the figure. */
const char *cli_tour_algorithm(const struct cli_tour *tour, const char *name)
{
    if (!tour->colour)
        return "";
    if (strcmp(name, "standard") == 0)
        return "\033[38;5;166m";
    return strcmp(name, "flash1") == 0 ? "\033[38;5;32m" : "\033[38;5;36m";
}

void cli_tour_title(const struct cli_tour *tour, const char *title)
{
    fprintf(tour->file, "\n%s%s%s\n", cli_tour_bold(tour), title, cli_tour_plain(tour));
    for (size_t i = 0; i < strlen(title); i++)
        fputs(cli_tour_pick(tour, "─", "-"), tour->file);
    fputs("\n\n", tour->file);
}
