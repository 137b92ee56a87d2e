#include "rule.h"

#include "base/memory.h"
#include "base/string.h"

static struct rule *append(struct rules *rules) {
	rules->items = array_grow(rules->items, rules->count, sizeof *rules->items);
	return &rules->items[rules->count++];
}

void rules_add_source(struct rules *rules, enum rule_origin origin, enum show show, const char *path,
		      const char *source) {
	*append(rules) = (struct rule){.path = string_copy(path),
				       .show = show,
				       .origin = origin,
				       .source = source ? string_copy(source) : NULL};
}

void rules_add(struct rules *rules, enum rule_origin origin, enum show show, const char *path) {
	rules_add_source(rules, origin, show, path, NULL);
}

void rules_add_denial(struct rules *rules, enum show show, const char *path, enum view_denial denial) {
	rules_add(rules, RULE_VIEW, show, path);
	rules->items[rules->count - 1].denial = denial;
}

void rules_add_program(struct rules *rules, enum show show, const char *path, bool named) {
	const bool denied = named && show == SHOW_NOTHING;
	rules_add_denial(rules, show, path, denied ? VIEW_DENIES_READ : VIEW_DENIES_NOTHING);
	rules->items[rules->count - 1].program = true;
}

void rules_add_led(struct rules *rules, enum show show, const char *path) {
	rules_add(rules, RULE_VIEW, show, path);
	rules->items[rules->count - 1].led = true;
}

void rules_add_text(struct rules *rules, const char *path, const char *text) {
	rules_add_source(rules, RULE_TEXT, SHOW_TEXT, path, text);
}

void rules_add_mask(struct rules *rules, const char *path) {
	*append(rules) = (struct rule){.path = string_copy(path), .show = SHOW_READ, .cap = true, .origin = RULE_VIEW};
}

bool rule_gives(const struct rule *rule) {
	const bool shows = rule->show == SHOW_ASK || rule->show == SHOW_READ || rule->show == SHOW_WRITE;
	return shows && !rule->cap && rule->origin != RULE_LAYOUT;
}

void rules_finish(struct rules *rules) {
	for (size_t i = 0; i < rules->count; i++) {
		free(rules->items[i].path);
		free(rules->items[i].source);
		free(rules->items[i].resolved);
	}
	free(rules->items);
	strings_finish(&rules->linked.places);
	strings_finish(&rules->linked.names);
	strings_finish(&rules->programs);
	strings_finish(&rules->ways);
	*rules = (struct rules){0};
}
