/*
 * etc_files: the files below /etc that say where names are looked up. In a network of the sandbox's own the host's
 * would lead nowhere, so there sbx's stand in their place, wherever the host's links lead to.
 *
 * Promises: pure but for uname(2); a name is asked for as the tool has said it, by glibc, musl, c-ares and Go; a
 * resolver that finds none of the files (the host has none, and none is made there) does as they say.
 */
#pragma once

#include "plan/rule.h"

/* Rules for all of them, which no rule of a policy's takes away. */
void etc_files_add(struct rules *rules);

char *etc_hosts_text(const char *host_name); /* of hosts(5); the name is left out when it isn't one */
