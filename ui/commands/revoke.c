#include <errno.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/denied_link.h"
#include "ui/leading.h"
#include "ui/output.h"
#include "ui/withdrawal.h"
#include "ui/words.h"

enum { IDS_PRINTED_MAX = 20 };

struct values {
	bool all, kill, no_wait, json;
	int64_t session;
	const char *profile;
	struct strings match;
};

static const struct option_info options[] = {
	{"all", OPTION_FLAG, NULL, "Every allow in force; denials stay.", offsetof(struct values, all)},
	{"session", OPTION_NUMBER, "SESSION", "Those of one session.", offsetof(struct values, session)},
	{"profile", OPTION_TEXT, "PROFILE", "Those of one profile, also denials.", offsetof(struct values, profile)},
	{"match", OPTION_PERMISSION, "PERM TARGET",
	 "Those that let anything of this target through, whatever their form, each as a whole, and denials that cover "
	 "it. "
	 "Rules that still let it through are named.",
	 offsetof(struct values, match)},
	{"kill", OPTION_FLAG, NULL,
	 "Also end the processes that still hold open what the grants gave, even of grants that have ended before. "
	 "Default: they are named. A sandbox that doesn't say what it holds is ended whole.",
	 offsetof(struct values, kill)},
	{"no-wait", OPTION_FLAG, NULL,
	 "Return at once. Default: when each running sandbox has confirmed that it has ended, or is stopped or ended.",
	 offsetof(struct values, no_wait)},
	{"json", OPTION_FLAG, NULL, "The broker's reply as one JSON object (keys: sbx(1), JSON).",
	 offsetof(struct values, json)},
};

static int put_ids(json_t *body, const struct strings *operands, struct error *error) {
	json_t *ids = json_array();
	json_object_set_new(body, "ids", ids);
	return operands_ids(operands, "grant", ids, error);
}

/* Another name of a program: what it leads to, or a link to it that is denied here. */
static char *program_name(const struct permission *permission, const char *program) {
	char *file = words_program(permission, program);
	CLEANUP_FREE char *project = NULL;
	if (file || words_project(NULL, &project, NULL) < 0) return file;
	json_t *subject = json_object();
	json_put_text(subject, "project", project);
	char *link = denied_link(permission, program, subject, NULL);
	json_decref(subject);
	return link;
}

static int put_match(json_t *body, const char *text, struct error *error) {
	struct permission permission;
	const char *target;
	CLEANUP_FREE char *pattern = NULL;
	int r = permission_split(text, &permission, &target, error);
	if (r == 0) r = words_pattern(&permission, target, &pattern, error);
	if (r < 0) return r;
	CLEANUP_FREE char *resolved = words_resolved(&permission, pattern), *program = NULL;
	if (!resolved) resolved = words_namesake(&permission, target); /* either may be meant */
	if (permission.kind == PERMISSION_PROC_SPAWN && words_target(&permission, target, &program, NULL) == 0)
		resolved = program_name(&permission, program);
	CLEANUP_FREE char *linked = words_linked(&permission, pattern);
	json_object_set_new(body, "match",
			    json_pack("{s:s, s:o, s:o}", "permission", permission.name, "target",
				      message_bytes(linked ? linked : pattern), "resolved", message_bytes(resolved)));
	return 0;
}

