/*
 * port_range: the ports of a pattern: all of them, one, or those from one to another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/pattern.h"

struct port_range {
	uint16_t first, last; /* 0: any */
};

/* "443", "8000-8100". */
int port_range_parse(const char *text, struct port_range *ret_range, struct error *error);
char *port_range_format(struct port_range range); /* "" for any, else with ':' in front; freed by the caller */

/* Also rank->precision. */
bool port_range_match(struct port_range range, unsigned long port, struct pattern_rank *rank);
