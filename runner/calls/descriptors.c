#include "descriptors.h"

#include <sys/resource.h>

void descriptors_raise(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

size_t descriptors_share(size_t part, size_t each, size_t most) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return most;
	const size_t room = (size_t)limit.rlim_cur / part / each;
	return room < 1 ? 1 : room < most ? room : most;
}
