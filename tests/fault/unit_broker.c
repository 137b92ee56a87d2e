/* broker: the store, the history, grants, floods and what programs answer, without clients and loop (story.c has
 * those). */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/string.h"
#include "core/broker.h"
#include "handlers/dispatch.h"
#include "programs/exec_verdict.h"
#include "prompts/streaks.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/request.h"
#include "service.h"
#include "sessions/flood.h"
#include "store/grants.h"
#include "store/history.h"
#include "story.h"
#include "unit.h"
#include "wire/client.h"

enum { ROWS = 1100, OLD = 1050 };
static const int64_t START_MS = INT64_C(1700000000000), DAY_MS = INT64_C(24) * 3600 * 1000;

struct world {
	struct store *store;
	struct history *history;
	struct grants *grants;
};

static void world_close(struct world *world) {
	grants_free(world->grants);
	history_free(world->history);
	store_free(world->store);
}

static bool world_open(struct world *world) {
	struct error error = ERROR_NONE;
	return !unit_failed(store_open(unit_file("sbx.db"), &world->store, &error), &error) &&
	       !unit_failed(history_open(world->store, &world->history, &error), &error) &&
	       !unit_failed(grants_open(world->store, clock_system(), &world->grants, &error), &error);
}

static struct event event_of(int number, const char *target) {
	return (struct event){.time_ms = START_MS + number * DAY_MS / 10,
			      .kind = EVENT_DECISION,
			      .profile = (char *)"npm",
			      .project = (char *)"/p",
			      .permission = (char *)"fs:read",
			      .target = (char *)target,
			      .verdict = EFFECT_ALLOW,
			      .by = (char *)"rules",
			      .detail = json_pack("{s:s}", "state", "shown")};
}

static bool append(struct world *world, int from, int to) {
	struct error error = ERROR_NONE;
	if (unit_failed(store_begin(world->store, STORE_FULL, &error), &error)) return false;
	for (int i = from; i < to; i++) {
		char target[32];
		snprintf(target, sizeof target, "/row-%d", i);
		struct event event = event_of(i, target);
		int r = history_append(world->history, &event, &error);
		json_decref(event.detail);
		if (!unit_failed(r, &error)) continue;
		store_rollback(world->store);
		history_rolled_back(world->history);
		return false;
	}
	if (unit_failed(store_commit(world->store, &error), &error)) {
		history_rolled_back(world->history);
		return false;
	}
	history_committed(world->history);
	unit_tell("kept to %d", to);
	return true;
}

static void use_history(void) {
	CLEANUP(world_close) struct world world = {0};
	struct error error = ERROR_NONE;
	int noted = 0;
	if (!world_open(&world)) return;
	for (int i = 0; i < 4; i++) {
		char target[32];
		snprintf(target, sizeof target, "/note-%d", i);
		struct event event = event_of(i, target);
		int r = history_note(world.history, &event, &error);
		json_decref(event.detail);
		if (unit_failed(r, &error)) continue; /* the next one must do */
		unit_tell("noted %d", i);
		noted++;
	}
	if (!append(&world, 4, 40) || !append(&world, 40, 60) || noted < 4) return; /* then the list is another one */
	json_t *items = json_array();
	const struct history_filter filter = {.permission = (char *)"fs:read"};
	int64_t next;
	if (!unit_failed(history_list(world.history, &filter, true, 0, items, &next, &error), &error)) {
		CLEANUP_FREE char *text = json_dumps(items, JSON_COMPACT);
		unit_tell("%zu, on from %lld: %s", json_array_size(items), (long long)next, text);
	}
	json_decref(items);
	struct history_check check = {0};
	if (!unit_failed(history_verify(world.history, &(struct history_walk){0}, 0, &check, &error), &error))
		unit_tell("%lld are good, %lld is bad", (long long)check.checked, (long long)check.bad);
}

