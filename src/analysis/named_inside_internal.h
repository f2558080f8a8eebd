/* What named.c and named_make.c share. */
#ifndef ANALYSIS_NAMED_INSIDE_INTERNAL_H
#define ANALYSIS_NAMED_INSIDE_INTERNAL_H

#include "analysis/named_internal.h"
#include "call/call.h"

struct named {
    const struct policy *policy, *asked; /* of a pair `asked` is the new one, and decides, too */
    const struct path_base *base;
    struct command_world world;
    struct arena arena; /* of one pair of arms */
    struct call_reader reader;
    /* Of the policy, and of the other one of a pair: what files the prefixes of one policy are is kept with them. */
    struct readings readings[2];
    bool looked[2]; /* at those files: they are looked up for the first call */
    struct facts facts;
    struct buf call, text;
    char fresh[24]; /* a name like no other */
    struct slice fresh_name;
};

#endif
