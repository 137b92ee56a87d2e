/*
 * Theory of operation. Git believes its index: the names in it are written to the work tree as they stand by `git
 * checkout .`, `git restore` and others, also ".git/hooks/post-checkout" and "../x", which it refuses where they come
 * in (verify_path() in git's read-cache.c). So such names are found here, and an index that git could read otherwise
 * than it is read here (lengths that don't fit, blocks that begin elsewhere, which git reads in parallel) is none that
 * is understood.
 */
#include "git_index.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "calls/regular.h"

enum {
	INDEX_HEADER = 12,
	INDEX_EXTENSION = 8, /* name and size of one */
	INDEX_STAT = 40,     /* bytes of times, device … size at the head of an entry */
	INDEX_MODE_AT = 24,  /* within them */
	INDEX_FLAG_LONG = 0x4000,
	INDEX_FLAG_ASSUMED = 0x8000,
	INDEX_FLAG_SKIPPED = 0x4000, /* in the second two bytes of flags */
	INDEX_LENGTH = 0xfff,        /* of the name, in the first two; a longer one has this */
	INDEX_MODE_GITLINK = 0160000,
	INDEX_BLOCK = 8,                    /* of IEOT: where it begins, and its entries */
	INDEX_NAMES_MAX = 16 * 1024 * 1024, /* bytes of names that are kept: version 4 repeats long ones for nothing */
};

struct index_reader {
	const unsigned char *start, *at, *end;
	uint32_t version;
	size_t hash_size;
	struct string name; /* of the entry before, which version 4 builds on */
	size_t kept;        /* bytes of names */
	uint32_t *places;   /* of each entry: twice where it begins, and one more if its name builds on none */
	size_t place_count;
};

void git_index_finish(struct git_index *index) {
	strings_finish(&index->links);
	strings_finish(&index->forged);
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

/* The modes that git gives an entry; a folder in a sparse index ends in a slash. */
static bool is_gits_mode(uint32_t mode) {
	static const uint32_t modes[] = {0100644, 0100755, S_IFLNK, S_IFDIR, INDEX_MODE_GITLINK};
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++)
		if (mode == modes[i]) return true;
	return false;
}

static bool is_gits_name(const char *name, size_t size) {
	static const char *const others[] = {"", ".", "..", ".git"};
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (size == strlen(others[i]) && strncasecmp(name, others[i], size) == 0) return false;
	return true;
}

static bool is_forged(const char *path, size_t size, uint32_t mode) {
	if (!is_gits_mode(mode)) return true;
	if (mode == S_IFDIR && size > 0 && path[size - 1] == '/') size--;
	for (const char *at = path, *end = path + size;; at++) {
		const size_t name = strcspn(at, "/"), most = (size_t)(end - at);
		if (!is_gits_name(at, name < most ? name : most)) return true;
		if (name >= most) return false;
		at += name;
	}
}

static bool keep_entry(struct index_reader *reader, uint32_t mode, unsigned flags, unsigned more_flags,
		       struct git_index *index) {
	const bool forged = reader->name.size > 0 && is_forged(reader->name.data, reader->name.size, mode);
	if (forged && !keep_name(reader, &index->forged, GIT_FORGED_MAX)) return false;
	if ((mode & S_IFMT) == INDEX_MODE_GITLINK && !keep_name(reader, &index->links, GIT_GITLINKS_MAX)) return false;
	if ((flags & INDEX_FLAG_ASSUMED) && !keep_name(reader, &index->assumed, GIT_HIDDEN_MAX)) return false;
	return !(more_flags & INDEX_FLAG_SKIPPED) || keep_name(reader, &index->skipped, GIT_HIDDEN_MAX);
}

/* The part of the name before that is kept is all there is of it yet. */
static void note_place(struct index_reader *reader, const unsigned char *start) {
	const uint32_t place = (uint32_t)(start - reader->start) * 2 + (reader->name.size == 0);
	reader->places = array_grow(reader->places, reader->place_count, sizeof *reader->places);
	reader->places[reader->place_count++] = place;
}

