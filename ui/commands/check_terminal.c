/*
 * Theory of operation
 *
 * Two connections: on one the check waits for its verdict, on the other we are an agent that is told of questions. So
 * the first becomes readable exactly when the verdict is there, which is what takes a question down, wherever it was
 * answered. An agent of no session sees all questions; ours is the one with the subject and target of the check, and
 * the broker makes one of equal ones.
 */
#include "check_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "ui/broker.h"
#include "ui/prompt_terminal.h"

struct asking {
	struct channel *agent;
	const json_t *check;
	int terminal;
	int verdict;   /* readable when the check is decided */
	int64_t asked; /* the prompt's id */
};

enum { ENDING_MS = 500 }; /* the broker has to say how a question ended, when it has said what was decided */

/* The terminal, if somebody looks at it and what is typed comes to us; else -1. */
static int terminal_of_ours(void) {
	if (!isatty(STDERR_FILENO)) return -1;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && tcgetpgrp(fd) != getpgrp()) fd_close_p(&fd);
	return fd;
}

static bool says(const json_t *object, const char *key, const char *value) {
	CLEANUP_FREE char *text = NULL;
	return message_bytes_take(json_object_get(object, key), &text, NULL) == 0 && string_equal(text, value);
}

static bool is_ours(const struct asking *asking, const struct prompt *prompt) {
	return prompt->session == 0 && says(asking->check, "permission", prompt->permission.name) &&
	       says(asking->check, "target", prompt->target) && says(asking->check, "profile", prompt->profile) &&
	       says(asking->check, "project", prompt->project);
}

/* It comes right behind the verdict. */
static json_t *how_it_ended(void *context) {
	const struct asking *asking = context;
	struct pollfd agent = {.fd = channel_fd(asking->agent), .events = POLLIN};
	for (;;) {
		json_t *push = NULL;
		int r = channel_receive(asking->agent, false, &push, NULL);
		if (r == 0 && string_equal(json_string_value(json_object_get(push, "type")), "prompt-gone") &&
		    json_integer_value(json_object_get(push, "id")) == asking->asked)
			return push;
		json_decref(push);
		if (r < 0 && r != -EAGAIN) return NULL;
		if (r == -EAGAIN && poll(&agent, 1, ENDING_MS) == 0) return json_object();
	}
}

static int ask(struct asking *asking, const struct prompt *prompt, struct error *error) {
	const struct prompt_gone gone = {.how = how_it_ended, .context = asking};
	json_t *answers = NULL, *reply = NULL;
	int r;
	asking->asked = prompt->id;
	while ((r = prompt_terminal_ask((void *)&gone, RUN_ASK_ONCE, asking->terminal, asking->verdict, prompt, 1,
					&answers, error)) == -EINTR) {
		json_decref(answers);
		kill(0, SIGTSTP); /* ^Z: the whole pipeline, as the terminal would */
	}
	json_t *answer = json_incref(json_array_get(answers, 0));
	json_decref(answers);
	if (r < 0) return r;
	json_object_set_new(answer, "prompt", json_integer(prompt->id));
	json_object_set_new(answer, "token", json_string(prompt->token));
	r = channel_call(asking->agent, "answer", answer, &reply, error);
	json_decref(reply);
	return r;
}

/* One message to the agent. */
static int hear(struct asking *asking, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	json_t *push = NULL;
	int r = channel_receive(asking->agent, false, &push, error);
	if (r < 0) return r == -EAGAIN ? 0 : r;
	bool is_prompt = string_equal(json_string_value(json_object_get(push, "type")), "prompt");
	json_object_del(push, "type");
	if (is_prompt) r = prompt_from_json(push, &prompt, error);
	json_decref(push);
	if (r < 0 || !is_prompt || !is_ours(asking, &prompt)) return r;
	r = ask(asking, &prompt, error);
	return r == -ECANCELED || r == -ENOENT ? 0 : r; /* settled elsewhere: the verdict says how */
}

static int ask_until_decided(struct asking *asking, struct error *error) {
	struct pollfd fds[] = {{.fd = asking->verdict, .events = POLLIN},
			       {.fd = channel_fd(asking->agent), .events = POLLIN}};
	for (;;) {
		int ready = poll(fds, ARRAY_LENGTH(fds), -1);
		if (ready < 0 && errno != EINTR) return error_errno(error, "waiting for the verdict");
		if (ready < 0) continue;
		if (fds[0].revents) return 0;
		int r = hear(asking, error);
		if (r < 0) return r;
	}
}

static int become_agent(struct channel **ret_agent, struct error *error) {
	json_t *reply = NULL;
	int r = broker_connect(NULL, ret_agent, error);
	if (r == 0)
		r = channel_call(*ret_agent, "agent", json_pack("{s:s, s:n}", "kind", "terminal", "session"), &reply,
				 error);
	json_decref(reply);
	return r;
}

static int call_and_ask(int terminal, const json_t *body, json_t **ret_reply, struct error *error) {
	CLEANUP_CHANNEL struct channel *agent = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int64_t id;
	int r = become_agent(&agent, error);
	if (r == 0) r = broker_connect(NULL, &channel, error);
	if (r == 0) r = channel_send(channel, "check", json_copy((json_t *)body), &id, error);
	if (r < 0) return r;
	struct asking asking = {.agent = agent, .check = body, .terminal = terminal, .verdict = channel_fd(channel)};
	r = ask_until_decided(&asking, error);
	return r < 0 ? r : channel_wait(channel, id, ret_reply, error);
}

int check_call(json_t *body, json_t **ret_reply, struct error *error) {
	CLEANUP_FD int terminal = json_is_true(json_object_get(body, "ask")) ? terminal_of_ours() : -1;
	if (terminal < 0) return broker_call("check", body, ret_reply, error);
	int r = call_and_ask(terminal, body, ret_reply, error);
	json_decref(body);
	return r;
}
