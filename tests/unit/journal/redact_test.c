/* What is redacted and what is not, what is cut, and that the result is canonical and stays as it is.
 * Credentials are put together here from pieces: no scanner of sources should take them for real ones. */
#include <stdlib.h>

#include "../../check.h"
#include "journal/journal.h"
#include "journal/secrets_internal.h"

static struct json_doc doc;
static struct buf text, again;

static bool redact(struct slice json, struct buf *out)
{
    const struct json_options options = {.max_depth = 100, .max_bytes = 1 << 26};
    struct json_error error;
    buf_reset(out);
    if (!json_parse(&doc, json, &options, &error)) {
        printf("    no JSON at %u: %.*s\n", error.offset, json.len < 200 ? (int)json.len : 200, json.ptr);
        return false;
    }
    redact_write(out, &doc, json_root(&doc));
    return buf_ok(out);
}

/* Redacts; the result is canonical, and redacting it again changes nothing. */
static bool redacted_well(struct slice json)
{
    struct buf canonical;
    bool done = redact(json, &text) && redact(buf_slice_of(&text), &again);
    if (!done || !slice_eq(buf_slice_of(&text), buf_slice_of(&again))) {
        printf("    once  %.*s\n    twice %.*s\n", SLICE_FMT(buf_slice_of(&text)),
               SLICE_FMT(buf_slice_of(&again)));
        return false;
    }
    buf_init(&canonical, 1 << 26);
    json_write_canonical(&canonical, &doc, json_root(&doc), JSON_NUMBER_JOURNAL);
    bool same = slice_eq(buf_slice_of(&text), buf_slice_of(&canonical));
    buf_finish(&canonical);
    return same;
}

#define CHECK_REDACTED(json, want)                                                                           \
    do {                                                                                                     \
        CHECK(redacted_well(slice_of(json)));                                                                \
        CHECK_BYTES(text.ptr, text.len, want);                                                               \
    } while (0)

static const char *const all[] = {
    "password",      "PASSWORD",        "Pass-Word", "pass_word", "p.a.s.s.w.o.r.d",
    "user_password", "passwordConfirm", "password2", "db.passwd", "passphrase",
    "pwd",           "DB_PWD",          "userPwd",   "pin",       "PIN"};
static const char *const strings[] = {"api-key",
                                      "apiKey",
                                      "API_KEY",
                                      "api key",
                                      "x-api-key",
                                      "X-API-KEY",
                                      "openaiApiKey",
                                      "apikeys",
                                      "token",
                                      "Token",
                                      "access_token",
                                      "accessToken",
                                      "ACCESS-TOKEN",
                                      "id_token",
                                      "refreshToken2",
                                      "authorization",
                                      "Authorization",
                                      "Proxy-Authorization",
                                      "auth",
                                      "cookie",
                                      "Set-Cookie",
                                      "secret",
                                      "client_secret",
                                      "clientSecret",
                                      "SECRET_ACCESS_KEY",
                                      "aws_secret_access_key",
                                      "private_key",
                                      "privateKey",
                                      "privateKeyPem",
                                      "credentials",
                                      "jwt",
                                      "signing_key",
                                      "connectionString",
                                      "connection-string",
                                      "ssh_key",
                                      "X-Amz-Signature",
                                      "pass",
                                      "tokens"};
static const char *const neither[] = {"path",
                                      "file_path",
                                      "content",
                                      "name",
                                      "key",
                                      "keys",
                                      "author",
                                      "authors",
                                      "tokenizer",
                                      "tokenize",
                                      "passed",
                                      "pass_rate",
                                      "compass",
                                      "bypass",
                                      "monkey",
                                      "keyboard",
                                      "sessionKey",
                                      "session_id",
                                      "oldPwd",
                                      "id",
                                      "user",
                                      "username",
                                      "url",
                                      "query",
                                      "pinned",
                                      "spin",
                                      "signatures_count",
                                      "cookies_enabled",
                                      "",
                                      "-",
                                      "public_key"};

