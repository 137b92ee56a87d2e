#include "portal_applied.h"

#include <stdlib.h>

int portal_put_compare(const void *a, const void *b) {
	const struct portal_put *one = a, *two = b;
	return one->id < two->id ? -1 : one->id > two->id;
}

void portal_applied_finish(struct portal_applied *applied) {
	free(applied->failed);
	free(applied->taken);
	free(applied->puts);
	*applied = (struct portal_applied){0};
}
