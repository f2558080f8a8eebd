/* `callgate console link|password|accounts|forget`: who may sign in, and how. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "console/console.h"
#include "gate/state.h"

/* Whether people.json, or without it the system, knows an account. */
static bool is_known(const struct console_options *options, struct slice account, struct buf *ret_error)
{
    struct roster roster;
    struct buf path, own;
    buf_init(&path, MESSAGE_BYTES);
    buf_init(&own, MESSAGE_BYTES);
    bool known = false;
    if (roster_open(&roster, slice_of(options->home), options->people_file, &path, ret_error)) {
        people_own_name(&own);
        known = roster.present ? roster_find(&roster, PEOPLE_PAGE, account) != NULL
                               : slice_eq(account, buf_slice_of(&own));
        if (!known && roster.present) {
            buf_text(ret_error,
                     "people.json knows no such account: 'callgate people add NAME --page ACCOUNT' first");
        } else if (!known) {
            buf_printf(ret_error,
                       "without people.json the only account is '%.*s': 'callgate people add' makes others",
                       SLICE_FMT(buf_message(&own)));
        }
        roster_finish(&roster);
    }
    buf_finish(&path);
    buf_finish(&own);
    return known;
}

static bool make_link(const struct console_options *options, int state, struct slice account,
                      struct buf *ret_error)
{
    struct console_accounts accounts;
    char secret[SECRET_TEXT];
    if ((account.len > 0 && !is_known(options, account, ret_error)) ||
        !accounts_read(&accounts, state, ret_error)) {
        return false;
    }
    bool ok = accounts.address.len > 0;
    if (!ok) {
        buf_text(ret_error, "no page has run here: start 'callgate console' first");
    }
    ok = ok && accounts_make_link(state, account, clock_wall_ms(), secret, ret_error);
    if (ok) {
        printf("%.*s/#link=%s\n", SLICE_FMT(accounts.address), secret);
        OPENSSL_cleanse(secret, sizeof(secret));
    }
    accounts_finish(&accounts);
    return ok;
}

/* ---- Passwords ---- */

/* A line of standard input, unseen where that is a terminal. */
static bool read_line(const char *prompt, char *text, size_t size)
{
    struct termios before, unseen;
    bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        fprintf(stderr, "%s", prompt);
        unseen = before;
        unseen.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen);
    }
    bool read = fgets(text, (int)size, stdin) != NULL;
    if (terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    if (read) {
        text[strcspn(text, "\r\n")] = '\0';
    }
    return read;
}

struct new_password {
    struct slice account;
    struct console_password password;
};

static bool set_password(struct console_accounts *accounts, void *context)
{
    const struct new_password *new_one = context;
    struct console_account *account = accounts_find(accounts, new_one->account, true);
    if (account != NULL) {
        account->password = new_one->password;
    }
    return account != NULL;
}

static bool ask_password(const struct console_options *options, int state, struct slice account,
                         struct buf *ret_error)
{
    char text[PASSWORD_MOST + 2] = "", again[PASSWORD_MOST + 2] = "";
    struct new_password new_one = {.account = account};
    if (!is_known(options, account, ret_error)) {
        return false;
    }
    bool read = read_line("Password (12 characters or more): ", text, sizeof(text)) &&
                (isatty(STDIN_FILENO) == 0 || read_line("The same again: ", again, sizeof(again)));
    struct slice password = slice_of(text);
    bool ok = false;
    if (!read) {
        buf_text(ret_error, "no password was given");
    } else if (isatty(STDIN_FILENO) != 0 && strcmp(text, again) != 0) {
        buf_text(ret_error, "the two are not the same");
    } else if (utf8_valid_upto(password) != password.len || utf8_count(password) < PASSWORD_LEAST ||
               password.len > PASSWORD_MOST) {
        buf_printf(ret_error, "a password has %u characters or more", PASSWORD_LEAST);
    } else if (!password_make(password, &new_one.password)) {
        buf_text(ret_error, "no memory for the password's hash");
    } else {
        ok = accounts_update(state, set_password, &new_one, ret_error);
    }
    OPENSSL_cleanse(text, sizeof(text));
    OPENSSL_cleanse(again, sizeof(again));
    return ok;
}

/* ---- The list ---- */

static bool list(const struct console_options *options, int state, struct buf *ret_error)
{
    struct console_accounts accounts;
    struct buf out, why;
    if (!accounts_read(&accounts, state, ret_error)) {
        return false;
    }
    buf_init(&out, 1u << 20);
    for (size_t i = 0; i < accounts.count; i++) {
        const struct console_account *account = &accounts.list[i];
        buf_init_message(&why, MESSAGE_BYTES);
        utf8_append_printable(&out, account->name);
        buf_printf(&out, "  %s  %zu passkey%s%s\n", account->password.n != 0 ? "password" : "no password",
                   account->passkey_count, account->passkey_count == 1 ? "" : "s",
                   is_known(options, account->name, &why)
                       ? ""
                       : "  (people.json does not know it: it cannot sign in)");
        buf_finish(&why);
    }
    if (accounts.count == 0) {
        buf_text(&out, "Nobody has a password or a passkey.\n");
    }
    bool ok = buf_ok(&out) && fwrite(out.ptr, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    buf_finish(&out);
    accounts_finish(&accounts);
    return ok;
}

static bool forget_account(struct console_accounts *accounts, void *context)
{
    const struct slice *name = context;
    for (size_t i = 0; i < accounts->count; i++) {
        if (slice_eq(accounts->list[i].name, *name)) {
            accounts->list[i] = accounts->list[--accounts->count];
            return true;
        }
    }
    return false;
}

static bool forget(int state, struct slice account, struct buf *ret_error)
{
    if (accounts_update(state, forget_account, &account, ret_error)) {
        return true;
    }
    if (ret_error->len == 0) {
        buf_text(ret_error, "no such account has a password or a passkey");
    }
    return false;
}

int console_verb(const struct console_options *options, const char *verb, const char *account)
{
    struct buf error;
    struct slice name = slice_of(account);
    buf_init_message(&error, MESSAGE_BYTES);
    int state = state_open(options->state_dir, &error);
    bool ok = state >= 0;
    if (ok) {
        ok = strcmp(verb, "link") == 0       ? make_link(options, state, name, &error)
             : strcmp(verb, "password") == 0 ? ask_password(options, state, name, &error)
             : strcmp(verb, "accounts") == 0 ? list(options, state, &error)
                                             : forget(state, name, &error);
        close(state);
    }
    if (!ok) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return ok ? 0 : 2;
}
