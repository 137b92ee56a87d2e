/*
 * The program of an exec line: what it writes is a verdict to the letter or none at all, and what it reads is one line
 * that no byte of a request can break out of.
 */
#include <string.h>

#include "fuzz.h"
#include "programs/exec_verdict.h"
#include "schema/limits.h"
#include "schema/message.h"

static void check_same(const json_t *object, const char *key, const char *meant) {
	CLEANUP_FREE char *text = NULL;
	struct error error = ERROR_NONE;
	demand(message_bytes_take(json_object_get(object, key), &text, &error) == 0, "%s", error.message);
	demand(string_equal(text, meant), "'%s' has become another", key);
}

/* By another road than exec_verdict_read's. */
static void check_taken(const char *bytes, size_t size, const struct stack_exec_answer *answer) {
	json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	const char *word = json_string_value(json_object_get(json, "verdict"));
	bool has_why = json_object_get(json, "why");
	demand(word && json_object_size(json) == (has_why ? 2 : 1), "a verdict with more than belongs there");
	demand(answer->passes == (strcmp(word, "pass") == 0), "'%s' passes: %d", word, answer->passes);
	demand((answer->effect == EFFECT_ALLOW) == (strcmp(word, "allow") == 0), "'%s' allows: %d", word,
	       answer->effect);
	demand(answer->effect != EFFECT_ASK && !answer->failed, "neither yes nor no");
	if (answer->why) check_same(json, "why", answer->why);
	demand(!answer->why || strlen(answer->why) <= LIMIT_REASON, "a why of %zu bytes", strlen(answer->why));
	json_decref(json);
}

static void check_answer(const char *bytes, size_t size) {
	struct stack_exec_answer answer = {0};
	struct error error = ERROR_NONE;
	if (exec_verdict_read(bytes, size, &answer, &error) == 0)
		check_taken(bytes, size, &answer);
	else
		demand(*error.message && !answer.why, "refused without a word, or with half an answer");
	free(answer.why);
}

static void check_question(const uint8_t *data, size_t size) {
	CLEANUP_FREE char *target = fuzz_line(&data, &size);
	CLEANUP_FREE char *process = fuzz_line(&data, &size);
	CLEANUP_FREE char *reason = fuzz_line(&data, &size);
	CLEANUP_FREE char *profile = fuzz_line(&data, &size);
	/* Borrowed texts: not finished. */
	const struct request request = {.session = 1,
					.subject = {.profile = profile, .project = target},
					.permission = {.name = "net:access"},
					.target = target,
					.process = process,
					.reason = reason,
					.parents = {.items = &process, .count = 1}};
	CLEANUP_FREE char *line = exec_verdict_ask(&request);
	json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	demand(strchr(line, '\n') == line + strlen(line) - 1, "more than one line");
	demand(json_object_size(json) == 9, "%zu keys", json_object_size(json));
	check_same(json, "target", target);
	check_same(json, "process", process);
	check_same(json, "reason", reason);
	check_same(json, "profile", profile);
	check_same(json, "permission", "net:access");
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char *bytes = mem_copy(data, size); /* of exactly this size, for the sanitizer */
	check_answer(bytes, size);
	free(bytes);
	check_question(data, size);
	return 0;
}
