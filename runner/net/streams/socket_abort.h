/*
 * socket_abort: close a connection so that its peer sees a reset, not an orderly end.
 */
#pragma once

#include <sys/socket.h>

#include "base/fd.h"

static inline void socket_abort(int fd) {
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0}; /* socket(7) */

	if (fd < 0) return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	fd_close(fd);
}
