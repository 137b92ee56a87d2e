#include "git_index.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "calls/regular.h"

enum {
	INDEX_HEADER = 12,
	INDEX_EXTENSION = 8, /* name and size of one */
	INDEX_STAT = 40,     /* bytes of times, device … size at the head of an entry */
	INDEX_MODE_AT = 24,  /* within them */
	INDEX_FLAG_LONG = 0x4000,
	INDEX_FLAG_ASSUMED = 0x8000,
	INDEX_FLAG_SKIPPED = 0x4000, /* in the second two bytes of flags */
	INDEX_MODE_GITLINK = 0160000,
	INDEX_NAMES_MAX = 16 * 1024 * 1024, /* bytes of names that are kept: version 4 repeats long ones for nothing */
};

struct index_reader {
	const unsigned char *at, *end;
	uint32_t version;
	size_t hash_size;
	struct string name; /* of the entry before, which version 4 builds on */
	size_t kept;        /* bytes of names */
};

void git_index_finish(struct git_index *index) {
	strings_finish(&index->links);
	strings_finish(&index->assumed);
	strings_finish(&index->skipped);
	*index = (struct git_index){0};
}

static unsigned big_endian_16(const unsigned char *bytes) {
	return (unsigned)bytes[0] << 8 | bytes[1];
}

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

/* A conflict has several entries of one name, which follow each other; a split index has some without one. */
static bool keep_name(struct index_reader *reader, struct strings *names, size_t most) {
	const char *name = reader->name.data;
	if (reader->name.size == 0) return true;
	if (names->count > 0 && string_equal(names->items[names->count - 1], name)) return true;
	reader->kept += reader->name.size;
	if (names->count >= most || reader->kept > INDEX_NAMES_MAX) return false;
	strings_add(names, name);
	return true;
}

static bool keep_entry(struct index_reader *reader, uint32_t mode, unsigned flags, unsigned more_flags,
		       struct git_index *index) {
	if (mode == INDEX_MODE_GITLINK && !keep_name(reader, &index->links, GIT_GITLINKS_MAX)) return false;
	if ((flags & INDEX_FLAG_ASSUMED) && !keep_name(reader, &index->assumed, GIT_HIDDEN_MAX)) return false;
	return !(more_flags & INDEX_FLAG_SKIPPED) || keep_name(reader, &index->skipped, GIT_HIDDEN_MAX);
}

static bool read_name(struct index_reader *reader) {
	if (reader->version < 4)
		reader->name.size = 0;
	else if (!drop_suffix(reader))
		return false;
	size_t size = strnlen((const char *)reader->at, left(reader));
	if (size == left(reader) || reader->name.size + size >= PATH_MAX) return false;
	string_append_bytes(&reader->name, (const char *)reader->at, size);
	reader->at += size + 1;
	return true;
}

static bool read_entry(struct index_reader *reader, struct git_index *index) {
	const unsigned char *start = reader->at;
	size_t fixed = INDEX_STAT + reader->hash_size + 2;
	if (left(reader) < fixed + 2) return false;
	const unsigned flags = big_endian_16(start + fixed - 2);
	const bool is_long = reader->version >= 3 && (flags & INDEX_FLAG_LONG);
	const unsigned more_flags = is_long ? big_endian_16(start + fixed) : 0;
	reader->at += fixed + (is_long ? 2 : 0);
	if (!read_name(reader)) return false;
	if (reader->version < 4) { /* NULs up to a multiple of eight */
		size_t used = (size_t)(reader->at - start), padded = (used + 7) / 8 * 8;
		if (left(reader) < padded - used) return false;
		reader->at = start + padded;
	}
	return keep_entry(reader, big_endian(start + INDEX_MODE_AT), flags, more_flags, index);
}

/* A split index has most of its entries in another file. Behind the entries are extensions, each with its name, its
 * size and so many bytes, in any order, and a hash. */
static bool is_split(struct index_reader *reader) {
	while (left(reader) >= INDEX_EXTENSION + reader->hash_size) {
		if (memcmp(reader->at, "link", 4) == 0) return true;
		const size_t size = big_endian(reader->at + 4);
		if (size > left(reader) - INDEX_EXTENSION) return false;
		reader->at += INDEX_EXTENSION + size;
	}
	return false;
}

void git_index_parse(const char *bytes, size_t size, size_t hash_size, struct git_index *ret_index) {
	struct index_reader reader = {.at = (const unsigned char *)bytes, .hash_size = hash_size};
	*ret_index = (struct git_index){0};
	reader.end = reader.at + size;
	if (size < INDEX_HEADER || memcmp(bytes, "DIRC", 4) != 0) return;
	reader.version = big_endian(reader.at + 4);
	uint32_t count = big_endian(reader.at + 8);
	if (reader.version < 2 || reader.version > 4) return;
	reader.at += INDEX_HEADER;
	bool whole = true;
	for (uint32_t i = 0; whole && i < count; i++) whole = read_entry(&reader, ret_index);
	ret_index->whole = whole && !is_split(&reader);
	string_finish(&reader.name);
}

void git_index_read(const char *file, size_t hash_size, struct git_index *ret_index) {
	CLEANUP_FREE char *bytes = NULL;
	size_t size = 0;
	int r = regular_read(file, GIT_INDEX_SIZE_MAX, &bytes, &size, NULL);
	*ret_index = (struct git_index){.whole = r == -ENOENT || r == -ENOTDIR};
	if (r == 0) git_index_parse(bytes, size, hash_size, ret_index);
}