/* The next broker's look: the chain holds, and what was told to be kept is there. */
static void look_at_history(void) {
	CLEANUP(world_close) struct world world = {0};
	struct history_check check = {0};
	int64_t kept = 0;
	char line[32];
	for (int i = 0; i < 4; i++) {
		snprintf(line, sizeof line, "noted %d", i);
		kept += unit_told(line);
	}
	kept += unit_told("kept to 40") ? 36 : 0;
	kept += unit_told("kept to 60") ? 20 : 0;
	kept += unit_told("kept to 1100") ? ROWS : 0;
	if (!world_open(&world)) {
		unit_lose("the database");
		return;
	}
	if (history_waiting(world.history) > 0 &&
	    (store_begin(world.store, STORE_FULL, NULL) < 0 || history_keep_head(world.history, NULL) < 0 ||
	     store_commit(world.store, NULL) < 0))
		unit_lose("the tail");
	history_committed(world.history);
	int64_t rows = 0;
	struct history_walk walk = {0};
	do {
		if (history_verify(world.history, &walk, check.next, &check, NULL) < 0 || check.bad) {
			unit_lose(check.what ? check.what : "verifying");
			return;
		}
		rows = check.checked;
	} while (check.next != 0);
	if (rows < kept && !unit_told("removed")) unit_lose("rows that were kept");
}

static bool digest(struct world *world) {
	struct error error = ERROR_NONE;
	while (history_digest_is_due(world->history))
		if (unit_failed(history_digest(world->history, &error), &error)) return false;
	return true;
}

static void use_digest(void) {
	CLEANUP(world_close) struct world world = {0};
	struct error error = ERROR_NONE;
	if (!world_open(&world) || !append(&world, 0, ROWS)) return;
	if (!digest(&world)) return;
	unit_tell("digested");
	const int64_t days[] = {START_MS, START_MS + 50 * DAY_MS, START_MS + 200 * DAY_MS};
	const struct history_summary asked = {.days = days, .day_count = ARRAY_LENGTH(days)};
	const struct history_filter filter = {.profile = (char *)"npm"};
	struct history_summary_next next;
	json_t *rows = json_array();
	if (!unit_failed(history_summary(world.history, &filter, &asked, rows, &next, &error), &error)) {
		CLEANUP_FREE char *text = json_dumps(rows, JSON_COMPACT);
		unit_tell("%s", text);
	}
	json_decref(rows);
}

static void prepare_rows(void) {
	CLEANUP(world_close) struct world world = {0};
	if (!world_open(&world) || !append(&world, 0, ROWS) || !digest(&world)) unit_lose("the rows");
}

static void use_retain(void) {
	CLEANUP(world_close) struct world world = {0};
	struct error error = ERROR_NONE;
	int64_t now_ms = START_MS + ROWS * DAY_MS / 10;
	if (!world_open(&world)) return;
	if (unit_failed(history_retain_look(world.history, now_ms, 30 * DAY_MS, &error), &error)) return;
	unit_tell("removed"); /* from here on rows may be gone */
	for (int i = 0; i < 100 && history_retain_is_due(world.history); i++) {
		struct history_run run = {0};
		if (unit_failed(history_retain(world.history, &run, &error), &error)) return;
		if (run.removed) unit_tell("%lld to %lld", (long long)run.removed, (long long)run.anchor_seq);
	}
	if (!unit_failed(history_retain_keep_clock(world.history, &error), &error)) unit_tell("the clock is kept");
}

/* Grants */

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app"};
static const struct {
	const char *permission, *pattern;
	enum effect effect;
} wishes[] = {{"fs:read", "/data", EFFECT_ALLOW},
	      {"fs:read", "/data/secret", EFFECT_DENY},
	      {"fs:write", "/work", EFFECT_ALLOW},
	      {"net:access", "*.test:443", EFFECT_ALLOW},
	      {"net:access", "10.0.0.0/8:22", EFFECT_ALLOW},
	      {"db:access", "prod", EFFECT_DENY}};
enum { REVOKED = 3 };

