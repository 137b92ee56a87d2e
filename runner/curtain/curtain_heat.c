#include "curtain_heat.h"

#include "base/clock.h"

#include <time.h>

enum {
	HOT = 16,            /* walks within */
	HOT_WITHIN_MS = 100, /* this long, and the folder is told for */
	HOT_FOR_MS = 1000,   /* so long: one request in a thousand of what a busy loop would make */
	COOL_FOR_MS = 1000,  /* after a call that has to be held at its next walk */
	WAY_MS = 10 * 1000,
	PORTAL_MS = 100,
};

void node_warm(struct node *node) {
	const int64_t now = clock_ms(CLOCK_MONOTONIC);
	if (now - node->heat_ms > HOT_WITHIN_MS) {
		node->heat_ms = now;
		node->heat = 0;
	}
	node->heat++;
}

uint32_t node_tell(struct node *node, bool is_way) {
	const int64_t now = clock_ms(CLOCK_MONOTONIC);
	const bool hot = node->heat >= HOT && now - node->heat_ms <= HOT_WITHIN_MS;
	if (now < node->cool_until_ms || !(is_way || hot)) return 0;
	node->told++;
	return is_way ? WAY_MS : HOT_FOR_MS;
}

uint32_t node_tell_portal(struct node *node) {
	if (clock_ms(CLOCK_MONOTONIC) < node->cool_until_ms) return 0;
	node->told++;
	return PORTAL_MS;
}

bool node_cool(struct node *node) {
	node->cool_until_ms = clock_ms(CLOCK_MONOTONIC) + COOL_FOR_MS;
	return node->told > 0;
}
