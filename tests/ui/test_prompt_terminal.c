/* A prompt on a real pseudo-terminal: a child asks, the test types as a user would. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/patience.h"
#include "ui/prompt_terminal.h"

static const char question[] = "deny, allow ";

struct desk {
	int master, gone; /* our ends */
	int answer;       /* the child writes what was answered, or its error */
	pid_t child;
	struct string screen;
	size_t seen; /* of the screen */
	char code[8];
};

static struct prompt sample_prompt(void) {
	return (struct prompt){.id = 3,
			       .session = 1,
			       .permission = permission_of(PERMISSION_NET_ACCESS),
			       .profile = string_copy("default"),
			       .project = string_copy("/app"),
			       .target = string_copy("svc.test:8443"),
			       .deadline_ms = 60000,
			       .lifetime_ms = 30 * 60 * 1000};
}

/* A file that is saved by putting another in its place. */
static struct prompt saving_prompt(void) {
	struct prompt prompt = sample_prompt();
	prompt.permission = permission_of(PERMISSION_FS_WRITE);
	free(prompt.target);
	prompt.target = string_copy("/srv/notes/\xe2\x80\xaetodo.txt");
	strings_add(&prompt.scopes, "folder");
	strings_add(&prompt.scopes, "exact");
	return prompt;
}

static struct prompt other_prompt(void) {
	struct prompt prompt = sample_prompt();
	prompt.id = 4;
	free(prompt.target);
	prompt.target = string_copy("other.test:443");
	return prompt;
}

/* A path of a tool's making, and a reason that would fill the screen. */
static struct prompt long_prompt(void) {
	struct prompt prompt = sample_prompt();
	CLEANUP_STRING struct string path = {0}, reason = {0};
	for (int i = 0; i < 40; i++) string_append(&path, "/\xe6\xbc\xa2 folder");
	for (int i = 0; i < 300; i++) string_append(&reason, "target /srv/harmless ");
	prompt.permission = permission_of(PERMISSION_FS_WRITE);
	free(prompt.target);
	prompt.target = string_format("%s/its-end", path.data);
	prompt.reason = string_copy(reason.data);
	return prompt;
}

static struct prompt talking_prompt(void) {
	struct prompt prompt = long_prompt();
	free(prompt.target);
	prompt.target = string_copy("/srv/secret");
	return prompt;
}

/* Its middle, which a window of 24 lines has no room for, tells it from others. */
static struct prompt longest_prompt(void) {
	struct prompt prompt = long_prompt();
	CLEANUP_STRING struct string path = {0};
	for (int i = 0; i < 400; i++) string_appendf(&path, "/%04d-name", i);
	free(prompt.target);
	prompt.target = string_copy(path.data);
	return prompt;
}

enum sample {
	ONE,
	SAVING,
	SEVERAL,
	SEVERAL_LONG,
	AGAIN,
	SHOWN,
	SHOWN_SEVERAL,
	CONFIRMED,
	LONG,
	LONGEST,
	TALKING,
	THIRD
};

_Noreturn static void child_ask(int slave, int gone, int answer, enum sample sample) {
	struct prompt prompts[] = {sample == SAVING         ? saving_prompt()
				   : sample == LONG         ? long_prompt()
				   : sample == LONGEST      ? longest_prompt()
				   : sample == SEVERAL_LONG ? long_prompt()
				   : sample == TALKING      ? talking_prompt()
							    : sample_prompt(),
				   other_prompt()};
	const bool several = sample == SEVERAL || sample == SEVERAL_LONG || sample == SHOWN_SEVERAL;
	prompts[0].desktop = sample == SHOWN || sample == CONFIRMED;
	prompts[1].desktop = sample == SHOWN_SEVERAL;
	prompts[0].confirm_terminal = sample == CONFIRMED;
	struct error error = ERROR_NONE;
	struct termios before = {0}, after = {0};
	json_t *reply = NULL;
	tcgetattr(slave, &before);
	const struct run_question asked = {.asking = sample == AGAIN ? RUN_ASK_AGAIN : RUN_ASK_ONCE,
					   .prompts = prompts,
					   .count = several ? 2 : 1,
					   .number = sample == THIRD ? 3 : 0,
					   .all = sample == THIRD ? 4 : 0};
	int r = prompt_terminal_ask(NULL, &asked, slave, gone, &reply, &error);
	/* Of a terminal that is gone nothing can be said. */
	bool same = tcgetattr(slave, &after) < 0 ||
		    (before.c_lflag == after.c_lflag && before.c_iflag == after.c_iflag &&
		     before.c_oflag == after.c_oflag && memcmp(before.c_cc, after.c_cc, sizeof before.c_cc) == 0);
	CLEANUP_FREE char *json = reply ? json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	CLEANUP_FREE char *text = r < 0 ? string_format("error %d %s", -r, json ? json : "[]") : string_copy(json);
	for (size_t i = 0; i < ARRAY_LENGTH(prompts); i++) prompt_finish(&prompts[i]);
	if (!same) text = string_copy("the terminal was not put back");
	fd_write_all(answer, text, strlen(text), NULL);
	_exit(0);
}

