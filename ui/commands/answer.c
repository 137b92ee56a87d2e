/* `sbx allow` and `sbx deny`: one answer to pending prompts, from any terminal. */
#include <errno.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "commands/commands.h"
#include "schema/grant.h"
#include "ui/broker.h"
#include "ui/human.h"

struct values {
	bool once, session, always;
	int64_t ttl_ms;
	const char *scope;
};

#define ANSWER_OPTIONS(once_help, ttl_help)                                                                            \
	{"once", OPTION_FLAG, NULL, once_help, offsetof(struct values, once)},                                         \
		{"ttl", OPTION_DURATION, "DURATION", ttl_help, offsetof(struct values, ttl_ms)},                       \
		{"session", OPTION_FLAG, NULL, "As long as this sandbox runs.", offsetof(struct values, session)}, {   \
		"always", OPTION_FLAG, NULL, "Always, for this profile in this project, until you revoke it.",         \
			offsetof(struct values, always)                                                                \
	}

static const struct option_info allow_options[] = {
	ANSWER_OPTIONS("This one call alone.",
		       "For this long, such as 90s, 15m, 7d. Default: 1h, or prompt.lifetime of your policy."),
	{"scope", OPTION_TEXT, "SCOPE",
	 "How much of it: exact (the default), folder or a path above the target, host (any port), domain (the host's "
	 "domain). 'sbx prompts --json' lists what fits.",
	 offsetof(struct values, scope)},
};

static const struct option_info deny_options[] = {
	ANSWER_OPTIONS("This once (the default).", "For this long, such as 90s, 15m, 7d."),
};

static enum lifetime chosen_lifetime(const struct values *values, enum lifetime otherwise) {
	if (values->once) return LIFETIME_ONCE;
	if (values->session) return LIFETIME_SESSION;
	if (values->always) return LIFETIME_ALWAYS;
	return values->ttl_ms != 0 ? LIFETIME_UNTIL : otherwise;
}

static int print_answered(const json_t *reply, int64_t prompt, enum effect effect, enum lifetime lifetime,
			  struct error *error) {
	const json_t *json = json_object_get(reply, "grant");
	if (!json || json_is_null(json)) {
		printf("%s prompt %lld%s.\n", effect == EFFECT_ALLOW ? "Allowed" : "Denied", (long long)prompt,
		       lifetime == LIFETIME_ONCE ? ", this once" : "");
		return EXIT_DONE;
	}
	CLEANUP_GRANT struct grant grant = {0};
	int r = grant_from_json(json, &grant, error);
	if (r < 0) return error_prefix(error, "the broker's reply");
	human_print_grant(stdout, effect == EFFECT_ALLOW ? "Allowed" : "Denied", &grant);
	return EXIT_DONE;
}

/* A path as the prompt has it: without a slash at its end. */
static void put_scope(json_t *body, const char *scope) {
	CLEANUP_FREE char *normal = NULL;
	bool path = *scope == '/' && path_normalise(NULL, scope, &normal, NULL) == 0;
	json_put_text(body, "scope", path ? normal : scope);
}

struct wish {
	enum effect effect;
	enum lifetime lifetime;
	const struct values *values;
};

static int answer(struct channel *channel, const struct wish *wish, int64_t prompt, struct error *error) {
	json_t *reply = NULL, *body = json_pack("{s:I, s:n, s:s, s:s, s:s, s:b}", "prompt", (json_int_t)prompt, "token",
						"effect", effect_name(wish->effect), "lifetime",
						lifetime_name(wish->lifetime), "scope", "exact", "terminal", 1);
	if (wish->values->scope) put_scope(body, wish->values->scope);
	json_put_id(body, "ttl_ms", wish->values->ttl_ms);
	int r = channel_call(channel, "answer", body, &reply, error);
	if (r == 0) r = print_answered(reply, prompt, wish->effect, wish->lifetime, error);
	json_decref(reply);
	return r;
}

/* Each once: all are read before the first is answered. */
static int read_prompts(const struct strings *operands, int64_t *prompts, size_t *ret_count, struct error *error) {
	*ret_count = 0;
	for (size_t i = 0; i < operands->count; i++) {
		int64_t prompt = 0;
		bool known = false;
		int r = id_parse(operands->items[i], "prompt", &prompt, error);
		if (r < 0) return r;
		for (size_t k = 0; k < *ret_count; k++) known = known || prompts[k] == prompt;
		if (!known) prompts[(*ret_count)++] = prompt;
	}
	return 0;
}

/* One that can't be answered so, or not any more, leaves the others to be. */
static int answer_each(struct command_call *call, enum effect effect, enum lifetime otherwise, struct error *error) {
	const struct wish wish = {effect, chosen_lifetime(call->values, otherwise), call->values};
	CLEANUP_FREE int64_t *prompts = mem_array(int64_t, call->operands->count);
	CLEANUP_CHANNEL struct channel *channel = NULL;
	size_t count = 0, failed = 0;
	int r = options_exclusive(&call->command->options, call->values, "once ttl session always", error);
	if (r == 0) r = read_prompts(call->operands, prompts, &count, error);
	if (r == 0) r = broker_connect(NULL, &channel, error);
	if (r < 0) return r;
	if (count == 1) return answer(channel, &wish, prompts[0], error);
	for (size_t i = 0; i < count; i++) {
		struct error fault = ERROR_NONE;
		if (answer(channel, &wish, prompts[i], &fault) >= 0) continue;
		log_error("%s: prompt %lld: %s", call->command->name, (long long)prompts[i], fault.message);
		failed++;
	}
	return failed > 0 ? EXIT_NO : EXIT_DONE;
}

static int run_allow(struct command_call *call, struct error *error) {
	return answer_each(call, EFFECT_ALLOW, LIFETIME_UNTIL, error);
}

static int run_deny(struct command_call *call, struct error *error) {
	return answer_each(call, EFFECT_DENY, LIFETIME_ONCE, error);
}

const struct command command_allow = {
	.name = "allow",
	.operands = "PROMPT...",
	.summary = "Answer pending prompts with yes.",
	.details = "The call that waits goes on at once. The answer is for the prompt's profile and project. Of "
		   "several prompts each is answered alone; one that can't be leaves the others, and the exit status "
		   "is 1.",
	.options = OPTION_TABLE(allow_options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run_allow,
};

const struct command command_deny = {
	.name = "deny",
	.operands = "PROMPT...",
	.summary = "Answer pending prompts with no.",
	.details = "The call that waits fails with 'permission denied'. Without an option it is not remembered. "
		   "Several prompts are answered one by one, as with 'sbx allow'.",
	.options = OPTION_TABLE(deny_options),
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = SIZE_MAX,
	.refuses_root = true,
	.run = run_deny,
};
