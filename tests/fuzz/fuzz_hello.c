/*
 * The first bytes of a connection, as a tool sends them: what is said of them is the same however they come in, and
 * when no more come; no byte outside of them is touched, and a name is one that the normaliser would give again.
 */
#include "fuzz.h"
#include "net/parse/hello.h"

#include <string.h>

static enum hello_state read_part(const uint8_t *data, size_t size, struct host *ret_host) {
	char *bytes = mem_copy(data, size); /* of exactly this size, for the sanitizer */
	enum hello_state state = hello_read(bytes, size, ret_host, NULL);

	free(bytes);
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct host host, again, part;
	enum hello_state whole = read_part(data, size, &host);

	if (whole == HELLO_NAME) {
		demand(host_parse(host.name, strlen(host.name), &again, NULL) == 0, "a name that is no host");
		demand(strcmp(host.name, again.name) == 0, "a name that has another spelling");
	}
	for (size_t i = 0; i < size; i += 1 + size / 256) {
		enum hello_state state = read_part(data, i, &part);

		if (state == HELLO_MORE) continue;
		demand(state == whole, "what is said depends on how the bytes come in");
		demand(state != HELLO_NAME || strcmp(part.name, host.name) == 0, "the name depends on how it comes in");
	}
	demand(whole != HELLO_MORE || size < LIMIT_HEARD, "there is no end to it");
	const enum hello_state ended = hello_read_whole((const char *)data, size, &part, NULL);
	demand(ended != HELLO_MORE, "the end says nothing");
	demand(whole == HELLO_MORE || ended == whole, "the end says something else");
	return 0;
}