static void desk_open_sized(struct desk *desk, const char *typed_before, enum sample sample, struct winsize size) {
	int slave, gone[2], answer[2];
	*desk = (struct desk){0};
	assert_int_equal(openpty(&desk->master, &slave, NULL, NULL, &size), 0);
	assert_int_equal(pipe(gone), 0);
	assert_int_equal(pipe(answer), 0);
	assert_int_equal(fd_write_all(desk->master, typed_before, strlen(typed_before), NULL), 0);
	desk->child = fork();
	assert_true(desk->child >= 0);
	if (desk->child == 0) {
		close(desk->master);
		close(gone[1]);
		child_ask(slave, gone[0], answer[1], sample);
	}
	close(slave);
	close(gone[0]);
	close(answer[1]);
	desk->gone = gone[1];
	desk->answer = answer[0];
}

static void desk_open_for(struct desk *desk, const char *typed_before, enum sample sample, unsigned short columns) {
	desk_open_sized(desk, typed_before, sample, (struct winsize){.ws_col = columns, .ws_row = 24});
}

static void desk_open(struct desk *desk, const char *typed_before) {
	desk_open_for(desk, typed_before, ONE, 80);
}

static void desk_close(struct desk *desk) {
	int status;
	assert_int_equal(waitpid(desk->child, &status, 0), desk->child);
	fd_close(desk->master);
	fd_close(desk->gone);
	fd_close(desk->answer);
	string_finish(&desk->screen);
}

static bool readable(int fd, int patience_ms) {
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	return poll(&ready, 1, patience_ms) == 1 && (ready.revents & POLLIN);
}

/* Wait until the text appears behind what was seen so far. */
static void see(struct desk *desk, const char *text) {
	char block[512];
	while (!desk->screen.data || !strstr(desk->screen.data + desk->seen, text)) {
		if (!readable(desk->master, PATIENCE_MS))
			fail_msg("'%s' did not appear on: %s", text, desk->screen.data ? desk->screen.data : "");
		ssize_t size = read(desk->master, block, sizeof block);
		assert_true(size > 0);
		string_append_bytes(&desk->screen, block, (size_t)size);
	}
	desk->seen = (size_t)(strstr(desk->screen.data + desk->seen, text) - desk->screen.data) + strlen(text);
}

static void type(struct desk *desk, const char *keys) {
	assert_int_equal(fd_write_all(desk->master, keys, strlen(keys), NULL), 0);
}

/* Wait for the question, and note its code. */
static void see_question_as(struct desk *desk, bool several) {
	see(desk, question);
	see(desk, "? ");
	const char *code = desk->screen.data + desk->seen;
	while (!string_starts(code, question)) code--;
	code += strlen(question);
	assert_int_equal(strcspn(code, "?, "), 2);
	memcpy(desk->code, code, 2);
	CLEANUP_FREE char *expected =
		string_format(several ? "deny, allow %s, always %s or choose? " : "deny, allow %s or always %s? ",
			      desk->code, desk->code);
	assert_non_null(strstr(desk->screen.data, expected));
}

static void see_question(struct desk *desk) {
	see_question_as(desk, false);
}

static void see_question_about_all(struct desk *desk) {
	see_question_as(desk, true);
}

