#include "schema/publication.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "schema/host.h"

int publication_parse(const char *text, struct publication *ret_publication, struct error *error) {
	const char *colon = strchr(text, ':');
	const size_t size = colon ? (size_t)(colon - text) : strlen(text);
	struct publication publication = {0};
	int r = port_parse(text, size, &publication.port, error);
	if (r == 0 && !colon) publication.host_port = publication.port;
	if (r == 0 && colon && strcmp(colon + 1, "0") != 0)
		r = port_parse(colon + 1, strlen(colon + 1), &publication.host_port, error);
	if (r < 0) {
		CLEANUP_FREE char *shown = text_visible_cut(text, 40);
		return error_set(error, EINVAL,
				 "'%s' is no PORT or PORT:HOSTPORT; expected numbers from 1 to 65535, such as 3000 or "
				 "3000:8080 (PORT:0: any free port of the host)",
				 shown);
	}
	*ret_publication = publication;
	return 0;
}

void publication_format(const struct publication *publication, char ret_text[PUBLICATION_TEXT_SIZE]) {
	snprintf(ret_text, PUBLICATION_TEXT_SIZE, "%u:%u", publication->port, publication->host_port);
}