static void test_names(void)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        bool is_all = secret_name(slice_of(all[i]), false) == SECRET_NAME_ALL;
        bool working_dir = strcmp(all[i], "pwd") == 0;
        CHECK(is_all != working_dir);
        if (is_all == working_dir) {
            printf("    %s\n", all[i]);
        }
    }
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
        CHECK(secret_name(slice_of(strings[i]), false) == SECRET_NAME_TEXT);
        if (secret_name(slice_of(strings[i]), false) != SECRET_NAME_TEXT) {
            printf("    %s\n", strings[i]);
        }
    }
    for (size_t i = 0; i < sizeof(neither) / sizeof(*neither); i++) {
        CHECK(secret_name(slice_of(neither[i]), false) == SECRET_NAME_NO);
        if (secret_name(slice_of(neither[i]), false) != SECRET_NAME_NO) {
            printf("    %s\n", neither[i]);
        }
    }
    CHECK(secret_name((struct slice){NULL, 0}, false) == SECRET_NAME_NO);
    CHECK(secret_name(SLICE("pass\0word"), false) ==
          SECRET_NAME_ALL); /* a NUL is a separator like any other */
}

static void test_values_under_names(void)
{
    CHECK_REDACTED("{\"password\":\"hunter\",\"a\":1}", "{\"a\":1,\"password\":\"[redacted]\"}");
    CHECK_REDACTED("{\"password\":123456}", "{\"password\":\"[redacted]\"}");
    CHECK_REDACTED("{\"password\":null}", "{\"password\":null}");
    CHECK_REDACTED("{\"password\":{\"old\":\"a\",\"new\":\"b\"}}", "{\"password\":\"[redacted]\"}");
    CHECK_REDACTED("{\"API_KEY\":\"abc\"}", "{\"API_KEY\":\"[redacted]\"}");
    CHECK_REDACTED("{\"apiKey\":\"\"}", "{\"apiKey\":\"\"}");
    CHECK_REDACTED("{\"max_tokens\":100,\"tokens\":[\"a\",1]}",
                   "{\"max_tokens\":100,\"tokens\":[\"[redacted]\",1]}");
    CHECK_REDACTED(
        "{\"credentials\":{\"user\":\"u\",\"deep\":[{\"x\":\"y\",\"n\":1,\"b\":true}]}}",
        "{\"credentials\":{\"deep\":[{\"b\":true,\"n\":1,\"x\":\"[redacted]\"}],\"user\":\"[redacted]\"}}");
    CHECK_REDACTED("{\"headers\":{\"Authorization\":\"Basic abc\",\"Accept\":\"*/*\"}}",
                   "{\"headers\":{\"Accept\":\"*/*\",\"Authorization\":\"[redacted]\"}}");
    CHECK_REDACTED("{\"a\":{\"b\":[{\"secret\":\"x\"}]}}", "{\"a\":{\"b\":[{\"secret\":\"[redacted]\"}]}}");
    CHECK_REDACTED("{\"pass\\u0077ord\":\"x\"}", "{\"password\":\"[redacted]\"}");
    /* Names and values apart. */
    CHECK_REDACTED(
        "{\"env\":[{\"name\":\"API_KEY\",\"value\":\"abc\"},{\"name\":\"HOME\",\"value\":\"/root\"}]}",
        "{\"env\":[{\"name\":\"API_KEY\",\"value\":\"[redacted]\"},{\"name\":\"HOME\",\"value\":\"/"
        "root\"}]}");
    CHECK_REDACTED("{\"args\":[\"--password\",\"abc\",\"--user\",\"me\"]}",
                   "{\"args\":[\"--password\",\"[redacted]\",\"--user\",\"me\"]}");
    CHECK_REDACTED("[\"--token\",\"--verbose\",\"x\"]", "[\"--token\",\"--verbose\",\"x\"]");
    CHECK_REDACTED("[\"--token\",7,\"--api-key\"]", "[\"--token\",7,\"--api-key\"]");
}