/* Types the keys with the question's code for each '#'. */
static void type_code(struct desk *desk, const char *keys) {
	CLEANUP_STRING struct string text = {0};
	for (; *keys; keys++) {
		if (*keys == '#')
			string_append(&text, desk->code);
		else
			string_append_char(&text, *keys);
	}
	type(desk, text.data);
}

static void answered(struct desk *desk, const char *expected) {
	char text[512] = "";
	assert_true(readable(desk->answer, PATIENCE_MS));
	assert_true(read(desk->answer, text, sizeof text - 1) > 0);
	assert_string_equal(text, expected);
}

#define DENIED_ONE  "{\"effect\":\"deny\",\"lifetime\":\"once\",\"scope\":\"exact\",\"terminal\":true}"
#define ALLOWED_ONE "{\"effect\":\"allow\",\"lifetime\":\"until\",\"scope\":\"exact\",\"terminal\":true}"
#define ALWAYS_ONE  "{\"effect\":\"allow\",\"lifetime\":\"always\",\"scope\":\"exact\",\"terminal\":true}"
#define DENIED      "[" DENIED_ONE "]"
#define ALLOWED     "[" ALLOWED_ONE "]"
#define ALWAYS      "[" ALWAYS_ONE "]"

static void a_whole_word_answers(void **state) {
	(void)state;
	static const struct {
		const char *typed, *answer;
	} cases[] = {{"allow #\r", ALLOWED},     {"always #\r", ALWAYS},      {"deny\r", DENIED},
		     {"  allow  # \r", ALLOWED}, {"alz\x7flow #\r", ALLOWED}, {"d\r", DENIED}};
	/* All at once: each waits before it asks. */
	struct desk desks[ARRAY_LENGTH(cases)];
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) desk_open(&desks[i], "");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		see(&desks[i], "svc.test:8443");
		see_question(&desks[i]);
		type_code(&desks[i], cases[i].typed);
		answered(&desks[i], cases[i].answer);
		desk_close(&desks[i]);
	}
}

static void how_long_an_allow_holds_is_said(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "");
	see(&desk, " for 30m, in this project\r\n");
	see_question(&desk);
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void control_z_puts_the_question_off(void **state) {
	(void)state;
	static const char *const typed[] = {"\x1a", "allow\x1a"};
	for (size_t i = 0; i < ARRAY_LENGTH(typed); i++) {
		struct desk desk;
		char expected[32];
		snprintf(expected, sizeof expected, "error %d []", EINTR);
		desk_open(&desk, "");
		see_question(&desk);
		type(&desk, typed[i]);
		see(&desk, "paused; type fg to answer");
		answered(&desk, expected);
		desk_close(&desk);
	}
}

static void an_allow_covers_what_is_offered_first_and_says_so(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "", SAVING, 80);
	see(&desk, "Allowing covers the whole folder");
	see(&desk, "  /srv/notes\r\n");
	see(&desk, "Only the file: sbx allow 3");
	see_question(&desk);
	type_code(&desk, "allow #\r");
	answered(&desk, "[{\"effect\":\"allow\",\"lifetime\":\"until\",\"scope\":\"folder\",\"terminal\":true}]");
	desk_close(&desk);
}

static void is_asked_again(struct desk *desk) {
	see(desk, "Type it exactly as shown: ");
	see_question(desk);
	assert_false(readable(desk->answer, 0));
}

static void anything_else_is_asked_again(void **state) {
	(void)state;
	enum { DESKS = 6 };
	static const char *const typed[] = {"y\r",        "yes\r",      "\r",          "a\r",      "allo\r",
					    "ALLOW #\r",  "allow it\r", "allow #\x04", "1\r",      "al\xc3\xb6w\r",
					    "allow\r",    "always\r",   "#\r",         "allow#\r", "allow # #\r",
					    "allow #x\r", "deny #\r",   "allow 11\r"};
	static_assert(ARRAY_LENGTH(typed) % DESKS == 0, "each desk has as many");
	struct desk desks[DESKS];
	for (size_t i = 0; i < DESKS; i++) desk_open(&desks[i], "");
	for (size_t i = 0; i < DESKS; i++) see_question(&desks[i]);
	for (size_t first = 0; first < ARRAY_LENGTH(typed); first += DESKS) {
		for (size_t i = 0; i < DESKS; i++) type_code(&desks[i], typed[first + i]);
		for (size_t i = 0; i < DESKS; i++) is_asked_again(&desks[i]);
	}
	for (size_t i = 0; i < DESKS; i++) {
		type(&desks[i], "deny\r");
		answered(&desks[i], DENIED);
		desk_close(&desks[i]);
	}
}

