/*
 * Theory of operation. The broker has said what may be asked for (session-open's `wants`); what of it the host has is
 * asked for in one message, whose reply comes when all is settled. Until then a loop serves what the run's own loop
 * will serve later: the questions, if the terminal is where they are put, and the views. Nothing of the sandbox runs
 * yet, so there is nothing to settle and nothing to publish. Signals are left as they are, but for a hang-up's: ^C ends
 * us, and with us what waits to become the sandbox.
 *
 * Files are looked at by a process of its own, for a look may hang (a network's, another FUSE server's); a thread that
 * hangs there would keep us from ending.
 */
#include "wants.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/text.h"
#include "net/gate/denied.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "terminal/ask.h"

enum {
	WANTS_NOTICE_MS = 300, /* until a user who isn't asked here is told what is waited for */
	WANTS_NOTICE_COLUMNS = 300,
};

struct want {
	struct permission permission;
	char *pattern;
	bool there, folder;
};

struct wants {
	const struct wants_options *options;
	struct view **view;
	struct want items[LIMIT_WANTS];
	size_t count;
	struct asker *asker;
	struct event *notice, *go_on;
	struct strings once; /* variables that were given to this start alone */
	int result;
	bool ended;
};

static void wants_finish(struct wants *wants) {
	for (size_t i = 0; i < wants->count; i++) free(wants->items[i].pattern);
	strings_finish(&wants->once);
}
#define CLEANUP_WANTS __attribute__((cleanup(wants_finish)))

static int read_wants(const json_t *list, struct wants *wants, struct error *error) {
	size_t index;
	json_t *item, *pattern;
	const char *name;
	json_array_foreach ((json_t *)list, index, item) {
		if (index == LIMIT_WANTS ||
		    json_unpack_ex(item, NULL, JSON_STRICT, "{s:s, s:o}", "permission", &name, "pattern", &pattern) < 0)
			return error_set(error, EPROTO, "the broker sent malformed wants");
		struct want *want = &wants->items[wants->count];
		int r = permission_parse(name, &want->permission, error);
		if (r == 0) r = message_bytes_take(pattern, &want->pattern, error);
		if (r == 0 && !want->pattern) r = error_set(error, EPROTO, "the broker sent a want of nothing");
		if (r < 0) return r;
		wants->count++;
	}
	return 0;
}

/* What is there */

static bool is_file(const struct want *want) {
	return permission_is_of_path(&want->permission);
}

enum look { LOOK_NOTHING, LOOK_OTHER, LOOK_FOLDER };

static enum look look_at(const char *path) {
	struct stat status;
	if (lstat(path, &status) < 0) return LOOK_NOTHING;
	if (S_ISLNK(status.st_mode) && stat(path, &status) < 0) return LOOK_OTHER;
	return S_ISDIR(status.st_mode) ? LOOK_FOLDER : LOOK_OTHER; /* an allow covers what a link leads to */
}

/* One byte each, in their order. */
static _Noreturn void look_at_all(const struct wants *wants, int out) {
	for (size_t i = 0; i < wants->count; i++) {
		if (!is_file(&wants->items[i])) continue;
		const char look = (char)look_at(wants->items[i].pattern);
		if (fd_write_all(out, &look, 1, NULL) < 0) break;
	}
	_exit(0);
}

/* False: not in time; what wasn't seen isn't there. */
static bool read_looks(struct wants *wants, int in) {
	struct moment start, now;
	clock_read(clock_system(), &start);
	for (size_t i = 0; i < wants->count; i++) {
		struct pollfd ready = {.fd = in, .events = POLLIN};
		char look = LOOK_NOTHING;
		if (!is_file(&wants->items[i])) continue;
		clock_read(clock_system(), &now);
		const int64_t left = start.boot_ms + LIMIT_LOOK_MS - now.boot_ms;
		if (left <= 0 || poll(&ready, 1, (int)left) <= 0 || read(in, &look, 1) != 1) return false;
		wants->items[i].there = look != LOOK_NOTHING;
		wants->items[i].folder = look == LOOK_FOLDER;
	}
	return true;
}

static void look_at_files(struct wants *wants) {
	int ends[2];
	bool files = false;
	for (size_t i = 0; i < wants->count; i++) files |= is_file(&wants->items[i]);
	if (!files || pipe2(ends, O_CLOEXEC) < 0) return;
	const pid_t child = fork();
	if (child == 0) look_at_all(wants, ends[1]);
	fd_close(ends[1]);
	const bool seen = child > 0 && read_looks(wants, ends[0]);
	fd_close(ends[0]);
	if (seen)
		waitpid(child, NULL, 0);
	else if (child > 0)
		kill(child, SIGKILL); /* what hangs in the kernel ends when it can: nobody waits for it */
}

