/*
 * Theory of operation
 *
 * A prompt appears at a moment that the sandbox chooses, so keys that were meant for the tool must not answer it: the
 * input queue is flushed when the text is on the screen and again after PROMPT_DELAY_MS, and only then the question
 * mark appears. What counts afterwards is one of the whole words of the table and Enter, or a key that allows nothing
 * (prompt_keys.h).
 *
 * What the tool wrote before is still in force in the terminal: it may have left a control string open that would
 * swallow the prompt, or a mode that hides or misplaces it, below a picture of another prompt. So the first thing
 * written ends and resets whatever a prompt needs to be seen (`clean_slate`), and its letters are plain ones: how bold
 * or coloured ones look is another of the terminal's tables that a tool can change (xterm's OSC 5 and 6). Should a
 * terminal know yet another way to hide text, an answer that is meant for the picture still does not fit: what allows
 * is a word and a code that is new with every prompt, and which the tool, that can't read the terminal, does not know.
 */
#include "ui/prompt_terminal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/string.h"
#include "prompt_answers.h"
#include "prompt_keys.h"
#include "schema/grant.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "ui/flow.h"
#include "ui/prompt_ending.h"
#include "ui/prompt_text.h"

enum {
	WIDTH_MAX = 80,
	WIDTH_MIN = 40,   /* of the whole text */
	WIDTH_SHORT = 12, /* of the short one */
	ROWS = 24,
	TRIES_MAX = 40,
	CODE_SIZE = 3,
	TYPED_COLUMNS = 9, /* "always k7" */
};

struct room {
	size_t columns, rows;
};

struct question {
	struct prompt_keys keys;
	enum run_asking asking;
	const struct prompt *prompts;
	size_t count;
	size_t number, all;   /* the how-manieth of how many, when they are asked one by one; else 0 */
	char code[CODE_SIZE]; /* belongs to what allows, this time */
	const struct prompt_gone *gone;
	struct room room; /* in which it was shown */
	size_t used;      /* rows, since it was shown */
	bool unseen;      /* not all that an allow is about fits there: nothing is allowed */
};

/*
 * ECMA-48, DEC STD 070, xterm's ctlseqs and console_codes(4). The screen is left as it is but for what lies below the
 * cursor: a picture of a prompt there would end up beside ours.
 */
static const char clean_slate[] =
	"\x18\x1b\\"           /* CAN, ST: no sequence or string is open */
	"\x1b\x03\x18"         /* out of xterm's Tektronix screen, which erases nothing */
	"\x1b<\x1b[4i\x1b[0$}" /* of VT52 mode; not to printer or status line */
	"\x1b%G"               /* UTF-8: bytes of a letter are no controls (C1) */
	"\x1b[!p"              /* soft reset */
	"\x1b[?2026l"          /* show at once what is written */
	"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l"    /* the mouse is silent */
	"\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" /* so is the focus */
	"\x1b[?2004l\x1b[>4m\x1b F\x1b[?9001l"                    /* keys and what is pasted come as they are */
	"\x1b[?2031l\x1b[?2048l"                                  /* nothing is told of colours and size */
	"\x1b[?5l\x1b[?25h\x1b[?7h\x1b[4l\x1b[20l"                /* cursor seen; lines wrap, nothing is pushed aside */
	"\x1b[12h\x1b]8;;\x1b\\"                                  /* what is typed is seen once; it is no link */
	"\0337\x1b[?6l\x1b[?69l\x1b[r\0338"                       /* no margins; they move the cursor: put it back */
	"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]R\x1b\\"  /* no colour looks like another; R: Linux */
	"\x1b[10m\x1b[0m\x1b(B\x0f"                               /* plain letters of ASCII */
	"\r\n\x1b#5\x1b[J"; /* a line of our own, of usual width (DEC STD 070, DECSWL), and nothing below */

enum meaning { DENY, ALLOW, ALWAYS, CHOOSE, DETAILS };

static const struct answer_word {
	const char *word;
	enum meaning meaning;
} words[] = {{"deny", DENY},     {"d", DENY},        {"no", DENY},  {"n", DENY},         {"allow", ALLOW},
	     {"always", ALWAYS}, {"choose", CHOOSE}, {"c", CHOOSE}, {"details", DETAILS}};
/* Without those that look like another: l and 1, o and 0. */
static const char code_letters[] = "23456789abcdefghijkmnpqrstuvwxyz";
static_assert(sizeof code_letters == 32 + 1, "a code letter for each value of five bits");

