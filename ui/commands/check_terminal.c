/*
 * Theory of operation
 *
 * Two connections: on one the check waits for its verdict, on the other we are an agent that is told of questions. So
 * the first becomes readable exactly when the verdict is there, which is what takes a question down, wherever it was
 * answered. An agent of no session sees all questions; ours is the one with the subject and target of the check, and
 * the broker makes one of equal ones.
 *
 * A sandbox of the shell's background could paint over the question (attack R19). So it is put when it is our turn on
 * this terminal and the runs there hold what their tools write; where one doesn't, an allow is asked for twice. A turn
 * is given back before we stop, for the others would hold until we go on.
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
#include "schema/grant.h"
#include "schema/message.h"
#include "schema/prompt.h"
#include "ui/broker.h"
#include "ui/prompt_terminal.h"

struct asking {
	struct channel *agent;
	const json_t *check;
	int terminal;
	int verdict;          /* readable when the check is decided */
	struct prompt prompt; /* ours; its id is 0: none yet */
	int64_t turn;         /* the request for our turn; 0: none is wanted */
};

enum {
	ENDING_MS = 500, /* the broker has to say how a question ended, when it has said what was decided */
	LOOK_MS = 300,   /* between looks whether we are in the foreground, where nobody can stop us */
};

static bool is_foreground(int terminal) {
	return tcgetpgrp(terminal) == getpgrp();
}

/* The terminal, if somebody looks at it and what is typed comes to us; else -1. */
static int terminal_of_ours(void) {
	if (!isatty(STDERR_FILENO)) return -1;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && !is_foreground(fd)) fd_close_p(&fd);
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
		    json_integer_value(json_object_get(push, "id")) == asking->prompt.id)
			return push;
		json_decref(push);
		if (r < 0 && r != -EAGAIN) return NULL;
		if (r == -EAGAIN && poll(&agent, 1, ENDING_MS) == 0) return json_object();
	}
}

/* Whose turn it is */

static int take_turn(struct asking *asking, struct error *error) {
	return channel_send(asking->agent, "turn", json_pack("{s:b}", "wanted", 1), &asking->turn, error);
}

static int give_turn(struct asking *asking, struct error *error) {
	json_t *reply = NULL;
	asking->turn = 0;
	int r = channel_call(asking->agent, "turn", json_pack("{s:b}", "wanted", 0), &reply, error);
	json_decref(reply);
	return r;
}

/* In the background we stop, as whoever reads the terminal does; -ECANCELED: it is decided meanwhile. */
static int await_foreground(const struct asking *asking) {
	struct pollfd verdict = {.fd = asking->verdict, .events = POLLIN};
	while (!is_foreground(asking->terminal)) {
		kill(0, SIGTTIN);
		if (!is_foreground(asking->terminal) && poll(&verdict, 1, LOOK_MS) > 0) return -ECANCELED;
	}
	return 0;
}

/* Asking */

static int put(struct asking *asking, enum run_asking how, json_t **ret_answer, struct error *error) {
	const struct prompt_gone gone = {.how = how_it_ended, .context = asking};
	json_t *answers = NULL;
	const struct run_question question = {.asking = how, .prompts = &asking->prompt, .count = 1};
	int r = prompt_terminal_ask((void *)&gone, &question, asking->terminal, asking->verdict, &answers, error);
	json_decref(*ret_answer);
	*ret_answer = r < 0 ? NULL : json_incref(json_array_get(answers, 0));
	json_decref(answers);
	return r;
}

static bool allows(const json_t *answer) {
	return says(answer, "effect", effect_name(EFFECT_ALLOW));
}

static int answer_with(struct asking *asking, json_t *answer, struct error *error) {
	json_t *reply = NULL;
	json_object_set_new(answer, "prompt", json_integer(asking->prompt.id));
	json_object_set_new(answer, "token", json_string(asking->prompt.token));
	int r = channel_call(asking->agent, "answer", answer, &reply, error);
	json_decref(reply);
	return r;
}

/* It is our turn. */
static int ask(struct asking *asking, bool alone, struct error *error) {
	json_t *answer = NULL;
	if (!is_foreground(asking->terminal)) {
		int r = give_turn(asking, error);
		if (r == 0) r = await_foreground(asking);
		return r < 0 ? r : take_turn(asking, error);
	}
	int r = put(asking, alone ? RUN_ASK_ONCE : RUN_ASK_FIRST, &answer, error);
	if (r == 0 && !alone && allows(answer)) r = put(asking, RUN_ASK_AGAIN, &answer, error);
	if (r == 0) r = answer_with(asking, STEAL(answer), error);
	json_decref(answer);
	const int given = give_turn(asking, r == 0 ? error : NULL);
	if (r != -EINTR || given < 0) return r < 0 ? r : given;
	kill(0, SIGTSTP); /* ^Z: the whole pipeline, as the terminal would */
	return take_turn(asking, error);
}

static int hear_turn(struct asking *asking, const json_t *message, struct error *error) {
	if (string_equal(json_string_value(json_object_get(message, "type")), "error")) {
		channel_error(message, error);
		return -EPROTO;
	}
	return ask(asking, json_is_true(json_object_get(message, "alone")), error);
}

static int hear_prompt(struct asking *asking, json_t *push, struct error *error) {
	CLEANUP_PROMPT struct prompt prompt = {0};
	json_object_del(push, "type");
	int r = prompt_from_json(push, &prompt, error);
	if (r < 0 || !is_ours(asking, &prompt)) return r;
	const struct prompt before = asking->prompt;
	asking->prompt = prompt;
	prompt = before;
	return asking->turn == 0 ? take_turn(asking, error) : 0;
}

/* One message to the agent. */
static int hear(struct asking *asking, struct error *error) {
	json_t *message = NULL;
	int r = channel_receive(asking->agent, false, &message, error);
	if (r < 0) return r == -EAGAIN ? 0 : r;
	const char *type = json_string_value(json_object_get(message, "type"));
	if (string_equal(type, "prompt"))
		r = hear_prompt(asking, message, error);
	else if (string_equal(type, "turn") || string_equal(type, "error"))
		r = hear_turn(asking, message, error);
	json_decref(message);
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
	prompt_finish(&asking.prompt);
	return r < 0 ? r : channel_wait(channel, id, ret_reply, error);
}

int check_call(json_t *body, json_t **ret_reply, struct error *error) {
	CLEANUP_FD int terminal = json_is_true(json_object_get(body, "ask")) ? terminal_of_ours() : -1;
	if (terminal < 0) return broker_call("check", body, ret_reply, error);
	int r = call_and_ask(terminal, body, ret_reply, error);
	json_decref(body);
	return r;
}
