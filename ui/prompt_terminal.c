/*
 * Theory of operation
 *
 * The terminal is in cooked mode when we are called. Two things are changed for the time of the question: signals from
 * keys are off, so that Ctrl-C is an answer (deny) and not the end of the whole run, and Ctrl-C and Ctrl-Z end a line
 * (VEOL, VEOL2), so that they are read at once and not only after Enter. Who suspends is asked anew by our caller.
 *
 * A prompt appears at a moment that the sandbox chooses, so keys that were meant for the tool must not answer it: the
 * input queue is flushed when the text is on the screen and again after PROMPT_DELAY_MS, and only then the question
 * mark appears. What counts afterwards is one of the whole words of the table and Enter.
 *
 * What the tool wrote before is still in force in the terminal: it may have left a control string open that would
 * swallow the prompt, or a mode that hides or misplaces it, below a picture of another prompt. So the first thing
 * written ends and resets whatever a prompt needs to be seen (`clean_slate`). Should a terminal know yet another way to
 * hide text, an answer that is meant for the picture still does not fit: what allows is a word and a code that is new
 * with every prompt, and which the tool, that can't read the terminal, does not know.
 */
#include "ui/prompt_terminal.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/random.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/grant.h"
#include "schema/message.h"
#include "ui/human.h"
#include "ui/prompt_text.h"

enum { LINE_MAX_BYTES = 64, CTRL_C = 3, WIDTH_MAX = 80, TRIES_MAX = 20, CODE_SIZE = 3 };

struct terminal {
	int fd, gone_fd;
	bool is_terminal;
	char suspends; /* the key; 0: none */
	struct termios before;
	char code[CODE_SIZE]; /* belongs to what allows, this time */
};

/*
 * ECMA-48, DEC STD 070 and xterm's ctlseqs. The screen is left as it is but for what lies below the cursor: a picture
 * of a prompt there would end up beside ours.
 */
static const char clean_slate[] =
	"\x18\x1b\\"                                              /* CAN, ST: no sequence or string is open */
	"\x1b<\x1b[4i"                                            /* out of VT52 mode, and not to the printer */
	"\x1b[!p"                                                 /* soft reset */
	"\x1b[?2026l"                                             /* show at once what is written */
	"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l"    /* the mouse is silent */
	"\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" /* so is the focus */
	"\x1b[?2004l\x1b[>4m"                                     /* keys and what is pasted come as they are */
	"\x1b[?5l\x1b[?25h\x1b[?7h\x1b[4l\x1b[20l"                /* cursor seen; lines wrap, nothing is pushed aside */
	"\0337\x1b[?6l\x1b[?69l\x1b[r\0338"                       /* no margins; they move the cursor: put it back */
	"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\"              /* no colour looks like another */
	"\x1b[0m\x1b(B\x0f"                                       /* plain letters of ASCII */
	"\r\n\x1b[J";                                             /* a line of our own, and nothing below */

static const struct answer_word {
	const char *word;
	enum effect effect;
	enum lifetime lifetime;
} words[] = {
	{"deny", EFFECT_DENY, LIFETIME_ONCE},    {"d", EFFECT_DENY, LIFETIME_ONCE},
	{"no", EFFECT_DENY, LIFETIME_ONCE},      {"n", EFFECT_DENY, LIFETIME_ONCE},
	{"allow", EFFECT_ALLOW, LIFETIME_UNTIL}, {"always", EFFECT_ALLOW, LIFETIME_ALWAYS},
};
/* Without those that look like another: l and 1, o and 0. */
static const char code_letters[] = "23456789abcdefghijkmnpqrstuvwxyz";
static_assert(sizeof code_letters == 32 + 1, "a code letter for each value of five bits");

static const struct answer_word *const word_deny = &words[0];

static void terminal_prepare(struct terminal *terminal) {
	terminal->is_terminal = tcgetattr(terminal->fd, &terminal->before) == 0;
	if (!terminal->is_terminal) return;
	struct termios mode = terminal->before;
	mode.c_lflag |= ICANON | ECHO | ECHOE | ECHOK | IEXTEN; /* without that there is no VEOL2 */
	mode.c_lflag &= (tcflag_t)~ISIG;
	mode.c_iflag |= ICRNL;
	mode.c_oflag |= OPOST | ONLCR;
	mode.c_cc[VEOL] = CTRL_C;
	mode.c_cc[VEOL2] = terminal->before.c_cc[VSUSP];
	terminal->suspends = (char)terminal->before.c_cc[VSUSP];
	tcsetattr(terminal->fd, TCSADRAIN, &mode);
}

