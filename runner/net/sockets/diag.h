/*
 * diag: what listens in a network, by sock_diag(7), and where the kernel lacks its modules by /proc/PID/net.
 *
 * Promises: asks the kernel about the network that the netlink socket was made in, never looks at names or processes;
 * doesn't block; replies are checked (lengths, sequence, end) and bounded (LIMIT_DIAG, LIMIT_PROC_NET). On any error
 * the answer is no.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"

struct diag;

/* `netlink`: a NETLINK_SOCK_DIAG socket; `tables`: /proc/PID/net of a process in the same network. Both are taken over
 * also on failure, and one of them may be -1. -EOPNOTSUPP: this kernel can't say who listens. */
int diag_new(int netlink, int tables, struct diag **ret_diag, struct error *error);
void diag_free(struct diag *diag);
DEFINE_CLEANUP(struct diag *, diag_free);
#define CLEANUP_DIAG CLEANUP(diag_free_p)

/* This kernel's sock_diag has no TCP; it has Unix sockets. */
bool diag_reads_tables(const struct diag *diag);
bool diag_knows_unix(struct diag *diag);

/* TCP: a connection over the loopback to `address` (AF_INET, AF_INET6, also v4-mapped) would meet a listener, be it on
 * that address, the wildcard, or, for IPv4, the wildcard of a socket for both. */
bool diag_listens(struct diag *diag, const struct sockaddr *address);

/* TCP ports that something listens on, sorted, each once. How many: at most `size`. */
size_t diag_ports(struct diag *diag, uint16_t *ports, size_t size);

/* UDP: where each connected socket is connected to; a v4-mapped address as AF_INET. False: there may be more. */
bool diag_each_peer(struct diag *diag, void (*each)(void *argument, const struct sockaddr_storage *peer),
		    void *argument);

/* A Unix socket of this network is bound at that inode. Told by 32 bits of the inode's number and by the super block's
 * device, all that the kernel says: false where the number is larger. `device` is mountinfo's (proc_pid_mountinfo(5)),
 * of which a file system may have several trees with the same inodes (btrfs, where stat(2) gives others).
 * *ret_name (may be NULL): what it was bound as; freed by the caller. */
bool diag_bound(struct diag *diag, dev_t device, ino_t inode, char **ret_name);