static void fake(struct buf *out, const char *before, const char *prefix, char filler, size_t count,
                 const char *after)
{
    buf_reset(out);
    buf_byte(out, '"');
    buf_text(out, before);
    buf_text(out, prefix);
    for (size_t i = 0; i < count; i++) {
        buf_byte(out, i % 3 == 1 ? '7' : filler);
    }
    buf_text(out, after);
    buf_byte(out, '"');
}

static void test_prefixes(void)
{
    static const struct {
        const char *prefix;
        char filler;
        size_t least;
        const char *label;
        bool alone;
    } cases[] = {
        {"AKIA", 'Q', 16, "AWS access key", true},
        {"ASIA", 'Q', 16, "AWS access key", true},
        {"AIza", 'x', 35, "Google API key", false},
        {"ya29.", 'x', 20, "Google token", true},
        {"GOCSPX-", 'x', 20, "Google client secret", false},
        {"ghp_", 'x', 36, "GitHub token", false},
        {"gho_", 'x', 36, "GitHub token", false},
        {"ghs_", 'x', 36, "GitHub token", false},
        {"github_pat_", 'x', 40, "GitHub token", false},
        {"glpat-", 'x', 20, "GitLab token", false},
        {"xoxb-", '2', 24, "Slack token", false},
        {"xoxp-", '2', 24, "Slack token", false},
        {"xapp-", '2', 24, "Slack token", false},
        {"sk-", 'x', 40, "API key", true},
        {"sk-ant-", 'x', 40, "API key", true},
        {"sk_live_", 'x', 24, "Stripe key", false},
        {"rk_test_", 'x', 24, "Stripe key", false},
        {"whsec_", 'x', 24, "Stripe key", false},
        {"npm_", 'x', 36, "npm token", true},
        {"pypi-", 'x', 60, "PyPI token", true},
        {"hf_", 'x', 34, "Hugging Face token", true},
        {"SG.", 'x', 60, "SendGrid key", true},
        {"dop_v1_", 'a', 64, "DigitalOcean token", false},
        {"dckr_pat_", 'x', 27, "Docker token", false},
        {"dapi", 'a', 32, "Databricks token", true},
        {"hvs.", 'x', 24, "Vault token", true},
        {"shpat_", 'a', 32, "Shopify token", false},
        {"lin_api_", 'x', 40, "Linear key", false},
        {"AGE-SECRET-KEY-1", 'Q', 58, "age key", false},
        {"hooks.slack.com/services/", 'T', 40, "Slack webhook", false},
    };
    struct buf json, want;
    buf_init(&json, 1 << 20);
    buf_init(&want, 1 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *const places[][2] = {{"", ""},     {"use ", " now"}, {"(", ")"},
                                         {"a=", "&b"}, {"\\n", "\\n"},   {"x_", "!"}};
        for (size_t place = 0; place < sizeof(places) / sizeof(*places); place++) {
            fake(&json, places[place][0], cases[i].prefix, cases[i].filler, cases[i].least, places[place][1]);
            buf_reset(&want);
            buf_printf(&want, "\"%s[redacted %s]%s\"", places[place][0], cases[i].label, places[place][1]);
            CHECK(redacted_well(buf_slice_of(&json)));
            buf_byte(&want, '\0');
            CHECK_BYTES(text.ptr, text.len, want.ptr);
        }
        /* Too short to be one; and, where the prefix is a part of words, inside a word. */
        fake(&json, "", cases[i].prefix, cases[i].filler, 5, "");
        CHECK(redacted_well(buf_slice_of(&json)) && slice_eq(buf_slice_of(&text), buf_slice_of(&json)));
        fake(&json, "ta", cases[i].prefix, cases[i].filler, cases[i].least, "");
        CHECK(redacted_well(buf_slice_of(&json)));
        CHECK(slice_eq(buf_slice_of(&text), buf_slice_of(&json)) == cases[i].alone);
    }
    buf_finish(&json);
    buf_finish(&want);
}

