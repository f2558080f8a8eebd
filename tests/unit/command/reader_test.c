/* The reader: which texts are read, as which commands, and why others are not. */
#include "base/buffer.h"
#include "command/command.h"

#include "check.h"

static struct command_reader *reader;
static struct buf shown;

/* A command as text: its words in brackets, `...` behind an open one, what else is known of it before. */
static void show(const struct command *command)
{
    buf_text(&shown, (command->flags & COMMAND_ASSIGNED) != 0 ? "assigned " : "");
    buf_text(&shown, (command->flags & COMMAND_LOST) != 0 ? "lost " : "");
    for (const struct command_cd *cd = command->cd; cd != NULL; cd = cd->before) {
        buf_printf(&shown, "in %s%.*s ", cd->home ? "home " : "", SLICE_FMT(cd->text));
    }
    for (uint32_t i = 0; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        const char *kind = (word->flags & COMMAND_WORD_OPAQUE) != 0 ? "?" : "";
        kind = (word->flags & COMMAND_WORD_HOME) != 0 ? "home:" : kind;
        buf_printf(&shown, "%s[%s%.*s]", i > 0 ? " " : "", kind, SLICE_FMT(word->text));
    }
    buf_text(&shown, (command->flags & COMMAND_OPEN) != 0 ? "..." : "");
}

static void show_list(const struct command_list *list)
{
    buf_reset(&shown);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct command *command = &list->commands[i];
        buf_text(&shown, i > 0 ? "; " : "");
        if ((command->flags & COMMAND_UNREADABLE) != 0) {
            buf_printf(&shown, "unreadable at %u: %s", command->at, command->reason);
        } else {
            show(command);
        }
    }
}

static void reads(const char *text, const char *want)
{
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(text), NULL, &list));
    show_list(&list);
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void unreadable(const char *text)
{
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(text), NULL, &list));
    bool is = list.count == 1 && (list.commands[0].flags & COMMAND_UNREADABLE) != 0;
    if (!is) {
        printf("is read: %s\n", text);
    }
    CHECK(is && list.commands[0].at <= strlen(text) && list.commands[0].reason != NULL);
}

static void test_words(void)
{
    reads("", "");
    reads(" \t\n \\\n", "");
    reads("git status", "[git] [status]");
    reads("  git\t log  ", "[git] [log]");
    reads("g'i't \"log\" 'a b'", "[git] [log] [a b]");
    reads("\\git lo\\g a\\ b", "[git] [log] [a b]");
    reads("git log a\\\nb", "[git] [log] [ab]");
    reads("git \\\n log", "[git] [log]");
    reads("echo '' \"\" ''x", "[echo] [] [] [x]");
    reads("echo \"a\\$b\\`c\\\"d\\\\e\\f\" '\\'", "[echo] [a$b`c\"d\\e\\f] [\\]");
    reads("echo \"a$ b$\tc$\"", "[echo] [a$ b$\tc$]");
    reads("echo \"caf\xc3\xa9\" 'x\ny'", "[echo] [caf\xc3\xa9] [x\ny]");
    reads("echo a^ HEAD~1 a=b x:y %1 +x @y a,b !x",
          "[echo] [a^] [HEAD~1] [a=b] [x:y] [%1] [+x] [@y] [a,b] [!x]");
    reads("cat ~/x ~ ~\\\n/y '~/z'", "[cat] [home:~/x] [home:~] [home:~/y] [~/z]");
    reads("~/bin/x", "[home:~/bin/x]");
    reads("echo $X ${X} ${X:-a=b} ${X+} $1 $? $# $$ $@ $* \"$X\" *.c a?",
          "[echo] [?$X] [?$X] [?$X] [?$X] [?$] [?$] [?$] [?$] [?$] [?$] [?$X] [?*.c] [?a?]...");
    reads("echo $X\\\nY a$X.b", "[echo] [?$XY] [?a$X.b]...");
    reads("a $(b c) d", "[b] [c]; [a] [?$] [d]...");
    reads("a \"x $(b 'y z' \"$(c)\") zzzzzzzzzzzzzzzzzzzz\" 'q'",
          "[c]; [b] [y z] [?$]...; [a] [?x $ zzzzzzzzzzzzzzzzzzzz] [q]...");
    reads("'if' x", "[if] [x]");
    reads("echo if then", "[echo] [if] [then]");
}

