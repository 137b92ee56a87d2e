/*
 * Theory of operation
 *
 * Prompts that come together are asked together: who starts with eight things to ask for, or opens them at once, makes
 * one question. So the first one waits for ASK_GATHER_MS for others, and the child gets all that wait, as many as fit
 * on the screen. It writes their answers as an array in their order. Without answers they are asked anew when it was
 * put off, when one of them was settled elsewhere, and one by one where the user chose so or the screen has no room for
 * all; otherwise they are denied. What is asked by itself has a child of its own, so that its answer is in force at
 * once.
 *
 * What must be confirmed in a terminal is asked alone. What the desktop shows is left to it for LIMIT_DESKTOP_MS, for
 * there it may be out of sight (a banner that is gone, another screen); then it is asked here as well, and the first
 * answer wins. It is asked here at once where the desktop can't be seen from here: the user came over ssh.
 *
 * The child has the terminal's foreground, so whoever of our pipeline reads the terminal meanwhile (less) is stopped by
 * the kernel, and we are not (pagers.h): to the shell the job goes on, so the terminal stays the question's, and when
 * nothing is asked any more the group is continued. When we are to stop for another reason no child is left behind, for
 * its answer would reach nobody (asker_put_off).
 *
 * SIGSTOP from outside can't be foreseen, and a runner that is stopped loses its turn to ask (broker/prompts/turns.c):
 * others may then have written over the question that its child still asks. So when we go on no answer is read until
 * the broker has said whether the turn was ours all along (EBUSY); if it was not, what was typed doesn't count, and all
 * is asked anew (asker_continued).
 */
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/string.h"
#include "base/text.h"
#include "bystanders.h"
#include "pagers.h"
#include "schema/limits.h"
#include "twice.h"

enum {
	ASK_SUSPENDED = 2,    /* the child's exit status: the user typed ^Z */
	ASK_CANCELLED = 3,    /* likewise: it was told that one is gone, or it never had the terminal */
	ASK_ONE_BY_ONE = 4,   /* likewise: not all of them together */
	ASK_GATHER_MS = 30,   /* prompts that come within this are asked together */
	ASK_FRAME_LINES = 14, /* of a question about several are not its list */
	ASK_CLOSING_MS = 500, /* a child has for its last words when all wait for it */
	ASK_STUCK_MS = 5000,  /* and when nobody does: then it has been stopped (SIGSTOP) */
	ASK_LOOK_MS = 300,    /* between looks whether we are in the foreground by now */
};

struct question {
	struct question *next;
	struct prompt prompt;
	int64_t since_ms;   /* CLOCK_MONOTONIC: the desktop shows it, or can't */
	size_t number, all; /* it is asked by itself, the how-manieth of how many; else 0 */
	bool told;          /* that it waits, while we are in the background */
	bool asked, gone;
};

struct asker {
	struct asker_options options;
	struct terminal *terminal;                    /* of its outlets */
	struct question *first;                       /* `asked` are being asked while `child` is set */
	pid_t child;                                  /* who asks; 0: nobody */
	enum { NO_TURN, TURN_ASKED, TURN_OURS } turn; /* to ask on this terminal */
	uint64_t ticket;                              /* of TURN_ASKED */
	bool alone;                                   /* all other runs on it hold, whose processes are these */
	pid_t held[LIMIT_HOLDING];
	size_t held_count;
	bool paused;      /* another run asks there */
	bool remote;      /* over ssh: nobody sees the desktop */
	int answer, gone; /* pipes: from the child, to the child (-1 = told already) */
	struct pagers *pagers;
	struct event *done, *gather, *overdue, *look, *stuck;
	struct string text; /* what came of the answers so far */
};

static void question_free(struct question *question) {
	if (!question) return;
	prompt_finish(&question->prompt);
	free(question);
}

static void on_gathered(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	asker_wake(argument);
}

/* What comes within a moment is asked together. */
static void wait_for_others(struct asker *asker) {
	const struct timeval soon = {.tv_usec = ASK_GATHER_MS * 1000};
	if (!asker->child && !event_pending(asker->gather, EV_TIMEOUT, NULL)) event_add(asker->gather, &soon);
}

/* A shell's fg sends no signal to a job that is running already. */
static void on_look(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	asker_wake(argument);
}