static struct room room_of(int fd) {
	struct winsize size = {0};
	struct room room = {.columns = WIDTH_MAX, .rows = ROWS};
	if (ioctl(fd, TIOCGWINSZ, &size) < 0) return room;
	if (size.ws_row > 0) room.rows = size.ws_row;
	if (size.ws_col > 0 && size.ws_col < WIDTH_MAX) room.columns = size.ws_col;
	return room;
}

/* That of lines which are wider than a very narrow terminal, where they wrap. */
static size_t width_of(const struct room *room) {
	return room->columns < WIDTH_MIN ? WIDTH_MIN : room->columns;
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

static int put(const struct question *question, const char *text, struct error *error) {
	return fd_write_all(question->keys.fd, text, strlen(text), error);
}

static const char once_more[] = "Other programs can write to this terminal. Once more: is this what you allow?\n";

/* What stands on the screen is pushed out above, where the terminal keeps it, and wiped where it keeps nothing. */
static void append_cleared(size_t rows, struct string *out) {
	string_append(out, "\x1b[9999;1H");
	for (size_t i = 0; i < rows; i++) string_append_char(out, '\n');
	string_append(out, "\x1b[H\x1b[2J");
	string_append(out, once_more);
}

/* Whoever sees it there is told here. */
static bool is_on_desktop(const struct question *question) {
	for (size_t i = 0; i < question->count; i++)
		if (question->prompts[i].desktop && !question->prompts[i].confirm_terminal) return true;
	return false;
}

/* Above the text, on a screen of which nothing else is seen. */
static void append_before(const struct question *question, struct string *out) {
	if (question->all)
		string_appendf(out, "%zu of %zu\n", question->number, question->all);
	else if (question->asking != RUN_ASK_AGAIN && is_on_desktop(question))
		flow_append(out, "sbx: The desktop was asked, too; the first answer counts.", 0,
			    width_of(&question->room));
}

/* False: it is a list in which a target is cut. */
static bool append_whole(const struct question *question, struct string *out) {
	bool whole = true;
	const int64_t now_ms = clock_ms(CLOCK_REALTIME);
	const size_t width = width_of(&question->room);
	append_before(question, out);
	if (question->count == 1)
		prompt_describe(question->prompts, now_ms, width, out);
	else
		whole = prompt_answers_things(question->prompts, question->count, now_ms, width, question->room.rows,
					      out);
	prompt_answers_words(question->prompts, question->count, question->code, width, out);
	return whole;
}

static char *question_line(const struct question *question, const char *hint) {
	if (question->unseen)
		return string_format("%sThis window is too small to allow it: make it larger and press Enter. deny? ",
				     hint);
	return string_format(question->count == 1 ? "%sdeny, allow %s or always %s? "
						  : "%sdeny, allow %s, always %s or choose? ",
			     hint, question->code, question->code);
}

/* With what is typed behind it. */
static size_t question_rows(const struct question *question, const char *hint) {
	CLEANUP_FREE char *line = question_line(question, hint);
	return (strlen(line) + TYPED_COLUMNS) / question->room.columns + 1;
}

/* The rows that a question needs before it is asked; those of a line of the confirmation's are among them. */
static size_t rows_needed(const struct question *question, const char *text) {
	const size_t confirmed = question->asking != RUN_ASK_AGAIN ? 0
				 : question->room.columns < strlen(once_more)
					 ? strlen(once_more) / question->room.columns + 1
					 : 1;
	return prompt_answers_rows(text, question->room.columns) + confirmed + question_rows(question, "");
}

static bool fits_whole(const struct question *question, const char *text) {
	return question->room.columns >= WIDTH_MIN && rows_needed(question, text) <= question->room.rows;
}

/* What scrolls away is not seen, so where there is little room all else gives way to what an allow is about. */
static void compose(struct question *question, struct string *out) {
	CLEANUP_STRING struct string whole = {0};
	const bool uncut = append_whole(question, &whole);
	question->unseen = false; /* the question's words are longer else */
	const bool fits = uncut && (!question->keys.is_terminal || fits_whole(question, whole.data));
	if (fits || question->count > 1) {
		string_append_bytes(out, whole.data, whole.size);
		question->used = rows_needed(question, whole.data) - question_rows(question, "");
		question->unseen = !fits;
		return;
	}
	const struct room *room = &question->room;
	const size_t frame = rows_needed(question, ""), left = room->rows > frame ? room->rows - frame : 0;
	const size_t width = room->columns < WIDTH_SHORT ? WIDTH_SHORT : room->columns;
	const bool seen = prompt_answers_short(question->prompts, width, left, out);
	question->used = rows_needed(question, out->data) - question_rows(question, "");
	question->unseen = !seen || room->columns < WIDTH_SHORT;
}

/* A list of several that would scroll away, or in which a target is cut, is asked one after the other. */
static bool is_too_long(struct question *question) {
	CLEANUP_STRING struct string whole = {0};
	if (question->count == 1) return false;
	question->room = room_of(question->keys.fd);
	return !append_whole(question, &whole) || (question->keys.is_terminal && !fits_whole(question, whole.data));
}

static int show(struct question *question, struct error *error) {
	CLEANUP_STRING struct string text = {0}, out = {0};
	question->room = room_of(question->keys.fd);
	make_code(question->code);
	compose(question, &text);
	string_append(&out, question->keys.is_terminal ? clean_slate : "\n");
	if (question->asking == RUN_ASK_AGAIN) append_cleared(question->room.rows, &out);
	string_append_bytes(&out, text.data, text.size);
	return put(question, out.data, error);
}

static int show_details(const struct question *question, struct string *ret_shown, struct error *error) {
	const struct room room = room_of(question->keys.fd);
	for (size_t i = 0; i < question->count; i++)
		prompt_answers_details(&question->prompts[i], clock_ms(CLOCK_REALTIME), width_of(&room), ret_shown);
	return fd_write_all(question->keys.fd, ret_shown->data, ret_shown->size, error);
}

static int show_question(const struct question *question, const char *hint, struct error *error) {
	CLEANUP_FREE char *text = question_line(question, hint);
	return put(question, text, error);
}

/* Cuts the first word off: the rest behind it, without spaces around. */
static char *cut_word(char *line) {
	char *rest = line + strcspn(line, " \t");
	if (*rest) *rest++ = '\0';
	return rest + strspn(rest, " \t");
}

static const struct answer_word *find_word(const struct question *question, char *line) {
	size_t size = strlen(line);
	while (size > 0 && strchr(" \t", line[size - 1])) line[--size] = '\0';
	char *word = line + strspn(line, " \t");
	const char *rest = cut_word(word);
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		const bool allows = words[i].meaning == ALLOW || words[i].meaning == ALWAYS;
		if (words[i].meaning == CHOOSE && question->count == 1) continue;
		if (allows && question->unseen) continue;
		if (strcmp(words[i].word, word) == 0 && strcmp(allows ? question->code : "", rest) == 0)
			return &words[i];
	}
	return NULL;
}

