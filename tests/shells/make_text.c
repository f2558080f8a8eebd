/* Texts made from pieces that hurt: what shells read in different ways, or have ever read so. */
#include "make_text.h"

#include <string.h>

static uint32_t below(struct maker *maker, uint32_t limit)
{
    maker->state ^= maker->state >> 12;
    maker->state ^= maker->state << 25;
    maker->state ^= maker->state >> 27;
    return (uint32_t)(maker->state * 0x2545F4914F6CDD1Du >> 33) % limit;
}

static void put(struct maker *maker, const char *text)
{
    size_t len = strlen(text);
    if (maker->len + len < sizeof(maker->text)) {
        memcpy(maker->text + maker->len, text, len);
        maker->len += len;
    }
}

#define PICK(maker, list) (list)[below(maker, sizeof(list) / sizeof(*(list)))]

/* Pieces of a word, by what they are about. */
static const char *const plain[] = {"a",   "b",   "c",  "d1", "x",   "y",  "a",  "b",   "c",  "1", "22",
                                    "_",   ".",   "..", "-",  "--x", "+",  "%1", "@",   ",",  "!", "a/b",
                                    "./a", "a.c", "E",  "EE", "-n",  "-c", "=b", "a=b", "a:b"};
static const char *const odd[] = {
    "~",    "~/x",      "~a",     "^",    "=",    ":",     "!",      "!!", "a^",   "a~",      "a~1",   ":~",
    "=~",   "%",        "\\\n",   "+=",   "1-5",  "if",    "then",   "fi", "do",   "done",    "in",    "esac",
    "time", "function", "select", "{",    "}",    "[[",    "]]",     "#",  "a#b",  "[a]",     "{a,b}", "@(a)",
    "a()",  "*(a)",     "`a`",    "<(a)", ">(a)", "((1))", "$((1))", "\r", "\x0b", "\xc3\xa9"};
static const char *const quoted[] = {
    "'a b'",     "''",       "\"\"",     "\"a b\"",     "' '",      "'\n'",         "\"a\nb\"",   "\"'\"",
    "'\"'",      "'\\'",     "\"\\\\\"", "\"\\\"\"",    "\"\\$X\"", "\"a$\"",       "\"$ \"",     "\"\\a\"",
    "\"\\\nb\"", "'$X'",     "'`a`'",    "\"\\`a\\`\"", "\"!\"",    "'!'",          "\"#\"",      "'*'",
    "\"*\"",     "'if'",     "\"~\"",    "'~'",         "\"=\"",    "'='",          "'-'",        "\"(\"",
    "')'",       "\"$'a'\"", "$'a'",     "$\"a\"",      "'('",      "\"\xc3\xa9\"", "'\xc3\xa9'", "\"[\"",
    "'{a,b}'",   "'>'",      "\"<<E\"",  "'&'",         "';'",      "\"|\"",        "' E'"};
static const char *const escaped[] = {"\\a", "\\ ", "\\$", "\\\\", "\\'", "\\\"", "\\;", "\\&",
                                      "\\|", "\\~", "\\*", "\\=",  "\\#", "\\`",  "\\(", "\\)",
                                      "\\<", "\\>", "\\!", "\\-",  "\\n", "\\[",  "\\{"};
static const char *const opaque[] = {
    "$X",        "${X}",    "$Y",       "$Z",       "${X:-b}",     "${X-}",     "${Y:-a=b}", "${X+a}",
    "${Y:+c}",   "$1",      "$10",      "$?",       "$#",          "$$",        "$@",        "$*",
    "\"$X\"",    "\"$@\"",  "\"${Y}\"", "*",        "?",           "a*",        "*.c",       "\"$X$Y\"",
    "$X.c",      "${X}a",   "$X/a",     "$X:a",     "$X~",         "\"$X[1]\"", "$X[1]",     "${#X}",
    "${X%a}",    "${X:=b}", "${!X}",    "$!",       "$-",          "$0",        "$_",        "\"$#\"",
    "\"$X(a)\"", "${X:-*}", "${X:-~}",  "${X:-$Y}", "\"${X:-a}\"", "*~x",       "?^"};