static void terminal_restore(const struct terminal *terminal) {
	if (terminal->is_terminal) tcsetattr(terminal->fd, TCSADRAIN, &terminal->before);
}

/* 1: there is input; 0: time is up; -ECANCELED: the prompt is gone. */
static int terminal_wait(const struct terminal *terminal, int timeout_ms, struct error *error) {
	struct pollfd fds[] = {{.fd = terminal->gone_fd, .events = POLLIN}, {.fd = terminal->fd, .events = POLLIN}};
	int ready;
	do ready = poll(fds, timeout_ms < 0 ? 2 : 1, timeout_ms);
	while (ready < 0 && errno == EINTR);
	if (ready < 0) return error_errno(error, "waiting for an answer on the terminal");
	if (fds[0].revents) return error_set(error, ECANCELED, "the prompt is gone");
	return ready > 0;
}

static size_t terminal_columns(int fd) {
	struct winsize size;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_col > WIDTH_MAX) return WIDTH_MAX;
	return size.ws_col;
}

/* Each letter from one hexadecimal digit and the lowest bit of another, so that all are as likely. */
static void make_code(char ret_code[CODE_SIZE]) {
	static const char digits[] = "0123456789abcdef";
	char token[RANDOM_TOKEN_SIZE];
	random_token(token);
	for (size_t i = 0; i < CODE_SIZE - 1; i++) {
		size_t high = (size_t)(strchr(digits, token[2 * i]) - digits);
		size_t low = (size_t)(strchr(digits, token[2 * i + 1]) - digits);
		ret_code[i] = code_letters[high * 2 + low % 2];
	}
	ret_code[CODE_SIZE - 1] = '\0';
}

/* The scope that the words here mean: the first that is offered. */
static const char *default_scope(const struct prompt *prompt) {
	return prompt->scopes.count > 0 ? prompt->scopes.items[0] : "exact";
}

/* What an allow covers, where that is more than the target. */
static void append_reach(struct string *out, const struct prompt *prompt, size_t columns) {
	const char *scope = default_scope(prompt);
	if (strcmp(scope, "exact") == 0) return;
	CLEANUP_FREE char *folder = path_parent(prompt->target);
	CLEANUP_FREE char *place = human_path(strcmp(scope, "folder") == 0 ? folder : scope);
	CLEANUP_FREE char *shown = text_visible_cut(place, columns - 2);
	string_appendf(out,
		       "An allow covers the folder, for the file may be replaced when it is saved:\n  %s\n"
		       "Only the file: sbx allow %lld\n",
		       shown, (long long)prompt->id);
}

static int show(const struct terminal *terminal, const struct prompt *prompt, struct error *error) {
	CLEANUP_STRING struct string text = {0};
	struct moment now;
	clock_read(clock_system(), &now);
	CLEANUP_FREE char *lifetime = human_duration(prompt->lifetime_ms);
	string_append(&text, terminal->is_terminal ? clean_slate : "\n");
	prompt_describe(prompt, now.wall_ms, terminal_columns(terminal->fd), &text);
	string_appendf(&text,
		       "Type one of these and Enter:\n"
		       "  deny       not this time (also Ctrl-C)\n"
		       "  allow %s   for %s, this profile in this project\n"
		       "  always %s  for this profile in this project, until you revoke it\n",
		       terminal->code, lifetime, terminal->code);
	append_reach(&text, prompt, terminal_columns(terminal->fd));
	string_appendf(&text, "For more choices answer from another terminal: sbx allow %lld --help\n",
		       (long long)prompt->id);
	return fd_write_all(terminal->fd, text.data, text.size, error);
}

static int ask_again(const struct terminal *terminal, const char *hint, struct error *error) {
	CLEANUP_FREE char *text =
		string_format("%sdeny, allow %s or always %s? ", hint, terminal->code, terminal->code);
	return fd_write_all(terminal->fd, text, strlen(text), error);
}

static bool suspends(const struct terminal *terminal, const char *line) {
	return terminal->suspends && strchr(line, terminal->suspends);
}

/* One line of input: its length, 0 at its end, -EINTR when it suspends. A line that is too long comes back as one that
 * is no word. */