static void test_forms(void)
{
    struct buf json;
    buf_init(&json, 1 << 20);
    const char *header = "eyJ"
                         "hbGciOiJIUzI1NiJ9",
               *payload = "eyJ"
                          "zdWIiOiIxMjM0NTY3ODkwIn0";
    buf_printf(&json, "\"see %s.%s.abc-_9, and\"", header, payload);
    CHECK(redacted_well(buf_slice_of(&json)));
    CHECK_BYTES(text.ptr, text.len, "\"see [redacted JWT], and\"");
    buf_reset(&json);
    buf_printf(&json, "\"%s\"", header);
    CHECK(redacted_well(buf_slice_of(&json)) && slice_eq(buf_slice_of(&text), buf_slice_of(&json)));

    static const char *const kinds[] = {"", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        for (int form = 0; form < 4; form++) {
            const char *end_of_line = form == 0 ? "\\n" : form == 1 ? "\\r\\n" : form == 2 ? "\\\\n" : " ";
            buf_reset(&json);
            buf_printf(
                &json,
                "\"echo -----BEGIN %sPRIVATE KEY-----%sMIIEvQIBADANBgkqhkiG9w0B%sAQEFAASCBKcwggSjAgEA%sabc=",
                kinds[i], end_of_line, end_of_line, end_of_line);
            buf_printf(&json, "%s-----END %sPRIVATE KEY----- > key\"", end_of_line, kinds[i]);
            CHECK(redacted_well(buf_slice_of(&json)));
            CHECK_BYTES(text.ptr, text.len, "\"echo [redacted private key] > key\"");
        }
    }
    CHECK_REDACTED(
        "\"-----BEGIN RSA PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\nDEK-Info: AES-128-CBC,0011AABB\\n\\n"
        "MIIEvQIBADANBgkqhkiG9w0B\\n-----END RSA PRIVATE KEY-----\"",
        "\"[redacted private key]\"");
    CHECK_REDACTED("\"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0B\\nAQEF\"",
                   "\"[redacted private key]\"");
    CHECK_REDACTED("\"-----BEGIN CERTIFICATE-----\\nMIIEvQIBADANBgkqhkiG9w0B\\n-----END CERTIFICATE-----\"",
                   "\"-----BEGIN CERTIFICATE-----\\nMIIEvQIBADANBgkqhkiG9w0B\\n-----END CERTIFICATE-----\"");
    /* What merely pretends to be a key hides no command. */
    CHECK_REDACTED("\": -----BEGIN PRIVATE KEY-----\\nrm -rf /\\n: -----END PRIVATE KEY-----\"",
                   "\": [redacted private key]\\nrm -rf /\\n: -----END PRIVATE KEY-----\"");
    CHECK_REDACTED("\"-----BEGIN PRIVATE KEY-----; rm -rf /\"", "\"[redacted private key]; rm -rf /\"");

    CHECK_REDACTED("\"curl -H 'X: y' -H 'Bearer abcdef123456' u\"",
                   "\"curl -H 'X: y' -H 'Bearer [redacted bearer token]' u\"");
    CHECK_REDACTED("\"BEARER   abcdef123456;x\"", "\"BEARER   [redacted bearer token];x\"");
    CHECK_REDACTED("\"a bearer of news\"", "\"a bearer of news\"");
    CHECK_REDACTED("\"forbearer abcdef123456\"", "\"forbearer abcdef123456\"");

    CHECK_REDACTED("\"https://me:pa55@host/x\"", "\"https://me:[redacted password in a URL]@host/x\"");
    CHECK_REDACTED("\"postgres://u:p@ss@db:5432/x?y=a@b\"",
                   "\"postgres://u:[redacted password in a URL]@db:5432/x?y=a@b\"");
    CHECK_REDACTED(
        "\"https://g"
        "hp_0123456789012345678901:abc@h/?token=x\"",
        "\"https://[redacted GitHub token]:[redacted password in a URL]@h/?token=[redacted secret]\"");
    CHECK_REDACTED("\"a://b://u:pw@h c://u:pw@h\"",
                   "\"a://b://u:[redacted password in a URL]@h c://u:[redacted password in a URL]@h\"");
    CHECK_REDACTED("{\"x password\":1,\"https://u:p@a\":2}",
                   "{\"https://u:[redacted password in a URL]@a\":2,\"x password\":\"[redacted]\"}");
    CHECK_REDACTED("\"ssh://git@host:22/x\"", "\"ssh://git@host:22/x\"");
    CHECK_REDACTED("\"https://host:8080/a@b\"", "\"https://host:8080/a@b\"");
    CHECK_REDACTED("\"https://u:@h http://[::1]:80/ x://\"", "\"https://u:@h http://[::1]:80/ x://\"");
    CHECK_REDACTED("\"https://u:$(id)@h https://u:`id`@h\"", "\"https://u:$(id)@h https://u:`id`@h\"");
    buf_finish(&json);
}

