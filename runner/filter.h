/*
 * filter: the system calls that no process of a sandbox may make (design section 10.4), as a BPF program.
 *
 * Promises: one table; anything compared is compared on the 32 bits the kernel uses (attack K1); foreign architectures
 * and x32 get ENOSYS (K2). Everything else is allowed: what a sandbox can reach is decided by its namespaces.
 */
#pragma once

#include <linux/filter.h>
#include <stdint.h>

#include "base/error.h"

/* Freed by the caller with free(). */
int filter_build(struct sock_filter **ret_filter, uint32_t *ret_count, struct error *error);
