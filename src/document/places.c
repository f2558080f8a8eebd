/* Where tools keep what they write between two runs. */
#include "document/places.h"

#include <string.h>

const struct named_place named_places[] = {
    {"@cache", ".cache", "pip, uv, Go, Playwright and others keep downloads and builds there"},
    {"@npm", ".npm", "npm keeps downloads there, and what npx starts"},
    {"@cargo", ".cargo/registry", "cargo keeps the sources of crates there"},
    {"@cargo", ".cargo/git", "cargo keeps the sources of crates there"},
    {"@go", "go/pkg", "go keeps the sources of modules there"},
    {"@maven", ".m2/repository", "Maven keeps artifacts there"},
    {"@gradle", ".gradle", "Gradle keeps artifacts and builds there"},
    {"@claude-code", ".claude", "Claude Code keeps its sessions there; what steers it stays read-only"},
    {"@codex", ".codex", "Codex keeps its sessions there; what steers it stays read-only"},
    {"@opencode", ".config/opencode", "opencode keeps its packages there; what steers it stays read-only"},
    {"@opencode", ".local/share/opencode", "opencode keeps its sessions there"},
    {"@opencode", ".local/state/opencode", "opencode keeps its state there"},
    {"@opencode", ".cache/opencode", "opencode keeps its packages there"},
};
const size_t named_place_count = sizeof(named_places) / sizeof(named_places[0]);

bool named_place_is(struct slice name)
{
    for (size_t i = 0; i < named_place_count; i++) {
        if (slice_is(name, named_places[i].name)) {
            return true;
        }
    }
    return false;
}

static bool is_last(size_t at)
{
    for (size_t i = at + 1; i < named_place_count; i++) {
        if (strcmp(named_places[i].name, named_places[at].name) != 0) {
            return false;
        }
    }
    return true;
}

void named_places_write(struct buf *buf)
{
    for (size_t i = 0; i < named_place_count; i++) {
        if (i == 0 || strcmp(named_places[i].name, named_places[i - 1].name) != 0) {
            buf_printf(buf, "%s'%s'", i == 0 ? "" : is_last(i) ? " and " : ", ", named_places[i].name);
        }
    }
}