static void look_again(struct asker *asker) {
	const struct timeval later = clock_timeval(ASK_LOOK_MS);
	event_add(asker->look, &later);
}

/* Of our group beside a question */

static bool has_terminal(const struct asker *asker) {
	return asker->child > 0 && terminal_is_of(asker->terminal, asker->child);
}

static void withdraw(struct asker *asker);
static void ask_next(struct asker *asker);

/* The terminal is still ours when the child has just begun: it takes it a moment later. */
static bool on_beside(void *context) {
	const struct asker *asker = context;
	return has_terminal(asker) || terminal_is_foreground(asker->terminal);
}

/* The reader may have taken a key of the answer, and drawn over the question, so the question is put anew, once. */
static void on_reader(void *context) {
	struct asker *asker = context;
	withdraw(asker);
	ask_next(asker);
}

static void on_stopping(void *context) {
	asker_put_off(context);
}

static void on_stuck(evutil_socket_t fd, short what, void *argument) {
	const struct asker *asker = argument;
	(void)fd, (void)what;
	if (asker->child) kill(asker->child, SIGKILL);
}

static void on_overdue(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	wait_for_others(argument);
}

struct asker *asker_new(const struct asker_options *options) {
	if (!options->user || !options->outlets->terminal) return NULL;
	struct asker *asker = mem_new(struct asker);
	*asker = (struct asker){.options = *options, .terminal = options->outlets->terminal, .answer = -1, .gone = -1};
	asker->remote = getenv("SSH_CONNECTION") || getenv("SSH_TTY");
	asker->gather = evtimer_new(options->base, on_gathered, asker);
	asker->overdue = evtimer_new(options->base, on_overdue, asker);
	asker->look = evtimer_new(options->base, on_look, asker);
	asker->stuck = evtimer_new(options->base, on_stuck, asker);
	const struct pagers_options pagers = {.base = options->base,
					      .beside = on_beside,
					      .stopped = on_reader,
					      .stopping = on_stopping,
					      .context = asker};
	asker->pagers = pagers_new(&pagers);
	return asker;
}

static bool others_are_busy(void *context, int fd) {
	const struct asker *asker = context;
	return bystanders_are_busy(fd, getppid(), asker->held, asker->held_count);
}

static int status_of(int r) {
	switch (r) {
	case -EINTR:
		return ASK_SUSPENDED;
	case -ECANCELED:
		return ASK_CANCELLED;
	case -E2BIG:
		return ASK_ONE_BY_ONE;
	default:
		return r < 0 ? 1 : 0;
	}
}

/* False: it isn't that group's any more, for our shell has taken it. */
static bool pass_terminal(const struct terminal *terminal, pid_t from, pid_t to) {
	if (!terminal_is_of(terminal, from)) return false;
	terminal_give(terminal, to);
	return true;
}

/* In the child: ask, and write the answers as JSON. It has the terminal's foreground, so ^C ends it alone. */
static _Noreturn void child_ask(struct asker *asker, const struct run_question *question, const struct string *first,
				int answer, int gone) {
	struct output *output = asker->options.outlets->output;
	const pid_t job = getpgrp();
	static const int restored[] = {SIGINT,   SIGTERM, SIGHUP,  SIGQUIT, SIGCONT,
				       SIGWINCH, SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU};
	setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(restored); i++) signal(restored[i], SIG_DFL);
	signal(SIGTSTP, SIG_IGN); /* it is the runner that stops (ASK_SUSPENDED) */
	int fd = terminal_reopen(asker->terminal);
	if (!pass_terminal(asker->terminal, job, getpid())) _exit(ASK_CANCELLED);
	output_leave(output);
	const struct twice twice = {.user = asker->options.user,
				    .is_busy = others_are_busy,
				    .context = asker,
				    .output = output,
				    .others_write =
					    output || !asker->alone ||
					    bystanders_are_there(fd, getppid(), asker->held, asker->held_count)};
	json_t *json = NULL;
	struct error error = ERROR_NONE;
	int r = fd < 0 ? -ENOTTY : fd_write_all(fd, first->data, first->size, &error);
	if (r == 0) r = twice_ask(&twice, question, fd, gone, &json, &error);
	if (json) {
		CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT);
		if (!text || fd_write_all(answer, text, strlen(text), NULL) < 0) _exit(1);
	}
	pass_terminal(asker->terminal, getpid(), job); /* also when the runner has been killed */
	_exit(status_of(r));
}

