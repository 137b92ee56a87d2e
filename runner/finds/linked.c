#include "linked.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "schema/pattern.h"

static const char wildcards[] = "*?[\\";

void linked_finish(struct linked *linked) {
	strings_finish(&linked->names);
	strings_finish(&linked->places);
}

bool linked_equal(const struct linked *linked, const struct linked *other) {
	return strings_equal(&linked->names, &other->names) && strings_equal(&linked->places, &other->places);
}

/* What a pattern names before its first wildcard; NULL: nothing but the root. */
static char *place_of(const char *pattern) {
	size_t size = strcspn(pattern, wildcards);
	while (size > 0 && pattern[size] != '/') size--;
	return size > 0 ? string_format("%.*s", (int)size, pattern) : NULL;
}

void linked_find(const struct strings *patterns, struct fact_book *book, struct linked *ret_linked) {
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACTS struct facts facts = {0};
	CLEANUP_STRINGS struct strings places = {0};
	for (size_t i = 0; i < patterns->count; i++) {
		CLEANUP_FREE char *place = place_of(patterns->items[i]);
		if (!place || strings_contain(&places, place)) continue;
		strings_add(&places, place);
		rules_add(&rules, RULE_VIEW, SHOW_NOTHING, place);
	}
	facts_collect(&rules, book, &facts);
	for (size_t i = 0; i < rules.count; i++) {
		if (facts.items[i].type != FACT_FOLDER || string_equal(facts.items[i].real, rules.items[i].path))
			continue;
		strings_add(&ret_linked->names, rules.items[i].path);
		strings_add(&ret_linked->places, facts.items[i].real);
	}
}

/* What is left of a path at or below the folder: "" or "/…". */
static const char *rest_of(const char *path, const char *folder) {
	return strcmp(folder, "/") == 0 ? path : path + strlen(folder);
}

void linked_trees(const struct linked *linked, const struct strings *trees, struct strings *ret_trees,
		  struct strings *ret_names) {
	for (size_t i = 0; i < linked->names.count; i++) {
		const char *place = linked->places.items[i], *name = linked->names.items[i];
		for (size_t j = 0; j < trees->count; j++) {
			const char *tree = trees->items[j];
			const bool inside = path_is_below(tree, place); /* or the same */
			if (!inside && !path_is_below(place, tree)) continue;
			strings_add(ret_trees, inside ? tree : place);
			strings_addf(ret_names, "%s%s", name, inside ? rest_of(tree, place) : "");
		}
	}
}

void linked_names(const struct linked *linked, const char *path, struct strings *names) {
	for (size_t i = 0; i < linked->names.count; i++)
		if (path_is_below(path, linked->places.items[i]))
			strings_addf(names, "%s%s", linked->names.items[i], rest_of(path, linked->places.items[i]));
}

void linked_patterns(const struct linked *linked, struct strings *patterns) {
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	const size_t count = patterns->count;
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *place = place_of(patterns->items[i]);
		for (size_t j = 0; place && j < linked->names.count; j++) {
			if (!string_equal(linked->names.items[j], place)) continue;
			CLEANUP_FREE char *there = pattern_quote(&permission, linked->places.items[j]);
			strings_addf(patterns, "%s%s", strcmp(there, "/") == 0 ? "" : there,
				     patterns->items[i] + strlen(place));
		}
	}
}