static void a_line_that_is_too_long_is_no_word(void **state) {
	(void)state;
	struct desk desk;
	CLEANUP_STRING struct string line = {0};
	for (int i = 0; i < 300; i++) string_append(&line, "allow ");
	string_append(&line, "\r");
	desk_open(&desk, "");
	see(&desk, question);
	type(&desk, line.data);
	see(&desk, "Type it exactly as shown: ");
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void control_c_and_the_end_of_input_deny_this_once(void **state) {
	(void)state;
	static const char *const typed[] = {"\x03", "allow\x03", "\x04"};
	for (size_t i = 0; i < ARRAY_LENGTH(typed); i++) {
		struct desk desk;
		desk_open(&desk, "");
		see(&desk, question);
		type(&desk, typed[i]);
		see(&desk, "\r\nsbx: denied"); /* on a line of its own */
		answered(&desk, DENIED);
		desk_close(&desk);
	}
}

static void a_terminal_that_goes_away_answers_nothing(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "");
	see(&desk, question);
	fd_close(fd_steal(&desk.master));
	answered(&desk, "error 5 []");
	desk_close(&desk);
}

static void attack_b10_what_was_typed_ahead_answers_nothing(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "allow\rallow\r");
	see(&desk, "Type an answer and press Enter");
	/* The text is there, the question isn't yet: these keys were meant for the tool. */
	type(&desk, "allow\ralways\r");
	see(&desk, question);
	assert_false(readable(desk.answer, 500));
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void attack_b10_each_prompt_has_a_code_of_its_own(void **state) {
	(void)state;
	char codes[4][8];
	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		struct desk desk;
		desk_open(&desk, "");
		see_question(&desk);
		memcpy(codes[i], desk.code, sizeof desk.code);
		assert_int_equal(strspn(codes[i], "23456789abcdefghijkmnpqrstuvwxyz"), 2);
		type(&desk, "deny\r");
		answered(&desk, DENIED);
		desk_close(&desk);
	}
	/* 1 in 2^30 that all are the same by chance */
	assert_false(strcmp(codes[0], codes[1]) == 0 && strcmp(codes[0], codes[2]) == 0 &&
		     strcmp(codes[0], codes[3]) == 0);
}

static void attack_b10_the_first_bytes_end_what_the_tool_left_open(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "");
	see_question(&desk);
	assert_true(string_starts(desk.screen.data, "\x18\x1b\\"));
	const char *prompt = strstr(desk.screen.data, "sbx: session 1 wants to");
	/* ESC % G: where letters were bytes (ESC % @), 0x9b in one of UTF-8 would be a control. */
	static const char *const before[] = {"\x1b[!p", "\x1b[?2026l",  "\x1b[?1000l", "\x1b[?2004l", "\x1b[0m",
					     "\x1b[J",  "\x1b\x03\x18", "\x1b[0$}",    "\x1b[?9001l", "\x1b%G"};
	for (size_t i = 0; i < ARRAY_LENGTH(before); i++) {
		const char *at = strstr(desk.screen.data, before[i]);
		assert_true(at && at < prompt);
	}
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void attack_r_19_what_is_asked_again_stands_on_a_cleared_screen(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "", AGAIN, 80);
	see_question(&desk);
	const char *clean = strstr(desk.screen.data, "\x1b[!p"), *cleared = strstr(desk.screen.data, "\x1b[H\x1b[2J");
	const char *prompt = strstr(desk.screen.data, "sbx: session 1 wants to");
	assert_true(clean && cleared && prompt && clean < cleared && cleared < prompt);
	assert_null(strchr(prompt, '\x1b'));
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

/* What bold, reversed or coloured letters look like is a table of the terminal's that a tool can change (xterm: OSC 5
 * and 6), so that a head in bold isn't seen. */
