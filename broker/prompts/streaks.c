#include "streaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

enum { REMEMBERED = 128 };

struct streak {
	struct permission permission;
	char *target; /* NULL: none */
	int denials;
};

struct streaks {
	struct streak items[REMEMBERED];
	size_t next;
};

struct streaks *streaks_new(void) {
	return mem_new(struct streaks);
}

void streaks_free(struct streaks *streaks) {
	if (!streaks) return;
	for (size_t i = 0; i < REMEMBERED; i++) free(streaks->items[i].target);
	free(streaks);
}

static struct streak *find(struct streaks *streaks, const struct permission *permission, const char *target) {
	for (size_t i = 0; i < REMEMBERED; i++) {
		struct streak *streak = &streaks->items[i];
		if (streak->target && permission_equal(&streak->permission, permission) &&
		    strcmp(streak->target, target) == 0)
			return streak;
	}
	return NULL;
}

bool streaks_are_full(struct streaks *streaks, const struct permission *permission, const char *target) {
	const struct streak *streak = find(streaks, permission, target);
	return streak && streak->denials + 1 >= STREAK_LENGTH;
}

void streaks_deny(struct streaks *streaks, const struct permission *permission, const char *target) {
	struct streak *streak = find(streaks, permission, target);
	if (!streak) {
		streak = &streaks->items[streaks->next++ % REMEMBERED];
		free(streak->target);
		*streak = (struct streak){.permission = *permission, .target = string_copy(target)};
	}
	streak->denials++;
}

void streaks_end(struct streaks *streaks, const struct permission *permission, const char *target) {
	struct streak *streak = find(streaks, permission, target);
	if (!streak) return;
	free(streak->target);
	*streak = (struct streak){0};
}
