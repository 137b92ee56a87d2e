#include "base/loop.h"

#include "base/memory.h"

static const char *const avoided[] = {"epoll", "select"}; /* select(2) knows no descriptor above 1023 */

struct event_base *loop_new(void) {
	event_set_mem_functions(mem_raw, mem_raw_resize, free);
	struct event_config *config = event_config_new();
	if (!config || event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV) < 0 ||
	    event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME) < 0)
		mem_exhausted();
	for (size_t i = 0; i < ARRAY_LENGTH(avoided); i++)
		if (event_config_avoid_method(config, avoided[i]) < 0) mem_exhausted();
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	if (!base || event_base_priority_init(base, LOOP_PRIORITIES) < 0) mem_exhausted();
	return base;
}
