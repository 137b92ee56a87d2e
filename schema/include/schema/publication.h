/*
 * publication: a port of a sandbox and the port of the host's loopback that leads to it, PORT[:HOSTPORT].
 *
 * Promises: one reader of the text, for options, messages and listings. A publication is no permission: what allows it
 * is net:listen PORT.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct publication {
	uint16_t port;      /* inside; never 0 */
	uint16_t host_port; /* 0: any that is free */
};

enum { PUBLICATION_TEXT_SIZE = sizeof "65535:65535" };

/* "3000" means 3000:3000. */
int publication_parse(const char *text, struct publication *ret_publication, struct error *error);
/* Always with both ports. */
void publication_format(const struct publication *publication, char ret_text[PUBLICATION_TEXT_SIZE]);
