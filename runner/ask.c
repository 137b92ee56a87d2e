#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/string.h"
#include "base/text.h"
#include "schema/limits.h"

enum {
	ASK_SUSPENDED = 2,    /* the child's exit status: the user typed ^Z */
	ASK_CLOSING_MS = 500, /* a child has for its last words */
};

struct question {
	struct question *next;
	struct prompt prompt;
	bool told; /* that it waits, while we are in the background */
};

struct asker {
	struct asker_options options;
	struct question *first; /* the one being asked while `child` is set */
	pid_t child;
	int answer, gone; /* pipes: from the child, to the child (-1 = told already) */
	struct event *done;
	struct string text; /* what came of the answer so far */
};

static void question_free(struct question *question) {
	if (!question) return;
	prompt_finish(&question->prompt);
	free(question);
}

struct asker *asker_new(const struct asker_options *options) {
	struct asker *asker = mem_new(struct asker);
	*asker = (struct asker){.options = *options, .answer = -1, .gone = -1};
	return asker;
}

/* In the child: ask, and write the answer as JSON. It has the terminal's foreground, so ^C ends it alone. */
static _Noreturn void child_ask(struct asker *asker, int answer, int gone) {
	const struct run_terminal *user = asker->options.user;
	static const int restored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCONT, SIGWINCH, SIGCHLD, SIGPIPE};
	setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(restored); i++) signal(restored[i], SIG_DFL);
	signal(SIGTSTP, SIG_IGN); /* it is the runner that stops (ASK_SUSPENDED) */
	int fd = terminal_reopen(asker->options.terminal);
	terminal_give(asker->options.terminal, getpid());
	json_t *json = NULL;
	struct error error = ERROR_NONE;
	int r = fd < 0 ? -ENOTTY : user->ask(user->context, fd, gone, &asker->first->prompt, &json, &error);
	if (r < 0 || !json) _exit(r == -EINTR ? ASK_SUSPENDED : 1);
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT);
	_exit(text && fd_write_all(answer, text, strlen(text), NULL) == 0 ? 0 : 1);
}

static void ask_next(struct asker *asker);

/* Everything after a child's end: the terminal back, and the answer (or a denial) to the broker. */
static void finish(struct asker *asker) {
	struct question *question = asker->first;
	int status = 0;
	while (waitpid(asker->child, &status, 0) < 0 && errno == EINTR) {
	}
	event_free(asker->done);
	fd_close_p(&asker->answer);
	bool cancelled = asker->gone < 0;
	fd_close_p(&asker->gone);
	asker->done = NULL;
	asker->child = 0;
	terminal_give(asker->options.terminal, getpgrp());
	terminal_go_on(asker->options.terminal);
	if (!cancelled && WIFEXITED(status) && WEXITSTATUS(status) == ASK_SUSPENDED) {
		asker->options.suspend(asker->options.context);
		ask_next(asker);
		return;
	}

	asker->first = question->next;
	json_t *answer = asker->text.data ? json_loads(asker->text.data, JSON_REJECT_DUPLICATES, NULL) : NULL;
	string_finish(&asker->text);
	if (!json_is_object(answer) || status != 0) {
		json_decref(answer);
		answer = json_pack("{s:s, s:s, s:s, s:b}", "effect", "deny", "lifetime", "once", "scope", "exact",
				   "terminal", 1);
	}
	if (cancelled) {
		json_decref(answer);
	} else {
		json_object_set_new(answer, "prompt", json_integer(question->prompt.id));
		json_object_set_new(answer, "token", json_string(question->prompt.token));
		asker->options.answer(asker->options.context, answer);
	}
	question_free(question);
	ask_next(asker);
}

static void on_answer(evutil_socket_t fd, short what, void *argument) {
	struct asker *asker = argument;
	char block[4096];
	(void)what;
	ssize_t got = read(fd, block, sizeof block);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (got > 0 && asker->text.size < LIMIT_MESSAGE) string_append_bytes(&asker->text, block, (size_t)got);
	if (got <= 0) finish(asker);
}

