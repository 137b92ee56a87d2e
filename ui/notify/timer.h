/* timer: libevent's timers, in milliseconds. */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/memory.h"

static inline void timer_after_ms(struct event *timer, int64_t ms) {
	const struct timeval wait = clock_timeval(ms);
	if (evtimer_add(timer, &wait) < 0) mem_exhausted();
}
