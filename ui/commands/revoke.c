#include <errno.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/output.h"
#include "ui/words.h"

enum { IDS_PRINTED_MAX = 20 };

struct values {
	bool all, kill;
	int64_t session;
	const char *profile;
	struct strings match;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Every allow in force; denials stay.", offsetof(struct values, all)},
	{"session", OPTION_NUMBER, "SESSION", "Those of one session.", offsetof(struct values, session)},
	{"profile", OPTION_TEXT, "PROFILE", "Those of one profile, also denials.", offsetof(struct values, profile)},
	{"match", OPTION_PERMISSION, "PERM TARGET", "Those that cover this target, also denials.",
	 offsetof(struct values, match)},
	{"kill", OPTION_FLAG, NULL,
	 "Also end the processes that still hold open what the grants gave, even of grants that have ended before. "
	 "Default: they are named. A sandbox that doesn't say what it holds is ended whole.",
	 offsetof(struct values, kill)},
};

static int put_ids(json_t *body, const struct strings *operands, struct error *error) {
	json_t *ids = json_array();
	json_object_set_new(body, "ids", ids);
	return operands_ids(operands, "grant", ids, error);
}

static int put_match(json_t *body, const char *text, struct error *error) {
	struct permission permission;
	const char *target;
	CLEANUP_FREE char *pattern = NULL;
	int r = permission_split(text, &permission, &target, error);
	if (r == 0) r = words_pattern(&permission, target, &pattern, error);
	if (r < 0) return r;
	json_object_set_new(body, "match",
			    json_pack("{s:s, s:o}", "permission", permission.name, "target", message_bytes(pattern)));
	return 0;
}

static int build_request(const struct command_call *call, json_t *body, struct error *error) {
	const struct values *values = call->values;
	int r = options_exclusive(&call->command->options, values, "all session profile match", error);
	if (r < 0) return r;
	if (values->kill) json_object_set_new(body, "kill", json_true());
	bool chosen = values->all || values->session || values->profile || values->match.count > 0;
	if (chosen == (call->operands->count > 0))
		return error_set(error, EINVAL,
				 "expected ids (see 'sbx grants') or one of --all, --session, --profile, --match");
	if (values->match.count > 1) return error_set(error, EINVAL, "--match was given twice");
	if (!chosen) return put_ids(body, call->operands, error);
	if (values->all) json_object_set_new(body, "all", json_true());
	json_put_id(body, "session", values->session);
	json_put_text(body, "profile", values->profile);
	return values->match.count > 0 ? put_match(body, values->match.items[0], error) : 0;
}

/* "still held open in session 7: node (pid 4242): /home/ada/notes/a.txt" */
static void print_holder(const json_t *holder) {
	CLEANUP_FREE char *command = json_visible(holder, "command");
	CLEANUP_FREE char *path = json_visible(holder, "path");
	printf("still held open in session %lld: %s (pid %lld): %s\n",
	       (long long)json_integer_value(json_object_get(holder, "session")), command,
	       (long long)json_integer_value(json_object_get(holder, "pid")), path);
}

static void print_sessions(const char *head, const json_t *sessions, const char *tail) {
	size_t index;
	const json_t *session;
	if (json_array_size(sessions) == 0) return;
	printf("%s", head);
	json_array_foreach ((json_t *)sessions, index, session)
		printf("%s%lld", index == 0 ? " " : ", ", (long long)json_integer_value(session));
	puts(tail);
}

/* The line that ends them: by the grants' ids, though they have ended by now. */
static void print_way_out(const struct command_call *call, const json_t *revoked) {
	size_t index, asked = call->operands->count;
	const json_t *id;
	if (asked == 0 && (json_array_size(revoked) == 0 || json_array_size(revoked) > IDS_PRINTED_MAX)) {
		puts("end it with: sbx kill SESSION");
		return;
	}
	printf("end it with: sbx revoke");
	for (size_t i = 0; i < asked; i++) printf(" %s", call->operands->items[i]);
	if (asked == 0)
		json_array_foreach ((json_t *)revoked, index, id) printf(" %lld", (long long)json_integer_value(id));
	puts(" --kill");
}

