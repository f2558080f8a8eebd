/* What the grammar, and what is read aside, know of programs by their names. */
#include <string.h>

#include "command/internal.h"

#define LONGEST_NAME 11u

#define NAME(text) {(text), sizeof(text) - 1}

/* Sorted by bytes: a unit test holds them to it. */
static const struct {
    struct slice name;
    uint32_t flags;
} names[] = {
    {NAME("-"), NAME_RUNS_TEXT},
    {NAME("."), NAME_RUNS},
    {NAME("["), NAME_SUBSCRIPTS},
    {NAME("ack"), NAME_SEARCH | NAME_TREE | NAME_TREE_HERE | NAME_TREE_HIDING},
    {NAME("ag"), NAME_SEARCH | NAME_TREE | NAME_TREE_HERE | NAME_TREE_HIDING},
    {NAME("alias"), NAME_RUNS_TEXT},
    {NAME("ash"), NAME_SHELL},
    {NAME("autoload"), NAME_ASSIGNS},
    {NAME("awk"), NAME_RUNS},
    {NAME("bash"), NAME_RUNS | NAME_SHELL},
    {NAME("break"), NAME_SUBSCRIPTS},
    {NAME("builtin"), NAME_PREFIX | NAME_WRAPPER},
    {NAME("bun"), NAME_RUNS},
    {NAME("busybox"), NAME_WRAPPER},
    {NAME("bye"), NAME_SUBSCRIPTS},
    {NAME("case"), NAME_RESERVED},
    {NAME("cd"), NAME_CD},
    {NAME("chmod"), NAME_TREE},
    {NAME("chown"), NAME_TREE},
    {NAME("command"), NAME_PREFIX | NAME_RUNS | NAME_WRAPPER},
    {NAME("compgen"), NAME_RUNS_TEXT},
    {NAME("complete"), NAME_RUNS_TEXT},
    {NAME("continue"), NAME_SUBSCRIPTS},
    {NAME("coproc"), NAME_RESERVED},
    {NAME("cp"), NAME_TREE},
    {NAME("dash"), NAME_RUNS | NAME_SHELL},
    {NAME("declare"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("deno"), NAME_RUNS},
    {NAME("diff"), NAME_TREE},
    {NAME("disable"), NAME_ASSIGNS},
    {NAME("do"), NAME_RESERVED},
    {NAME("doas"), NAME_RUNS | NAME_WRAPPER},
    {NAME("docker"), NAME_RUNS},
    {NAME("done"), NAME_RESERVED},
    {NAME("du"), NAME_TREE | NAME_TREE_HERE | NAME_TREE_NAMES},
    {NAME("egrep"), NAME_GREP | NAME_SEARCH | NAME_TREE},
    {NAME("elif"), NAME_RESERVED},
    {NAME("else"), NAME_RESERVED},
    {NAME("emulate"), NAME_RUNS_TEXT},
    {NAME("enable"), NAME_ASSIGNS},
    {NAME("end"), NAME_RESERVED},
    {NAME("env"), NAME_RUNS | NAME_WRAPPER},
    {NAME("esac"), NAME_RESERVED},
    {NAME("eval"), NAME_RUNS | NAME_RUNS_TEXT},
    {NAME("exec"), NAME_PREFIX | NAME_RUNS | NAME_WRAPPER},
    {NAME("exit"), NAME_SUBSCRIPTS},
    {NAME("export"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("fd"), NAME_TREE | NAME_TREE_HERE | NAME_TREE_HIDING | NAME_TREE_NAMES},
    {NAME("fgrep"), NAME_GREP | NAME_SEARCH | NAME_TREE},
    {NAME("fi"), NAME_RESERVED},
    {NAME("find"), NAME_FIND | NAME_RUNS | NAME_TREE | NAME_TREE_HERE | NAME_TREE_NAMES},
    {NAME("fish"), NAME_RUNS},
    {NAME("float"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("for"), NAME_RESERVED},
    {NAME("foreach"), NAME_RESERVED},
    {NAME("function"), NAME_RESERVED},
    {NAME("functions"), NAME_ASSIGNS},
    {NAME("getln"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("getopts"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("global"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("grep"), NAME_GREP | NAME_SEARCH | NAME_TREE},
    {NAME("hash"), NAME_ASSIGNS},
    {NAME("if"), NAME_RESERVED},
    {NAME("in"), NAME_RESERVED},
    {NAME("integer"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("ionice"), NAME_WRAPPER},
    {NAME("jobs"), NAME_JOBS},
    {NAME("ksh"), NAME_RUNS | NAME_SHELL},
    {NAME("let"), NAME_RUNS_TEXT},
    {NAME("local"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("make"), NAME_RUNS},
    {NAME("mapfile"), NAME_RUNS_TEXT},
    {NAME("mksh"), NAME_SHELL},
    {NAME("mv"), NAME_TREE},
    {NAME("nameref"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("nice"), NAME_RUNS | NAME_WRAPPER},
    {NAME("nocorrect"), NAME_RESERVED},
    {NAME("node"), NAME_RUNS},
    {NAME("noglob"), NAME_RESERVED | NAME_RUNS_TEXT},
    {NAME("nohup"), NAME_RUNS | NAME_WRAPPER},
    {NAME("npx"), NAME_RUNS},
    {NAME("perl"), NAME_RUNS},
    {NAME("php"), NAME_RUNS},
    {NAME("podman"), NAME_RUNS},
    {NAME("popd"), NAME_POPD},
    {NAME("print"), NAME_SUBSCRIPTS},
    {NAME("printf"), NAME_SUBSCRIPTS},
    {NAME("private"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("pushd"), NAME_CD},
    {NAME("python"), NAME_RUNS},
    {NAME("python3"), NAME_RUNS},
    {NAME("rbash"), NAME_SHELL},
    {NAME("read"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("readarray"), NAME_RUNS_TEXT},
    {NAME("readonly"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("repeat"), NAME_RESERVED},
    {NAME("return"), NAME_SUBSCRIPTS},
    {NAME("rg"), NAME_SEARCH | NAME_TREE | NAME_TREE_HERE | NAME_TREE_HIDING},
    {NAME("rm"), NAME_TREE},
    {NAME("rsync"), NAME_TREE},
    {NAME("ruby"), NAME_RUNS},
    {NAME("scp"), NAME_TREE},
    {NAME("sed"), NAME_RUNS},
    {NAME("select"), NAME_RESERVED},
    {NAME("set"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("setopt"), NAME_ASSIGNS},
    {NAME("setsid"), NAME_WRAPPER},
    {NAME("sh"), NAME_RUNS | NAME_SHELL},
    {NAME("shift"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("shopt"), NAME_ASSIGNS},
    {NAME("source"), NAME_RUNS},
    {NAME("ssh"), NAME_RUNS},
    {NAME("stdbuf"), NAME_WRAPPER},
    {NAME("su"), NAME_RUNS},
    {NAME("sudo"), NAME_RUNS | NAME_WRAPPER},
    {NAME("tar"), NAME_TREE},
    {NAME("test"), NAME_SUBSCRIPTS},
    {NAME("then"), NAME_RESERVED},
    {NAME("time"), NAME_RESERVED | NAME_RUNS | NAME_RUNS_TEXT | NAME_WRAPPER},
    {NAME("timeout"), NAME_RUNS | NAME_WRAPPER},
    {NAME("toybox"), NAME_WRAPPER},
    {NAME("trap"), NAME_RUNS_TEXT},
    {NAME("tree"), NAME_TREE | NAME_TREE_HERE | NAME_TREE_NAMES},
    {NAME("typeset"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("ulimit"), NAME_SUBSCRIPTS},
    {NAME("unfunction"), NAME_ASSIGNS},
    {NAME("unhash"), NAME_ASSIGNS},
    {NAME("unset"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("until"), NAME_RESERVED},
    {NAME("uvx"), NAME_RUNS},
    {NAME("vared"), NAME_ASSIGNS},
    {NAME("watch"), NAME_RUNS},
    {NAME("while"), NAME_RESERVED},
    {NAME("xargs"), NAME_RUNS | NAME_WRAPPER},
    {NAME("zformat"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("zip"), NAME_TREE},
    {NAME("zparseopts"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("zregexparse"), NAME_ASSIGNS | NAME_SUBSCRIPTS},
    {NAME("zsh"), NAME_RUNS | NAME_SHELL},
};

/* Where the names begin that begin with a letter; the next letter's place is where they end. Names that begin
 * otherwise stand before all of them. */
static const uint8_t letters[27] = {3,  9,  15, 25, 35,  47,  57,  61,  62,  66,  67,  68,  70, 74,
                                    81, 81, 91, 91, 101, 115, 124, 130, 131, 133, 134, 134, 139};

uint32_t name_flags(struct slice name)
{
    if (name.len == 0 || name.len > LONGEST_NAME) {
        return 0;
    }
    unsigned letter = (unsigned char)name.ptr[0] - (unsigned)'a';
    size_t at = letter < 26 ? letters[letter] : 0, end = letter < 26 ? letters[letter + 1] : letters[0];
    for (; at < end; at++) {
        if (names[at].name.len == name.len && memcmp(names[at].name.ptr, name.ptr, name.len) == 0) {
            return names[at].flags;
        }
    }
    return 0;
}

struct slice name_base(struct slice word)
{
    size_t at = word.len;
    while (at > 0 && word.ptr[at - 1] != '/') {
        at--;
    }
    return slice_from(word, at);
}

uint32_t name_index(const struct command_word *words, uint32_t count)
{
    uint32_t index = 0;
    while (index < count && (words[index].flags & COMMAND_WORD_OPAQUE) == 0 &&
           (name_flags(words[index].text) & NAME_PREFIX) != 0) {
        index++;
        while (index < count && words[index].text.len > 0 && words[index].text.ptr[0] == '-') {
            index++;
        }
    }
    return index;
}

bool is_letter_option(struct slice word)
{
    if (word.len < 2 || word.ptr[0] != '-') {
        return false;
    }
    for (size_t i = 1; i < word.len; i++) {
        if (!is_ascii_letter(word.ptr[i])) {
            return false;
        }
    }
    return true;
}