/* For how long, in milliseconds; 0: it is asked here. */
static int64_t left_to_the_desktop(const struct asker *asker, const struct question *question) {
	const struct prompt *prompt = &question->prompt;
	if (!prompt->desktop || prompt->confirm_terminal || asker->remote) return 0;
	const int64_t left = question->since_ms + LIMIT_DESKTOP_MS - clock_ms(CLOCK_MONOTONIC);
	return left > 0 ? left : 0;
}

static struct question *next_question(const struct asker *asker) {
	struct question *at = asker->first;
	while (at && left_to_the_desktop(asker, at) > 0) at = at->next;
	return at;
}

static void watch_the_desktop(struct asker *asker) {
	int64_t soonest = 0;
	for (const struct question *at = asker->first; at; at = at->next) {
		const int64_t left = left_to_the_desktop(asker, at);
		if (left > 0 && (soonest == 0 || left < soonest)) soonest = left;
	}
	const struct timeval wait = clock_timeval(soonest);
	if (soonest > 0)
		event_add(asker->overdue, &wait);
	else
		event_del(asker->overdue);
}

static void remove_question(struct asker *asker, struct question *question) {
	struct question **at = &asker->first;
	while (*at != question) at = &(*at)->next;
	*at = question->next;
	question_free(question);
}

/* The `answer` message's body. */
static json_t *complete(const struct question *question, json_t *given) {
	json_t *answer = given ? json_copy(given)
			       : json_pack("{s:s, s:s, s:s, s:b}", "effect", "deny", "lifetime", "once", "scope",
					   "exact", "terminal", 1);
	json_object_set_new(answer, "prompt", json_integer(question->prompt.id));
	json_object_set_new(answer, "token", json_string(question->prompt.token));
	return answer;
}

/* What came of the questions that were asked: those that are settled are no more. They are told of last, for a broker
 * that is gone takes all questions with it (asker_forget). */
static void settle(struct asker *asker, const json_t *answers, bool anew) {
	json_t *told = json_array();
	json_t *answer;
	size_t index = 0;
	for (struct question *question = asker->first, *next; question; question = next) {
		next = question->next;
		if (!question->asked) continue;
		question->asked = false;
		json_t *given = json_array_get(answers, index++);
		if (!json_is_object(given)) given = NULL;
		if (!question->gone && !given && anew) continue;
		if (!question->gone) json_array_append_new(told, complete(question, given));
		remove_question(asker, question);
	}
	json_array_foreach (told, index, answer) session_answer(asker->options.session, json_incref(answer));
	json_decref(told);
}

/* Those that were asked together, in their order. */
static void ask_one_by_one(struct asker *asker) {
	size_t number = 0, all = 0;
	for (const struct question *at = asker->first; at; at = at->next) all += at->asked && !at->gone;
	for (struct question *at = asker->first; at; at = at->next) {
		if (!at->asked || at->gone) continue;
		at->number = ++number;
		at->all = all;
	}
}

/* Whose turn it is to ask on this terminal */

static void discard(struct asker *asker);

static void on_turn(void *argument, const json_t *reply) {
	struct asker *asker = argument;
	size_t index;
	const json_t *pid;
	if (asker->turn != TURN_ASKED) return; /* the broker is gone, and the question with it */
	asker->turn = TURN_OURS;
	if (asker->child && !reply) { /* EBUSY: it was ours all along */
		event_add(asker->done, NULL);
		return;
	}
	discard(asker);
	asker->alone = json_is_true(json_object_get(reply, "alone"));
	asker->held_count = 0;
	json_array_foreach (json_object_get(reply, "held"), index, pid)
		if (index < LIMIT_HOLDING) asker->held[asker->held_count++] = (pid_t)json_integer_value(pid);
	ask_next(asker);
}

static void take_turn(struct asker *asker) {
	if (asker->turn != NO_TURN) return;
	asker->turn = TURN_ASKED;
	asker->ticket = session_take_turn(asker->options.session, on_turn, asker);
}

static void give_turn(struct asker *asker) {
	if (asker->turn == NO_TURN) return;
	if (asker->turn == TURN_ASKED) session_cancel(asker->options.session, asker->ticket);
	asker->turn = NO_TURN;
	session_give_turn(asker->options.session);
}

