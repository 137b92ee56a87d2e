#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "commands/commands.h"
#include "schema/grant.h"
#include "schema/message.h"
#include "schema/pattern.h"
#include "ui/broker.h"
#include "ui/denied_link.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/socket_words.h"
#include "ui/withdrawal.h"
#include "ui/words.h"

enum { GRANT_TTL_MS = 3600 * 1000 };

struct values {
	const char *profile, *project, *reason;
	bool any_profile, anywhere, once, always, deny, no_wait;
	int64_t session, ttl_ms;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "The profile it is for. Default: default, or any with --session.",
	 offsetof(struct values, profile)},
	{"any-profile", OPTION_FLAG, NULL, "For every profile.", offsetof(struct values, any_profile)},
	{"project", OPTION_TEXT, "DIR",
	 "The project it is for. Default: the git top level of the working directory, else the working directory; "
	 "anywhere with --session.",
	 offsetof(struct values, project)},
	{"anywhere", OPTION_FLAG, NULL, "For every project.", offsetof(struct values, anywhere)},
	{"session", OPTION_NUMBER, "SESSION", "Only for this running sandbox; it ends with it at the latest.",
	 offsetof(struct values, session)},
	{"ttl", OPTION_DURATION, "DURATION", "How long, such as 90s, 15m, 7d. Default: 1h, or to the end of --session.",
	 offsetof(struct values, ttl_ms)},
	{"once", OPTION_FLAG, NULL, "For one use.", offsetof(struct values, once)},
	{"always", OPTION_FLAG, NULL, "Until it is revoked.", offsetof(struct values, always)},
	{"deny", OPTION_FLAG, NULL, "Deny instead of allow.", offsetof(struct values, deny)},
	{"no-wait", OPTION_FLAG, NULL,
	 "Return at once. Default: when each running sandbox that it is for has carried it out, or after two seconds.",
	 offsetof(struct values, no_wait)},
	{"reason", OPTION_TEXT, "TEXT", "A note for the listings and the history. Default: none.",
	 offsetof(struct values, reason)},
};

static int check_values(const struct command_call *call, struct error *error) {
	static const char *const groups[] = {"profile any-profile", "project anywhere", "ttl once always",
					     "session always"};
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++) {
		int r = options_exclusive(&call->command->options, call->values, groups[i], error);
		if (r < 0) return r;
	}
	return 0;
}

static enum lifetime chosen_lifetime(const struct values *values) {
	if (values->once) return LIFETIME_ONCE;
	if (values->always) return LIFETIME_ALWAYS;
	return values->session != 0 && values->ttl_ms == 0 ? LIFETIME_SESSION : LIFETIME_UNTIL;
}

/* A grant for one session needs no second scope: what isn't said is any. */
static int put_subject(json_t *body, const struct values *values, struct error *error) {
	CLEANUP_FREE char *project = NULL;
	bool narrow = values->session == 0;
	if (values->project || (narrow && !values->anywhere)) {
		int r = words_project(values->project, &project, error);
		if (r < 0) return r;
	}
	const char *profile = values->profile ? values->profile : narrow && !values->any_profile ? "default" : NULL;
	json_object_set_new(body, "profile", message_bytes(profile));
	json_object_set_new(body, "project", message_bytes(project));
	json_put_id(body, "session", values->session);
	return 0;
}

/* The file that a program's path leads to, as a pattern; NULL: it is no link, or a bare name, which is the program in
 * any folder. */
static char *linked_program(const struct permission *permission, const char *text) {
	CLEANUP_FREE char *program = NULL;
	if (permission->kind != PERMISSION_PROC_SPAWN || !strchr(text, '/') ||
	    words_target(permission, text, &program, NULL) < 0)
		return NULL;
	CLEANUP_FREE char *file = words_program(permission, program);
	return file ? pattern_quote(permission, file) : NULL;
}