static void attack_b10_its_letters_are_plain(void **state) {
	(void)state;
	struct desk desk;
	setenv("TERM", "xterm", 1);
	desk_open(&desk, "");
	see_question(&desk);
	const char *prompt = strstr(desk.screen.data, "sbx: session 1 wants to");
	assert_non_null(prompt);
	assert_null(strchr(prompt, '\x1b'));
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

/* The tool has asked before, and the terminal was slow. */
static void attack_b10_what_the_terminal_replies_is_not_typed(void **state) {
	(void)state;
	static const char *const replies[] = {"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
					      "\x1b]lallow all of it\x1b\\",
					      "\x1b]4;1;rgb:00/00/00\a",
					      "\x1bP1$r0m\x1b\\",
					      "\x1b_Gi=31;OK\x1b\\",
					      "\x1b[?62;22c",
					      "\x1b[30;1R"};
	struct desk desk;
	desk_open(&desk, "");
	see_question(&desk);
	const size_t asked = desk.screen.size;
	for (size_t i = 0; i < ARRAY_LENGTH(replies); i++) type(&desk, replies[i]);
	type_code(&desk, "allow #\r");
	answered(&desk, ALLOWED);
	see(&desk, "allowed");
	assert_true(string_starts(desk.screen.data + asked, "allow "));
	desk_close(&desk);
}

static void an_enter_behind_the_key_for_details_is_no_answer(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "");
	see_question(&desk);
	for (int i = 0; i < 2; i++) {
		type(&desk, "?");
		see(&desk, "sbx deny 3 --always");
		see_question(&desk);
		type(&desk, "\r");
		see_question(&desk);
		assert_null(strstr(desk.screen.data, "Type it exactly as shown"));
	}
	type(&desk, "\r");
	see(&desk, "Type it exactly as shown");
	see_question(&desk);
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void a_key_alone_shows_details_and_allows_nothing(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "", SAVING, 80);
	see_question(&desk);
	type(&desk, "?");
	see(&desk, "Prompt 3, ");
	see(&desk, "  target   /srv/notes/\\u{202e}todo.txt\r\n");
	see(&desk, "until you revoke it");
	see(&desk, "  covers   /srv/notes\r\n");
	see(&desk, "sbx allow 3 --scope folder # its folder /srv/notes");
	see(&desk, "sbx allow 3 --scope exact # the target alone");
	see(&desk, "sbx deny 3 --always");
	see_question(&desk);
	type(&desk, "a?");
	assert_false(readable(desk.answer, 100));
	type(&desk, "\r");
	see(&desk, "Type it exactly as shown");
	see_question(&desk);
	type_code(&desk, "allow\x1b[A\x1b[15~\x1bOH #\r"); /* keys of cursors and functions write nothing */
	answered(&desk, "[{\"effect\":\"allow\",\"lifetime\":\"until\",\"scope\":\"folder\",\"terminal\":true}]");
	desk_close(&desk);
}

static void what_waits_together_is_one_question(void **state) {
	(void)state;
	static const struct {
		const char *typed, *answer;
	} cases[] = {{"allow #\r", "[" ALLOWED_ONE "," ALLOWED_ONE "]"},
		     {"always #\r", "[" ALWAYS_ONE "," ALWAYS_ONE "]"},
		     {"deny\r", "[" DENIED_ONE "," DENIED_ONE "]"},
		     {"\x03", "[" DENIED_ONE "," DENIED_ONE "]"}};
	struct desk desks[ARRAY_LENGTH(cases)];
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) desk_open_for(&desks[i], "", SEVERAL, 80);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		see(&desks[i], "sbx: session 1 wants 2 things");
		see(&desks[i], "   1  connect to svc.test:8443\r\n");
		see(&desks[i], "   2  connect to other.test:443\r\n");
		see_question_about_all(&desks[i]);
		type_code(&desks[i], cases[i].typed);
		answered(&desks[i], cases[i].answer);
		desk_close(&desks[i]);
	}
}

static void one_by_one(struct desk *desk) {
	char expected[32];
	snprintf(expected, sizeof expected, "error %d []", E2BIG);
	answered(desk, expected);
	desk_close(desk);
}

static void they_can_be_chosen_from(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "", SEVERAL, 80);
	see_question_about_all(&desk);
	type(&desk, "choose\r");
	one_by_one(&desk);
}

