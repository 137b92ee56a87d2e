/*
 * What a project's file says in the order of its weight, for a screen that has room for some lines: what it lifts of
 * base's guards and masks, and what is wide, stands before all that merely is much (attack R25).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/path.h"
#include "base/text.h"
#include "describe.h"
#include "policy/ruleset.h"
#include "sticky.h"

enum { PROFILE_COLUMNS = 20 };

static const char *const weight_names[] = {
	[POLICY_LIFTS] = "lifts a guard", [POLICY_IS_WIDE] = "wide", [POLICY_RUNS] = "runs",
	[POLICY_CONNECTS] = "network",    [POLICY_SETS] = "setting", [POLICY_WRITES] = "writes",
	[POLICY_READS] = "reads",
};
static_assert(ARRAY_LENGTH(weight_names) == POLICY_WEIGHT_COUNT, "every weight has a name");

const char *policy_weight_name(enum policy_weight weight) {
	return weight_names[weight];
}

struct weighing {
	const struct pattern_scope *scope;
	const struct ruleset *base; /* NULL: it can't be made, and what is kept isn't known */
	size_t columns;
	struct policy_sayings *sayings;
};

/* A base of its own: nothing that the file, or another one, says is in it. */
static struct ruleset *make_base(const struct pattern_scope *scope) {
	struct policy_document *builtin = policy_load_builtin();
	struct policy *policy = policy_new(&builtin, 1);
	struct ruleset *base = NULL;
	ruleset_new(policy, "base", scope, NULL, &base, NULL);
	policy_unref(policy);
	return base;
}

static bool is_lifting(const struct weighing *weighing, const struct rule_text *rule, const struct pattern *pattern) {
	struct pattern_rank kept;
	if (!weighing->base) return true;
	CLEANUP_FREE char *place = pattern_fixed_target(pattern_text(pattern));
	return ruleset_find_sticky(weighing->base, &rule->permission, place, &kept) &&
	       sticky_is_lifted(kept, pattern_text(pattern));
}

/* All of the home or more, or whatever begins with a wildcard. */
static bool is_wide_path(const struct weighing *weighing, const struct pattern *pattern) {
	CLEANUP_FREE char *place = pattern_fixed_target(pattern_text(pattern));
	return *place == '\0' || (weighing->scope->home && path_is_below(weighing->scope->home, place));
}

static bool is_wide_text(const char *text) {
	return *text == '\0' || (*text == '*' && text[1] != '.') || string_ends(text, "/0");
}

static enum policy_weight weight_of_permission(const struct permission *permission) {
	if (permission->kind == PERMISSION_FS_WRITE) return POLICY_WRITES;
	if (permission_is_of_net(permission)) return POLICY_CONNECTS;
	return permission_traits(permission)->risk == RISK_HIGH ? POLICY_RUNS : POLICY_READS;
}

static enum policy_weight weight_of_rule(const struct weighing *weighing, const struct rule_text *rule) {
	struct pattern_scope scope = *weighing->scope;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	scope.relative_anywhere = rule->effect != EFFECT_ALLOW;
	const bool place = permission_is_of_place(&rule->permission);
	if (pattern_compile(&rule->permission, rule->text, &scope, &pattern, NULL) < 0) return POLICY_LIFTS;
	if (permission_is_of_path(&rule->permission) && is_lifting(weighing, rule, pattern)) return POLICY_LIFTS;
	if (place ? is_wide_path(weighing, pattern) : is_wide_text(pattern_text(pattern))) return POLICY_IS_WIDE;
	return weight_of_permission(&rule->permission);
}

/* Takes the text over. */
static void add(struct weighing *weighing, enum policy_weight weight, unsigned narrowness, char *text) {
	struct policy_sayings *sayings = weighing->sayings;
	sayings->items = array_grow(sayings->items, sayings->count, sizeof *sayings->items);
	sayings->items[sayings->count] = (struct policy_saying){weight, narrowness, sayings->count, text};
	sayings->count++;
	sayings->of_weight[weight]++;
}

/* What is visible already, cut at its end. */
static char *clip(const char *text, size_t columns) {
	struct string out = {0};
	string_append(&out, "");
	if (text_columns(text) <= columns) return string_copy(text);
	for (size_t used = 1; *text;) {
		uint32_t point = 0;
		const size_t size = text_point(text, strlen(text), &point);
		used += columns_of(point);
		if (size == 0 || used > columns) break;
		string_append_bytes(&out, text, size);
		text += size;
	}
	string_append(&out, "…");
	return string_steal(&out);
}

static void weigh_profile(struct weighing *weighing, const struct profile *profile) {
	CLEANUP_FREE char *name = describe_text(profile->name, PROFILE_COLUMNS);
	const size_t taken = text_columns(name) + strlen(": "), columns = weighing->columns;
	const size_t room = columns > taken ? columns - taken : 1;
	for (size_t i = 0; i < profile->rule_count; i++) {
		const struct rule_text *rule = &profile->rules[i];
		if (rule->effect == EFFECT_DENY) {
			weighing->sayings->denials++;
			continue;
		}
		CLEANUP_FREE char *sentence = describe_rule(rule, room),
				  *text = string_format("%s: %s", name, sentence);
		add(weighing, weight_of_rule(weighing, rule), describe_narrowness(rule), clip(text, columns));
	}
	CLEANUP_STRINGS struct strings settings = {0};
	describe_settings(&settings, profile);
	for (size_t i = 0; i < settings.count; i++) {
		CLEANUP_FREE char *text = string_format("%s:%s", name, settings.items[i] + 1);
		add(weighing, POLICY_SETS, 0, clip(text, columns));
	}
}

static int compare(const void *a, const void *b) {
	const struct policy_saying *one = a, *two = b;
	if (one->weight != two->weight) return one->weight < two->weight ? -1 : 1;
	if (one->narrowness != two->narrowness) return one->narrowness < two->narrowness ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

void policy_document_weigh(const struct policy_document *document, const struct pattern_scope *scope, size_t columns,
			   struct policy_sayings *ret_sayings) {
	*ret_sayings = (struct policy_sayings){0};
	CLEANUP_RULESET struct ruleset *base = make_base(scope);
	struct weighing weighing = {scope, base, columns, ret_sayings};
	for (size_t i = 0; i < document->permissions.count; i++) {
		const struct view_pair *own = &document->permissions.items[i];
		CLEANUP_FREE char *said = describe_text(own->value, 0),
				  *text = string_format("permission %s: %s", own->name, said);
		add(&weighing, POLICY_SETS, 0, clip(text, columns));
	}
	for (size_t i = 0; i < document->profile_count; i++) weigh_profile(&weighing, &document->profiles[i]);
	if (ret_sayings->count > 0) qsort(ret_sayings->items, ret_sayings->count, sizeof *ret_sayings->items, compare);
}

void policy_sayings_finish(struct policy_sayings *sayings) {
	for (size_t i = 0; i < sayings->count; i++) free(sayings->items[i].text);
	free(sayings->items);
	*sayings = (struct policy_sayings){0};
}