/* The message `want`; NULL when nothing of it is there. */
static json_t *those_there(struct wants *wants) {
	json_t *items = json_array(), *folders = json_array();
	look_at_files(wants);
	for (size_t i = 0; i < wants->count; i++) {
		struct want *want = &wants->items[i];
		if (want->permission.kind == PERMISSION_ENV_READ) want->there = getenv(want->pattern);
		if (want->permission.kind == PERMISSION_NET_ACCESS) want->there = true;
		if (want->there) json_array_append_new(items, json_integer((json_int_t)i));
		if (want->folder) json_array_append_new(folders, json_integer((json_int_t)i));
	}
	json_t *message =
		json_array_size(items) > 0 ? json_pack("{s:O, s:O}", "items", items, "folders", folders) : NULL;
	json_decref(items);
	json_decref(folders);
	return message;
}

/* Waiting */

static void end_with(struct wants *wants, int result) {
	if (!wants->ended) wants->result = result;
	wants->ended = true;
	event_base_loopbreak(wants->options->base);
}

/* What lasts is in the view; a grant for one use is used up by now, and gives the variable to this start alone. */
static void take_variable(struct wants *wants, const char *name, const struct verdict *verdict) {
	if (verdict->effect != EFFECT_ALLOW)
		denied_add(&wants->options->denied[PERMISSION_ENV_READ], name, verdict);
	else if (verdict->once)
		strings_add(&wants->once, name);
}

/* Last of all: a view that comes in one go with the answer has none of them. */
static void add_variables(const struct wants *wants) {
	struct strings *environment = &(*wants->view)->environment;
	for (size_t i = 0; i < wants->once.count; i++)
		if (!strings_contain(environment, wants->once.items[i])) strings_add(environment, wants->once.items[i]);
}

static int read_variable(const json_t *item, char **ret_name, struct verdict *ret_verdict, struct error *error) {
	int r = message_bytes_take(json_object_get(item, "name"), ret_name, error);
	if (r == 0 && !*ret_name) r = error_set(error, EPROTO, "the broker sent a variable without a name");
	return r < 0 ? r : verdict_from_json(json_object_get(item, "verdict"), ret_verdict, error);
}

static void take_refused(const struct wants *wants, const json_t *item) {
	CLEANUP_VERDICT struct verdict verdict = {0};
	struct error error = ERROR_NONE;
	const json_int_t index = json_integer_value(json_object_get(item, "item"));
	if (index < 0 || index >= (json_int_t)wants->count)
		error_set(&error, EPROTO, "it names none of them");
	else
		verdict_from_json(json_object_get(item, "verdict"), &verdict, &error);
	if (error.code != 0) return log_error("what was denied at the start: %s", error.message);
	const struct want *want = &wants->items[index];
	const bool own = want->permission.kind == PERMISSION_CUSTOM;
	denied_add_named(&wants->options->denied[want->permission.kind], own ? want->permission.name : NULL,
			 want->pattern, &verdict);
}

static void on_settled(void *argument, const json_t *settled) {
	struct wants *wants = argument;
	size_t index;
	const json_t *item;
	json_array_foreach (json_object_get(settled, "variables"), index, item) {
		CLEANUP_FREE char *name = NULL;
		CLEANUP_VERDICT struct verdict verdict = {0};
		struct error error = ERROR_NONE;
		if (read_variable(item, &name, &verdict, &error) == 0)
			take_variable(wants, name, &verdict);
		else
			log_error("what was answered about a variable: %s", error.message);
	}
	json_array_foreach (json_object_get(settled, "refused"), index, item) take_refused(wants, item);
	end_with(wants, 0);
}

static void on_view(void *context, struct view *view) {
	struct wants *wants = context;
	view_free(*wants->view);
	*wants->view = view;
}

static void on_ended(void *context, const struct session_ended *ended) {
	const struct wants *wants = context;
	session_settle_nothing(wants->options->session, ended->settle);
}

static void on_sleep(void *context, bool sleeping, int64_t settle) {
	const struct wants *wants = context;
	if (sleeping) session_settle_nothing(wants->options->session, settle);
}

static void on_publishing(void *context, int64_t number, const struct publication *wanted, int64_t grant) {
	const struct wants *wants = context;
	const struct strings none = {0};
	(void)wanted, (void)grant;
	session_published(wants->options->session, &none, number, 0, "what it runs hasn't started yet");
}

