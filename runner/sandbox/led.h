/*
 * led: where rules lead by links, judged by the name that it has there.
 *
 * Promises: nothing is given by a link that the broker denies of the path itself (attack W1): what leads elsewhere has
 * what is denied there written down (rule.there), for the plan. Each place is one path of one `resolve`.
 */
#pragma once

#include "finds.h"
#include "plan/facts.h"
#include "plan/judge.h"

/* With nobody to ask just now (-ECONNRESET) the last answer holds; a place that none was given for is denied. */
int led_judge(struct rules *rules, const struct facts *facts, const struct layout_judge *judge, struct led *led,
	      struct error *error);