static const char *const redirections[] = {">f",
                                           "> f",
                                           ">>f",
                                           "2>f",
                                           "2>>f",
                                           "1>f",
                                           "<f",
                                           "< f",
                                           ">/dev/null",
                                           "> /dev/null",
                                           "2>/dev/null",
                                           "2> /dev/null",
                                           ">>/dev/null",
                                           "</dev/null",
                                           "2>&1",
                                           ">&2",
                                           "1>&2",
                                           "&>/dev/null",
                                           "&> /dev/null",
                                           ">'f'",
                                           ">\"f g\"",
                                           ">~/f",
                                           "12>f",
                                           "0<f",
                                           "<&0",
                                           "<>f",
                                           ">|f",
                                           ">&f",
                                           "&>f",
                                           "&>>/dev/null",
                                           "<<<a",
                                           "<1-5>f",
                                           "<->f",
                                           "2>&1x",
                                           ">&1>f",
                                           "> >f",
                                           ">f>f",
                                           "<f>f",
                                           "a>f",
                                           "1 >f",
                                           "22 >f",
                                           "\\2>f",
                                           "2\\\n>f",
                                           ">\\\nf",
                                           ">\\\n>f",
                                           ">&\\\n1",
                                           "> \\\n/dev/null",
                                           "&\\\n>/dev/null",
                                           "'2'>f",
                                           ">f=g",
                                           ">a:b",
                                           ">-",
                                           "<f-g",
                                           ">1",
                                           "> 1 2",
                                           "2>&-",
                                           "9>/dev/null",
                                           "3>&1"};
static const char *const separators[] = {";",    " ; ", "&",      " & ",  "&&",    " && ",   "||",     " || ",
                                         "|",    " | ", "\n",     "\n\n", " ;\n",  " &\n",   "&&\n",   "|\n",
                                         "||\n", ";;",  "|&",     ";&",   "\\\n;", "&\\\n&", "|\\\n|", "; ;",
                                         "&;",   "\n;", " \\\n ", ";!",   "| !"};
static const char *const commands[] = {
    "a",        "b",       "c",       "rm",    "ls",      "x",      "a",      "b",        "git",
    "echo",     "cd",      "command", "exec",  "builtin", "printf", "export", "test",     "true",
    "false",    "set",     "shift",   "read",  "unset",   "./a",    "~/a",    "noglob",   "'noglob'",
    "'-'",      "-",       "nohup",   "env",   "time",    "'time'", "\\time", "nice",     "!",
    "eval",     "\\eval",  "trap",    "alias", ":",       ".",      "coproc", "repeat 2", "foreach",
    "function", "jobs -x", "'['",     "print", "exit",    "return", "break",  "ulimit",   "typeset",
    "local",    "let",     "'if'",    "\\if",  "i\\f",    "%1",     "+",      "@",        "_",
    "1",        "22",      "type",    "hash",  "umask",   "pushd",  "popd",   "integer",  "select a",
    "case",     "emulate"};
static const char *const assignments[] = {
    "X=1 ",     "X= ",    "Y+=2 ",  "X='a b' ", "X=~ ",  "X=a:~ ", "X=* ",         "X=$Y ",  "X[1]=2 ",
    "X=(a) ",   "'X'=1 ", "X\\=1 ", "\\X=1 ",   "1=2 ",  "X-=1 ",  "X=\"a\" Y=b ", "X==b ",  "X=\\\n1 ",
    "X\\\n=1 ", "X=a=b ", "X=1>f ", "_=1 ",     "X=>f ", "IFS=x ", "X='a[b]' ",    "X=a\\[ "};

static void make_list(struct maker *maker, unsigned depth);

static void make_piece(struct maker *maker, unsigned depth)
{
    uint32_t kind = below(maker, 64);
    if (kind < 26) {
        put(maker, PICK(maker, plain));
    } else if (kind < 38) {
        put(maker, PICK(maker, quoted));
    } else if (kind < 44) {
        put(maker, PICK(maker, escaped));
    } else if (kind < 54) {
        put(maker, PICK(maker, opaque));
    } else if (kind < 58) {
        put(maker, PICK(maker, odd));
    } else if (kind < 60 && depth < 3) {
        bool quotes = below(maker, 2) == 0;
        put(maker, quotes ? "\"$(" : "$(");
        make_list(maker, depth + 1);
        put(maker, quotes ? ")\"" : ")");
    } else {
        put(maker, "a");
    }
}

static void make_word(struct maker *maker, unsigned depth)
{
    do {
        make_piece(maker, depth);
    } while (below(maker, 3) == 0);
}

static void make_blank(struct maker *maker)
{
    static const char *const blanks[] = {" ", " ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n ", ""};
    put(maker, PICK(maker, blanks));
}