static void test_lists(void)
{
    reads("a; b & c && d || e | f\ng", "[a]; [b]; [c]; [d]; [e]; [f]; [g]");
    reads("\n\n a ;\n\n b &&\n c |\n\n d &\n", "[a]; [b]; [c]; [d]");
    reads("a;", "[a]");
    reads("a &", "[a]");
    reads("(a; b) && (c\n)", "[a]; [b]; [c]");
    reads("( (a) )", "[a]");
    reads("(a) >/dev/null 2>&1 | b", "[a]; [b]");
    reads("a &\\\n& b", "[a]; [b]");
    static const char *const bad[] = {
        "a;; b",  "& a",     "a &&",       "a |& b",  "a | | b", ";",     "a ; ; b", "()",      "(a",
        "a)",     "((a))",   "(\\\n(a))",  "$((1))",  "(a) b",   "a (b)", "a(b)",    "(a) (b)", "( )",
        "a $( )", "(a) > f", "(a) <<E\nE", "a &&& b", "a ||| b", "(a;;)", "a\n;b",   "(\n)",    "a=(b)",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unreadable(bad[i]);
    }
}

static void test_deep(void)
{
    char text[256];
    memset(text, 0, sizeof(text));
    for (unsigned depth = 31; depth <= 33; depth++) {
        size_t at = 0;
        for (unsigned i = 0; i < depth; i++) {
            at += (size_t)sprintf(text + at, "( ");
        }
        text[at++] = 'a';
        memset(text + at, ')', depth);
        text[at + depth] = '\0';
        if (depth <= COMMAND_DEPTH) {
            reads(text, "[a]");
        } else {
            unreadable(text);
        }
    }
}

static void test_redirections(void)
{
    reads("a 2>&1", "[a]");
    reads("a > /dev/null 2>>/dev/null </dev/null &>/dev/null", "[a]");
    reads("a >x b 2>>'y z' < q", "[a] [b]; [>] [x]; [>] [y z]; [<] [q]");
    reads("a > ~/x", "[a]; [>] [home:~/x]");
    reads("a $(b > c) > d", "[b]; [>] [c]; [a] [?$]...; [>] [d]");
    reads("a a2>x", "[a] [a2]; [>] [x]");
    static const char *const bad[] = {
        "a > $F",
        "a >",
        "> a",
        "a <(x)",
        "a >(x)",
        "a >|x",
        "a <>x",
        "a >&x",
        "a >& 1",
        "a >&12",
        "a 12>x",
        "a 0<x",
        "a 2>&1x",
        "a &>x",
        "a &>/dev/null x",
        "a &>/dev/null >x",
        "a &>>/dev/null",
        "a <1-5>f",
        "a <->f",
        "a <1\\\n-5>f",
        "a <<<x",
        "a > *",
        "a 2\\\n>x",
        "a >&1>x",
        "2>&1",
        "a <&1",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unreadable(bad[i]);
    }
}

