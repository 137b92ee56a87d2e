#include "grant_set.h"

#include <stdlib.h>

#include "base/memory.h"
#include "grant_best.h"
#include "schema/pattern.h"

int grant_set_load(struct grants *grants, const struct clock *clock, const struct subject *subject, int64_t session,
		   struct grant_set *ret_set, struct error *error) {
	CLEANUP_GRANT_SET struct grant_set set = {0};
	const struct pattern_scope nothing = {.home = NULL};
	clock_read(clock, &set.now);
	int r = grants_of_subject(grants, subject, session, &set.list, error);
	if (r < 0) return r;
	set.patterns = mem_array(struct pattern *, set.list.count);
	for (size_t i = 0; i < set.list.count; i++) {
		const struct grant *grant = &set.list.items[i];
		r = pattern_compile(&grant->permission, grant->pattern, &nothing, &set.patterns[i], error);
		if (r < 0) return error_prefix(error, "grant %lld", (long long)grant->id);
	}
	*ret_set = set;
	set = (struct grant_set){0};
	return 0;
}

void grant_set_finish(struct grant_set *set) {
	for (size_t i = 0; set->patterns && i < set->list.count; i++) pattern_free(set->patterns[i]);
	free(set->patterns);
	grant_list_finish(&set->list);
	*set = (struct grant_set){0};
}

bool grant_set_find(void *context, const struct request *request, struct grant *ret_grant,
		    struct pattern_rank *ret_rank) {
	const struct grant_set *set = context;
	struct grant_best best = {0};
	for (size_t i = 0; i < set->list.count; i++) {
		const struct grant *grant = &set->list.items[i];
		if (grant_counts(&grant->permission, grant->effect, &request->permission))
			grant_best_offer(&best, grant, set->patterns[i], request->target, &set->now);
	}
	if (!best.found) return false;
	*ret_grant = best.grant;
	*ret_rank = best.rank;
	return true;
}