/* What is held of it in sandboxes that run. */
static void print_held(const struct command_call *call, const json_t *reply) {
	const struct values *values = call->values;
	const json_t *holders = json_object_get(reply, "holders"), *unsettled = json_object_get(reply, "unsettled");
	json_int_t more = json_integer_value(json_object_get(reply, "more"));
	json_int_t killed = json_integer_value(json_object_get(reply, "killed"));
	size_t index;
	const json_t *holder;
	json_array_foreach ((json_t *)holders, index, holder) print_holder(holder);
	if (more > 0) printf("and %lld more\n", (long long)more);
	if (killed > 0) printf("Ended %lld process%s that held it.\n", (long long)killed, killed == 1 ? "" : "es");
	if (values->kill) {
		print_sessions("Ended session", unsettled, ", which did not say what it holds.");
	} else {
		print_sessions("What is held open isn't known of session", unsettled,
			       ", which did not answer in time.");
		if (json_array_size(holders) > 0 || json_array_size(unsettled) > 0)
			print_way_out(call, json_object_get(reply, "revoked"));
	}
}

static void print_lifted(const json_t *lifted) {
	size_t count = json_array_size(lifted);
	for (size_t i = 0; i < count && i < IDS_PRINTED_MAX; i++)
		printf("%s %lld", i == 0 ? "Lifted the denial" : ",",
		       (long long)json_integer_value(json_array_get(lifted, i)));
	if (count > IDS_PRINTED_MAX) printf(" and %zu more", count - IDS_PRINTED_MAX);
	if (count > 0) puts(".");
}

/* --all, and nothing was: denials stay. */
static int print_none(struct channel *channel, bool all, struct error *error) {
	json_t *reply = NULL;
	int r = all ? channel_call(channel, "list", json_pack("{s:s}", "what", "grants"), &reply, error) : 0;
	if (r < 0) return r;
	if (json_array_size(json_object_get(reply, "items")) > 0)
		puts("Nothing was revoked: only denials are in force ('sbx grants' lists them); revoke them by id.");
	else
		puts("Nothing was revoked: no grant in force fits ('sbx grants' lists them).");
	json_decref(reply);
	return 0;
}

static int print_revoked(const json_t *reply, size_t asked, bool kill) {
	const json_t *ids = json_object_get(reply, "revoked");
	size_t index;
	json_t *id;
	json_int_t count = json_integer_value(json_object_get(reply, "count"));
	if (count > IDS_PRINTED_MAX) {
		printf("Revoked %lld grants", (long long)count);
	} else {
		printf("Revoked grant%s", count == 1 ? "" : "s");
		json_array_foreach ((json_t *)ids, index, id) {
			printf("%s %lld", index == 0 ? "" : ",", (long long)json_integer_value(id));
		}
	}
	printf(". %s ended in running sandboxes, too.\n", count == 1 ? "It has" : "They have");
	print_lifted(json_object_get(reply, "lifted"));
	return !kill && json_array_size(ids) < asked ? EXIT_NO : EXIT_DONE;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *body = json_object(), *reply = NULL;
	int status = EXIT_DONE, r = build_request(call, body, error);
	if (r == 0) r = broker_connect(NULL, &channel, error);
	if (r == 0) r = channel_call(channel, "revoke", json_incref(body), &reply, error);
	bool revoked = json_array_size(json_object_get(reply, "revoked")) > 0;
	if (r == 0 && revoked)
		status = print_revoked(reply, call->operands->count, values->kill);
	else if (r == 0 && !(values->kill && call->operands->count > 0)) /* they have ended before */
		r = print_none(channel, values->all, error);
	else if (r == 0 && json_array_size(json_object_get(reply, "holders")) == 0 &&
		 json_array_size(json_object_get(reply, "unsettled")) == 0)
		puts("It had ended before, and no process holds what it gave.");
	if (r == 0) print_held(call, reply);
	json_decref(body);
	json_decref(reply);
	return r < 0 ? r : status;
}

const struct command command_revoke = {
	.name = "revoke",
	.operands = "GRANT... | --all | --session SESSION | --profile PROFILE | --match PERM TARGET",
	.summary = "End grants before their time.",
	.details = "In running sandboxes connections that rest on a revoked grant are cut, and files disappear, at "
		   "once. A "
		   "file that a process has open stays open in it: such processes are named, and --kill ends them. The "
		   "history keeps the grant.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