static void test_documents(void)
{
    reads("a << E\nx\nE\n", "[a]");
    reads("a <<E\nabc\nE\nb", "[a]; [b]");
    reads("a <<'E' b; c\nIt's $5: `x` \\\nE\nd", "[a] [b]; [c]; [d]");
    reads("a \"$(b <<'E'\nIt's\nE\n)\"", "[b]; [a] [?$]...");
    reads("a <<E\nE", "[a]");
    static const char *const bad[] = {
        "a <<E",
        "a <<E\nx\n",
        "a <<E\n$x\nE",
        "a <<E\n\\\nE",
        "a <<E\n`\nE",
        "a <<E <<F\nE\nF",
        "a <<-E\nE",
        "a <<\"E\"\nE",
        "a <<E'x'\nE",
        "a <<\\E\nE",
        "(a <<E)\nE",
        "a $(b <<E)\nE",
        "(a <<E\n Ex\nE\n)",
        "a <<E $(b\nc)\nE",
        "a <<E \"$(b 'x\ny')\"\nE",
        "a <<E\n\x01\nE",
        "a 2<<E\nE",
        "a <<E>x\nE",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unreadable(bad[i]);
    }
    struct command_list list;
    CHECK(command_read_text(reader, SLICE("a <<E\nx y\nE\nb <<F\nF"), NULL, &list) &&
          list.document_count == 2);
    CHECK_BYTES(list.documents[0].ptr, list.documents[0].len, "x y\n");
    CHECK(list.documents[1].len == 0);
}

static void test_unreadable(void)
{
    static const char *const bad[] = {
        "git log <(x)",
        "git log {a,b}",
        "git log [a]",
        "git log #x",
        "!x",
        "if git log; then git log; fi",
        "then",
        "git log ~user",
        "git log a=~/x",
        "git log x:~/y",
        "=git log",
        "-git log",
        "git log ''=x",
        "git log 'x",
        "git log \"x",
        "git log \\",
        "git log\r",
        "caf\xc3\xa9 x",
        "git log `x`",
        "git log \\\xc3\xa9",
        "^x",
        "a ^x",
        "a $X~",
        "a *~",
        "$X a",
        "a=b-c d e=f=g $(x",
        "a-b=c d",
        "*",
        "time x",
        "a ${X:=y}",
        "a ${X#y}",
        "a ${X:1}",
        "a ${}",
        "a ${1}",
        "a $'x'",
        "a $\"x\"",
        "a $",
        "a \"$'x'\"",
        "a \"`x`\"",
        "a ${X:-$Y}",
        "a ${X:-'y'}",
        "\\eval 'rm x'",
        "'trap' 'rm x' EXIT",
        "command eval 'rm x'",
        "builtin -p eval x",
        "PS4='$(rm x)'; a",
        "X='`x`' a",
        "X=a'[' a",
        "'[' -v 'a[$(rm x)]' ']'",
        "command test -v 'a[$(x)]'",
        "test \"$X\" -eq 1",
        "emulate sh -c x",
        "command $X y",
        "exec -x $Y",
        "'noglob' x",
        "'-' x",
        "jobs -x rm",
        "ulimit 'a[$(x)]'",
        "exit 'a[$(x)]'",
        "print -v 'a[$(x)]' y",
        "a \x7f",
        "a '\x01'",
        "a \"\x01\"",
        "mksh -c 'rm x' y",
        "sh -c 'rm x' y",
        "bash -o pipefail -c ls",
        "bash -c",
        "bash $X",
        "bash -s $X",
        "x/sh -c y",
        "bash x -c y",
        "sh -x-x a",
        "ya: a",
        "a 1\\\n2>f",
        "a 22&>/dev/null",
        "a 2&>/dev/null",
        "a 2\\\n&>/dev/null",
        "bash +c 'rm x'",
        "sh -x-c a",
        "sh 'rm x'",
        "sh - 'rm x'",
        "ksh -o errexit 'rm x'",
        "sh -x 'a;b'",
        "bash -oc x",
        "sh -c \"$X\"",
        "sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c x\\\\\\\"\\\"\"'",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unreadable(bad[i]);
    }
    reads("git log 'x", "unreadable at 8: a quote that does not end");
    reads("a; if b", "unreadable at 3: a reserved word");
    reads("a; sh -c 'b; if c'", "unreadable at 9: a reserved word");
    reads("git log `x`", "unreadable at 8: a backquote");
    struct command_list list;
    CHECK(command_read_text(reader, (struct slice){"git\0log", 7}, NULL, &list) &&
          list.commands[0].reason != NULL);
}