static void on_terminate(void *context) {
	end_with(context, -ECANCELED);
}

static void on_prompt(void *context, const json_t *prompt) {
	struct wants *wants = context;
	asker_add(wants->asker, prompt);
}

static void on_prompt_gone(void *context, const json_t *gone) {
	struct wants *wants = context;
	asker_gone(wants->asker, gone);
}

/* Nothing runs yet that could write. */
static void on_hold(void *context, int64_t number) {
	const struct wants *wants = context;
	outlets_pause(wants->options->outlets, number != 0);
	if (number != 0) session_held(wants->options->session, number);
	asker_pause(wants->asker, number != 0);
}

static void on_broker_gone(void *context) {
	end_with(context, -ECONNRESET);
}

static void on_hangup(void *context, bool gone) {
	(void)gone;
	end_with(context, -EPIPE);
}

/* ^Z at the question: as a shell's own job, with the pipeline that it is in; back when it goes on. */
static void on_user_suspend(void *context) {
	(void)context;
	kill(0, SIGTSTP);
}

static void on_continue(evutil_socket_t number, short what, void *argument) {
	struct wants *wants = argument;
	(void)number, (void)what;
	asker_continued(wants->asker);
}

/* Whoever looks at a terminal in which nothing happens. */
static void on_notice(evutil_socket_t fd, short what, void *argument) {
	const struct wants *wants = argument;
	CLEANUP_STRING struct string list = {0};
	(void)fd, (void)what;
	if (asker_is_asking(wants->asker) || !isatty(STDERR_FILENO)) return;
	for (size_t i = 0; i < wants->count; i++)
		if (wants->items[i].there)
			string_appendf(&list, "%s%s %s", list.size > 0 ? ", " : "", wants->items[i].permission.name,
				       wants->items[i].pattern);
	CLEANUP_FREE char *shown = text_visible_cut(list.data, WANTS_NOTICE_COLUMNS);
	CLEANUP_FREE char *command = text_visible_cut(wants->options->run->command[0], 60);
	log_notice("%s starts when you have answered what it may have (%s): sbx prompts lists the questions", command,
		   shown);
}

static void serve(struct wants *wants) {
	const struct wants_options *options = wants->options;
	const struct session_events events = {.context = wants,
					      .view = on_view,
					      .ended = on_ended,
					      .sleep = on_sleep,
					      .publishing = on_publishing,
					      .terminate = on_terminate,
					      .prompt = on_prompt,
					      .prompt_gone = on_prompt_gone,
					      .hold = on_hold,
					      .broker_gone = on_broker_gone};
	const struct asker_options asker = {.base = options->base,
					    .user = options->run->terminal,
					    .outlets = options->outlets,
					    .session = options->session,
					    .suspend = on_user_suspend,
					    .context = wants};
	wants->asker = asker_new(&asker);
	session_serve(options->session, options->base, &events);
}

static void wait_for_answers(struct wants *wants, json_t *message) {
	const struct timeval soon = {.tv_usec = WANTS_NOTICE_MS * 1000};
	struct event_base *base = wants->options->base;
	serve(wants);
	session_want(wants->options->session, message, on_settled, wants);
	wants->notice = evtimer_new(base, on_notice, wants);
	wants->go_on = evsignal_new(base, SIGCONT, on_continue, wants);
	event_add(wants->notice, &soon);
	event_priority_set(wants->go_on, LOOP_FIRST); /* asker_continued */
	event_add(wants->go_on, NULL);
	hangup_watch(wants->options->hangup, on_hangup, wants);
	if (!wants->ended) event_base_dispatch(base);
	asker_free(wants->asker);
	event_free(wants->notice);
	event_free(wants->go_on);
	hangup_watch(wants->options->hangup, NULL, NULL);
	session_pause(wants->options->session);
}

int wants_ask(const struct wants_options *options, struct view **view, struct error *error) {
	CLEANUP_WANTS struct wants wants = {.options = options, .view = view};
	int r = read_wants(session_wants(options->session), &wants, error);
	if (r < 0 || wants.count == 0) return r;
	json_t *message = those_there(&wants);
	if (!message) return 0;
	wait_for_answers(&wants, message);
	add_variables(&wants);
	if (wants.result == -ECANCELED) return error_set(error, ECANCELED, "this sandbox was ended by sbx kill");
	if (wants.result == -EPIPE) return error_set(error, EPIPE, "hung up");
	if (wants.result < 0) return error_set(error, ECONNRESET, "the broker is gone");
	return 0;
}
