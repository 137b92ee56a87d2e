/*
 * led: where rules lead by links, judged by the name that it has there.
 *
 * Promises: nothing is given by a link that the broker denies of the path itself (attack W1): what leads elsewhere has
 * what is denied there written down (rule.there), for the plan. Each place is one path of one `resolve`.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "plan/facts.h"
#include "plan/judge.h"
#include "plan/rule.h"

/* Where rules have led by links, and what the broker denied of it last. */
struct led {
	struct strings places;
	enum view_denial *denials; /* of each */
};

/* With nobody to ask just now (-ECONNRESET) the last answer holds; a place that none was given for is denied. */
int led_judge(struct rules *rules, const struct facts *facts, const struct layout_judge *judge, struct led *led,
	      struct error *error);