/* Every name that the grammar knows is found by it: the table that holds them is looked up by first letters. */
static void test_names(void)
{
    static const char *const reserved[] = {"if",      "then",     "elif",   "else",     "fi",     "for",
                                           "while",   "until",    "do",     "done",     "case",   "esac",
                                           "in",      "function", "select", "time",     "coproc", "repeat",
                                           "foreach", "end",      "noglob", "nocorrect"};
    static const char *const runners[] = {"eval",    "alias",    "trap",    "let",      "emulate",
                                          "compgen", "complete", "mapfile", "readarray"};
    static const char *const evaluating[] = {
        "test",     "'['",     "printf",  "read",       "declare",    "typeset", "local",   "export",
        "readonly", "unset",   "shift",   "integer",    "float",      "set",     "break",   "continue",
        "exit",     "return",  "bye",     "getln",      "getopts",    "print",   "private", "ulimit",
        "global",   "nameref", "zformat", "zparseopts", "zregexparse"};
    static const char *const assigning[] = {"export", "declare", "typeset", "local", "readonly", "read",
                                            "unset",  "getopts", "integer", "float", "hash",     "set",
                                            "shopt",  "setopt",  "enable",  "shift"};
    char text[64];
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
        unreadable(reserved[i]);
    }
    for (size_t i = 0; i < sizeof(runners) / sizeof(*runners); i++) {
        (void)snprintf(text, sizeof(text), "\"%s\" x", runners[i]);
        unreadable(text);
    }
    for (size_t i = 0; i < sizeof(evaluating) / sizeof(*evaluating); i++) {
        (void)snprintf(text, sizeof(text), "%s 'a[1]'", evaluating[i]);
        unreadable(text);
        (void)snprintf(text, sizeof(text), "command %s \"$X\"", evaluating[i]);
        unreadable(text);
    }
    for (size_t i = 0; i < sizeof(assigning) / sizeof(*assigning); i++) {
        struct command_list list;
        (void)snprintf(text, sizeof(text), "%s x; a", assigning[i]);
        CHECK(command_read_text(reader, slice_of(text), NULL, &list) && list.count == 2);
        CHECK((list.commands[0].flags & COMMAND_ASSIGNED) == 0 &&
              (list.commands[1].flags & COMMAND_ASSIGNED) != 0);
    }
}

static void test_long(void)
{
    static char text[COMMAND_TEXT_BYTES + 2];
    struct command_list list;
    memset(text, 'a', sizeof(text));
    CHECK(command_read_text(reader, (struct slice){text, COMMAND_TEXT_BYTES}, NULL, &list));
    CHECK(list.count == 1 && list.commands[0].count == 1);
    CHECK(command_read_text(reader, (struct slice){text, COMMAND_TEXT_BYTES + 1}, NULL, &list));
    CHECK(list.count == 1 && (list.commands[0].flags & COMMAND_UNREADABLE) != 0);
}

static void test_assigned(void)
{
    reads("X=1 a; b", "assigned [a]; assigned [b]");
    reads("a; X+='y z' Y= b", "[a]; assigned [b]");
    reads("X=1", "");
    reads("X=*", "");
    reads("a; X=1; b > f", "[a]; assigned [b]; assigned [>] [f]");
    reads("export X=1 && a", "[export] [X=1]; assigned [a]");
    reads("command export X=1; a", "[command] [export] [X=1]; assigned [a]");
    reads("printf x; a", "[printf] [x]; [a]");
    reads("printf -v X y; a", "[printf] [-v] [X] [y]; assigned [a]");
    reads("printf *; a", "[printf] [?*]...; assigned [a]");
    reads("sh -c 'X=1'; a", "assigned [a]");
}