static bool is_resized(const struct question *question) {
	const struct room room = room_of(question->keys.fd);
	return room.columns != question->room.columns || room.rows != question->room.rows;
}

/* What an allow is about has scrolled away, or may have. */
static bool is_out_of_sight(const struct question *question, const char *hint) {
	if (!question->keys.is_terminal) return false;
	return is_resized(question) || question->used + question_rows(question, hint) > question->room.rows;
}

static int read_answer(struct question *question, const char *hint, struct error *error) {
	int r = show_question(question, hint, error);
	if (r == 0) r = prompt_keys_read(&question->keys, error);
	question->used += question_rows(question, hint);
	return r;
}

/* The word that was typed; NULL: none, or one that allows what a window of another size may not show. */
static const struct answer_word *word_of(const struct question *question, int key, char *line) {
	const struct answer_word *word = key == KEY_LINE ? find_word(question, line) : NULL;
	const bool allows = word && (word->meaning == ALLOW || word->meaning == ALWAYS);
	return allows && question->keys.is_terminal && is_resized(question) ? NULL : word;
}

/* What an allow is about, without the words; false: there is no room for that. */
static bool append_reminder(const struct question *question, struct string *out) {
	const struct room *room = &question->room;
	const size_t rows = question_rows(question, ""), left = room->rows > rows ? room->rows - rows : 0;
	if (question->unseen || is_resized(question)) return false;
	if (question->count == 1) return prompt_answers_short(question->prompts, room->columns, left, out);
	prompt_answers_things(question->prompts, question->count, clock_ms(CLOCK_REALTIME), width_of(room), room->rows,
			      out);
	return prompt_answers_rows(out->data, room->columns) <= left;
}

/* What they push out of sight stands below them again. */
static int tell_details(struct question *question, struct error *error) {
	CLEANUP_STRING struct string out = {0}, reminder = {0};
	int r = show_details(question, &out, error);
	question->used += prompt_answers_rows(out.data, question->room.columns);
	if (r < 0 || !is_out_of_sight(question, "") || !append_reminder(question, &reminder)) return r;
	question->used = prompt_answers_rows(reminder.data, question->room.columns);
	return put(question, reminder.data, error);
}

