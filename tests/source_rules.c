#include "tests/source_rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Headers that every room may include: C11's, POSIX's, and OpenMP's, which is optional. */
static const char libc[] =
    " assert.h ctype.h errno.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h "
    "stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h time.h unistd.h "
    "fcntl.h dirent.h getopt.h poll.h spawn.h sys/stat.h sys/types.h sys/wait.h sys/time.h "
    "sys/resource.h sys/ioctl.h omp.h ";

/* Who may include what, the first line that fits a path. "*": anything. */
static const struct room {
    const char *path;
    const char *system;    /* besides libc */
    const char *own;       /* paths from the root, each a folder */
    const char *except[2]; /* folders in those */
} rooms[] = {
    {"reference/faulty/", "", " reference/ ", {NULL}},
    {"reference/", "", " reference/ ", {"reference/faulty/"}},
    {"simulator/cli/", "*", "*", {NULL}},
    {"simulator/", " jansson.h ", " reference/ simulator/ ",
     {"simulator/cli/", "reference/faulty/"}},
    {"lessons/", " jansson.h md4c.h yaml.h ", " reference/ simulator/ lessons/ ",
     {"simulator/cli/"}},
    {"visualizer/", "*", " reference/ simulator/ lessons/ visualizer/ ", {"simulator/cli/"}},
    {"cuda/", "*", " reference/ cuda/ ", {"reference/faulty/"}},
    {"tests/", "*", "*", {NULL}},
};

/* Called by nobody, each with what to use in its place. */
static const struct {
    const char *name, *instead;
} banned[] = {
    {"sprintf", "snprintf"},
    {"vsprintf", "vsnprintf"},
    {"strcpy", "snprintf or memcpy"},
    {"strcat", "snprintf"},
    {"strncpy", "snprintf or memcpy"},
    {"gets", "fgets"},
    {"atoi", "strtol"},
    {"atol", "strtol"},
    {"atof", "strtod"},
    {"assert_float_equal", "compare.h, which does not let NaN pass"},
    {"assert_float_not_equal", "compare.h, which does not let NaN pass"},
    {"optimize", "the flags of a CMakeLists.txt"},
};

static const char *const unsafe_flags[] = {
    "fast-math", "-Ofast", "finite-math", "unsafe-math", "associative-math",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static bool
no(char *why, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, size, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Which part of the text a character belongs to. */
enum part { CODE, LITERAL, COMMENT, LINE_COMMENT };

/* A copy in which all but the code, or the comments, is spaces; newlines stay where they are. */
static char *only(const char *text, bool comments)
{
    size_t n = strlen(text);
    char *copy = malloc(n + 1), quote = 0;
    enum part part = CODE;
    if (!copy)
        abort();
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool keep = comments ? part >= COMMENT : part == CODE;
        if (part == CODE && (c == '"' || c == '\'')) {
            part = LITERAL;
            quote = c;
        } else if (part == LITERAL && c == '\\' && text[i + 1]) {
            copy[i++] = ' ';
            c = text[i];
        } else if (part == LITERAL && (c == quote || c == '\n')) {
            part = CODE;
        } else if (part == CODE && c == '/' && text[i + 1] == '*') {
            part = COMMENT;
            keep = false;
            copy[i++] = ' ';
        } else if (part == CODE && c == '/' && text[i + 1] == '/') {
            part = LINE_COMMENT;
            keep = false;
        } else if (part == COMMENT && c == '*' && text[i + 1] == '/') {
            part = CODE;
            keep = false;
            copy[i++] = ' ';
        } else if (part == LINE_COMMENT && c == '\n') {
            part = CODE;
        }
        copy[i] = keep || c == '\n' ? c : ' ';
    }
    copy[n] = '\0';
    return copy;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return line;
}

/* The next include directive from *at on: its name, and whether it is in quotes. */
static bool next_include(const char **at, char name[128], bool *quoted)
{
    for (const char *line = *at; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *c = line + strspn(line, " \t");
        if (*c != '#')
            continue;
        c += 1 + strspn(c + 1, " \t");
        if (strncmp(c, "include", 7) != 0)
            continue;
        c += 7 + strspn(c + 7, " \t");
        if (*c != '<' && *c != '"')
            continue;
        size_t n = strcspn(c + 1, ">\"\n");
        *quoted = *c == '"';
        snprintf(name, 128, "%.*s", (int)n, c + 1);
        *at = line + strcspn(line, "\n");
        return true;
    }
    return false;
}

static bool listed(const char *list, const char *name)
{
    char wanted[140];
    snprintf(wanted, sizeof wanted, " %s ", name);
    return strcmp(list, "*") == 0 || strstr(list, wanted);
}

/* The folder of a path is one of the list. */
static bool allowed_path(const struct room *room, const char *name)
{
    char folder[128];
    const char *slash = strchr(name, '/');
    if (!slash)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name) + 1, name);
    for (size_t e = 0; e < COUNT(room->except) && room->except[e]; e++)
        if (strncmp(name, room->except[e], strlen(room->except[e])) == 0)
            return false;
    return listed(room->own, folder);
}

