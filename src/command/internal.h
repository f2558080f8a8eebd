/* What the files of src/command share: the reader's memory, a text that is being read, the names of programs. */
#ifndef COMMAND_INTERNAL_H
#define COMMAND_INTERNAL_H

#include "command/command.h"

/* ---- Names (names.c) ---- */

enum name_flag {
    NAME_RESERVED = 1u << 0,     /* a word of the grammar, where it has no quote */
    NAME_RUNS_TEXT = 1u << 1,    /* a builtin that runs text, or changes how text is read: never read */
    NAME_SUBSCRIPTS = 1u << 2,   /* a builtin that evaluates what stands in `[ ]` of its words */
    NAME_ASSIGNS = 1u << 3,      /* a builtin after which names may mean something else */
    NAME_PREFIX = 1u << 4,       /* `command`, `builtin`, `exec`: the builtin is what stands behind */
    NAME_SHELL = 1u << 5,        /* `-c` and a text are commands */
    NAME_WRAPPER = 1u << 6,      /* a command may begin at each later word */
    NAME_RUNS = 1u << 7,         /* runs what it is told: the list of `runs-anything` */
    NAME_SEARCH = 1u << 8,       /* its first word without a `-` is what is searched for */
    NAME_TREE = 1u << 9,         /* names whole trees */
    NAME_TREE_NAMES = 1u << 10,  /* but opens nothing below them */
    NAME_TREE_HIDING = 1u << 11, /* and passes names over that begin with `.` */
    NAME_TREE_HERE = 1u << 12,   /* the tree it stands in, when it names none */
    NAME_GREP = 1u << 13,        /* the same with an option that says so */
    NAME_CD = 1u << 14,          /* `cd`, `pushd` */
    NAME_POPD = 1u << 15,
    NAME_FIND = 1u << 16,
    NAME_JOBS = 1u << 17, /* `jobs -x` of bash runs its words */
};

/* The flags of a name, which has no directory before it; 0 of most. */
uint32_t name_flags(struct slice name);

/* What follows the last `/` of a word. */
struct slice name_base(struct slice word);

/* Where the name stands that decides what a command is: behind `command`, `builtin`, `exec` and their options.
 * `count` when there is none. */
uint32_t name_index(const struct command_word *words, uint32_t count);

static inline bool begins_with_dash(const struct command_word *word)
{
    return word->text.len > 0 && word->text.ptr[0] == '-';
}

static inline bool is_opaque(const struct command_word *word)
{
    return (word->flags & COMMAND_WORD_OPAQUE) != 0;
}

/* `-` and then letters only; at least one. */
bool is_letter_option(struct slice word);

/* ---- The reader ---- */

struct redirection {
    char operator;
    uint32_t at;
    struct command_word target;
};

struct command_reader {
    struct arena arena;
    /* Stacks: what stands above a mark belongs to the command that is being read. */
    struct command_word *words;
    size_t word_count, word_cap;
    struct redirection *redirections;
    size_t redirection_count, redirection_cap;
    /* Of the list that is being read. */
    struct command *commands;
    size_t command_count, command_cap;
    struct slice *documents;
    size_t document_count, document_cap;
};

/* What the commands of one list have in common, those of the texts inside them included. */
struct sink {
    struct command_reader *reader;
    const struct command_cd *cd;
    uint32_t flags;     /* COMMAND_ASSIGNED and COMMAND_LOST, for the commands to come */
    const char *reason; /* why the list cannot be read; the first that was found */
    uint32_t at;
    bool no_memory;
};

/* Sets the reason, if there is none yet; false. */
bool sink_refuse(struct sink *sink, size_t at, const char *reason);
bool sink_no_memory(struct sink *sink);

/* The state of a sink before a command, to take it back. */
struct sink_mark {
    const struct command_cd *cd;
    uint32_t flags;
    size_t command_count;
};

/* Whether words are a command that the reader would give as it is: none that it refuses, and no `sh -c`, whose text
 * stands in its place. A pattern of another kind would meet nothing. */
bool sink_stands_for_itself(struct sink *sink, const struct command_word *words, uint32_t count);

/* Makes a command of words that are in the arena: refuses what must not be read, sees through `sh -c`, adds the
 * command, and keeps what it does to those after it. `shells` counts the texts around it. */
bool sink_add(struct sink *sink, const struct command_word *words, uint32_t count, bool open, uint32_t at,
              unsigned shells);