static bool insert(struct world *world, size_t wish, int64_t *ret_id) {
	struct permission permission;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	struct error error = ERROR_NONE;
	if (unit_failed(permission_parse(wishes[wish].permission, &permission, &error), &error) ||
	    unit_failed(pattern_compile(&permission, wishes[wish].pattern, &scope, &pattern, &error), &error) ||
	    unit_failed(store_begin(world->store, STORE_FULL, &error), &error))
		return false;
	CLEANUP_GRANT struct grant grant = {.permission = permission,
					    .effect = wishes[wish].effect,
					    .profile = string_copy("npm"),
					    .lifetime = LIFETIME_ALWAYS,
					    .created_ms = START_MS,
					    .origin = GRANT_ORIGIN_CLI};
	int r = grants_insert(world->grants, &grant, pattern, true, &error);
	if (r == 0)
		r = store_commit(world->store, &error);
	else
		store_rollback(world->store);
	if (r < 0) grants_changed(world->grants);
	if (unit_failed(r, &error)) return false;
	unit_tell("granted %s", wishes[wish].pattern);
	*ret_id = grant.id;
	return true;
}

static void find(struct world *world, const char *permission, const char *target) {
	struct request request = {.subject = {(char *)"npm", (char *)"/home/u/app"}, .target = (char *)target};
	struct pattern_rank rank;
	struct error error = ERROR_NONE;
	if (unit_failed(permission_parse(permission, &request.permission, &error), &error)) return;
	CLEANUP_GRANT struct grant grant = {0};
	if (!grants_find(world->grants, &request, &grant, &rank))
		unit_tell_error("nothing for %s", target);
	else if (grant.effect == EFFECT_DENY)
		unit_tell_error("%s is denied", target);
	else
		unit_tell("%s: allowed by %s", target, grant.pattern);
}

static void find_all(struct world *world) {
	find(world, "fs:read", "/data/x");
	find(world, "fs:read", "/data/secret/x");
	find(world, "fs:write", "/work/a/b");
	find(world, "fs:read", "/work/a/b");
	find(world, "net:access", "a.test:443");
	find(world, "net:access", "10.1.1.1:22");
	find(world, "db:access", "prod");
	find(world, "fs:read", "/elsewhere");
}

static void use_grants(void) {
	CLEANUP(world_close) struct world world = {0};
	struct error error = ERROR_NONE;
	int64_t ids[ARRAY_LENGTH(wishes)] = {0};
	if (!world_open(&world)) return;
	for (size_t i = 0; i < ARRAY_LENGTH(wishes); i++)
		if (!insert(&world, i, &ids[i])) return; /* what comes then is another story */
	find_all(&world);
	struct grant_list list = {0};
	bool cut;
	const struct subject subject = {(char *)"npm", (char *)"/home/u/app"};
	if (!unit_failed(grants_of_subject(world.grants, &subject, 0, &list, &cut, &error), &error))
		for (size_t i = 0; i < list.count; i++)
			unit_tell("%s %s", list.items[i].pattern, effect_name(list.items[i].effect));
	grant_list_finish(&list);
	if (unit_failed(store_begin(world.store, STORE_FULL, &error), &error)) return;
	int r = grants_revoke(world.grants, ids[REVOKED], "tests", &error);
	if (r == 0)
		r = store_commit(world.store, &error);
	else
		store_rollback(world.store);
	grants_changed(world.grants);
	if (unit_failed(r, &error)) return;
	unit_tell("revoked %s", wishes[REVOKED].pattern);
	find_all(&world);
}

static bool any(const void *context, const struct grant *grant) {
	(void)context, (void)grant;
	return true;
}