static bool check_includes(const char *path, const char *text, char *why, size_t size)
{
    const struct room *room = NULL;
    const char *at = text;
    char name[128];
    bool quoted;
    for (size_t i = 0; i < COUNT(rooms) && !room; i++)
        if (strncmp(path, rooms[i].path, strlen(rooms[i].path)) == 0)
            room = &rooms[i];
    if (!room)
        return no(why, size, "%s is in no room", path);
    while (next_include(&at, name, &quoted)) {
        if (!quoted && !listed(libc, name) && !listed(room->system, name))
            return no(why, size, "%s includes <%s>: %s needs the C library%s%s", path, name,
                      room->path, *room->system ? " and" : "", room->system);
        if (quoted && !strchr(name, '/'))
            return no(why, size, "%s includes \"%s\": expected a path from the project's root",
                      path, name);
        if (quoted && !allowed_path(room, name))
            return no(why, size, "%s includes \"%s\": %s may use%s", path, name, room->path,
                      room->own);
    }
    return true;
}

/* "reference/tile_cost.h" has a guard that ends with TILE_COST_H. */
static bool check_header(const char *path, const char *text, char *why, size_t size)
{
    const char *stem = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char ending[96], guard[96] = "", defined[96] = "";
    size_t n = 0;
    for (; stem[n] && stem[n] != '.' && n < 80; n++)
        ending[n] = (char)toupper((unsigned char)stem[n]);
    memcpy(ending + n, "_H", 3);
    n += 2;
    const char *comment_end = strstr(text, "*/");
    if (strncmp(text, "/*", 2) != 0 || !comment_end || comment_end - text < 40)
        return no(why, size, "%s does not begin with a comment that says what it promises", path);
    const char *directive = strchr(comment_end, '#');
    if (!directive || sscanf(directive, "#ifndef %95s #define %95s", guard, defined) != 2 ||
        strcmp(guard, defined) != 0)
        return no(why, size, "%s has no include guard after its first comment", path);
    if (strlen(guard) < n || strcmp(guard + strlen(guard) - n, ending) != 0)
        return no(why, size, "%s has the include guard %s: expected one that ends with %s", path,
                  guard, ending);
    const char *last = strrchr(text, '#');
    if (strncmp(last, "#endif", 6) != 0)
        return no(why, size, "%s does not end with the #endif of its include guard", path);
    return true;
}

static bool check_calls(const char *path, const char *code, char *why, size_t size)
{
    for (size_t b = 0; b < COUNT(banned); b++) {
        size_t n = strlen(banned[b].name);
        for (const char *at = code; (at = strstr(at, banned[b].name)); at += n) {
            const char *after = at + n + strspn(at + n, " \t\n");
            if (is_word(at[n]) || *after != '(' || (at > code && is_word(at[-1])))
                continue;
            return no(why, size, "%s:%d calls %s: expected %s", path, line_of(code, at),
                      banned[b].name, banned[b].instead);
        }
    }
    return true;
}

static bool check_flags(const char *path, const char *text, char *why, size_t size)
{
    for (size_t f = 0; f < COUNT(unsafe_flags); f++)
        if (strstr(text, unsafe_flags[f]))
            return no(why, size, "%s says %s: NaN and infinities are values here", path,
                      unsafe_flags[f]);
    return true;
}

/* A pragma's flags stand in a literal. */
static bool check_pragmas(const char *path, const char *text, char *why, size_t size)
{
    char line[512];
    for (const char *at = text; (at = strstr(at, "#pragma")); at++) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if ((at == text || at[-1] == '\n') && !check_flags(path, line, why, size))
            return false;
    }
    return true;
}

static bool check_comments(const char *path, const char *comments, char *why, size_t size)
{
    static const char *const marks[] = {"TODO", "FIXME", "XXX"};
    for (size_t m = 0; m < COUNT(marks); m++) {
        const char *at = strstr(comments, marks[m]);
        if (at)
            return no(why, size, "%s:%d has a %s: finish it or leave it out", path,
                      line_of(comments, at), marks[m]);
    }
    return true;
}

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), e = strlen(ending);
    return n >= e && strcmp(path + n - e, ending) == 0;
}

bool source_rules_check(const char *path, const char *text, char *why, size_t size)
{
    char *code = only(text, false), *comments = only(text, true);
    bool fine = check_includes(path, text, why, size) && check_calls(path, code, why, size) &&
                check_pragmas(path, text, why, size) && check_comments(path, comments, why, size) &&
                (!has_ending(path, ".h") || check_header(path, text, why, size));
    free(code);
    free(comments);
    return fine;
}

bool source_rules_check_build(const char *path, const char *text, char *why, size_t size)
{
    size_t n = strlen(text);
    char *code = malloc(n + 1);
    bool comment = false;
    if (!code)
        abort();
    for (size_t i = 0; i <= n; i++) {
        comment = text[i] == '#' || (comment && text[i] != '\n');
        code[i] = comment && text[i] ? ' ' : text[i];
    }
    bool fine = check_flags(path, code, why, size);
    free(code);
    return fine;
}

bool source_rules_includes_sdl(const char *text)
{
    const char *at = text;
    char name[128];
    bool quoted;
    while (next_include(&at, name, &quoted))
        if (strncmp(name, "SDL", 3) == 0)
            return true;
    return false;
}