/* Its exit status; the terminal is the job's again, unless somebody else has it by now (our shell). */
static int reap(struct asker *asker) {
	int status = 0;
	while (waitpid(asker->child, &status, 0) < 0 && errno == EINTR) {
	}
	pass_terminal(asker->terminal, asker->child, getpgrp()); /* where it was killed */
	pagers_watch(asker->pagers, false);
	event_del(asker->stuck);
	event_free(asker->done);
	fd_close_p(&asker->answer);
	fd_close_p(&asker->gone);
	asker->done = NULL;
	asker->child = 0;
	if (WIFSIGNALED(status)) terminal_recover(asker->terminal);
	return status;
}

static void settle_with_text(struct asker *asker, bool anew) {
	json_t *answers = asker->text.data ? json_loads(asker->text.data, JSON_REJECT_DUPLICATES, NULL) : NULL;
	string_finish(&asker->text);
	settle(asker, answers, anew);
	json_decref(answers);
}

/* We go on after a stop: those of our group that had been stopped beside a question know nothing of our shell's modes.
 */
static void recover_modes(const struct asker *asker) {
	if (pagers_went_on(asker->pagers)) terminal_recover(asker->terminal);
}

/* Everything after a child's end: the terminal back, and the answers (or denials) to the broker. */
static void finish(struct asker *asker) {
	const bool cancelled = asker->gone < 0;
	const int status = reap(asker), code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	const bool hung_up = terminal_is_gone(asker->terminal) ||
			     (WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP); /* which may come first */
	if (code == ASK_ONE_BY_ONE) ask_one_by_one(asker);
	if (WIFEXITED(status) && code == 1 && !hung_up)
		log_warning("the question could not be asked on the terminal: it is denied");
	settle_with_text(asker, cancelled || hung_up || (code >= ASK_SUSPENDED && code <= ASK_ONE_BY_ONE));
	if (!cancelled && code == ASK_SUSPENDED) {
		give_turn(asker); /* others may be waiting for it */
		asker->options.suspend(asker->options.context);
		recover_modes(asker); /* before a next child: the answer to its turn may come before SIGCONT's event */
	}
	ask_next(asker);
}

