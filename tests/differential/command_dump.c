/* What src/command reads of texts, for shell.py beside this file: a line of hexadecimal digits in, a line of JSON out,
 * every string of it in hexadecimal digits. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "command/pattern.h"

static void put_hex(struct slice s)
{
    putchar('"');
    for (size_t i = 0; i < s.len; i++) {
        printf("%02x", (unsigned char)s.ptr[i]);
    }
    putchar('"');
}

static void put_words(const struct command *command)
{
    printf("\"words\":[");
    for (uint32_t i = 0; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        printf("%s[", i == 0 ? "" : ",");
        put_hex(word->text);
        printf(",%d,%d]", (word->flags & COMMAND_WORD_OPAQUE) != 0, (word->flags & COMMAND_WORD_HOME) != 0);
    }
    printf("],\"known\":%u", (unsigned)command->known);
}

static void put_places(const struct command *command)
{
    struct command_places places;
    struct command_place place;
    printf(",\"places\":[");
    command_places_start(&places, command);
    for (bool first = true; command_places_next(&places, &place); first = false) {
        printf("%s[", first ? "" : ",");
        put_hex(place.text);
        printf(",%d,%d]", place.home, place.url);
    }
    printf("],\"guesses\":[");
    command_guesses_start(&places, command);
    for (bool first = true; command_places_next(&places, &place); first = false) {
        printf("%s", first ? "" : ",");
        put_hex(place.text);
    }
    printf("]");
}

static void put_command(const struct command *command)
{
    printf("{\"flags\":%u,", (unsigned)command->flags);
    put_words(command);
    if ((command->flags & COMMAND_UNREADABLE) == 0) {
        put_places(command);
        printf(",\"cd\":[");
        for (const struct command_cd *cd = command->cd; cd != NULL; cd = cd->before) {
            printf("%s[", cd == command->cd ? "" : ",");
            put_hex(cd->text);
            printf(",%d]", cd->home);
        }
        struct command_trees trees;
        command_trees_of(command, &trees);
        printf("],\"trees\":[%d,%d,%d,%d]", trees.names, trees.names && trees.entries,
               trees.names && trees.entries && trees.hidden, trees.here);
    } else {
        printf(",\"reason\":\"%s\",\"at\":%u", command->reason, (unsigned)command->at);
    }
    printf("}");
}

static void put_commands(const char *name, const struct command *commands, uint32_t count)
{
    printf("\"%s\":[", name);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i == 0 ? "" : ",");
        put_command(&commands[i]);
    }
    printf("]");
}

static void put_pattern(struct command_reader *reader, struct slice text)
{
    struct arena arena;
    struct command_pattern pattern;
    const char *why;
    uint32_t at;
    arena_init(&arena, 1u << 24);
    printf(",\"pattern\":");
    if (command_pattern_compile(reader, &arena, text, true, false, &pattern, &why, &at) !=
        COMMAND_PATTERN_OK) {
        printf("null");
    } else {
        printf("[");
        for (uint32_t i = 0; i < pattern.count; i++) {
            printf("%s", i == 0 ? "" : ",");
            if (pattern.words[i].any) {
                printf("null");
            } else {
                put_hex(pattern.words[i].text);
            }
        }
        printf("]");
    }
    arena_finish(&arena);
}

static void dump(struct command_reader *reader, struct slice text)
{
    struct command_list list;
    if (!command_read_text(reader, text, NULL, &list) || !command_read_inner(reader, &list)) {
        exit(2);
    }
    printf("{");
    put_commands("commands", list.commands, list.count);
    printf(",");
    put_commands("inner", list.inner, list.inner_count);
    printf(",\"documents\":[");
    for (uint32_t i = 0; i < list.document_count; i++) {
        printf("%s", i == 0 ? "" : ",");
        put_hex(list.documents[i]);
    }
    printf("]");
    put_pattern(reader, text);
    printf("}\n");
}

int main(void)
{
    struct command_reader *reader = command_reader_create();
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    if (reader == NULL) {
        return 2;
    }
    while ((len = getline(&line, &room, stdin)) > 0) {
        size_t bytes = 0;
        for (ssize_t i = 0; i + 1 < len && isxdigit((unsigned char)line[i]); i += 2) {
            char digits[3] = {line[i], line[i + 1], 0};
            line[bytes++] = (char)strtoul(digits, NULL, 16);
        }
        dump(reader, (struct slice){line, bytes});
        command_reader_reset(reader);
    }
    free(line);
    command_reader_destroy(reader);
    return 0;
}
