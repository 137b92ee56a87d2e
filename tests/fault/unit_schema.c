/* schema: patterns, hosts, messages and the records in them, the view. */
#include <string.h>

#include "base/string.h"
#include "schema/advice.h"
#include "schema/event.h"
#include "schema/grant.h"
#include "schema/host.h"
#include "schema/message.h"
#include "schema/pattern.h"
#include "schema/prompt.h"
#include "schema/session.h"
#include "schema/target.h"
#include "schema/view.h"
#include "unit.h"

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app", .uid = 1000};

static void use_patterns(void) {
	static const struct {
		const char *permission, *pattern, *targets[2];
	} cases[] = {
		{"fs:read", "~/**/.env*", {"/home/u/a/.env.local", "/home/u/env"}},
		{"fs:write", "${project}", {"/home/u/app/x", "/home/u/apple"}},
		{"fs:read", "/a/{b", {"/a/{b", "/a"}},
		{"fs:read", "/run/user/${uid}/[ab]?", {"/run/user/1000/ab", "/run/user/1001/ab"}},
		{"fs:read", "/a/${nothing}", {"/a", "/b"}},
		{"net:access", "*.test:443", {"a.test:443", "test:443"}},
		{"net:access", "[::1]:1-70000", {"[::1]:1", "[::1]:2"}},
		{"net:access", "b\303\274cher.test", {"xn--bcher-kva.test:1", "x:1"}},
		{"net:access", "10.0.0.0/8", {"10.1.2.3:80", "11.1.2.3:80"}},
		{"net:listen", "8000-8080", {"8001", "80"}},
		{"proc:spawn", "git", {"/usr/bin/git", "/usr/bin/tig"}},
		{"env:read", "LC_*", {"LC_ALL", "PATH"}},
		{"db:access", "prod/**", {"prod/a/b", "test/a"}},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission;
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		struct error error = ERROR_NONE;
		if (unit_failed(permission_parse(cases[i].permission, &permission, &error), &error)) continue;
		if (unit_failed(pattern_compile(&permission, cases[i].pattern, &scope, &pattern, &error), &error))
			continue;
		CLEANUP_FREE char *quoted = pattern_quote(&permission, cases[i].targets[0]);
		unit_tell("%s %s", pattern_text(pattern), quoted);
		for (size_t t = 0; t < 2; t++)
			unit_tell("%s: %s", cases[i].targets[t],
				  pattern_match(pattern, cases[i].targets[t], NULL) ? "matches" : "doesn't");
	}
}