/* Adds a redirection's command. */
bool sink_add_redirection(struct sink *sink, const struct redirection *redirection);

bool sink_push(struct sink *sink, const struct command *command);

/* A copy of words in the arena; NULL when there is no memory. */
struct command_word *sink_copy_words(struct sink *sink, const struct command_word *words, size_t count);

/* A copy of an array that outlives the reader's stacks, a place of its own even for none; NULL when there is no
 * memory. */
void *keep_array(struct command_reader *reader, const void *items, size_t count, size_t size);

/* Appends a word so that the grammar reads it as this one, as a command's first or as a later one. */
struct buf;
void append_word(struct buf *buf, struct slice word, bool first);

/* Makes room for one more on a stack of the reader. */
bool stack_room(void **items, size_t count, size_t *cap, size_t size);

/* ---- One text (reader.c, word.c, redirection.c) ---- */

struct here_document {
    struct slice name; /* of length 0: none is to come */
    bool quoted;
    unsigned depth; /* how many parentheses are open where it stands */
};

/* The last command of a text, for the words that stand beside it. */
struct last_command {
    struct sink_mark mark; /* before it was added */
    const struct command_word *words;
    uint32_t count;
    bool last; /* nothing but blanks follows it */
};

struct scan {
    struct sink *sink;
    const char *text;
    size_t len, at;
    char *out;       /* as long as the text: a word without its quotes stands where it stands in the text */
    uint32_t origin; /* of a text inside another: where it is told to stand */
    bool inside;     /* it is one */
    unsigned depth;  /* parentheses that are open */
    unsigned substitutions; /* those of them that are `$(` */
    unsigned shells;
    size_t word_total; /* words and assignments so far */
    struct here_document document;
    struct last_command last;
};

/* Reads a whole text into the sink. */
bool scan_text(struct sink *sink, struct slice text, uint32_t origin, unsigned shells, struct scan *ret_scan);

/* LIST, up to the end of the text or the `)` that closes it, which is not passed. */
bool scan_list(struct scan *scan);

/* One text that must be one command of a pattern: words, `*` among them, on the reader's stack. */
bool scan_pattern_words(struct scan *scan);

bool scan_refuse(struct scan *scan, size_t at, const char *reason);

/* Passes over continuation lines; over them and blanks. */
void scan_continuations(struct scan *scan);
void scan_blanks(struct scan *scan);

/* A line feed at scan->at, inside quotes or a word: refused where lines of a here-document are still to come
 * outside the parentheses. */
bool scan_inner_line(struct scan *scan);

/* A line feed that ends a line: passes over it and the lines of a here-document. */
bool scan_line_end(struct scan *scan);

enum word_char {
    CHAR_BAD, /* nothing that may stand outside quotes */
    CHAR_PLAIN,
    CHAR_EQUALS,
    CHAR_COLON,
    CHAR_CARET,
    CHAR_TILDE,
    CHAR_BACKSLASH,
    CHAR_SINGLE,
    CHAR_DOUBLE,
    CHAR_DOLLAR,
    CHAR_GLOB,
    CHAR_END, /* ends a word: blanks, line feeds, ; & | < > ( ) */
};

extern const uint8_t word_chars[256];

static inline enum word_char scan_char(const struct scan *scan)
{
    return scan->at == scan->len ? CHAR_END : (enum word_char)word_chars[(unsigned char)scan->text[scan->at]];
}

static inline bool scan_is(const struct scan *scan, char c)
{
    return scan->at < scan->len && scan->text[scan->at] == c;
}

/* A word as it was read. */
struct read_word {
    struct command_word word;
    bool quoted;        /* has a quote or a backslash */
    bool equals;        /* has an unquoted `=` */
    bool dash;          /* begins with an unquoted `-` or `!` */
    size_t assigned_at; /* of NAME=W and NAME+=W: where W begins in the text of the word; 0 of others */
};

/* Reads the word at scan->at, where no character ends one. */
bool scan_word(struct scan *scan, struct read_word *ret_word);

/* A digit's part of a redirection, `<`, `>` or `&>` at scan->at. */
bool scan_redirection(struct scan *scan, bool listed);

/* Whether a redirection, or digits that look like one, begins at scan->at. */
bool scan_at_redirection(const struct scan *scan);

static inline bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_name_char(char c)
{
    return is_ascii_letter(c) || is_ascii_digit(c) || c == '_';
}

/* A character that is neither text nor a blank nor a line feed. */
static inline bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t' && c != '\n') || c == 0x7f;
}

#endif
