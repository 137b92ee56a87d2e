#include "port_range.h"

#include <errno.h>
#include <string.h>

#include "base/string.h"
#include "schema/host.h"

int port_range_parse(const char *text, struct port_range *ret_range, struct error *error) {
	const char *dash = strchr(text, '-');
	size_t first = dash ? (size_t)(dash - text) : strlen(text);
	int r = port_parse(text, first, &ret_range->first, error);
	ret_range->last = ret_range->first;
	if (r == 0 && dash) r = port_parse(dash + 1, strlen(dash + 1), &ret_range->last, error);
	if (r == 0 && ret_range->last < ret_range->first)
		return error_set(error, EINVAL, "the range of ports %u-%u is the wrong way round", ret_range->first,
				 ret_range->last);
	return r;
}

char *port_range_format(struct port_range range) {
	if (range.first == 0) return string_copy("");
	return range.first == range.last ? string_format(":%u", range.first)
					 : string_format(":%u-%u", range.first, range.last);
}

bool port_range_match(struct port_range range, unsigned long port, struct pattern_rank *rank) {
	rank->precision = range.first == 0 ? 0 : range.first == range.last ? 2 : 1;
	return range.first == 0 || (port >= range.first && port <= range.last);
}