/* One answer: an enum meaning but DETAILS, or -ECANCELED, -EINTR. */
static int converse(struct question *question, struct error *error) {
	int r = show(question, error);
	if (r == 0) r = prompt_keys_wait(&question->keys, PROMPT_DELAY_MS, error);
	if (r < 0) return r;
	prompt_keys_forget(&question->keys);
	const char *hint = "";
	bool details = false;
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		if (tries > 0 && is_out_of_sight(question, hint)) r = show(question, error);
		if (r == 0) r = read_answer(question, hint, error);
		if (r < 0) return r;
		if (r == KEY_DENY) {
			put(question, "\n", NULL);
			return DENY;
		}
		const struct answer_word *word = word_of(question, r, question->keys.line);
		if (word && word->meaning != DETAILS) return (int)word->meaning;
		/* Who presses Enter behind ? has meant nothing more by it, nor who was told to press it. */
		const bool empty = r == KEY_LINE && *question->keys.line == '\0';
		const bool same = empty && (details || question->unseen);
		details = word || r == KEY_DETAILS;
		hint = details || same ? "" : "Type it exactly as shown: ";
		r = details ? tell_details(question, error) : 0;
		if (r < 0) return r;
	}
	return DENY;
}

static json_t *answer_message(enum meaning meaning, const struct prompt *prompt) {
	const enum effect effect = meaning == DENY ? EFFECT_DENY : EFFECT_ALLOW;
	const enum lifetime lifetime = meaning == DENY     ? LIFETIME_ONCE
				       : meaning == ALWAYS ? LIFETIME_ALWAYS
							   : LIFETIME_UNTIL;
	return json_pack("{s:s, s:s, s:o, s:b}", "effect", effect_name(effect), "lifetime", lifetime_name(lifetime),
			 "scope", message_bytes(prompt_scope(prompt)), "terminal", 1);
}

/* A line and its end; without a line who asks has ended. */
static json_t *read_gone(int fd) {
	CLEANUP_STRING struct string line = {0};
	char byte;
	while (line.size < LIMIT_MESSAGE && read(fd, &byte, 1) == 1 && byte != '\n') string_append_char(&line, byte);
	return line.data ? json_loads(line.data, JSON_REJECT_DUPLICATES, NULL)
			 : json_pack("{s:s}", "how", "runner-gone");
}

/* In place of the line that waited for an answer. */
static char *words_of_end(const struct question *question) {
	const struct prompt_gone *told = question->gone;
	json_t *gone = told ? told->how(told->context) : read_gone(question->keys.gone_fd);
	const bool several = question->count > 1 && !prompt_is_put_off(gone);
	CLEANUP_FREE char *ending = prompt_ending(gone);
	const char *place = question->keys.is_terminal ? "\r\x1b[K" : "\n";
	json_decref(gone);
	return several ? string_format("%ssbx: one of them is settled: %s\nsbx: the others are asked again\n", place,
				       ending)
		       : string_format("%ssbx: %s\n", place, ending);
}

static const char *closing_words(int r, const struct question *question) {
	const enum run_asking asking = question->asking;
	if (r == -EINTR) return "\nsbx: paused; type fg to answer\n";
	if (r < 0) return "\n";
	if (r == DENY && prompt_answers_last(question->prompts, question->count))
		return "sbx: denied until this run ends\n";
	if (r == DENY) return "sbx: denied, this once\n";
	return asking == RUN_ASK_FIRST ? "sbx: once more, on a cleared screen\n" : "sbx: allowed\n";
}

/* All of `question` together; -E2BIG: one by one. */
static int ask(struct question *question, json_t **ret_answers, struct error *error) {
	const int r = is_too_long(question) ? CHOOSE : converse(question, error);
	if (r == CHOOSE) return -E2BIG;
	CLEANUP_FREE char *end = r == -ECANCELED ? words_of_end(question) : NULL;
	put(question, end ? end : closing_words(r, question),
	    NULL); /* without a terminal the answer counts all the same */
	if (r < 0) return r;
	*ret_answers = json_array();
	for (size_t i = 0; i < question->count; i++)
		json_array_append_new(*ret_answers, answer_message((enum meaning)r, &question->prompts[i]));
	return 0;
}

int prompt_terminal_ask(void *context, const struct run_question *asked, int fd, int gone_fd, json_t **ret_answers,
			struct error *error) {
	struct question question = {.asking = asked->asking,
				    .prompts = asked->prompts,
				    .count = asked->count,
				    .number = asked->number,
				    .all = asked->all,
				    .gone = context};
	prompt_keys_begin(&question.keys, fd, gone_fd);
	tcflush(fd, TCIFLUSH);
	const int r = ask(&question, ret_answers, error);
	tcflush(fd, TCIFLUSH);
	prompt_keys_end(&question.keys);
	return r;
}
