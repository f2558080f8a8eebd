/* json_write_double against what Node prints, for doubles of random bits and all powers of two.
 *
 * Node makes the table: a line "HIGH LOW TEXT" for each double, the words in decimal. Skipped (77) without
 * Node. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../check.h"
#include "json/json.h"

static const char script[] =
    "const words = new Uint32Array(2), view = new Float64Array(words.buffer);"
    "const little = new Uint8Array(new Uint16Array([1]).buffer)[0];"
    "let out = [];"
    "function put() {"
    "  if (Number.isFinite(view[0])) out.push(words[little] + ' ' + words[1 - little] + ' ' + "
    "String(view[0]));"
    "  if (out.length > 5000) { process.stdout.write(out.join('\\n') + '\\n'); out = []; }"
    "}"
    "function near(d) { for (let i = -2; i <= 2; i++) { view[0] = d; words[1 - little] += i; put(); } }"
    /* mulberry32, so that every run looks at the same doubles */
    "let state = 20261129;"
    "function random() {"
    "  let t = state = state + 0x6D2B79F5 | 0;"
    "  t = Math.imul(t ^ t >>> 15, t | 1);"
    "  t ^= t + Math.imul(t ^ t >>> 7, t | 61);"
    "  return (t ^ t >>> 14) >>> 0;"
    "}"
    "for (let e = -1074; e <= 1023; e++) near(2 ** e);"
    "for (let e = -323; e <= 308; e++) near(Number('1e' + e));"
    "for (let i = 0; i < 110000; i++) { words[0] = random(); words[1] = random(); put(); }"
    "for (let i = 0; i < 5000; i++) { words[little] = random() & 0x800fffff; words[1 - little] = random(); "
    "put(); }"
    "for (let i = 0; i < 10000; i++) { view[0] = random() / 10 ** (random() % 12); put(); }"
    "for (let i = 0; i < 10000; i++) { view[0] = random() * 2 ** (random() % 40); put(); }"
    "for (let i = 0; i < 5000; i++) { view[0] = i - 2500; put(); view[0] /= 8; put(); }"
    "process.stdout.write(out.join('\\n') + '\\n');";

int main(void)
{
    if (system("node --version >/dev/null 2>&1") != 0) {
        return 77;
    }
    char command[sizeof(script) + 32];
    (void)snprintf(command, sizeof(command), "node -e \"%s\"", script);
    FILE *node = popen(command, "r");
    if (node == NULL) {
        return 1;
    }
    struct buf buf;
    buf_init(&buf, 64);
    uint32_t high, low;
    char want[64];
    int doubles = 0;
    while (fscanf(node, "%" SCNu32 " %" SCNu32 " %63s", &high, &low, want) == 3) {
        uint64_t bits = (uint64_t)high << 32 | low;
        double d;
        memcpy(&d, &bits, sizeof(d));
        buf_reset(&buf);
        json_write_double(&buf, d);
        CHECK_BYTES(buf.ptr, buf.len, want);
        doubles++;
    }
    CHECK(doubles > 130000);
    CHECK(pclose(node) == 0);
    buf_finish(&buf);
    return check_done();
}
