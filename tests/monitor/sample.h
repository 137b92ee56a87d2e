/* sample: records as the broker sends them, for the tests of the monitor. */
#pragma once

#include <curses.h>
#include <jansson.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "keys.h"
#include "model.h"
#include "schema/grant.h"
#include "schema/prompt.h"
#include "schema/verdict.h"
#include "support/cmocka.h"
#include "ui/prompt_terminal.h"

enum { SAMPLE_NOW_MS = 1000000 };

static inline struct prompt sample_prompt(int64_t id, const char *target) {
	struct prompt prompt = {.id = id,
				.session = 9,
				.permission = permission_of(PERMISSION_NET_ACCESS),
				.profile = string_copy("npm"),
				.project = string_copy("/app"),
				.target = string_copy(target),
				.process = string_copy("curl (412)"),
				.why = string_copy("policy.yaml:7"),
				.deadline_ms = SAMPLE_NOW_MS + 42000,
				.lifetime_ms = 3600 * 1000,
				.token = "0123456789abcdef0123456789abcdef"};
	strings_add(&prompt.scopes, "exact");
	strings_add(&prompt.scopes, "host");
	return prompt;
}

/* Takes the prompt over. */
static inline void tell_prompt(struct monitor_model *model, struct prompt prompt) {
	struct error error = ERROR_NONE;
	json_t *push = prompt_to_json(&prompt);
	json_object_set_new(push, "type", json_string("prompt"));
	assert_int_equal(model_push(model, push, &error), 0);
	json_decref(push);
	prompt_finish(&prompt);
}

static inline void tell_gone(struct monitor_model *model, int64_t id) {
	json_t *push = json_pack("{s:s, s:I, s:s, s:n}", "type", "prompt-gone", "id", (json_int_t)id, "how", "expired",
				 "verdict");
	assert_int_equal(model_push(model, push, NULL), 0);
	json_decref(push);
}

static inline json_t *sample_grant(int64_t id, const char *pattern) {
	struct grant grant = {.id = id,
			      .permission = permission_of(PERMISSION_NET_ACCESS),
			      .pattern = string_copy(pattern),
			      .effect = EFFECT_ALLOW,
			      .profile = string_copy("npm"),
			      .project = string_copy("/app"),
			      .lifetime = LIFETIME_UNTIL,
			      .created_ms = SAMPLE_NOW_MS,
			      .expires_ms = SAMPLE_NOW_MS + 1800 * 1000,
			      .origin = GRANT_ORIGIN_CLI,
			      .uses = 3};
	json_t *json = grant_to_json(&grant);
	grant_finish(&grant);
	return json;
}

/* The page that was asked for; the items are taken over. */
static inline void answer_page(struct monitor_model *model, enum monitor_pane pane, json_t *items) {
	json_t *body = rows_ask(&model->rows[pane], true);
	assert_non_null(body);
	json_decref(body);
	json_t *reply = json_pack("{s:o, s:n}", "items", items, "next");
	rows_take(&model->rows[pane], reply);
	json_decref(reply);
}

static inline void sample_start(struct monitor_model *model) {
	model_init(model);
	model->wall_ms = SAMPLE_NOW_MS;
	model->boot_ms = SAMPLE_NOW_MS;
	model_connected(model);
	model->counts = (struct monitor_counts){.known = true, .today = {41, 2, 1}};
}

/* Long enough for what came into view to have been seen: the broker has replied (link.c), and all is drawn. */
static inline void look(struct monitor_model *model) {
	const bool allows = model_may_allow(model);
	if (allows != model->others_hold) model_turn(model, allows);
	model->redraw = false;
	model->boot_ms += PROMPT_DELAY_MS;
}

static inline void press(struct monitor_model *model, const char *keys) {
	for (; *keys; keys++) keys_press(model, *keys);
}