static int build_request(const struct command_call *call, json_t *body, struct error *error) {
	const struct values *values = call->values;
	int r = options_exclusive(&call->command->options, values, "all session profile match", error);
	if (r < 0) return r;
	if (values->kill) json_object_set_new(body, "kill", json_true());
	if (values->no_wait) json_object_set_new(body, "at_once", json_true());
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

static void print_holder(const char *what, const json_t *holder) {
	CLEANUP_FREE char *line = withdrawal_holder(what, holder);
	puts(line);
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
	const json_t *holders = json_object_get(reply, "holders");
	json_int_t more = json_integer_value(json_object_get(reply, "more"));
	json_int_t killed = json_integer_value(json_object_get(reply, "killed"));
	size_t index;
	const json_t *holder;
	json_array_foreach ((json_t *)holders, index, holder) print_holder("still held open", holder);
	if (more > 0) printf("and %lld more\n", (long long)more);
	if (killed > 0) printf("Ended %lld process%s that held it.\n", (long long)killed, killed == 1 ? "" : "es");
	json_array_foreach (json_object_get(reply, "ended"), index, holder) print_holder("  ended", holder);
	if (json_array_size(holders) > 0 && !values->kill) print_way_out(call, json_object_get(reply, "revoked"));
}

/* What came of it where it didn't simply end; and what no sandbox forgets. */
static void print_others(const json_t *reply) {
	const json_int_t known = json_integer_value(json_object_get(reply, "known"));
	CLEANUP_FREE char *away = withdrawal_away(reply);
	size_t index;
	const json_t *other;
	json_array_foreach ((json_t *)json_object_get(reply, "others"), index, other) {
		CLEANUP_FREE char *line = withdrawal_other(other);
		puts(line);
	}
	if (away && json_array_size(json_object_get(reply, "sessions")) > 0) puts(away);
	if (known > 0)
		printf("The variable is known to %lld process%s of running sandboxes: no process forgets it.\n",
		       (long long)known, known == 1 ? "" : "es");
}

static void print_lifted(const json_t *lifted) {
	size_t count = json_array_size(lifted);
	for (size_t i = 0; i < count && i < IDS_PRINTED_MAX; i++)
		printf("%s %lld", i == 0 ? "Lifted the denial" : ",",
		       (long long)json_integer_value(json_array_get(lifted, i)));
	if (count > IDS_PRINTED_MAX) printf(" and %zu more", count - IDS_PRINTED_MAX);
	if (count > 0) puts(".");
}

/* With --match: what has ended, by what it was. */
static void print_matched(const json_t *reply) {
	const json_t *grants = json_object_get(reply, "grants");
	size_t index, wider = 0;
	const json_t *grant;
	json_array_foreach ((json_t *)grants, index, grant) {
		CLEANUP_FREE char *permission = json_visible(grant, "permission");
		CLEANUP_FREE char *pattern = json_visible(grant, "pattern");
		const bool farther = json_is_true(json_object_get(grant, "wider"));
		wider += farther ? 1 : 0;
		printf("  %lld: %s %s%s\n", (long long)json_integer_value(json_object_get(grant, "id")), permission,
		       pattern, farther ? ", which reached farther" : "");
	}
	if (wider > 0) puts("What reached farther has ended as a whole.");
}

/* "profile npm, session 7", "grant 12" */
static char *whose(const json_t *item) {
	const json_int_t grant = json_integer_value(json_object_get(item, "grant"));
	CLEANUP_FREE char *profile = json_visible(item, "profile");
	CLEANUP_FREE char *who =
		grant ? string_format("grant %lld", (long long)grant) : string_format("profile %s", profile);
	const json_int_t session = json_integer_value(json_object_get(item, "session"));
	return session ? string_format("%s, session %lld", who, (long long)session) : STEAL(who);
}

/* "Still allowed by ~/.config/sbx/policy.yaml:7 (profile npm): net:access *.org" */
static void print_rule(const json_t *rule) {
	CLEANUP_FREE char *permission = json_visible(rule, "permission");
	CLEANUP_FREE char *in = whose(rule);
	if (json_is_null(json_object_get(rule, "rule"))) {
		printf("Still allowed by `network: host` (%s)\n", in);
		return;
	}
	CLEANUP_FREE char *origin = json_visible(rule, "rule");
	CLEANUP_FREE char *target = json_visible(rule, "target");
	printf("Still allowed by %s (%s): %s %s\n", origin, in, permission, target);
}

/* What lets the target through without a grant. */
static void print_rules(const json_t *reply) {
	const json_t *rules = json_object_get(reply, "rules");
	const json_int_t more = json_integer_value(json_object_get(reply, "rules_more"));
	size_t index;
	const json_t *rule;
	json_array_foreach ((json_t *)rules, index, rule) print_rule(rule);
	if (more > 0) printf("and by %lld more rules\n", (long long)more);
}

static void print_numbers(const json_t *ids) {
	size_t index;
	json_t *id;
	json_array_foreach ((json_t *)ids, index, id) {
		if (index == IDS_PRINTED_MAX) break;
		printf("%s %lld", index == 0 ? "" : ",", (long long)json_integer_value(id));
	}
	if (json_array_size(ids) > IDS_PRINTED_MAX) printf(" and others");
}

/* What was used up before: its connections end as those of a grant in force do; nothing knows who holds a file. */
static bool print_spent(const json_t *reply, bool alone) {
	const json_t *connected = json_object_get(reply, "spent"), *opened = json_object_get(reply, "spent_open");
	const size_t count = json_array_size(connected), open = json_array_size(opened);
	CLEANUP_FREE char *words = withdrawal_words(reply, count != 1);
	if (count > 0) {
		printf("Revoked what was connected by grant%s", count == 1 ? "" : "s");
		print_numbers(connected);
		printf(", for one use and used up%s%s\n", alone ? ". " : ".", alone ? words : "");
	}
	if (open > 0) {
		printf("Used up before: grant%s", open == 1 ? "" : "s");
		print_numbers(opened);
		puts(". What was opened or started by that may go on: `sbx kill SESSION` ends its sandbox.");
	}
	return count + open > 0;
}

/* Nothing was. */
static int print_none(struct channel *channel, bool all, struct error *error) {
	json_t *reply = NULL;
	if (!all) {
		puts("Nothing was revoked: no grant in force fits ('sbx grants' lists them).");
		return 0;
	}
	int r = channel_call(channel, "list", json_pack("{s:s}", "what", "grants"), &reply, error);
	if (r < 0) return r;
	if (json_array_size(json_object_get(reply, "items")) > 0)
		puts("There is no allow to revoke: only denials are in force ('sbx grants' lists them); revoke them by "
		     "id.");
	else
		puts("There is no allow to revoke: no grant in force fits ('sbx grants' lists them).");
	json_decref(reply);
	return 0;
}

static void print_revoked(const json_t *reply) {
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
	CLEANUP_FREE char *words = withdrawal_words(reply, count != 1);
	printf(". %s\n", words);
	print_lifted(json_object_get(reply, "lifted"));
}

/* What lets the target of --match through by a link becomes a part of the reply. */
static int add_leading(const struct command_call *call, struct channel *channel, json_t *reply, struct error *error) {
	const struct values *values = call->values;
	struct permission permission;
	const char *target;
	CLEANUP_FREE char *pattern = NULL;
	if (values->match.count == 0) return 0;
	json_t *items = json_array();
	json_object_set_new(reply, "links", items);
	int r = permission_split(values->match.items[0], &permission, &target, error);
	if (r == 0) r = words_pattern(&permission, target, &pattern, error);
	return r < 0 ? r : leading_find(channel, &permission, pattern, items, error);
}

/* "Still allowed by a link (grant 7): fs:read /home/ada/mine, which leads to /home/ada/papers"
 * "Still allowed by a link (profile npm): … (~/.config/sbx/policy.yaml:7)" */
static void print_link(const json_t *item) {
	CLEANUP_FREE char *in = whose(item);
	CLEANUP_FREE char *permission = json_visible(item, "permission"), *target = json_visible(item, "target");
	CLEANUP_FREE char *there = json_visible(item, "resolved");
	printf("Still allowed by a link (%s): %s %s, which leads to %s", in, permission, target, there);
	if (!json_is_string(json_object_get(item, "rule"))) {
		putchar('\n');
		return;
	}
	CLEANUP_FREE char *rule = json_visible(item, "rule");
	printf(" (%s)\n", rule);
}

static void print_leading(const json_t *reply) {
	size_t index;
	const json_t *item;
	json_array_foreach ((json_t *)json_object_get(reply, "links"), index, item) print_link(item);
}

/* The same however the reply is shown. That nothing was there to be revoked is what --all wants to be true; what --kill
 * is for may have ended before, unless something goes on that it can't end. */
static int exit_status(const struct command_call *call, const json_t *reply) {
	const struct values *values = call->values;
	const size_t asked = call->operands->count, revoked = json_array_size(json_object_get(reply, "revoked")) +
							      json_array_size(json_object_get(reply, "spent"));
	const bool is_let_through = json_array_size(json_object_get(reply, "rules")) > 0 ||
				    json_array_size(json_object_get(reply, "links")) > 0;
	const bool goes_on = values->kill && json_array_size(json_object_get(reply, "spent_open")) > 0;
	if (!withdrawal_is_shown(reply) || is_let_through || goes_on) return EXIT_NO;
	if (values->all || (values->kill && asked > 0)) return EXIT_DONE;
	return revoked > 0 && revoked >= asked ? EXIT_DONE : EXIT_NO;
}

/* What --kill was for had ended before: here is who held what it gave. */
static void print_before(const json_t *reply) {
	const bool held = json_array_size(json_object_get(reply, "holders")) > 0 ||
			  json_integer_value(json_object_get(reply, "killed")) > 0;
	if (!held && withdrawal_is_shown(reply)) puts("It had ended before, and no process holds what it gave.");
	if (held) puts("It had ended before.");
}

static int print_reply(const struct command_call *call, struct channel *channel, const json_t *reply,
		       struct error *error) {
	const struct values *values = call->values;
	int r = 0;
	const bool revoked = json_array_size(json_object_get(reply, "revoked")) > 0;
	if (revoked) print_revoked(reply);
	const bool spent = print_spent(reply, !revoked);
	if (revoked || spent)
		;
	else if (values->kill && call->operands->count > 0)
		print_before(reply);
	else
		r = print_none(channel, values->all, error);
	if (r < 0) return r;
	print_matched(reply);
	print_held(call, reply);
	print_others(reply);
	print_rules(reply);
	print_leading(reply);
	return 0;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *body = json_object(), *reply = NULL;
	int r = build_request(call, body, error);
	if (r == 0) r = broker_connect(NULL, &channel, error);
	if (r == 0) r = withdrawal_call(channel, "revoke", json_incref(body), &reply, error);
	if (r == 0) r = add_leading(call, channel, reply, error);
	if (r == 0 && values->json) {
		json_object_del(reply, "id");
		json_object_del(reply, "type");
		json_line(stdout, reply);
	} else if (r == 0) {
		r = print_reply(call, channel, reply, error);
	}
	if (r == 0) r = exit_status(call, reply);
	json_decref(body);
	json_decref(reply);
	return r;
}

const struct command command_revoke = {
	.name = "revoke",
	.operands = "GRANT... | --all | --session SESSION | --profile PROFILE | --match PERM TARGET",
	.summary = "End grants before their time.",
	.details = "In running sandboxes connections that rest on a revoked grant are cut, and files disappear, at "
		   "once: each sandbox confirms it, and one that doesn't within 1.5 s is stopped, and ended after "
		   "30 s. A process that has a folder of them open is ended; one that has a file open is named, and "
		   "--kill ends it. The "
		   "history keeps the grant.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run,
};
