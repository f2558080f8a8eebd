/* people.json: what loads, what does not and where, and whom an answer comes from. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "people/roster.h"
#include "tests/check.h"

static void refuse(const char *text, const char *want)
{
    struct roster roster;
    struct buf error;
    buf_init(&error, 4096);
    CHECK(!roster_read(&roster, SLICE("p.json"), slice_of(text), &error));
    CHECK(!roster.present);
    CHECK_BYTES(error.ptr, error.len, want);
    buf_finish(&error);
}

static const char good[] =
    "{\"people\": [{\"name\": \"ada\", \"user\": \"ada\", \"slack\": \"T1/U1\"},"
    " {\"name\": \"bob\", \"bridge\": \"bob\", \"rules\": [\"ask\"], \"channels\": [\"C1\"]}],"
    " \"groups\": {\"security\": [\"ada\"]}}";

static void test_reading(void)
{
    struct roster roster;
    struct buf error;
    buf_init(&error, 4096);
    CHECK(roster_read(&roster, SLICE("p.json"), SLICE(good), &error));
    CHECK(error.len == 0);
    const struct person *ada = roster_find(&roster, PEOPLE_USER, SLICE("ada"));
    const struct person *bob = roster_find(&roster, PEOPLE_BRIDGE, SLICE("bob"));
    CHECK(ada != NULL && bob != NULL && ada != bob);
    CHECK(ada == roster_find(&roster, PEOPLE_SLACK, SLICE("T1/U1")));
    CHECK(roster_find(&roster, PEOPLE_PAGE, SLICE("ada")) == NULL);
    CHECK(roster_find(&roster, PEOPLE_USER, SLICE("bob")) == NULL);
    CHECK(person_may_answer(ada, SLICE("any"), SLICE("C9")));
    CHECK(person_may_answer(bob, SLICE("ask"), SLICE("C1")));
    CHECK(!person_may_answer(bob, SLICE("ask"), SLICE("C2")));
    CHECK(!person_may_answer(bob, SLICE("other"), SLICE("C1")));
    CHECK(roster_in_group(&roster, ada, SLICE("security")));
    CHECK(!roster_in_group(&roster, bob, SLICE("security")));
    CHECK(!roster_in_group(&roster, ada, SLICE("nobody")));

    struct buf text;
    struct roster again;
    buf_init(&text, 1 << 16);
    roster_write(&text, &roster);
    CHECK(buf_ok(&text) && roster_read(&again, SLICE("q.json"), buf_slice_of(&text), &error));
    CHECK(again.count == 2 && again.group_count == 1);
    bob = roster_named(&again, SLICE("bob"));
    CHECK(bob != NULL && !person_may_answer(bob, SLICE("ask"), SLICE("C2")));
    roster_finish(&again);
    roster_finish(&roster);
    buf_finish(&text);
    buf_finish(&error);
}

static void test_refusing(void)
{
    refuse("{}", "p.json:1:1: must be an object with a list \"people\"");
    refuse("{\"people\": [{\"user\": \"a\"}]}", "p.json:1:13: a person needs a \"name\"");
    refuse("{\"people\": [{\"name\": \"a\"},\n{\"name\": \"a\"}]}", "p.json:2:1: two people are called 'a'");
    refuse("{\"people\": [{\"name\": \"a\", \"user\": \"u\"}, {\"name\": \"b\", \"user\": \"u\"}]}",
           "p.json:1:41: what authenticates one person cannot stand for another: both have 'u'");
    refuse("{\"people\": [{\"name\": \"a \"}]}",
           "p.json:1:22: must be a text without blanks at its ends and without characters that nobody sees");
    refuse("{\"people\": [{\"name\": \"a\", \"mail\": \"x\"}]}",
           "p.json:1:27: the members of a person are name, user, page, slack, bridge, rules and channels, "
           "not 'mail'");
    refuse("{\"people\": [], \"groups\": {\"g\": [\"x\"]}}",
           "p.json:1:27: a group has a member who is nobody in \"people\": 'x'");
    refuse("{\"people\": [], \"group\": {}}",
           "p.json:1:16: the members of the file are people and groups, not 'group'");
    refuse("{\"people\": [}", "p.json:1:13: expected a value");
}

static void test_names(void)
{
    CHECK(people_name_usable(SLICE("ada")));
    CHECK(people_name_usable(SLICE("ada lovelace")));
    CHECK(!people_name_usable(SLICE("")));
    CHECK(!people_name_usable(SLICE(" ada")));
    CHECK(!people_name_usable(SLICE("ada\xc2\xa0")));
    CHECK(!people_name_usable(SLICE("a\xe2\x80\x8b"
                                    "da")));
    CHECK(!people_name_usable(SLICE("a\xff")));
}

static void test_files(void)
{
    char dir[] = "/tmp/roster-XXXXXX", name[64];
    struct roster roster;
    struct buf path, error, writers;
    buf_init(&path, 4096);
    buf_init(&error, 4096);
    buf_init(&writers, 4096);
    CHECK(mkdtemp(dir) != NULL);
    if (access(PEOPLE_MANAGED, F_OK) != 0) {
        CHECK(roster_open(&roster, slice_of(dir), NULL, &path, &error));
        CHECK(!roster.present && error.len == 0);
        roster_finish(&roster);
        snprintf(name, sizeof(name), "%s/none.json", dir);
        buf_reset(&path);
        CHECK(!roster_open(&roster, slice_of(dir), name, &path, &error));
        CHECK(error.len > 0);
    }
    snprintf(name, sizeof(name), "%s/people.json", dir);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL && fputs(good, file) >= 0 && fclose(file) == 0);
    CHECK(chmod(name, 0600) == 0 && chmod(dir, 0700) == 0);
    people_tell_writers(&writers, name, getuid());
    CHECK(writers.len == 0);
    CHECK(chmod(name, 0622) == 0);
    people_tell_writers(&writers, name, getuid());
    CHECK(writers.len > 0 && strncmp(writers.ptr, "everybody can write ", 20) == 0);
    unlink(name);
    rmdir(dir);
    buf_finish(&path);
    buf_finish(&error);
    buf_finish(&writers);
}

int main(void)
{
    test_reading();
    test_refusing();
    test_names();
    test_files();
    return check_done();
}