static void look_at_wish(size_t wish, const json_t *items) {
	char granted[64], revoked[64];
	const json_t *item;
	bool there = false;
	size_t index;
	json_array_foreach (items, index, item) {
		const char *effect = json_string_value(json_object_get(item, "effect"));
		if (!string_equal(json_string_value(json_object_get(item, "pattern")), wishes[wish].pattern)) continue;
		there = true;
		if (!string_equal(effect, effect_name(wishes[wish].effect)) ||
		    !string_equal(json_string_value(json_object_get(item, "profile")), "npm") ||
		    !string_equal(json_string_value(json_object_get(item, "permission")), wishes[wish].permission))
			unit_lose("a grant is another one");
	}
	snprintf(granted, sizeof granted, "granted %s", wishes[wish].pattern);
	snprintf(revoked, sizeof revoked, "revoked %s", wishes[wish].pattern);
	/* Of the one that is revoked the end may have been written without having been told. */
	if (!there && unit_told(granted) && wish != REVOKED) unit_lose(granted);
	if (there && unit_told(revoked)) unit_lose(revoked);
}

static void look_at_grants(void) {
	CLEANUP(world_close) struct world world = {0};
	json_t *items = json_array();
	int64_t next;
	if (!world_open(&world) || grants_list(world.grants, false, false, 0, any, NULL, items, &next, NULL) < 0) {
		unit_lose("the database");
		return;
	}
	for (size_t wish = 0; wish < ARRAY_LENGTH(wishes); wish++) look_at_wish(wish, items);
	if (json_array_size(items) > ARRAY_LENGTH(wishes)) unit_lose("there are more grants than were made");
	json_decref(items);
}

static void use_flood(void) {
	struct broker *broker;
	struct error error = ERROR_NONE;
	if (unit_failed(story_open(&broker, &error), &error)) return;
	const struct request request = {.subject = {(char *)"npm", (char *)"/p"},
					.permission = permission_of(PERMISSION_NET_ACCESS),
					.target = (char *)"a.test:443"};
	int questions = 0, denials = 0;
	while (questions <= LIMIT_QUESTIONS && flood_question(broker, NULL, &request, 0)) questions++;
	const char *reason = flood_reason(broker, NULL);
	unit_tell("%d questions, %s", questions, reason ? reason : "no flood");
	while (denials <= LIMIT_DENIALS && flood_denial(broker, NULL)) denials++;
	unit_tell("%d denials", denials);
	flood_flush(broker, NULL);
	flood_answer(broker, NULL, true, 3);
	unit_tell("%s", flood_reason(broker, NULL) ? "still" : "over");
	broker_free(broker);
}

static void use_exec_verdict(void) {
	static const char *const outputs[] = {"{\"verdict\":\"allow\",\"why\":\"because\"}",
					      "{\"verdict\":\"deny\"}",
					      "{\"verdict\":\"pass\"}",
					      "{\"verdict\":\"allow\",\"verdict\":\"deny\"}",
					      "{\"verdict\":\"alow\"}",
					      "{\"verdict\":",
					      "",
					      "{\"verdict\":\"allow\",\"x\":1}"};
	struct request request = {.session = 3,
				  .subject = {(char *)"npm", (char *)"/p"},
				  .permission = permission_of(PERMISSION_NET_ACCESS),
				  .target = (char *)"a.test:443",
				  .process = (char *)"npm (4)",
				  .reason = (char *)"\xff"};
	CLEANUP_FREE char *ask = exec_verdict_ask(&request);
	unit_tell("%s", ask);
	for (size_t i = 0; i < ARRAY_LENGTH(outputs); i++) {
		struct stack_exec_answer answer = {0};
		struct error error = ERROR_NONE;
		if (unit_failed(exec_verdict_read(outputs[i], strlen(outputs[i]), &answer, &error), &error)) continue;
		unit_tell("%s%s: %s", effect_name(answer.effect), answer.passes ? ", passes" : "",
			  answer.why ? answer.why : "");
		free(answer.why);
	}
}

/* A client of a broker without a socket of its own. */
static void say(struct client *client, const char *text) {
	dispatch(client, text, strlen(text));
}

/* A number that is another one each time. */
static void hide_inode(char *bytes) {
	static const char key[] = "\"inode\":";
	char *number = strstr(bytes, key);
	if (!number) return;
	number += strlen(key);
	memset(number, '0', strspn(number, "0123456789"));
}