static void test_shells(void)
{
    reads("bash -c 'git status; git log'", "[git] [status]; [git] [log]");
    reads("sh -c \"bash -lc 'git status'\" && a", "[git] [status]; [a]");
    reads("/bin/sh -ec 'cd x; rm y'", "[cd] [x]; in x [rm] [y]");
    reads("bash x.sh", "[bash] [x.sh]");
    reads("1: a; a:b c; ': x'", "[1:] [a]; [a:b] [c]; [: x]");
    reads(": a; a 1\\\n2 >f", "[:] [a]; [a] [12]; [>] [f]");
    reads("bash -x x.sh y", "[bash] [-x] [x.sh] [y]");
    reads("bash -o pipefail x.sh 'y z'", "[bash] [-o] [pipefail] [x.sh] [y z]");
    reads("sh -c ''", "");
    reads("a $(sh -c 'b \"c d\"') eeeeeeeeeeee", "[b] [c d]; [a] [?$] [eeeeeeeeeeee]...");
}

static void test_directories(void)
{
    reads("cd x && a", "[cd] [x]; in x [a]");
    reads("cd x; pushd ~/y; a", "[cd] [x]; in x [pushd] [home:~/y]; in home ~/y in x [a]");
    reads("cd; a", "[cd]; in home ~ [a]");
    reads("cd -P x; a", "[cd] [-P] [x]; in x [a]");
    reads("cd -; a", "[cd] [-]; lost [a]");
    reads("cd x y; a", "[cd] [x] [y]; lost [a]");
    reads("cd $X; a", "[cd] [?$X]...; lost [a]");
    reads("popd; a", "[popd]; lost [a]");
    reads("cd -- -x; a", "[cd] [--] [-x]; lost [a]");
    reads("command cd x; a", "[command] [cd] [x]; in x [a]");
    reads("(cd x); a", "[cd] [x]; in x [a]");
    reads("pushd; a", "[pushd]; [a]");
}

static void with_args(const char *text, const struct command_args *args, const char *want)
{
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(text), args, &list));
    show_list(&list);
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void test_args(void)
{
    static const struct slice two[] = {{"log", 3}, {"a b;c", 5}}, text[] = {{"-c", 2}, {"rm x", 4}};
    const struct command_args args = {.words = two, .count = 2}, open = {.open = true},
                              shell = {.words = text, .count = 2};
    with_args("git", &args, "[git] [log] [a b;c]");
    with_args("git x", &args, "[git] [x]; [git] [x] [log] [a b;c]");
    with_args("a; git x > f", &args, "[a]; [git] [x]; [>] [f]; [git] [x] [log] [a b;c]");
    with_args("git", &open, "[git]...");
    with_args("sh", &shell, "[rm] [x]");
    with_args("cd", &args, "[cd] [log] [a b;c]");
    with_args("git;", &args, "unreadable at 4: words beside a text that they do not continue");
    with_args("(git)", &args, "unreadable at 5: words beside a text that they do not continue");
    with_args("", &args, "unreadable at 0: words beside a text that they do not continue");
    with_args("if", &args, "unreadable at 0: a reserved word");
    struct command_list list;
    CHECK(command_read_words(reader, two, 2, &shell, &list));
    show_list(&list);
    CHECK_BYTES(shown.ptr, shown.len, "[log] [a b;c] [-c] [rm x]");
    static const struct slice words[] = {{"bash", 4}, {"-lc", 3}, {"git status", 10}, {"x\0y", 3}};
    CHECK(command_read_words(reader, words, 3, NULL, &list));
    show_list(&list);
    CHECK_BYTES(shown.ptr, shown.len, "[git] [status]");
    CHECK(command_read_words(reader, words, 4, NULL, &list) && list.count == 1);
    CHECK((list.commands[0].flags & COMMAND_UNREADABLE) != 0);
    CHECK_BYTES(list.commands[0].raw.ptr, list.commands[0].raw.len - 4, "bash\n-lc\ngit status\n");
    CHECK(command_read_nothing(reader, "a number", &list) && list.count == 1);
    CHECK((list.commands[0].flags & COMMAND_UNREADABLE) != 0 && list.commands[0].count == 0);
}

