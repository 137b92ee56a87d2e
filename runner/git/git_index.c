#include "git_index.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "calls/regular.h"

enum {
	INDEX_SIZE_MAX = 64 * 1024 * 1024,
	INDEX_HEADER = 12,
	INDEX_STAT = 40,    /* bytes of times, device … size at the head of an entry */
	INDEX_MODE_AT = 24, /* within them */
	INDEX_FLAG_LONG = 0x4000,
	INDEX_MODE_GITLINK = 0160000,
};

struct index_reader {
	const unsigned char *at, *end;
	uint32_t version;
	size_t hash_size;
	struct string name; /* of the entry before, which version 4 builds on */
};

static uint32_t big_endian(const unsigned char *bytes) {
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static size_t left(const struct index_reader *reader) {
	return (size_t)(reader->end - reader->at);
}

/* Version 4: how many bytes of the name before to leave out (the varint of pack files' offsets). */
static bool drop_suffix(struct index_reader *reader) {
	size_t value = 0;
	for (;;) {
		if (left(reader) == 0 || value > PATH_MAX) return false;
		unsigned char byte = *reader->at++;
		value = value << 7 | (byte & 0x7f);
		if (!(byte & 0x80)) break;
		value++;
	}
	if (value > reader->name.size) return false;
	reader->name.size -= value;
	return true;
}

static bool read_entry(struct index_reader *reader, struct strings *links) {
	const unsigned char *start = reader->at;
	size_t fixed = INDEX_STAT + reader->hash_size + 2;
	if (left(reader) < fixed + 2) return false;
	uint32_t mode = big_endian(start + INDEX_MODE_AT);
	bool is_long = reader->version >= 3 && (start[fixed - 2] << 8 & INDEX_FLAG_LONG);
	reader->at += fixed + (is_long ? 2 : 0);
	if (reader->version < 4)
		reader->name.size = 0;
	else if (!drop_suffix(reader))
		return false;
	size_t size = strnlen((const char *)reader->at, left(reader));
	if (size == left(reader) || reader->name.size + size >= PATH_MAX) return false;
	string_append_bytes(&reader->name, (const char *)reader->at, size);
	reader->at += size + 1;
	if (reader->version < 4) { /* NULs up to a multiple of eight */
		size_t used = (size_t)(reader->at - start), padded = (used + 7) / 8 * 8;
		if (left(reader) < padded - used) return false;
		reader->at = start + padded;
	}
	if (mode != INDEX_MODE_GITLINK) return true;
	if (links->count >= GIT_GITLINKS_MAX) return false;
	strings_add(links, reader->name.data);
	return true;
}

/* A split index has most of its entries in another file. */
static bool is_split(const struct index_reader *reader) {
	return left(reader) >= 4 && memcmp(reader->at, "link", 4) == 0;
}

bool git_index_links(const char *file, size_t hash_size, struct strings *links) {
	CLEANUP_FREE char *bytes = NULL;
	size_t size = 0;
	int r = regular_read(file, INDEX_SIZE_MAX, &bytes, &size, NULL);
	if (r < 0) return r == -ENOENT || r == -ENOTDIR;
	struct index_reader reader = {.at = (const unsigned char *)bytes, .hash_size = hash_size};
	reader.end = reader.at + size;
	if (size < INDEX_HEADER || memcmp(bytes, "DIRC", 4) != 0) return false;
	reader.version = big_endian(reader.at + 4);
	uint32_t count = big_endian(reader.at + 8);
	if (reader.version < 2 || reader.version > 4) return false;
	reader.at += INDEX_HEADER;
	bool whole = true;
	for (uint32_t i = 0; whole && i < count; i++) whole = read_entry(&reader, links);
	whole = whole && !is_split(&reader);
	string_finish(&reader.name);
	return whole;
}