static void use_targets(void) {
	static const struct {
		const char *permission, *text;
	} cases[] = {{"fs:read", "~/a/../b"},      {"fs:read", "x"},           {"net:access", "Svc.TEST.:443"},
		     {"net:access", "https://x/"}, {"net:access", "[::1]:80"}, {"net:listen", "80"},
		     {"proc:spawn", "/bin/sh"},    {"env:read", "A=B"},        {"db:access", "x"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct permission permission;
		CLEANUP_FREE char *target = NULL;
		struct error error = ERROR_NONE;
		if (unit_failed(permission_parse(cases[i].permission, &permission, &error), &error)) continue;
		if (unit_failed(target_parse(&permission, cases[i].text, "/w", "/home/u", &target, &error), &error))
			continue;
		CLEANUP_FREE char *sentence = permission_sentence(&permission, NULL, target);
		unit_tell("%s: %s", target, sentence);
	}
}

static void use_hosts(void) {
	static const char *const texts[] = {
		"Svc.test.:443",           "[2001:db8::1]:80", "b\303\274cher.example:1", "127.1:80", "a..b:1", "x:0",
		"\xf0\x9f\x92\xa9.test:1", "localhost:80"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct host host;
		uint16_t port;
		struct error error = ERROR_NONE;
		if (unit_failed(host_port_parse(texts[i], strlen(texts[i]), &host, &port, &error), &error)) continue;
		CLEANUP_FREE char *text = host_port_format(&host, port);
		unit_tell("%s", text);
	}
}

/* As text and back. */
static void send_over(json_t *json, json_t **ret_json) {
	CLEANUP_FREE char *text = NULL;
	struct error error = ERROR_NONE;
	size_t size;
	*ret_json = NULL;
	json_object_set_new(json, "type", json_string("event"));
	if (!unit_failed(message_encode(json, &text, &size, &error), &error)) {
		unit_tell("%s", text);
		if (!unit_failed(message_decode(text, size, ret_json, &error), &error))
			json_object_del(*ret_json, "type");
	}
	json_decref(json);
}

static void use_messages(void) {
	static const char *const texts[] = {
		"{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"x\":[1,2,{\"y\":\"\\u00e4\"}]}", "{\"type\":\"hello\",",
		"[]", "{\"type\":1}", "{\"a\":1,\"a\":2}"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		json_t *json = NULL;
		struct error error = ERROR_NONE;
		if (unit_failed(message_decode(texts[i], strlen(texts[i]), &json, &error), &error)) continue;
		CLEANUP_FREE char *again = NULL, *bytes = NULL;
		size_t size;
		if (!unit_failed(message_encode(json, &again, &size, &error), &error)) unit_tell("%s", again);
		json_t *raw = message_bytes("\xff\x01 bytes");
		if (!unit_failed(message_bytes_take(raw, &bytes, &error), &error)) unit_tell("%s", bytes);
		json_decref(raw);
		json_decref(json);
	}
}

static void use_grant(void) {
	struct grant grant = {.id = 7,
			      .permission = permission_of(PERMISSION_NET_ACCESS),
			      .pattern = string_copy("*.test:443"),
			      .effect = EFFECT_ALLOW,
			      .profile = string_copy("npm"),
			      .session = 3,
			      .lifetime = LIFETIME_SESSION,
			      .created_ms = 1700000000000,
			      .reason = string_copy("\xff why")};
	CLEANUP_GRANT struct grant copy = {0}, back = {0};
	struct error error = ERROR_NONE;
	json_t *json;
	grant_copy(&copy, &grant);
	send_over(grant_to_json(&copy), &json);
	if (json && !unit_failed(grant_from_json(json, &back, &error), &error))
		unit_tell("%s of %s in session %lld: %s", back.pattern, back.profile, (long long)back.session,
			  back.reason);
	json_decref(json);
	grant_finish(&grant);
}

static void use_event(void) {
	struct event event = {.seq = 9,
			      .time_ms = 1700000000000,
			      .kind = EVENT_DECISION,
			      .profile = string_copy("npm"),
			      .permission = string_copy("fs:read"),
			      .target = string_copy("/\xff"),
			      .verdict = EFFECT_DENY,
			      .by = string_copy("rules"),
			      .detail = json_pack("{s:s}", "state", "shown")};
	struct event back = {0};
	struct error error = ERROR_NONE;
	json_t *json;
	send_over(event_to_json(&event), &json);
	if (json && !unit_failed(event_from_json(json, &back, &error), &error))
		unit_tell("%lld %s %d by %s", (long long)back.seq, back.target, back.verdict, back.by);
	json_decref(json);
	event_finish(&back);
	event_finish(&event);
}

static void use_prompt(void) {
	struct prompt prompt = {.id = 3,
				.session = 9,
				.profile = string_copy("npm"),
				.project = string_copy("/p"),
				.permission = permission_of(PERMISSION_FS_WRITE),
				.target = string_copy("/p/\x1b"),
				.process = string_copy("npm (4)"),
				.why = string_copy("ask rule at u:7"),
				.token = "t"};
	struct prompt back = {0};
	struct error error = ERROR_NONE;
	json_t *json;
	for (int i = 0; i < 3; i++) strings_addf(&prompt.parents, "sh (%d)", i);
	strings_add(&prompt.scopes, "exact");
	send_over(prompt_to_json(&prompt), &json);
	if (json && !unit_failed(prompt_from_json(json, &back, &error), &error))
		unit_tell("%s %s %zu %s", back.target, back.why, back.parents.count, back.token);
	json_decref(json);
	prompt_finish(&back);
	prompt_finish(&prompt);
}

static void use_verdict(void) {
	struct verdict verdict = {.effect = EFFECT_ALLOW,
				  .module = "grants",
				  .why = string_copy("granted (7)"),
				  .rule = string_copy("u:7"),
				  .grant = 7,
				  .direct = true};
	struct verdict denied = {.module = "rules", .why = string_copy("no rule"), .asked_user = true}, back = {0};
	struct error error = ERROR_NONE;
	json_t *json;
	send_over(verdict_to_json(&verdict), &json);
	if (json && !unit_failed(verdict_from_json(json, &back, &error), &error)) unit_tell_verdict(&back);
	CLEANUP_FREE char *advice = advice_text(
		&denied, &(struct advice_about){.permission = "net:access", .target = "a.test:443", .profile = "npm"});
	unit_tell("%s", advice);
	json_decref(json);
	verdict_finish(&back);
	verdict_finish(&denied);
	verdict_finish(&verdict);
}

static void use_session(void) {
	struct session_record record = {.id = 4,
					.profile = string_copy("npm"),
					.project = string_copy("/p"),
					.command = string_copy("npm i"),
					.pid = 77,
					.started_ms = 1700000000000,
					.exit = SESSION_RUNNING};
	struct session_record back = {0};
	struct error error = ERROR_NONE;
	json_t *json;
	send_over(session_record_to_json(&record), &json);
	if (json && !unit_failed(session_record_from_json(json, &back, &error), &error))
		unit_tell("%lld %s %d", (long long)back.id, back.command, back.exit);
	json_decref(json);
	session_record_finish(&back);
	session_record_finish(&record);
}

/* Its masks are what a lost part would lose: the whole must come out of the parts or nothing. */
static void use_view(void) {
	CLEANUP_VIEW struct view *view = view_new();
	struct view *back = NULL;
	struct error error = ERROR_NONE;
	size_t index;
	json_t *part;
	view->profile = string_copy("npm");
	for (int i = 0; i < 1500; i++) {
		CLEANUP_FREE char *path = string_format("/home/u/app/folder-with-a-long-name/%d", i);
		view_add_path(view, path, i % 50 == 0, i % 3 ? VIEW_ABSENT : VIEW_READ, i % 5 == 0);
	}
	view_add_program(view, "sudo", VIEW_ABSENT);
	view_set_variable(view, "CI", "1");
	view_add_host(view, "svc.test", "127.0.0.1");
	json_t *parts = view_to_parts(view);
	unit_tell("parts");
	int r = 0;
	json_array_foreach (parts, index, part)
		if ((r = view_add_part(&back, NULL, part, &error)) != 0) break;
	json_decref(parts);
	if (unit_failed(r, &error)) return;
	if (r != 1) unit_tell("not whole");
	for (size_t i = 0; r == 1 && i < back->path_count; i++)
		unit_tell("%s %s %d %d", back->paths[i].path, view_mode_name(back->paths[i].mode),
			  back->paths[i].pattern, back->paths[i].ask_write);
	if (r == 1) unit_tell("%s %s %s", back->programs[0].pattern, back->set[0].name, back->hosts[0].value);
	view_free(back);
}

/* What is gone must be gone. */
static void use_view_changes(void) {
	CLEANUP_VIEW struct view *from = view_new(), *back = NULL;
	struct error error = ERROR_NONE;
	from->profile = string_copy("npm");
	view_add_path(from, "/home/u/notes", false, VIEW_READ, false);
	view_add_path(from, "/home/u/app", false, VIEW_WRITE, false);
	CLEANUP_VIEW struct view *to = view_new();
	to->profile = string_copy("npm");
	view_add_path(to, "/home/u/app", false, VIEW_READ, true);
	json_t *parts = view_changes(from, to);
	unit_tell("%zu parts", json_array_size(parts));
	int r = view_add_part(&back, from, json_array_get(parts, 0), &error);
	json_decref(parts);
	if (unit_failed(r, &error)) return;
	for (size_t i = 0; i < back->path_count; i++)
		unit_tell("%s %s %d", back->paths[i].path, view_mode_name(back->paths[i].mode),
			  back->paths[i].ask_write);
}

static const struct unit units[] = {
	{.what = "patterns", .use = use_patterns},
	{.what = "targets", .use = use_targets},
	{.what = "hosts", .use = use_hosts},
	{.what = "messages", .use = use_messages},
	{.what = "a grant", .use = use_grant},
	{.what = "an event", .use = use_event},
	{.what = "a prompt", .use = use_prompt},
	{.what = "a verdict", .use = use_verdict},
	{.what = "a session", .use = use_session},
	{.what = "a view", .use = use_view},
	{.what = "changes of a view", .use = use_view_changes},
};

const struct unit_room units_schema = UNIT_ROOM("schema: patterns, targets, hosts, messages, records, the view", units);