/* What stands in the words of commands, with the index of the command that they stand in. */
static void holds(const char *text, const char *want)
{
    struct command_list list;
    CHECK(command_read_text(reader, slice_of(text), NULL, &list) && command_read_inner(reader, &list));
    buf_reset(&shown);
    for (uint32_t i = 0; i < list.inner_count; i++) {
        const struct command *command = &list.inner[i];
        buf_printf(&shown, "%s%u ", i > 0 ? "; " : "", command->owner);
        if ((command->flags & COMMAND_UNREADABLE) != 0) {
            buf_text(&shown, command->reason);
        } else {
            show(command);
        }
    }
    CHECK(!list.inner_over);
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void test_inner(void)
{
    holds("git status", "");
    holds("a; sudo rm x", "1 [rm] [x]; 1 [x]");
    holds("/usr/bin/nice ls", "0 [ls]");
    holds("sudo sh -c 'rm x'", "0 [rm] [x]; 0 [-c] [rm x]; 0 [rm x]");
    holds("sudo $X", "0 a command whose name is not known");
    holds("timeout 5 ls $X", "0 [5] [ls] [?$X]...; 0 [ls] [?$X]...");
    holds("find . -exec rm '{}' \\; -ok ls a b + -execdir c '{}' + d",
          "0 [rm] [{}]; 0 [ls] [a] [b] [+] [-execdir] [c] [{}]; 0 [c] [{}]");
    holds("git -C . push", "0 [git] [.] [push]; 0 [git] [push]");
    holds("git -C . push --force x", "0 [git] [.] [push] [x]; 0 [git] [push]; 0 [git] [.] [push] [--force] "
                                     "[x]; 0 [git] [push] [--force] [x]");
    holds("git --no-pager -C . push", "0 [git] [.] [push]; 0 [git] [push]");
    holds("git -c x --no-pager push y",
          "0 [git] [x] [push] [y]; 0 [git] [y]; 0 [git] [x] [--no-pager] [push] [y]; 0 [git] [push] [y]");
    holds("git --git-dir=x push y", "0 [git] [push] [y]");
    holds("env bash -c \"$X\"", "0 a shell's '-c' in a form that is not read; 0 [-c] [?$X]...");
    holds("xargs eval", "0 a builtin that runs what it is told");
}

static void test_text(void)
{
    struct command_list list;
    CHECK(command_read_text(reader, SLICE("'if' '' 'a b' \"it's\" ~/'x y' a=b '=c' > 'f g'"), NULL, &list));
    CHECK(list.count == 2);
    buf_reset(&shown);
    command_append_text(&shown, &list.commands[0]);
    CHECK_BYTES(shown.ptr, shown.len, "'if' '' 'a b' 'it'\\''s' ~/'x y' a=b '=c'");
    buf_reset(&shown);
    command_append_text(&shown, &list.commands[1]);
    CHECK_BYTES(shown.ptr, shown.len, "> 'f g'");
    struct command_list other;
    CHECK(command_read_text(reader, SLICE("a b; a 'b'; a c; X=1 a b; a b"), NULL, &other) &&
          other.count == 5);
    CHECK(command_equal(&other.commands[0], &other.commands[1]));
    CHECK(!command_equal(&other.commands[0], &other.commands[2]));
    CHECK(!command_equal(&other.commands[0], &other.commands[3]));
    CHECK(command_equal(&other.commands[3], &other.commands[4]));
}

int main(void)
{
    reader = command_reader_create();
    CHECK(reader != NULL);
    buf_init(&shown, 1u << 20);
    test_words();
    test_lists();
    test_deep();
    test_redirections();
    test_documents();
    test_unreadable();
    test_names();
    test_long();
    command_reader_reset(reader);
    test_assigned();
    test_shells();
    test_directories();
    test_args();
    test_inner();
    test_text();
    buf_finish(&shown);
    command_reader_destroy(reader);
    return check_done();
}