/* Has it more to say? */
static bool hear(struct asker *asker) {
	char block[4096];
	const ssize_t got = read(asker->answer, block, sizeof block);
	if (got > 0 && asker->text.size < LIMIT_MESSAGE) string_append_bytes(&asker->text, block, (size_t)got);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void on_answer(evutil_socket_t fd, short what, void *argument) {
	struct asker *asker = argument;
	(void)fd, (void)what;
	if (!hear(asker)) finish(asker);
}

static void tell_that_it_waits(struct question *question) {
	if (question->told) return;
	CLEANUP_FREE char *target = text_visible_cut(question->prompt.target, 120);
	log_notice("waiting for an answer: %s %s: sbx allow %lld, sbx deny %lld", question->prompt.permission.name,
		   target, (long long)question->prompt.id, (long long)question->prompt.id);
	question->told = true;
}

static bool is_alone(const struct question *question) {
	return question->prompt.confirm_terminal || question->all > 0;
}

/* Marks those that are asked now, the first of them is `first`: how many, copies that own nothing in `prompts`. */
static size_t gather(struct asker *asker, struct question *first, struct prompt prompts[LIMIT_WANTS]) {
	const unsigned rows = terminal_size(asker->terminal).ws_row;
	const size_t fit = rows > ASK_FRAME_LINES + 2 ? rows - ASK_FRAME_LINES : 2;
	size_t count = 0;
	for (struct question *at = first; at && count < fit && count < LIMIT_WANTS; at = at->next) {
		if (at != first && (is_alone(at) || left_to_the_desktop(asker, at) > 0)) continue;
		at->asked = true;
		prompts[count++] = at->prompt;
		if (is_alone(first)) break;
	}
	return count;
}

static void go_on(struct asker *asker) {
	outlets_return(asker->options.outlets);
	pagers_continue(asker->pagers);
}

static int start_child(struct asker *asker, const struct run_question *question) {
	CLEANUP_STRING struct string first = {0};
	int answer[2], gone[2];
	if (pipe2(answer, O_CLOEXEC) < 0) return -errno;
	if (pipe2(gone, O_CLOEXEC) < 0) {
		int r = -errno;
		fd_close(answer[0]);
		fd_close(answer[1]);
		return r;
	}
	outlets_leave(asker->options.outlets, &first);
	pagers_watch(asker->pagers, true);
	const pid_t child = fork();
	if (child == 0) {
		fd_close(gone[1]);
		child_ask(asker, question, &first, answer[1], gone[0]);
	}
	fd_close(answer[1]);
	fd_close(gone[0]);
	if (child < 0) {
		pagers_watch(asker->pagers, false);
		fd_close(answer[0]);
		fd_close(gone[1]);
		return -EAGAIN;
	}
	asker->child = child;
	asker->answer = answer[0];
	asker->gone = gone[1];
	fd_nonblocking(answer[0], true, NULL);
	asker->done = event_new(asker->options.base, answer[0], EV_READ | EV_PERSIST, on_answer, asker);
	event_add(asker->done, NULL);
	return 0;
}

/* With nothing to ask the tool goes on. */
static void ask_next(struct asker *asker) {
	if (asker->child || asker->paused) return;
	watch_the_desktop(asker); /* first: what is left to it from here on is watched */
	struct question *first = next_question(asker);
	struct prompt prompts[LIMIT_WANTS];
	const bool foreground = terminal_is_foreground(asker->terminal);
	if (!first || !foreground) {
		go_on(asker);
		give_turn(asker);
	}
	for (struct question *at = first; at && !foreground; at = at->next)
		if (left_to_the_desktop(asker, at) == 0) tell_that_it_waits(at);
	if (first && !foreground) look_again(asker);
	if (!first || !foreground) return;
	if (asker->turn != TURN_OURS) {
		take_turn(asker);
		return;
	}
	const struct run_question question = {
		.prompts = prompts, .count = gather(asker, first, prompts), .number = first->number, .all = first->all};
	if (start_child(asker, &question) == 0) return;
	settle(asker, NULL, true); /* too few descriptors or processes just now: with the next one */
	go_on(asker);
	give_turn(asker);
}

/* A prompt that is known already: news of it. */
static void keep(struct asker *asker, struct question *question) {
	struct question **end = &asker->first;
	while (*end && (*end)->prompt.id != question->prompt.id) end = &(*end)->next;
	if (!*end) {
		*end = question;
		return;
	}
	const struct prompt before = (*end)->prompt;
	if (before.desktop != question->prompt.desktop) (*end)->since_ms = question->since_ms;
	(*end)->prompt = question->prompt;
	question->prompt = before;
	question_free(question);
}

void asker_add(struct asker *asker, const json_t *prompt) {
	if (!asker) return;
	struct question *question = mem_new(struct question);
	struct error error = ERROR_NONE;
	int r = prompt_from_json(prompt, &question->prompt, &error);
	if (r < 0) {
		log_warning("a prompt of the broker: %s", error.message);
		free(question);
		return;
	}
	question->since_ms = clock_ms(CLOCK_MONOTONIC);
	keep(asker, question);
	wait_for_others(asker);
}

/* It ends, and says how its question did: the push, a line. */
static void tell_child(struct asker *asker, const json_t *gone) {
	CLEANUP_FREE char *text = json_dumps(gone, JSON_COMPACT);
	CLEANUP_FREE char *line = text ? string_format("%s\n", text) : NULL;
	const struct timeval patience = clock_timeval(ASK_STUCK_MS);
	if (line && asker->gone >= 0) fd_write_all(asker->gone, line, strlen(line), NULL);
	fd_close_p(&asker->gone);
	event_add(asker->stuck, &patience);
}

static void end_child(struct asker *asker, const char *how) {
	json_t *gone = json_pack("{s:s}", "how", how);
	tell_child(asker, gone);
	json_decref(gone);
}

void asker_gone(struct asker *asker, const json_t *gone) {
	if (!asker) return;
	const int64_t id = json_integer_value(json_object_get(gone, "id"));
	for (struct question *at = asker->first; at; at = at->next) {
		if (at->prompt.id != id) continue;
		if (!at->asked) {
			remove_question(asker, at);
			return;
		}
		at->gone = true;
		tell_child(asker, gone);
		return;
	}
}

void asker_forget(struct asker *asker) {
	if (!asker) return;
	for (struct question *at = asker->first, *next; at; at = next) {
		next = at->next;
		at->gone = at->asked;
		if (!at->asked) remove_question(asker, at);
	}
	if (asker->turn == TURN_ASKED) session_cancel(asker->options.session, asker->ticket);
	asker->turn = NO_TURN;
	if (asker->child) {
		event_add(asker->done, NULL);
		end_child(asker, "broker-gone");
	} else {
		ask_next(asker); /* nothing: what was withdrawn to be asked anew holds nobody any more */
	}
}

/* Our turn is lost then, and others may have written over what our child asks. */
void asker_pause(struct asker *asker, bool paused) {
	if (!asker || asker->paused == paused) return;
	asker->paused = paused;
	if (!paused) {
		asker_wake(asker);
		return;
	}
	if (asker->turn == TURN_OURS) asker->turn = NO_TURN;
	discard(asker);
}

void asker_wake(struct asker *asker) {
	if (!asker) return;
	event_del(asker->gather);
	ask_next(asker);
}

bool asker_is_asking(const struct asker *asker) {
	return asker && has_terminal(asker);
}

bool asker_waits(const struct asker *asker) {
	return asker && asker->first && !asker->child;
}

/* Until the end, CLOCK_MONOTONIC in milliseconds. */
static bool has_words(const struct asker *asker, int64_t end) {
	struct pollfd answer = {.fd = asker->answer, .events = POLLIN};
	for (int64_t left; (left = end - clock_ms(CLOCK_MONOTONIC)) > 0;) {
		const int ready = poll(&answer, 1, (int)left);
		if (ready >= 0 || errno != EINTR) return ready > 0;
	}
	return false;
}

/* Its question has ended like that, unless it was settled before: the child says so and ends, its answer is in `text`.
 */
static void dismiss(struct asker *asker, const char *how) {
	const int64_t end = clock_ms(CLOCK_MONOTONIC) + ASK_CLOSING_MS;
	end_child(asker, how);
	while (has_words(asker, end) && hear(asker)) {
	}
	kill(asker->child, SIGKILL);
}

/* What was typed doesn't count. */
static void discard(struct asker *asker) {
	if (!asker->child) return;
	kill(asker->child, SIGKILL);
	reap(asker);
	string_finish(&asker->text);
	settle(asker, NULL, true);
}

/* What isn't answered by now is to be asked again; where our turn is in doubt (asker_continued), all is. */
static void withdraw(struct asker *asker) {
	if (asker->turn != TURN_OURS) discard(asker);
	if (!asker->child) return;
	if (!has_terminal(asker)) kill(asker->child, SIGKILL); /* it may not even speak there */
	dismiss(asker, "put-off");
	reap(asker);
	settle_with_text(asker, true);
}

/* Should we not stop after all (an orphaned group, setpgid(2)), it is asked again soon. */
void asker_put_off(struct asker *asker) {
	if (!asker) return;
	if (asker->child) look_again(asker);
	withdraw(asker);
	give_turn(asker);
}

/* Its answer waits to be read. */
static bool child_has_ended(const struct asker *asker) {
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)asker->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* We can't know whether we were stopped for long enough to lose our turn, so we ask for it. */
static void doubt_turn(struct asker *asker) {
	if (asker->turn != TURN_OURS) return; /* it is asked for already */
	event_del(asker->done);
	asker->turn = NO_TURN;
	take_turn(asker);
}

void asker_continued(struct asker *asker) {
	if (!asker) return;
	if (asker->child && (has_terminal(asker) || child_has_ended(asker))) {
		doubt_turn(asker);
		return;
	}
	discard(asker); /* our shell has taken the terminal */
	recover_modes(asker);
	asker_put_off(asker);
	asker_wake(asker);
}

void asker_free(struct asker *asker) {
	if (!asker) return;
	if (asker->child > 0) {
		dismiss(asker, "cancelled");
		reap(asker);
	}
	go_on(asker);
	give_turn(asker);
	pagers_free(asker->pagers);
	event_free(asker->stuck);
	event_free(asker->gather);
	event_free(asker->overdue);
	event_free(asker->look);
	while (asker->first) remove_question(asker, asker->first);
	string_finish(&asker->text);
	free(asker);
}
