/*
 * portal_sockets: sockets that belong to a sandbox's namespaces, whoever holds their descriptors.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "net/streams/spares.h"
#include "portal_spaces.h"

int sockets_listen_port(const struct spaces *spaces, uint16_t port, int *ret_fd, struct error *error);

/* Mode 0600; fits a struct sockaddr_un. Before anything of the tool's runs: the way there is not checked for links. */
int sockets_listen_path(const struct spaces *spaces, const char *path, int type, int *ret_fd, struct error *error);

/* Unbound, non-blocking, of the sandbox's network, and can be bound to any address; all of them or none. */
int sockets_make(const struct spaces *spaces, const struct spare_shape *shape, size_t count, int *ret_fds,
		 struct error *error);