static int build_request(const struct command_call *call, json_t *body, struct error *error) {
	const struct values *values = call->values;
	struct permission permission;
	const char *text;
	CLEANUP_FREE char *pattern = NULL;
	int r = operands_permission(call->operands, &permission, &text, error);
	if (r == 0) r = words_pattern(&permission, text, &pattern, error);
	if (r == 0) r = put_subject(body, values, error);
	if (r < 0) return r;
	enum lifetime lifetime = chosen_lifetime(values);
	json_put_text(body, "permission", permission.name);
	CLEANUP_FREE char *linked = values->deny ? NULL : words_linked(&permission, pattern);
	if (!values->deny && !linked) linked = linked_program(&permission, text); /* as an answer to a question is */
	json_put_text(body, "target", linked ? linked : pattern);
	json_put_text(body, "effect", effect_name(values->deny ? EFFECT_DENY : EFFECT_ALLOW));
	json_put_text(body, "lifetime", lifetime_name(lifetime));
	if (lifetime == LIFETIME_UNTIL) json_put_id(body, "ttl_ms", values->ttl_ms ? values->ttl_ms : GRANT_TTL_MS);
	json_put_text(body, "reason", values->reason);
	if (values->no_wait) json_object_set_new(body, "at_once", json_true());
	CLEANUP_FREE char *resolved = values->deny ? NULL : words_resolved(&permission, pattern);
	json_object_set_new(body, "resolved", message_bytes(resolved));
	return 0;
}

/* What is denied through a link is so wherever it leads, by the grant for it, and where it leads now, by one more:
 * *ret_target is that, and the link stays free to be moved. NULL: it is no link, or no denial. */
static int find_denied_there(const struct command_call *call, char **ret_target, struct error *error) {
	const struct values *values = call->values;
	struct permission permission;
	const char *text;
	CLEANUP_FREE char *pattern = NULL;
	*ret_target = NULL;
	if (!values->deny) return 0;
	int r = operands_permission(call->operands, &permission, &text, error);
	if (r == 0) r = words_pattern(&permission, text, &pattern, error);
	if (r < 0) return r;
	CLEANUP_FREE char *resolved = words_resolved(&permission, pattern);
	*ret_target = resolved ? pattern_quote(&permission, resolved) : words_linked(&permission, pattern);
	if (!*ret_target) *ret_target = linked_program(&permission, text);
	return 0;
}

/* Grants that say the opposite: the broker names them so that nobody wonders. */
static bool is_for_the_same(const struct grant *grant, const struct grant *other) {
	return strcmp(grant->permission.name, other->permission.name) == 0 &&
	       string_equal(grant->pattern, other->pattern) && string_equal(grant->profile, other->profile) &&
	       string_equal(grant->project, other->project) && grant->session == other->session;
}

static void print_contradicted(const struct grant *grant, const json_t *also, json_int_t denied_there) {
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)also, index, item) {
		json_int_t id = json_integer_value(json_is_object(item) ? json_object_get(item, "id") : item);
		if (id == denied_there) continue; /* print_resolved */
		CLEANUP_GRANT struct grant other = {0};
		if (grant_from_json(item, &other, NULL) == 0 && is_for_the_same(grant, &other)) {
			if (grant->effect == EFFECT_ALLOW)
				printf("Note: without effect while grant %lld denies exactly this. To end that: sbx "
				       "revoke %lld\n",
				       (long long)id, (long long)id);
			else
				printf("Note: grant %lld, which allows exactly this, is without effect from now on.\n",
				       (long long)id);
			continue;
		}
		printf("Note: grant %lld says the opposite about a part of it; the closer one wins, and deny where "
		       "they are "
		       "equal. To end it: sbx revoke %lld\n",
		       (long long)id, (long long)id);
	}
}

/* A program that is denied by the name of a link is so by any name. */
static void print_denied_link(const struct grant *grant) {
	CLEANUP_FREE char *program = NULL;
	if (grant->permission.kind != PERMISSION_PROC_SPAWN ||
	    words_target(&grant->permission, grant->pattern, &program, NULL) < 0)
		return;
	json_t *subject = json_object(), *reply = NULL;
	json_put_id(subject, "session", grant->session);
	if (grant->session == 0) json_put_text(subject, "profile", grant->profile);
	if (grant->session == 0) json_put_text(subject, "project", grant->project);
	CLEANUP_FREE char *link = denied_link(&grant->permission, program, subject, &reply);
	CLEANUP_FREE char *shown = link ? text_visible(link) : NULL;
	CLEANUP_FREE char *why = link ? json_visible(json_object_get(reply, "verdict"), "why") : NULL;
	if (link) printf("Note: without effect while %s, which leads there, is denied: %s.\n", shown, why);
	json_decref(reply);
	json_decref(subject);
}

/* What the grant has no effect on yet. */
static void print_missing(const struct grant *grant) {
	CLEANUP_FREE char *missing = words_missing(&grant->permission, grant->pattern);
	if (missing) printf("Note: %s does not exist.\n", missing);
}

