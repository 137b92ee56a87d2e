/*
 * proc_net: the TCP and UDP sockets of a network by the kernel's tables in /proc/PID/net (proc_pid_net(5)), for kernels
 * without the modules of sock_diag(7).
 *
 * Promises: a table is read once, a row at a time, and no further than LIMIT_PROC_NET rows. A row holds numbers that
 * the kernel has written, and nothing that a process chose for a name.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* Addresses of IPv4 are v4-mapped ones. */
struct proc_net_row {
	struct in6_addr local, peer;
	uint16_t local_port, peer_port;
	unsigned state; /* TCP_LISTEN …, of UDP TCP_ESTABLISHED where it is connected */
};

/* The rows of the table "tcp", "tcp6", "udp" or "udp6" of that folder, until `each` returns false. -E2BIG: there are
 * more than the limit. -ENOENT: a kernel without that family has no such table. */
int proc_net_read(int folder, const char *table, bool (*each)(void *argument, const struct proc_net_row *row),
		  void *argument);