static void ask_next(struct asker *asker) {
	struct question *question = asker->first;
	if (asker->child || !question) return;
	if (!terminal_is_foreground(asker->options.terminal)) {
		if (question->told) return;
		CLEANUP_FREE char *target = text_visible_cut(question->prompt.target, 120);
		log_notice("waiting for an answer: %s %s: sbx allow %lld, sbx deny %lld",
			   question->prompt.permission.name, target, (long long)question->prompt.id,
			   (long long)question->prompt.id);
		question->told = true;
		return;
	}
	int answer[2], gone[2];
	if (pipe2(answer, O_CLOEXEC) < 0) return;
	if (pipe2(gone, O_CLOEXEC) < 0) {
		fd_close(answer[0]);
		fd_close(answer[1]);
		return;
	}
	terminal_hold(asker->options.terminal);
	asker->child = fork();
	if (asker->child == 0) {
		fd_close(gone[1]);
		child_ask(asker, answer[1], gone[0]);
	}
	fd_close(answer[1]);
	fd_close(gone[0]);
	asker->answer = answer[0];
	asker->gone = gone[1];
	fd_nonblocking(answer[0], true, NULL);
	asker->done = event_new(asker->options.base, answer[0], EV_READ | EV_PERSIST, on_answer, asker);
	event_add(asker->done, NULL);
	if (asker->child < 0) finish(asker);
}

void asker_add(struct asker *asker, const json_t *prompt) {
	struct question *question = mem_new(struct question);
	struct error error = ERROR_NONE;
	json_t *bare = json_copy((json_t *)prompt); /* "type" is the message's, not the prompt's */
	json_object_del(bare, "type");
	int r = prompt_from_json(bare, &question->prompt, &error);
	json_decref(bare);
	if (r < 0) {
		log_warning("a prompt of the broker: %s", error.message);
		free(question);
		return;
	}
	struct question **end = &asker->first;
	while (*end) end = &(*end)->next;
	*end = question;
	ask_next(asker);
}

void asker_gone(struct asker *asker, int64_t id) {
	for (struct question **at = &asker->first; *at; at = &(*at)->next) {
		if ((*at)->prompt.id != id) continue;
		if (asker->child && *at == asker->first) {
			fd_close_p(&asker->gone); /* readable (end of file) on the child's side */
			return;
		}
		struct question *gone = *at;
		*at = gone->next;
		question_free(gone);
		return;
	}
}

void asker_forget(struct asker *asker) {
	struct question **rest = asker->child ? &asker->first->next : &asker->first;
	while (*rest) {
		struct question *gone = *rest;
		*rest = gone->next;
		question_free(gone);
	}
	if (asker->child) fd_close_p(&asker->gone);
}

void asker_wake(struct asker *asker) {
	ask_next(asker);
}

/* The question is settled: the child says so and ends. */
static void dismiss(struct asker *asker) {
	struct pollfd answer = {.fd = asker->answer, .events = POLLIN};
	char block[256];
	ssize_t got = 1;
	fd_close_p(&asker->gone);
	while (got > 0 && poll(&answer, 1, ASK_CLOSING_MS) > 0) got = read(asker->answer, block, sizeof block);
}

void asker_free(struct asker *asker) {
	if (!asker) return;
	if (asker->child > 0) {
		dismiss(asker);
		kill(asker->child, SIGKILL);
		while (waitpid(asker->child, NULL, 0) < 0 && errno == EINTR) {
		}
		terminal_give(asker->options.terminal, getpgrp());
	}
	if (asker->done) event_free(asker->done);
	fd_close(asker->answer);
	fd_close(asker->gone);
	for (struct question *at = asker->first; at;) {
		struct question *next = at->next;
		question_free(at);
		at = next;
	}
	string_finish(&asker->text);
	free(asker);
}
