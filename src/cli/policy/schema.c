/* callgate schema: the JSON Schema of policy documents. */
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate schema\n\n"
    "Prints a JSON Schema of policy documents, for editors. It is made from the table that\n"
    "drives validation.\n";

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_schema, argc, argv, 0, NULL, 0);
    if (code != -1) {
        return code;
    }
    struct buf out;
    buf_init(&out, 1u << 20);
    policy_write_schema(&out);
    buf_byte(&out, '\n');
    code = print(&out);
    buf_finish(&out);
    options_finish(&options);
    return code;
}

const struct cli_command command_schema = {"schema", "print a JSON Schema of policy documents", usage, run};