static void tell_heard(struct broker *broker, int end) {
	static char bytes[LIMIT_MESSAGE + 1];
	ssize_t size;
	event_base_loop(broker->base, EVLOOP_NONBLOCK);
	while ((size = recv(end, bytes, sizeof bytes - 1, MSG_DONTWAIT)) > 0) {
		bytes[size] = '\0';
		if (strstr(bytes, "\"type\":\"hello\"")) continue; /* has our process number */
		hide_inode(bytes);
		const bool failed = strstr(bytes, "\"type\":\"error\"");
		if (failed)
			unit_tell_error("%s", bytes);
		else
			unit_tell("%s", bytes);
	}
}

/* What a session may ask for and may do is told whole or not at all; a desktop learns whether it is quiet. */
static void use_told(void) {
	static const char *const runs[] = {
		"{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"f\"}",
		"{\"type\":\"session-open\",\"id\":2,\"command\":[\"tool\"],\"executable\":\"/usr/bin/"
		"tool\",\"project\":\"/p\","
		"\"root\":\"/p\",\"cwd\":\"/p\",\"allow\":[\"api:call=for-this-run\"]}",
		"{\"type\":\"describe\",\"id\":3}",
		"{\"type\":\"want\",\"id\":4,\"items\":[0,0],\"folders\":[]}",
	};
	static const char *const desktops[] = {
		"{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"f\"}",
		"{\"type\":\"agent\",\"id\":2,\"kind\":\"desktop\",\"session\":null,\"shows\":true}",
	};
	struct broker *broker;
	struct error error = ERROR_NONE;
	int runner[2], desktop[2];
	if (story_open(&broker, &error) < 0) _exit(1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, runner) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, desktop) < 0)
		_exit(1);
	unit_strike();
	client_accept(broker, runner[0]);
	for (size_t i = 0; i < ARRAY_LENGTH(runs); i++) say(TAILQ_FIRST(&broker->clients), runs[i]);
	tell_heard(broker, runner[1]);
	client_accept(broker, desktop[0]);
	for (size_t i = 0; i < ARRAY_LENGTH(desktops); i++) say(TAILQ_LAST(&broker->clients, client_list), desktops[i]);
	tell_heard(broker, desktop[1]);
	broker_free(broker);
}

static void use_streaks(void) {
	static const struct permission permission = {.kind = PERMISSION_CUSTOM, .name = "db:access"};
	struct streaks *streaks = streaks_new();
	for (int i = 0; i < 300; i++) {
		char target[16];
		snprintf(target, sizeof target, "row-%d", i);
		streaks_deny(streaks, &permission, target);
	}
	for (int i = 0; i < STREAK_LENGTH; i++) {
		unit_tell("the last one: %d", streaks_are_full(streaks, &permission, "row-299"));
		streaks_deny(streaks, &permission, "row-299");
	}
	streaks_end(streaks, &permission, "row-299");
	unit_tell("anew: %d, forgotten: %d", streaks_are_full(streaks, &permission, "row-299"),
		  streaks_are_full(streaks, &permission, "row-0"));
	streaks_free(streaks);
}

static const struct unit units[] = {
	{.what = "the history", .use = use_history, .look = look_at_history},
	{.what = "its digest", .use = use_digest, .look = look_at_history},
	{.what = "retention", .prepare = prepare_rows, .use = use_retain, .look = look_at_history},
	{.what = "grants", .use = use_grants, .look = look_at_grants},
	{.what = "floods", .prepare = story_reset, .use = use_flood},
	{.what = "verdicts of programs", .use = use_exec_verdict},
	{.what = "what is told of wants, rules and quiet", .prepare = story_reset, .use = use_told, .late = true},
	{.what = "streaks", .use = use_streaks},
};

const struct unit_room units_broker = UNIT_ROOM(
	"broker: history, digest, retention, grants, floods, programs' verdicts, wants, describe, streaks", units);
