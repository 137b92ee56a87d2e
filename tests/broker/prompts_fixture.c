#include "prompts_fixture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

#define PROFILE_RULES                                                                                                  \
	"    extends: [base]\n"                                                                                        \
	"    allow:\n"                                                                                                 \
	"      fs:write: [\"${project}\"]\n"                                                                           \
	"    ask:\n"                                                                                                   \
	"      net:access: [\"*\", {target: \"vault.test:443\", confirm: terminal}]\n"                                 \
	"      fs:read: [\"~/shared\"]\n"

const char prompts_waiting[] = "version: 1\nprompt: {timeout: 60s, lifetime: 1h, without-agent: wait}\n"
			       "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;
static const char hasty[] = "version: 1\nprompt: {timeout: 500ms, lifetime: 1h, without-agent: wait}\n"
			    "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;
static const char lonely[] = "version: 1\nprompt: {timeout: 500ms, lifetime: 1h, without-agent: deny}\n"
			     "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;

static int setup_with(const char *policy) {
	static const char *const files[] = {"sbx.db", "sbx.db-wal", "sbx.db-shm"};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *name = string_format(".local/state/sbx/%s", files[i]);
		CLEANUP_FREE char *path = home_path(name);
		if (unlink(path) < 0) assert_int_equal(errno, ENOENT);
	}
	home_write(".config/sbx/policy.yaml", policy);
	return broker_start(NULL);
}

int prompts_setup_waits(void **state) {
	(void)state;
	return setup_with(prompts_waiting);
}

int prompts_setup_hasty(void **state) {
	(void)state;
	return setup_with(hasty);
}

int prompts_setup_lonely(void **state) {
	(void)state;
	return setup_with(lonely);
}

struct peer *runner_new(void) {
	struct peer *runner = peer_connect(true);
	peer_open_session(runner, NULL);
	json_decref(peer_push(runner, "view"));
	return runner;
}

struct peer *agent_new(const char *kind) {
	struct peer *agent = peer_connect(true);
	json_t *reply = peer_call(agent, "agent", json_pack("{s:s}", "kind", kind));
	assert_string_equal(text_of(reply, "type"), "agent");
	json_decref(reply);
	return agent;
}

int64_t ask(struct peer *runner, const char *target) {
	return peer_send(runner, "check",
			 json_pack("{s:s, s:s, s:s, s:[s], s:s}", "permission", "net:access", "target", target,
				   "process", "tool (7)", "parents", "sh (3)", "reason", "to get there"));
}

/* "allow ask", "deny ask" …, when the reply has come. */
static char *verdict(struct peer *runner, int64_t id) {
	json_t *reply = peer_reply(runner, id);
	const json_t *verdict = json_object_get(reply, "verdict");
	char *text = strcmp(text_of(reply, "type"), "error") == 0
			     ? string_copy(text_of(reply, "code"))
			     : string_format("%s %s", text_of(verdict, "effect"), text_of(verdict, "module"));
	json_decref(reply);
	return text;
}

void expect_verdict(struct peer *runner, int64_t id, const char *expected) {
	CLEANUP_FREE char *text = verdict(runner, id);
	assert_string_equal(text, expected);
}

json_t *answer(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys) {
	json_t *body = json_pack("{s:I, s:s?, s:s, s:b}", "prompt", (json_int_t)prompt, "token", token, "effect",
				 effect, "terminal", 1);
	if (keys) json_object_update(body, keys);
	json_decref(keys);
	return peer_call(peer, "answer", body);
}

void answer_well(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys) {
	json_t *reply = answer(peer, prompt, token, effect, keys);
	if (strcmp(text_of(reply, "type"), "answer") != 0) fail_msg("answer: %s", text_of(reply, "message"));
	json_decref(reply);
}

void answer_refused(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys,
		    const char *says) {
	json_t *reply = answer(peer, prompt, token, effect, keys);
	assert_string_equal(text_of(reply, "type"), "error");
	if (!strstr(text_of(reply, "message"), says)) fail_msg("%s", text_of(reply, "message"));
	json_decref(reply);
}

size_t count_prompts(struct peer *peer) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "prompts"));
	size_t count = json_array_size(json_object_get(reply, "items"));
	json_decref(reply);
	return count;
}

/* Requests on one connection may overtake those on another. */
void expect_prompts(struct peer *peer, size_t count) {
	wait_until(count_prompts(peer) == count);
}

/* The one prompt that is pending. */
int64_t the_prompt(struct peer *peer) {
	expect_prompts(peer, 1);
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "prompts"));
	const json_t *item = json_array_get(json_object_get(reply, "items"), 0);
	int64_t id = number_of(item, "id");
	assert_null(json_object_get(item, "token"));
	json_decref(reply);
	return id;
}

void expect_gone(struct peer *agent, int64_t prompt, const char *how) {
	json_t *gone = peer_push(agent, "prompt-gone");
	assert_int_equal(number_of(gone, "id"), prompt);
	assert_string_equal(text_of(gone, "how"), how);
	assert_int_equal(json_is_object(json_object_get(gone, "answer")), strcmp(how, "answered") == 0);
	json_decref(gone);
}

void expect_gone_by(struct peer *agent, int64_t prompt, const char *answer) {
	json_t *gone = peer_push(agent, "prompt-gone");
	assert_int_equal(number_of(gone, "id"), prompt);
	CLEANUP_FREE char *text = json_dumps(json_object_get(gone, "answer"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, answer);
	json_decref(gone);
}
