#include "carried.h"

#include "set_id.h"

static bool makes_link(const struct trap *trap) {
	return trap->links && trap->links->made;
}

bool carried_is_one(const struct trap *trap) {
	return trap->call.set_id || makes_link(trap);
}

int carried_open(const struct trap *trap, const struct links_view *view, int *ret_fd) {
	return makes_link(trap) ? links_open(trap->links, trap->thread, &trap->call, view, ret_fd)
				: set_id_open(trap->thread, &trap->raw, &trap->call, view->curtain, ret_fd);
}

int carried_do(const struct trap *trap, int fd) {
	return makes_link(trap) ? links_make(trap->links, &trap->call, fd) : set_id_change(fd, &trap->raw);
}