static void test_assignments(void)
{
    CHECK_REDACTED("\"export API_KEY=abc PATH=/bin\"", "\"export API_KEY=[redacted secret] PATH=/bin\"");
    CHECK_REDACTED("\"DB_PASSWORD='a b c' ./run\"", "\"DB_PASSWORD='[redacted secret]' ./run\"");
    CHECK_REDACTED("\"password: hunter, user: me\"", "\"password: [redacted secret], user: me\"");
    CHECK_REDACTED("\"{\\\"password\\\": \\\"a b\\\", \\\"x\\\": 1}\"",
                   "\"{\\\"password\\\": \\\"[redacted secret]\\\", \\\"x\\\": 1}\"");
    CHECK_REDACTED("\"{\\\\\\\"token\\\\\\\":\\\\\\\"abc\\\\\\\"}\"",
                   "\"{\\\\\\\"token\\\\\\\":\\\\\\\"[redacted secret]\\\\\\\"}\"");
    CHECK_REDACTED("\"curl -H \\\"Authorization: Basic dTpw\\\" h\"",
                   "\"curl -H \\\"Authorization: [redacted secret]\\\" h\"");
    CHECK_REDACTED("\"Authorization: Basic dTpw\\nHost: h\"",
                   "\"Authorization: [redacted secret]\\nHost: h\"");
    CHECK_REDACTED("\"curl -b x -H 'Cookie: a=b; c=d' h\"", "\"curl -b x -H 'Cookie: [redacted secret]' h\"");
    CHECK_REDACTED("\"h?access_token=abc&x=1#y\"", "\"h?access_token=[redacted secret]&x=1#y\"");
    CHECK_REDACTED("\"mysql --password abc -u me\"", "\"mysql --password [redacted secret] -u me\"");
    CHECK_REDACTED("\"mysql --password=abc -u me\"", "\"mysql --password=[redacted secret] -u me\"");
    CHECK_REDACTED("\"x --token --verbose y\"", "\"x --token --verbose y\"");
    CHECK_REDACTED("\"secret := abc; api.key => 'd'\"",
                   "\"secret := [redacted secret]; api.key => '[redacted secret]'\"");
    CHECK_REDACTED("\"AccountName=a;AccountKey=abc==;X=y\"",
                   "\"AccountName=a;AccountKey=[redacted secret];X=y\"");
    CHECK_REDACTED("\"cd $PWD; PWD=/tmp\"", "\"cd $PWD; PWD=/tmp\"");
    CHECK_REDACTED("\"a=b c:d e==f max_tokens=5\"", "\"a=b c:d e==f max_tokens=5\"");
    CHECK_REDACTED("\"password=\"", "\"password=\"");
    CHECK_REDACTED("\"=:= : password\"", "\"=:= : password\"");
    /* What a shell would run stays for people to see. */
    CHECK_REDACTED("\"TOKEN=$(rm -rf /) x\"", "\"TOKEN=$(rm -rf /) x\"");
    CHECK_REDACTED("\"TOKEN=\\\"$(rm -rf /)\\\" x\"", "\"TOKEN=\\\"$(rm -rf /)\\\" x\"");
    CHECK_REDACTED("\"TOKEN=x;rm -rf /\"", "\"TOKEN=[redacted secret];rm -rf /\"");
    CHECK_REDACTED("\"TOKEN=x|sh\"", "\"TOKEN=[redacted secret]|sh\"");
    CHECK_REDACTED("\"TOKEN=$OTHER x\"", "\"TOKEN=$OTHER x\"");
    CHECK_REDACTED("\"-H 'Cookie: `id`' x\"", "\"-H 'Cookie: `id`' x\"");
}

