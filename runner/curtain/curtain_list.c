#include "curtain_list.h"

#include <dirent.h>
#include <errno.h>

#include "schema/limits.h"

struct listing {
	struct listing *next;
	uint64_t handle;
	size_t bytes;
	struct host_names names;
};

struct listings {
	struct listing *first;
	uint64_t last_handle;
	size_t bytes;
};

struct listings *listings_new(void) {
	return mem_new(struct listings);
}

void listings_free(struct listings *listings) {
	if (!listings) return;
	while (listings->first) listings_close(listings, listings->first->handle);
	free(listings);
}

uint64_t listings_open(struct listings *listings, struct host_names *names) {
	const size_t bytes = sizeof(struct listing) + names->text.room + names->count * sizeof *names->starts;
	if (bytes > LIMIT_LISTINGS - listings->bytes) return 0;
	struct listing *listing = mem_new(struct listing);
	*listing = (struct listing){
		.next = listings->first, .handle = ++listings->last_handle, .bytes = bytes, .names = *names};
	*names = (struct host_names){0};
	listings->first = listing;
	listings->bytes += bytes;
	return listing->handle;
}

void listings_close(struct listings *listings, uint64_t handle) {
	struct listing **at = &listings->first;
	while (*at && (*at)->handle != handle) at = &(*at)->next;
	struct listing *listing = *at;
	if (!listing) return;
	*at = listing->next;
	listings->bytes -= listing->bytes;
	host_names_finish(&listing->names);
	free(listing);
}

/* What isn't a folder, a file or a link is told as a file, as it is when it is looked up. */
static unsigned char told_type(unsigned char type) {
	return type == DT_DIR || type == DT_LNK || type == DT_UNKNOWN ? type : DT_REG;
}

int listings_read(const struct listings *listings, uint64_t handle, uint64_t offset, listing_visit *visit,
		  void *argument) {
	const struct listing *listing = listings->first;
	while (listing && listing->handle != handle) listing = listing->next;
	if (!listing) return -EBADF;
	for (; offset < listing->names.count; offset++) {
		const char *entry = listing->names.text.data + listing->names.starts[offset];
		if (!visit(argument, entry + 1, told_type((unsigned char)entry[0]), offset + 1)) break;
	}
	return 0;
}
