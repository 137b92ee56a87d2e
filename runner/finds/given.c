#include "given.h"

#include <stdlib.h>

#include "base/memory.h"
#include "schema/limits.h"

bool given_add(struct given *given, const char *path) {
	if (strings_contain(&given->paths, path)) return true;
	if (given->paths.count >= LIMIT_GIVEN) return false;
	strings_add(&given->paths, path);
	return true;
}

void given_judge_again(struct given *given) {
	given->judged = 0;
}

static int judge_rest(struct given *given, const struct layout_judge *judge, struct error *error) {
	CLEANUP_STRINGS struct strings rest = {0};
	const size_t count = given->paths.count;
	if (given->judged == count) return 0;
	for (size_t i = given->judged; i < count; i++) strings_add(&rest, given->paths.items[i]);
	struct layout_mode *modes = mem_array(struct layout_mode, count);
	for (size_t i = 0; i < given->judged; i++) modes[i] = given->modes[i];
	int r = judge->resolve(judge->context, &rest, modes + given->judged, error);
	if (r == 0) given->judged = count;
	free(given->modes);
	given->modes = modes;
	return r;
}

static void forget_others(struct given *given) {
	struct strings all = given->paths;
	given->paths = (struct strings){0};
	given->judged = 0;
	for (size_t i = 0; i < all.count; i++) {
		if (given->modes[i].mode < VIEW_READ) continue;
		given->modes[given->judged++] = given->modes[i];
		strings_add(&given->paths, all.items[i]);
	}
	strings_finish(&all);
}

int given_rules(struct given *given, const struct layout_judge *judge, struct rules *rules, struct error *error) {
	int r = judge_rest(given, judge, error);
	if (r < 0) return r;
	forget_others(given);
	for (size_t i = 0; i < given->judged; i++)
		rules_add_denial(rules, given->modes[i].mode == VIEW_WRITE ? SHOW_WRITE : SHOW_READ,
				 given->paths.items[i], given->modes[i].denial);
	return 0;
}

void given_finish(struct given *given) {
	strings_finish(&given->paths);
	free(given->modes);
	*given = (struct given){0};
}