/* The lines of a here-document whose word stands in the line before. */
static void make_document(struct maker *maker)
{
    static const char *const words[] = {"<<E",   "<< E",    "<<'E'",  "<<E",     "<<'E'",   "<<EE",
                                        "<<-E",  "<<\"E\"", "<<\\E",  "<<1",     "<<E>f",   "<<'E' b",
                                        "<<E;a", "<<E|b",   "<<E&&c", "<<E\\\n", "<<\\\nE", "2<<E"};
    static const char *const lines[] = {"x\n",   "a b\n",  "\n",   " E\n", "E \n", "EE\n",  "\tE\n",
                                        "$X\n",  "It's\n", "\"\n", "(\n",  ")\n",  "`a`\n", "\\\n",
                                        "a\\\n", "$(a)\n", "#\n",  "E)\n", "E;\n", "<<F\n", "'\n"};
    make_blank(maker);
    put(maker, PICK(maker, words));
    if (below(maker, 4) == 0) {
        make_blank(maker);
        make_word(maker, 3);
    }
    put(maker, "\n");
    while (below(maker, 2) == 0) {
        put(maker, PICK(maker, lines));
    }
    static const char *const ends[] = {"E\n", "E\n", "E\n", "E", "EE\n", "1\n", "E;", "\tE\n"};
    put(maker, PICK(maker, ends));
}

static void make_shell(struct maker *maker)
{
    static const char *const texts[] = {"sh -c 'a b'",
                                        "bash -c \"a 'b c'\"",
                                        "sh -c 'a; b' c",
                                        "sh -ec a",
                                        "zsh -fc 'a; X=1'",
                                        "sh -c 'sh -c a'",
                                        "sh -c \"a \\$X\"",
                                        "sh -c ''",
                                        "ksh -c 'a >f'",
                                        "sh -xc 'a' ",
                                        "dash -c $X",
                                        "sh -c 'a\nb'",
                                        "sh -c 'a <<E\nx\nE'",
                                        "mksh -c 'a &'",
                                        "ash -c '(a)'",
                                        "bash -o pipefail -c a",
                                        "sh -c 'a \"$(b)\"'",
                                        "sh -nc a",
                                        "sh -vc a",
                                        "sh -uc 'a $X'"};
    put(maker, PICK(maker, texts));
}

static void make_command(struct maker *maker, unsigned depth)
{
    if (depth < 3 && below(maker, 14) == 0) {
        static const char *const opens[] = {"(", "( ", "(\n", "(\\\n", "(("};
        put(maker, PICK(maker, opens));
        make_list(maker, depth + 1);
        put(maker, ")");
        if (below(maker, 3) == 0) {
            make_blank(maker);
            put(maker, PICK(maker, redirections));
        }
        return;
    }
    if (below(maker, 16) == 0) {
        make_shell(maker);
        return;
    }
    if (below(maker, 8) == 0) {
        put(maker, PICK(maker, assignments));
    }
    if (below(maker, 4) == 0) {
        put(maker, PICK(maker, commands));
    } else {
        static const char *const names[] = {"a", "b", "c", "\"a\"", "\\b", "'c'", "a'b'", "rm"};
        put(maker, PICK(maker, names));
    }
    while (below(maker, 4) != 0) {
        make_blank(maker);
        if (below(maker, 7) == 0) {
            put(maker, PICK(maker, redirections));
        } else {
            make_word(maker, depth);
        }
    }
    if (below(maker, 12) == 0) {
        make_document(maker);
    }
}

static void make_list(struct maker *maker, unsigned depth)
{
    make_command(maker, depth);
    while (below(maker, 2) == 0) {
        put(maker, PICK(maker, separators));
        make_command(maker, depth);
    }
    static const char *const ends[] = {"", "", "", "", ";", "&", "\n", " &\n", " "};
    put(maker, PICK(maker, ends));
}

/* One byte or a few taken away, doubled or put elsewhere. */
static void change(struct maker *maker)
{
    uint32_t len = (uint32_t)maker->len, at = below(maker, len), more = 1 + below(maker, 3);
    more = at + more > len ? len - at : more;
    if (below(maker, 2) == 0) {
        memmove(maker->text + at, maker->text + at + more, len - at - more);
        maker->len -= more;
    } else if (maker->len + more < sizeof(maker->text)) {
        char piece[4];
        uint32_t to = below(maker, len);
        memcpy(piece, maker->text + at, more);
        memmove(maker->text + to + more, maker->text + to, len - to);
        memcpy(maker->text + to, piece, more);
        maker->len += more;
    }
}

struct slice make_text(struct maker *maker)
{
    maker->len = 0;
    make_list(maker, 0);
    for (uint32_t i = below(maker, 6); i > 3 && maker->len > 2; i--) {
        change(maker);
    }
    return (struct slice){maker->text, maker->len};
}