static bool read_name(struct index_reader *reader, const unsigned char *start, size_t length) {
	if (reader->version < 4)
		reader->name.size = 0;
	else if (!drop_suffix(reader))
		return false;
	size_t size = strnlen((const char *)reader->at, left(reader));
	if (size == left(reader) || reader->name.size + size >= PATH_MAX) return false;
	note_place(reader, start);
	string_append_bytes(&reader->name, (const char *)reader->at, size);
	reader->at += size + 1;
	return length < INDEX_LENGTH ? reader->name.size == length : reader->name.size >= INDEX_LENGTH;
}

static bool read_entry(struct index_reader *reader, struct git_index *index) {
	const unsigned char *start = reader->at;
	size_t fixed = INDEX_STAT + reader->hash_size + 2;
	if (left(reader) < fixed + 2) return false;
	const unsigned flags = big_endian_16(start + fixed - 2);
	const bool is_long = flags & INDEX_FLAG_LONG; /* git asks for no version */
	const unsigned more_flags = is_long ? big_endian_16(start + fixed) : 0;
	reader->at += fixed + (is_long ? 2 : 0);
	if (!read_name(reader, start, flags & INDEX_LENGTH)) return false;
	if (reader->version < 4) { /* NULs up to a multiple of eight */
		size_t used = (size_t)(reader->at - start), padded = (used + 7) / 8 * 8;
		if (left(reader) < padded - used) return false;
		reader->at = start + padded;
	}
	return keep_entry(reader, big_endian(start + INDEX_MODE_AT), flags, more_flags, index);
}

/* Blocks of entries that git reads beside each other: each has to begin where the one before ends. */
static bool blocks_fit(const struct index_reader *reader, const unsigned char *at, size_t size) {
	size_t entry = 0;
	if (size < 4 || (size - 4) % INDEX_BLOCK != 0) return false;
	for (size_t i = 4; i < size; i += INDEX_BLOCK) {
		if (entry >= reader->place_count) return false;
		if (reader->places[entry] != (uint64_t)big_endian(at + i) * 2 + 1) return false;
		entry += big_endian(at + i + 4);
	}
	return entry == reader->place_count;
}

/* A split index ("link") has most of its entries in another file. */
static bool extension_fits(const struct index_reader *reader, const unsigned char *name, size_t size, size_t entries) {
	const unsigned char *at = name + INDEX_EXTENSION;
	if (memcmp(name, "link", 4) == 0) return false;
	if (memcmp(name, "EOIE", 4) == 0) return size >= 4 && big_endian(at) == entries;
	return memcmp(name, "IEOT", 4) != 0 || blocks_fit(reader, at, size);
}

/* Behind the entries are extensions, each with its name, its size and so many bytes, in any order, and a hash. */
static bool extensions_fit(struct index_reader *reader) {
	const size_t entries = (size_t)(reader->at - reader->start);
	while (left(reader) >= INDEX_EXTENSION + reader->hash_size) {
		const size_t size = big_endian(reader->at + 4);
		if (size > left(reader) - INDEX_EXTENSION) return false;
		if (!extension_fits(reader, reader->at, size, entries)) return false;
		reader->at += INDEX_EXTENSION + size;
	}
	return true;
}

void git_index_parse(const char *bytes, size_t size, size_t hash_size, struct git_index *ret_index) {
	struct index_reader reader = {.start = (const unsigned char *)bytes, .hash_size = hash_size};
	*ret_index = (struct git_index){0};
	reader.at = reader.start;
	reader.end = reader.start + size;
	if (size < INDEX_HEADER || memcmp(bytes, "DIRC", 4) != 0) return;
	reader.version = big_endian(reader.at + 4);
	uint32_t count = big_endian(reader.at + 8);
	if (reader.version < 2 || reader.version > 4) return;
	reader.at += INDEX_HEADER;
	bool whole = true;
	for (uint32_t i = 0; whole && i < count; i++) whole = read_entry(&reader, ret_index);
	ret_index->whole = whole && extensions_fit(&reader);
	string_finish(&reader.name);
	free(reader.places);
}

void git_index_read(const char *file, size_t hash_size, struct git_index *ret_index) {
	CLEANUP_FREE char *bytes = NULL;
	size_t size = 0;
	int r = regular_read(file, GIT_INDEX_SIZE_MAX, &bytes, &size, NULL);
	*ret_index = (struct git_index){.whole = r == -ENOENT || r == -ENOTDIR};
	if (r == 0) git_index_parse(bytes, size, hash_size, ret_index);
}
