#include "grant_best.h"

void grant_best_offer(struct grant_best *best, const struct grant *grant, const struct pattern *pattern,
		      const char *target, const struct moment *now) {
	struct pattern_rank rank;
	if (grant_has_expired(grant, now) || !pattern_applies(pattern, grant->effect, target, &rank)) return;
	if (best->found && !grant_beats(grant, rank, &best->grant, best->rank)) return;
	if (best->found) grant_finish(&best->grant);
	best->found = true;
	best->rank = rank;
	grant_copy(&best->grant, grant);
}