static void one_of_those_that_were_chosen_from_says_its_number(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "", THIRD, 80);
	see(&desk, "3 of 4\r\n");
	see(&desk, "svc.test:8443");
	see_question(&desk);
	type(&desk, "choose\r");
	see(&desk, "Type it exactly as shown");
	see_question(&desk);
	type_code(&desk, "always #\r");
	answered(&desk, "[" ALWAYS_ONE "]");
	desk_close(&desk);
}

static void lines_fit(struct desk *desk, size_t width) {
	see(desk, "--always");
	see(desk, question);
	char *line = strstr(desk->screen.data, "sbx: ");
	assert_non_null(line);
	for (char *end; (end = strstr(line, "\r\n")); line = end + 2)
		if (*line != '\x18' && (size_t)(end - line) > width) fail_msg("%.*s", (int)(end - line), line);
}

static void no_line_is_wider_than_the_terminal(void **state) {
	(void)state;
	static const unsigned short widths[] = {50, 80};
	static const enum sample samples[] = {ONE, SAVING, SEVERAL};
	enum { DESKS = ARRAY_LENGTH(widths) * ARRAY_LENGTH(samples) };
	struct desk desks[DESKS];
	for (size_t i = 0; i < DESKS; i++)
		desk_open_for(&desks[i], "", samples[i / ARRAY_LENGTH(widths)], widths[i % ARRAY_LENGTH(widths)]);
	for (size_t i = 0; i < DESKS; i++) {
		see(&desks[i], question);
		type(&desks[i], "?");
	}
	for (size_t i = 0; i < DESKS; i++) {
		lines_fit(&desks[i], widths[i % ARRAY_LENGTH(widths)]);
		type(&desks[i], "\x03");
		assert_true(readable(desks[i].answer, PATIENCE_MS));
		desk_close(&desks[i]);
	}
}

/* The last of it has not scrolled away, nor what follows it. */
static void in_sight(const struct desk *desk, const char *text, struct winsize size) {
	const char *last = NULL;
	size_t rows = 1, column = 0;
	for (const char *at = desk->screen.data; (at = strstr(at, text)); at++) last = at;
	if (!last) {
		fail_msg("'%s' is not on: %s", text, desk->screen.data);
		return; /* for clang-tidy, which does not know that it has ended */
	}
	while (last > desk->screen.data && last[-1] != '\n') last--;
	for (; *last; last++) {
		if (*last == '\n') {
			rows++;
			column = 0;
		} else if (*last != '\r' && ((unsigned char)*last & 0xc0) != 0x80 && column++ == size.ws_col) {
			rows++;
			column = 1;
		}
	}
	if (rows > size.ws_row) fail_msg("'%s' has scrolled away: %s", text, desk->screen.data);
}

static void attack_r_19_in_a_small_window_what_is_allowed_is_in_sight(void **state) {
	(void)state;
	static const struct {
		unsigned short columns, rows;
		enum sample sample;
		const char *seen;
	} cases[] = {{20, 5, ONE, "svc.test:8443"},     {80, 3, ONE, "svc.test:8443"},
		     {200, 10, ONE, "svc.test:8443"},   {40, 8, SAVING, "todo.txt"},
		     {40, 8, SAVING, "  /srv/notes\r"}, {80, 24, TALKING, "sbx: session 1"},
		     {30, 40, LONG, "sbx: session 1"},  {50, 10, AGAIN, "Other programs can write"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct winsize size = {.ws_col = cases[i].columns, .ws_row = cases[i].rows};
		struct desk desk;
		char byte[256];
		desk_open_sized(&desk, "", cases[i].sample, size);
		see_question(&desk);
		in_sight(&desk, cases[i].seen, size);
		for (int wrong = 0; wrong < 3; wrong++) {
			type(&desk, "allow me\r");
			see_question(&desk);
			in_sight(&desk, cases[i].seen, size);
		}
		type_code(&desk, "allow #\r");
		assert_true(readable(desk.answer, PATIENCE_MS));
		assert_true(read(desk.answer, byte, sizeof byte) > 0);
		assert_non_null(strstr(byte, "allow"));
		desk_close(&desk);
	}
}

static void attack_r_19_what_does_not_fit_the_window_is_not_allowed(void **state) {
	(void)state;
	static const struct {
		struct winsize size;
		enum sample sample;
	} cases[] = {{{.ws_col = 20, .ws_row = 5}, LONG},
		     {{.ws_col = 80, .ws_row = 5}, LONG},
		     {{.ws_col = 6, .ws_row = 50}, LONG},
		     {{.ws_col = 40, .ws_row = 1}, LONG},
		     {{.ws_col = 80, .ws_row = 24}, LONGEST}};
	const struct winsize large = {.ws_col = 80, .ws_row = 90};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct desk desk;
		desk_open_sized(&desk, "", cases[i].sample, cases[i].size);
		see(&desk, "too small to allow it: make it larger and press Enter. deny? ");
		assert_null(strstr(desk.screen.data, question));
		type(&desk, "allow 22\r");
		see(&desk, "deny? ");
		assert_false(readable(desk.answer, 0));
		assert_int_equal(ioctl(desk.master, TIOCSWINSZ, &large), 0);
		type(&desk, "\r");
		see(&desk, "Type an answer and press Enter");
		see_question(&desk);
		type_code(&desk, "allow #\r");
		answered(&desk, ALLOWED);
		desk_close(&desk);
	}
}

