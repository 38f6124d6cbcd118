# Writes OUTPUT, a C file that holds the text of FILES (in ROOT) line by line: see source_text.h.
set(body "/* Made from the algorithms' sources by embed.cmake. */\n#include \"visualizer/source_text.h\"\n\n#include <stddef.h>\n#include <string.h>\n\n")
set(table "")
set(number 0)
foreach(path IN LISTS FILES)
    file(RELATIVE_PATH name ${ROOT} ${path})
    file(READ ${path} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "?" "\\?" text "${text}") # else two and a bracket would be a trigraph
    string(REGEX REPLACE "\n$" "" text "${text}")
    string(REPLACE "\n" "\",\n    \"" text "${text}")
    string(APPEND body "static const char *const text_${number}[] = {\n    \"${text}\",\n};\n\n")
    string(APPEND table "    {\"${name}\", (int)(sizeof text_${number} / sizeof *text_${number}), text_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
string(APPEND body "static const struct view_source_text texts[] = {\n${table}};\n\n"
    "const struct view_source_text *view_source_find(const char *file)\n{\n"
    "    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)\n"
    "        if (strcmp(texts[i].file, file) == 0)\n            return &texts[i];\n    return NULL;\n}\n")
file(WRITE ${OUTPUT}.new "${body}")
file(RENAME ${OUTPUT}.new ${OUTPUT})