/* By a link, which may be another's to change: it is granted where it leads now, unless a grant denies it there. */
static void print_resolved(const struct grant *grant, json_int_t denied_there) {
	CLEANUP_FREE char *shown = grant->resolved ? text_visible(grant->resolved) : NULL;
	if (shown && denied_there != 0)
		printf("Note: it leads to %s, where grant %lld denies it. To end that: sbx revoke %lld\n", shown,
		       (long long)denied_there, (long long)denied_there);
	else if (shown)
		printf("Note: it leads to %s, and is granted as long as it does.\n", shown);
}

/* `*` and `*:443`, but not `*.example.org`. */
static bool is_any_host(const char *pattern) {
	return *pattern == '*' && pattern[1] != '.';
}

/* A network of no bits: `0.0.0.0/0`, `[::/0]:443`. */
static bool is_any_address(const char *pattern) {
	const char *bits = strchr(pattern, '/');
	const size_t zeros = bits ? strspn(bits + 1, "0") : 0;
	return zeros > 0 && strspn(bits + 1, "0123456789") == zeros;
}

static void print_hosts(const char *pattern) {
	if (is_any_host(pattern)) puts("Note: that is wide: every host that no rule denies.");
	if (is_any_address(pattern))
		printf("Note: that is wide: every IPv%c address that no rule denies, also of private networks.\n",
		       strcspn(pattern, ":") < strcspn(pattern, "/") ? '6' : '4');
}

/* The home may be reached by a link itself. */
static bool holds_home(const struct permission *permission, const char *path) {
	const char *home = home_directory();
	CLEANUP_FREE char *real = home ? words_real_path(permission, home) : NULL;
	return (home && path_is_below(home, path)) || (real && path_is_below(real, path));
}

static void print_files(const struct permission *permission, const char *path) {
	if (strcmp(path, "/") == 0)
		puts("Note: that is wide: every file that no rule denies.");
	else if (holds_home(permission, path))
		puts("Note: that is wide: all of your home that no rule denies.");
}

/* What is easily granted without meaning all of it, or with hopes that this version doesn't fulfil. */
static void print_reach(const struct grant *grant) {
	if (permission_is_of_files(&grant->permission))
		print_files(&grant->permission, grant->resolved ? grant->resolved : grant->pattern);
	else if (grant->permission.kind == PERMISSION_NET_LISTEN)
		puts("Note: other users of this machine can reach it, too. In a sandbox that began when nothing said "
		     "net:listen only `sbx publish` does it.");
	else if (grant->permission.kind == PERMISSION_NET_ACCESS)
		print_hosts(grant->pattern);
	else if (grant->permission.kind == PERMISSION_IPC_CONNECT && socket_meaning(grant->pattern))
		printf("Note: %s.\n", socket_meaning(grant->pattern));
}

/* What is for one use needs a question that it answers, and of files and programs there are only those that a rule asks
 * about. As it is before the grant is made: NULL, or why it will stay unused. A pattern is for who wrote it to judge.
 */
static const char *why_unused(const struct command_call *call, const json_t *body) {
	const struct values *values = call->values;
	struct permission permission;
	const char *text;
	CLEANUP_FREE char *target = NULL;
	json_t *reply = NULL, *asked;
	if (!values->once || values->deny || operands_permission(call->operands, &permission, &text, NULL) < 0 ||
	    !permission_is_of_path(&permission) || strpbrk(text, "*?[\\") ||
	    words_target(&permission, text, &target, NULL) < 0)
		return NULL;
	asked = json_pack("{s:s, s:o}", "permission", permission.name, "target", message_bytes(target));
	json_put_id(asked, "session", values->session);
	if (values->session == 0) {
		json_object_set(asked, "project", json_object_get(body, "project"));
		json_object_set(asked, "profile", json_object_get(body, "profile"));
	}
	const json_t *verdict = broker_call("why", asked, &reply, NULL) == 0 ? json_object_get(reply, "verdict") : NULL;
	const bool once = json_is_true(json_object_get(verdict, "once")); /* then a second use asks */
	const char *effect = once ? NULL : json_string_value(json_object_get(verdict, "effect"));
	const char *why = string_equal(effect, effect_name(EFFECT_ALLOW))  ? "it is allowed already"
			  : string_equal(effect, effect_name(EFFECT_DENY)) ? "no rule asks about it, so it isn't seen"
									   : NULL;
	json_decref(reply);
	return why;
}

