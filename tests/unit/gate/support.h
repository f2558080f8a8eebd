/* A gate with its files in a folder of its own, and calls in a line. */
#ifndef TESTS_GATE_SUPPORT_H
#define TESTS_GATE_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/gate.h"
#include "tests/check.h"

struct bench {
    char dir[64], state[96], policy[96];
    struct sources sources;
    struct gate_options options;
    struct gate *gate;
    struct call_reader reader;
};

static char bench_said[16384]; /* what the gate told the operator */

static inline void bench_say(const char *line)
{
    size_t len = strlen(bench_said);
    snprintf(bench_said + len, sizeof(bench_said) - len, "%s\n", line);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static inline void bench_open(struct bench *b, const char *policy)
{
    struct buf error;
    *b = (struct bench){0};
    strcpy(b->dir, "/tmp/callgate-gate-XXXXXX");
    CHECK(mkdtemp(b->dir) != NULL);
    snprintf(b->state, sizeof(b->state), "%s/state", b->dir);
    snprintf(b->policy, sizeof(b->policy), "%s/policy.json", b->dir);
    write_file(b->policy, policy);
    buf_init(&error, 1u << 20);
    CHECK(sources_init(&b->sources) && sources_add(&b->sources, b->policy, &error));
    b->options = (struct gate_options){
        .surface = "test",
        .sources = &b->sources,
        .state_dir = b->state,
        .base = {.cwd = slice_of(b->dir), .home = slice_of(b->dir)},
        .fsync = JOURNAL_FSYNC_NEVER,
        .say = bench_say,
    };
    bench_said[0] = '\0';
    b->gate = gate_open(&b->options, &error);
    if (b->gate == NULL) {
        printf("%.*s\n", SLICE_FMT(buf_slice_of(&error)));
    }
    CHECK(b->gate != NULL);
    CHECK(call_reader_init(&b->reader));
    buf_finish(&error);
}

static inline void bench_close(struct bench *b)
{
    char command[128];
    gate_close(b->gate);
    call_reader_finish(&b->reader);
    sources_finish(&b->sources);
    snprintf(command, sizeof(command), "rm -rf %s", b->dir);
    CHECK(system(command) == 0);
}

static inline struct outcome judge(struct bench *b, const char *text, const struct held *prior)
{
    static const struct call_defaults defaults = {
        .channel = {"C", 1}, .thread = {"T", 1}, .actor = ACTOR_CLAUDE_PROCESS};
    CHECK(call_read(&b->reader, slice_of(text), &defaults) == CALL_OK);
    return gate_judge(b->gate, &b->reader.call, prior, (struct slice){0});
}

/* The journal's text, whole. The caller frees it. */
static inline char *journal_text(const struct bench *b)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/journal.jsonl", b->state);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1u << 20);
    CHECK(file && text && fread(text, 1, (1u << 20) - 1, file) > 0);
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

static inline size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
}

static inline enum store_result vote_as_far(const struct bench *b, const char *code, const char *who,
                                            bool yes, enum approval_scope scope)
{
    struct buf error;
    struct people_answer answer;
    buf_init_message(&error, MESSAGE_BYTES);
    struct people *people = people_open(b->state, &error);
    const struct vote vote = {.code = slice_of(code), .identity = slice_of(who), .yes = yes, .scope = scope};
    CHECK(people != NULL);
    enum store_result result = people != NULL ? people_vote(people, &vote, &answer, &error) : STORE_FAILED;
    people_close(people);
    buf_finish(&error);
    return result;
}

static inline enum store_result vote(const struct bench *b, const char *code, const char *who, bool yes)
{
    return vote_as_far(b, code, who, yes, APPROVAL_SESSION);
}

#endif