static void repeat(struct buf *json, const char *open, const char *piece, size_t bytes, const char *close)
{
    buf_reset(json);
    buf_text(json, open);
    while (json->len < bytes) {
        buf_text(json, piece);
    }
    buf_text(json, close);
}

static bool has_text(const char *needle)
{
    return memmem(text.ptr, text.len, needle, strlen(needle)) != NULL;
}

static void test_cuts(void)
{
    struct buf json;
    buf_init(&json, 1 << 25);
    /* Strings: just under the limit, just over, and far over. */
    repeat(&json, "\"", "abcdefgh", REDACT_STRING_MAX, "\"");
    json.len = REDACT_STRING_MAX + 1;
    buf_byte(&json, '"');
    CHECK(redacted_well(buf_slice_of(&json)) && slice_eq(buf_slice_of(&text), buf_slice_of(&json)));
    json.len--;
    buf_text(&json, "x\"");
    CHECK(redacted_well(buf_slice_of(&json)));
    CHECK(text.len < REDACT_STRING_MAX && has_text("\xE2\x80\xA6[truncated, 4097 bytes]\""));
    repeat(&json, "\"", "\xF0\x9F\x98\x80", 1 << 24, "\"");
    CHECK(redacted_well(buf_slice_of(&json)) && text.len < 2 * REDACT_STRING_MAX);
    CHECK(
        has_text("\xF0\x9F\x98\x80\xE2\x80\xA6[truncated, 16777216 bytes]\"")); /* no character cut in two */
    repeat(&json, "\"", "\xC3\xA4", 5000, "\"");
    CHECK(redacted_well(buf_slice_of(&json)) && has_text("\xC3\xA4\xE2\x80\xA6[truncated, 5000 bytes]\""));
    /* A secret that begins before the cut is seen whole; many of them make room for what follows. */
    repeat(&json, "\"", "abcdefgh", REDACT_STRING_MAX - 8, "password=hunter tail\"");
    CHECK(redacted_well(buf_slice_of(&json)) && !has_text("hunt"));
    repeat(&json, "\"", "0123456789", 4000, "");
    buf_text(&json, "ghp_");
    for (int i = 0; i < 5000; i++) {
        buf_byte(&json, 'x');
    }
    buf_text(&json, " end\"");
    CHECK(redacted_well(buf_slice_of(&json)) && has_text("[redacted GitHub token] end\"") && !has_text("xx"));

    buf_finish(&json);
}