static void attack_r_19_an_allow_in_a_window_of_another_size_is_asked_again(void **state) {
	(void)state;
	const struct winsize small = {.ws_col = 30, .ws_row = 6};
	struct desk desk;
	char before[8];
	desk_open(&desk, "");
	see_question(&desk);
	memcpy(before, desk.code, sizeof before);
	assert_int_equal(ioctl(desk.master, TIOCSWINSZ, &small), 0);
	type_code(&desk, "allow #\r");
	see_question(&desk);
	assert_false(readable(desk.answer, 0));
	in_sight(&desk, "svc.test:8443", small);
	type_code(&desk, "allow #\r");
	answered(&desk, ALLOWED);
	desk_close(&desk);
}

static void attack_r_19_behind_long_details_stands_what_is_allowed(void **state) {
	(void)state;
	const struct winsize size = {.ws_col = 60, .ws_row = 16};
	struct desk desk;
	desk_open_sized(&desk, "", TALKING, size);
	see_question(&desk);
	type(&desk, "?");
	see(&desk, "sbx deny 3 --always");
	see_question(&desk);
	in_sight(&desk, "sbx: session 1 wants to", size);
	in_sight(&desk, "/srv/secret", size);
	type(&desk, "deny\r");
	answered(&desk, DENIED);
	desk_close(&desk);
}

static void several_that_would_scroll_away_are_asked_one_by_one(void **state) {
	(void)state;
	struct desk desk;
	desk_open_sized(&desk, "", SEVERAL, (struct winsize){.ws_col = 40, .ws_row = 8});
	one_by_one(&desk);
}

static void attack_r_19_a_list_does_not_cut_what_is_allowed(void **state) {
	(void)state;
	struct desk desk;
	desk_open_sized(&desk, "", SEVERAL_LONG, (struct winsize){.ws_col = 80, .ws_row = 50});
	one_by_one(&desk);
}

static void attack_b10_what_was_typed_ahead_is_no_key_either(void **state) {
	(void)state;
	struct desk desk;
	desk_open_for(&desk, "??\x03\x04", SEVERAL, 80);
	see(&desk, "Type an answer and press Enter");
	type(&desk, "?\x03choose\r");
	see_question_about_all(&desk);
	assert_false(readable(desk.answer, 300));
	assert_null(strstr(desk.screen.data, "Prompt 3"));
	type(&desk, "deny\r");
	answered(&desk, "[" DENIED_ONE "," DENIED_ONE "]");
	desk_close(&desk);
}

