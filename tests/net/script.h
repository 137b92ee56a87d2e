/*
 * script: an HTTP origin that answers each request of a connection with given bytes and remembers what it got.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire.h"

struct script {
	const char *reply;       /* to every request; may hold NULs when reply_size says so */
	size_t reply_size;       /* 0: strlen */
	unsigned per_connection; /* requests until it closes; 0 = no end */
	bool reset;              /* end with a reset */
	bool ignore_body;        /* answers without reading the body */
	unsigned delay_ms;       /* before each answer */
};

struct origin_log;
struct server *script_new(const struct script *script, struct origin_log **ret_log); /* script is borrowed */
char *origin_log_text(struct origin_log *log); /* all heads and bodies, in order of arrival; freed by the caller */
void script_free(struct server *server, struct origin_log *log);