static ssize_t read_line(const struct terminal *terminal, char line[LINE_MAX_BYTES + 1], struct error *error) {
	size_t size = 0;
	for (;;) {
		int r = terminal_wait(terminal, -1, error);
		if (r < 0) return r;
		char block[256];
		ssize_t got = read(terminal->fd, block, sizeof block);
		if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
		if (got <= 0) return 0;
		for (ssize_t i = 0; i < got; i++)
			if (size < LINE_MAX_BYTES) line[size++] = block[i];
		line[size] = '\0';
		if (block[got - 1] == '\n' || memchr(block, CTRL_C, (size_t)got)) return (ssize_t)size;
		if (suspends(terminal, line)) return error_set(error, EINTR, "the question is put off");
		/* Ctrl-D in the middle of a line hands out an unfinished one, which answers nothing. */
		if (terminal->is_terminal) return (ssize_t)size;
	}
}

/* Cuts the first word off: the rest behind it, without spaces around. */
static char *cut_word(char *line) {
	char *rest = line + strcspn(line, " \t");
	if (*rest) *rest++ = '\0';
	return rest + strspn(rest, " \t");
}

static const struct answer_word *find_word(char *line, const char *code) {
	if (strchr(line, CTRL_C)) return word_deny;
	size_t size = strlen(line);
	if (size == 0 || line[size - 1] != '\n') return NULL;
	while (size > 0 && strchr(" \t\r\n", line[size - 1])) line[--size] = '\0';
	char *word = line + strspn(line, " \t");
	const char *rest = cut_word(word);
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		const char *expected = words[i].effect == EFFECT_ALLOW ? code : "";
		if (strcmp(words[i].word, word) == 0 && strcmp(expected, rest) == 0) return &words[i];
	}
	return NULL;
}

static int converse(const struct terminal *terminal, const struct prompt *prompt, const struct answer_word **ret_word,
		    struct error *error) {
	int r = show(terminal, prompt, error);
	if (r == 0) r = terminal_wait(terminal, PROMPT_DELAY_MS, error);
	if (r < 0) return r;
	tcflush(terminal->fd, TCIFLUSH);
	const char *hint = "";
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		char line[LINE_MAX_BYTES + 1];
		r = ask_again(terminal, hint, error);
		if (r < 0) return r;
		ssize_t size = read_line(terminal, line, error);
		if (size < 0) return (int)size;
		if (size == 0 || line[size - 1] != '\n') fd_write_all(terminal->fd, "\n", 1, NULL);
		*ret_word = size == 0 ? word_deny : find_word(line, terminal->code);
		if (*ret_word) return 0;
		hint = "As it stands here, please: ";
	}
	*ret_word = word_deny;
	return 0;
}

static json_t *answer_message(const struct answer_word *word, const struct prompt *prompt) {
	return json_pack("{s:s, s:s, s:o, s:b}", "effect", effect_name(word->effect), "lifetime",
			 lifetime_name(word->lifetime), "scope", message_bytes(default_scope(prompt)), "terminal", 1);
}

int prompt_terminal_ask(void *context, int fd, int gone_fd, const struct prompt *prompt, json_t **ret_answer,
			struct error *error) {
	(void)context;
	struct terminal terminal = {.fd = fd, .gone_fd = gone_fd};
	const struct answer_word *word = NULL;
	make_code(terminal.code);
	terminal_prepare(&terminal);
	tcflush(fd, TCIFLUSH);
	int r = converse(&terminal, prompt, &word, error);
	static const char gone[] =
		"\nsbx: the question is settled: answered elsewhere, its time is up, or who asked is gone\n";
	static const char denied[] = "sbx: denied, this once (a full-screen program may need a redraw: often Ctrl-L)\n";
	static const char allowed[] = "sbx: allowed (a full-screen program may need a redraw: often Ctrl-L)\n";
	static const char later[] = "\nsbx: the call waits, and so does the question: fg\n";
	const char *closing = r == -ECANCELED                ? gone
			      : r == -EINTR                  ? later
			      : r < 0                        ? "\n"
			      : word->effect == EFFECT_ALLOW ? allowed
							     : denied;
	/* The terminal may be gone by now: the answer counts all the same. */
	fd_write_all(fd, closing, strlen(closing), NULL);
	tcflush(fd, TCIFLUSH);
	terminal_restore(&terminal);
	if (r == 0) *ret_answer = answer_message(word, prompt);
	return r;
}
