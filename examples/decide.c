/* Judges the calls on standard input, one JSON object a line, by the policy file named on the command line.
 *
 *     cc decide.c $(pkg-config --cflags --libs callgate) -o decide
 *     echo '{"tool":"read_file","input":{"path":"/etc/passwd"}}' | ./decide policy.json
 */
#include <callgate.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char text[1 << 20], line[1 << 16], answer[1 << 16];
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        return fprintf(stderr, "usage: decide POLICY\n"), 2;
    }
    cg_document document = {argv[1], CG_TIER_OPERATOR, text, fread(text, 1, sizeof(text), file)};
    fclose(file);

    cg_base base = {.size = sizeof(base), .cwd = "/", .home = "/root"};
    cg_report *report;
    cg_policy *policy = cg_policy_load(&document, 1, &base, &report);
    cg_finding f = {.size = sizeof(f)};
    for (size_t i = 0; cg_report_get(report, i, &f); i++) {
        fprintf(stderr, "%s:%u:%u: %s\n", f.file, f.line, f.column, f.message);
    }
    cg_report_free(report);

    while (policy && fgets(line, sizeof(line), stdin)) {
        cg_call *call = cg_call_create(line, strcspn(line, "\n"));
        cg_readings *readings = cg_readings_make(policy, call, &base); /* looks at files */
        cg_decision decision = {.size = sizeof(decision)};
        cg_evaluate(policy, call, readings, NULL, &decision); /* looks at nothing */
        cg_decision_json(policy, &decision, answer, sizeof(answer));
        printf("%s %s\n", decision.kind == CG_ALLOW ? "runs:" : "does not run:", answer);
        cg_readings_free(readings);
        cg_call_free(call);
    }
    cg_policy_free(policy);
    return policy ? 0 : 2;
}
