/* What suggest.c and order.c share. */
#pragma once

#include "asked.h"
#include "suggest/suggest.h"

struct suggest {
	char *home;
	struct asked_list answered, open;
	int64_t *grant_ids; /* NULL until they were asked for */
	size_t grant_id_count;
	struct grant *grants; /* where grant_ids has theirs; id 0: not there */
	struct suggestion *items;
	size_t count, left;
};

/* The same said more than once: the counts together, and what was said for longest. */
void suggestion_join(struct suggestion *suggestion, const struct suggestion *other);
/* Answers against each other, and what they leave of the rest. */
void suggest_weigh(struct suggest *suggest);