/* Its first line says so, but where the desktop can't answer. */
static void what_the_desktop_was_asked_says_so(void **state) {
	(void)state;
	static const char words[] = "sbx: The desktop was asked, too; the first answer counts.\r\nsbx: ";
	static const enum sample samples[] = {SHOWN, SHOWN_SEVERAL, ONE, CONFIRMED};
	for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
		struct desk desk;
		desk_open_for(&desk, "", samples[i], 80);
		see_question_as(&desk, samples[i] == SHOWN_SEVERAL);
		const char *said = strstr(desk.screen.data, "\r\n\x1b#5\x1b[J") + strlen("\r\n\x1b#5\x1b[J");
		assert_int_equal(string_starts(said, words), i < 2);
		assert_int_equal(strstr(said, "The desktop") != NULL, i < 2);
		type(&desk, "\x03");
		see(&desk, "sbx: denied");
		char byte[256];
		assert_true(read(desk.answer, byte, sizeof byte) > 0);
		desk_close(&desk);
	}
}

static void a_prompt_that_is_settled_elsewhere_is_taken_down_and_says_how(void **state) {
	(void)state;
	static const char gone[] = "{\"how\":\"answered\",\"verdict\":\"allow\",\"answer\":"
				   "{\"agent\":\"desktop\",\"lifetime\":\"until\",\"ttl_ms\":3600000}}\n";
	struct desk desk;
	desk_open(&desk, "");
	see_question(&desk);
	type(&desk, "al");
	see(&desk, "al");
	assert_int_equal(fd_write_all(desk.gone, gone, strlen(gone), NULL), 0);
	see(&desk, "\r\x1b[Ksbx: allowed for 1h, on the desktop\r\n"); /* in place of what was typed */
	char expected[32];
	snprintf(expected, sizeof expected, "error %d []", ECANCELED);
	answered(&desk, expected);
	desk_close(&desk);
}

static void without_a_runner_it_is_denied(void **state) {
	(void)state;
	struct desk desk;
	desk_open(&desk, "");
	see(&desk, question);
	fd_close(fd_steal(&desk.gone));
	see(&desk, "sbx: sbx has ended, and the question with it\r\n");
	char expected[32];
	snprintf(expected, sizeof expected, "error %d []", ECANCELED);
	answered(&desk, expected);
	desk_close(&desk);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_word_answers),
		cmocka_unit_test(how_long_an_allow_holds_is_said),
		cmocka_unit_test(control_z_puts_the_question_off),
		cmocka_unit_test(an_allow_covers_what_is_offered_first_and_says_so),
		cmocka_unit_test(anything_else_is_asked_again),
		cmocka_unit_test(a_line_that_is_too_long_is_no_word),
		cmocka_unit_test(control_c_and_the_end_of_input_deny_this_once),
		cmocka_unit_test(a_terminal_that_goes_away_answers_nothing),
		cmocka_unit_test(attack_b10_what_was_typed_ahead_answers_nothing),
		cmocka_unit_test(attack_b10_each_prompt_has_a_code_of_its_own),
		cmocka_unit_test(attack_b10_the_first_bytes_end_what_the_tool_left_open),
		cmocka_unit_test(attack_b10_its_letters_are_plain),
		cmocka_unit_test(attack_r_19_what_is_asked_again_stands_on_a_cleared_screen),
		cmocka_unit_test(attack_b10_what_the_terminal_replies_is_not_typed),
		cmocka_unit_test(an_enter_behind_the_key_for_details_is_no_answer),
		cmocka_unit_test(a_key_alone_shows_details_and_allows_nothing),
		cmocka_unit_test(what_waits_together_is_one_question),
		cmocka_unit_test(they_can_be_chosen_from),
		cmocka_unit_test(one_of_those_that_were_chosen_from_says_its_number),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(attack_r_19_in_a_small_window_what_is_allowed_is_in_sight),
		cmocka_unit_test(attack_r_19_what_does_not_fit_the_window_is_not_allowed),
		cmocka_unit_test(attack_r_19_an_allow_in_a_window_of_another_size_is_asked_again),
		cmocka_unit_test(attack_r_19_behind_long_details_stands_what_is_allowed),
		cmocka_unit_test(several_that_would_scroll_away_are_asked_one_by_one),
		cmocka_unit_test(attack_r_19_a_list_does_not_cut_what_is_allowed),
		cmocka_unit_test(attack_b10_what_was_typed_ahead_is_no_key_either),
		cmocka_unit_test(what_the_desktop_was_asked_says_so),
		cmocka_unit_test(a_prompt_that_is_settled_elsewhere_is_taken_down_and_says_how),
		cmocka_unit_test(without_a_runner_it_is_denied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