static void test_long_containers(void)
{
    struct buf json;
    buf_init(&json, 1 << 25);
    repeat(&json, "[0", ",0", 2 * REDACT_ITEMS_MAX, "]");
    CHECK(redacted_well(buf_slice_of(&json)) && !has_text("truncated"));
    repeat(&json, "[0", ",0", 100000, "]");
    CHECK(redacted_well(buf_slice_of(&json)) && has_text(",0,\"\xE2\x80\xA6[truncated, 50000 elements]\"]"));
    buf_reset(&json);
    buf_byte(&json, '{');
    for (int i = 0; i < 2000; i++) {
        buf_printf(&json, "\"k%d\":%d,", i, i);
    }
    buf_text(&json, "\"\xE2\x80\xA6\":1,\"\xF0\x9F\x98\x80\":2}");
    CHECK(redacted_well(buf_slice_of(&json)) && has_text(",\"\xE2\x80\xA6\":\"[truncated, 2002 members]\"}"));
    /* The mark in its place among names that come after it; the room used up there. */
    buf_reset(&json);
    buf_byte(&json, '{');
    for (int i = 0; i < 400; i++) {
        buf_printf(&json, "\"%s%d\":\"", i % 2 == 0 ? "\xF0\x9F\x98\x80" : "a", i);
        for (int j = 0; j < 300; j++) {
            buf_byte(&json, 'x');
        }
        buf_text(&json, "\",");
    }
    buf_text(&json, "\"\xE2\x80\xA6\":1}");
    CHECK(redacted_well(buf_slice_of(&json)) && has_text("\"\xE2\x80\xA6\":\"[truncated, 401 members]\"}"));
    CHECK(text.len < REDACT_VALUE_MAX + 1000);
    buf_reset(&json);
    buf_byte(&json, '{');
    for (int i = 0; i < 600; i++) {
        buf_printf(&json, "\"\xF0\x9F\x98\x80%d\":1,", i);
    }
    buf_text(&json, "\"a\":1}");
    CHECK(redacted_well(buf_slice_of(&json)));
    CHECK(slice_starts_with(buf_slice_of(&text),
                            SLICE("{\"\xE2\x80\xA6\":\"[truncated, 601 members]\",\"\xF0")));
    /* Names that become equal: the first stays. */
    CHECK_REDACTED("{\"password=a\":1,\"password=b\":2,\"c\":3}",
                   "{\"c\":3,\"password=[redacted secret]\":\"[redacted]\",\"\xE2\x80\xA6\":\"[truncated, 3 "
                   "members]\"}");
    /* Deep, and long numbers. */
    repeat(&json, "", "[", 100, "");
    repeat(&again, "", "]", 100, "");
    buf_slice(&json, buf_slice_of(&again));
    CHECK(redacted_well(buf_slice_of(&json)) && has_text("[\"\xE2\x80\xA6[truncated, nested deeper]\"]"));
    repeat(&json, "[1", "0", 2000, "]");
    CHECK(redacted_well(buf_slice_of(&json)));
    CHECK_BYTES(text.ptr, text.len, "[\"\xE2\x80\xA6[truncated, a number of 1999 bytes]\"]");
    /* A ceiling of the caller's is a failure, not a cut. */
    struct buf small;
    buf_init(&small, 10);
    CHECK(!redact(SLICE("\"more than ten bytes\""), &small));
    buf_finish(&small);
    buf_finish(&json);
}

/* Texts that would take a quadratic walk minutes. */
static void test_long_texts(void)
{
    static const char *const pieces[] = {"eyJ",
                                         "eyJabcdefghijk",
                                         "=",
                                         ":",
                                         "a=",
                                         "token",
                                         "token ",
                                         "token=",
                                         "token=\\\"",
                                         "token:'",
                                         "'token:$(",
                                         "\\\"token:",
                                         "://",
                                         "://a:",
                                         "://a:b@",
                                         "--token ",
                                         "--",
                                         "-",
                                         "bearer ",
                                         "Bearer abcdefgh",
                                         "ghp_",
                                         "ghp_abcdefghijklmnopqrstu",
                                         "AKIA",
                                         "-----BEGIN ",
                                         "-----BEGIN PRIVATE KEY-----",
                                         "\\n",
                                         " ",
                                         "\\\\",
                                         "password=\\\\\\\\",
                                         "basic ",
                                         "authorization: basic ",
                                         "token token:",
                                         "A",
                                         "\xC3\xA4"};
    struct buf json;
    buf_init(&json, 1 << 24);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        repeat(&json, "\"", pieces[i], 2000000, "\"");
        CHECK(redact(buf_slice_of(&json), &text) && text.len < 3 * REDACT_STRING_MAX);
        /* And the walk alone, to the end of the text. */
        struct secret_scan scan = {.text = json_str(json_root(&doc)), .stop = SIZE_MAX};
        struct secret secret = {0};
        size_t last = 0;
        bool in_order = true;
        while (secret_next(&scan, &secret)) {
            in_order =
                in_order && secret.start >= last && secret.end > secret.start && secret.end <= scan.text.len;
            last = secret.end;
        }
        CHECK(in_order);
    }
    buf_finish(&json);
}

int main(void)
{
    json_init(&doc);
    buf_init(&text, 1 << 26);
    buf_init(&again, 1 << 26);
    test_names();
    test_values_under_names();
    test_prefixes();
    test_forms();
    test_assignments();
    test_cuts();
    test_long_containers();
    test_long_texts();
    buf_finish(&text);
    buf_finish(&again);
    json_finish(&doc);
    return check_done();
}
