#include "grant_best.h"

bool grant_counts(const struct permission *permission, enum effect effect, const struct permission *asked) {
	if (permission->kind == PERMISSION_FS_WRITE && asked->kind == PERMISSION_FS_READ) return effect == EFFECT_ALLOW;
	if (permission->kind == PERMISSION_FS_READ && asked->kind == PERMISSION_FS_WRITE) return effect == EFFECT_DENY;
	return permission_equal(permission, asked);
}

static bool is_better(const struct grant_best *best, const struct grant *grant, struct pattern_rank rank) {
	if (!best->found) return true;
	bool denies = grant->session != 0 && grant->effect == EFFECT_DENY;
	bool denied = best->grant.session != 0 && best->grant.effect == EFFECT_DENY;
	if (denies != denied) return denies;
	int closer = pattern_rank_compare(rank, best->rank);
	if (closer != 0) return closer > 0;
	if (grant->effect != best->grant.effect) return grant->effect == EFFECT_DENY;
	return best->grant.lifetime == LIFETIME_ONCE && grant->lifetime != LIFETIME_ONCE;
}

void grant_best_offer(struct grant_best *best, const struct grant *grant, const struct pattern *pattern,
		      const char *target, const struct moment *now) {
	struct pattern_rank rank;
	if (grant_has_expired(grant, now) || !pattern_match(pattern, target, &rank) || !is_better(best, grant, rank))
		return;
	if (best->found) grant_finish(&best->grant);
	best->found = true;
	best->rank = rank;
	grant_copy(&best->grant, grant);
}