/* Who waited for nothing hears nothing. False: of a denial it isn't known everywhere that it holds. */
static bool print_force(const struct grant *grant, const json_t *reply) {
	CLEANUP_FREE char *words = withdrawal_force(reply);
	size_t index;
	const json_t *item;
	if (!words) return true;
	puts(words);
	json_array_foreach (json_object_get(reply, "holders"), index, item) {
		CLEANUP_FREE char *line = withdrawal_holder("still held open", item);
		puts(line);
	}
	json_array_foreach (json_object_get(reply, "others"), index, item) {
		CLEANUP_FREE char *line = withdrawal_other(item);
		puts(line);
	}
	return grant->effect == EFFECT_ALLOW || withdrawal_is_shown(reply);
}

static int print_granted(const json_t *reply, struct error *error) {
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(json_object_get(reply, "grant"), &grant, error);
	if (r < 0) return error_prefix(error, "the broker's reply");
	human_print_grant(stdout, grant.effect == EFFECT_ALLOW ? "Granted" : "Denied", &grant);
	const bool holds = print_force(&grant, reply);
	const json_int_t denied_there = json_integer_value(json_object_get(reply, "denied_there"));
	print_contradicted(&grant, json_object_get(reply, "also"), denied_there);
	if (grant.effect != EFFECT_ALLOW) return holds ? EXIT_DONE : EXIT_NO;
	print_missing(&grant);
	print_resolved(&grant, denied_there);
	print_reach(&grant);
	print_denied_link(&grant);
	return EXIT_DONE;
}

static int make_grant(const json_t *body, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *reply = NULL;
	int r = broker_connect(NULL, &channel, error);
	if (r == 0) r = withdrawal_call(channel, "grant", json_deep_copy(body), &reply, error);
	if (r == 0) r = print_granted(reply, error);
	json_decref(reply);
	return r;
}

static int deny_there(json_t *body, const char *target, struct error *error) {
	CLEANUP_FREE char *shown = text_visible(target);
	printf("Note: it leads to %s, which is denied, too, wherever the link leads later:\n", shown);
	json_object_set_new(body, "target", message_bytes(target));
	return make_grant(body, error);
}

/* A shell completes `[id].tsx` as it is, and as a pattern that is another name. */
static void print_namesake(const struct command_call *call) {
	struct permission permission;
	const char *text;
	if (operands_permission(call->operands, &permission, &text, NULL) < 0) return;
	CLEANUP_FREE char *path = words_namesake(&permission, text);
	if (!path) return;
	CLEANUP_FREE char *shown = text_visible(path), *quoted = pattern_quote(&permission, path);
	CLEANUP_FREE char *word = text_shell_word(quoted);
	printf("Note: that does not cover %s, since `*`, `?` and `[` are wildcards. To name just that: %s\n", shown,
	       word);
}

static int run(struct command_call *call, struct error *error) {
	json_t *body = json_object();
	CLEANUP_FREE char *there = NULL;
	int r = check_values(call, error);
	if (r == 0) r = build_request(call, body, error);
	if (r == 0) r = find_denied_there(call, &there, error);
	const char *unused = r == 0 ? why_unused(call, body) : NULL;
	if (r == 0) r = make_grant(body, error);
	if (r >= 0 && there) {
		const int of_link = r;
		r = deny_there(body, there, error);
		if (r == EXIT_DONE) r = of_link;
	}
	json_decref(body);
	if (r >= 0) print_namesake(call);
	if (r == 0 && unused)
		printf("Note: nothing asks about it (%s), so it stays unused. Without --once it holds at once.\n",
		       unused);
	return r;
}

const struct command command_grant = {
	.name = "grant",
	.operands = "PERM TARGET",
	.summary = "Allow (or deny) something, for a profile in a project, for a time.",
	.details =
		"PERM TARGET may be one word, PERM=TARGET. PERM is fs:read, fs:write, fs:link, net:access, net:listen, "
		"proc:spawn, ipc:connect, env:read or a word:word of your own. A relative path is seen from the "
		"working "
		"directory. What a deny rule of the policy forbids is refused, and the rule named. Running sandboxes "
		"get it at once; variables are for the next run.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = 2,
	.refuses_root = true,
	.run = run,
};
