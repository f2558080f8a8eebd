/* The smallest MCP server that answers: for each line with an "id" it writes a tool result with that id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char in[1 << 20], out[4096];
    size_t len = 0;
    ssize_t n;
    while ((n = read(0, in + len, sizeof(in) - len)) > 0) {
        len += (size_t)n;
        char *line = in, *lf;
        while ((lf = memchr(line, '\n', len - (size_t)(line - in))) != NULL) {
            *lf = '\0';
            const char *id = strstr(line, "\"id\":");
            int size = snprintf(out, sizeof(out),
                                "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":[{\"type\":\"text\","
                                "\"text\":\"done\"}]}}\n",
                                id != NULL ? strtol(id + 5, NULL, 10) : 0);
            if (id != NULL && write(1, out, (size_t)size) != size) {
                return 1;
            }
            line = lf + 1;
        }
        len -= (size_t)(line - in);
        memmove(in, line, len);
    }
    return 0;
}
