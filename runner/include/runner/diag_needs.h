/*
 * diag_needs: how far this kernel says who listens in a network, and who has bound a Unix socket.
 */
#pragma once

#include <stdbool.h>

struct diag_needs {
	bool listeners; /* they can be asked for at all */
	bool tables;    /* but by the tables of /proc/PID/net alone */
	bool bound;     /* Unix sockets, by sock_diag(7) alone */
};

/* Only asks the kernel, about this process's own network. */
struct diag_needs diag_needs_look(void);
