/*
 * Theory of operation. Whatever makes, removes or renames a name in a folder sets that folder's time of last change
 * (ctime, inode(7)) to the kernel's clock, and nothing can set it to another time. Where a folder's is what it was, the
 * folder needs not be read: of 300,000 files in 30,000 folders the walk looks at the folders alone.
 *
 * The clock ticks some hundred times a second, so a name that is made in the same tick in which the folder was read
 * leaves the time as it is; hence KNOWN_SETTLED_MS. A folder whose time is in the future, for the clock was set back,
 * isn't settled either.
 *
 * The file: a head, then a record for each folder, behind that of the folder that it is in.
 */
#include "known.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "calls/regular.h"

enum {
	KNOWN_LEAST = 20 * 1000, /* entries: fewer are looked through in some 20 ms */
	KNOWN_NEWS = 16,         /* the file is made anew when one entry of so many was read */
	KNOWN_NEAR = 64,         /* folders that are looked at for one of that name */
};

struct head {
	char magic[8];
	char patterns[HASH_HEX_SIZE];
};

/* Then the name, the matches' and the sockets', each with a NUL. */
struct record {
	uint64_t device, inode;
	int64_t seconds;
	uint32_t nanoseconds, entries, match_count, socket_count;
	uint32_t above; /* the number of the record of the folder that it is in */
	uint32_t unused;
};

struct known {
	char *bytes; /* what the names are borrowed from */
	struct known_folder *folders;
	size_t count;
	const struct known_folder *trees; /* the first */
	struct string fresh;
	uint32_t fresh_count;
	size_t entries, read; /* of `fresh`; of them, those that were read */
	dev_t device;         /* the last that was looked at: */
	bool trusted;
};

static void begin(struct known *known, const struct strings *patterns) {
	CLEANUP_STRING struct string all = {0};
	struct head head = {.magic = "sbxfold2"};
	for (size_t i = 0; i < patterns->count; i++)
		string_append_bytes(&all, patterns->items[i], strlen(patterns->items[i]) + 1);
	hash_hex(head.patterns, all.data ? all.data : "", all.size);
	string_append_bytes(&known->fresh, (const char *)&head, sizeof head);
}

void known_free(struct known *known) {
	if (!known) return;
	free(known->bytes);
	free(known->folders);
	string_finish(&known->fresh);
	free(known);
}

/* Reading */

struct reading {
	const char *at, *end;
};

static bool take_bytes(struct reading *reading, void *to, size_t size) {
	if ((size_t)(reading->end - reading->at) < size) return false;
	memcpy(to, reading->at, size);
	reading->at += size;
	return true;
}

/* A name in a folder, or the path of a tree. */
static const char *take_name(struct reading *reading, bool tree) {
	const char *name = reading->at;
	const char *end = memchr(name, '\0', (size_t)(reading->end - name));
	const bool good = end && end > name && (tree ? *name == '/' : !strchr(name, '/') && !path_is_dots(name));
	reading->at = good ? end + 1 : reading->end;
	return good ? name : NULL;
}

static bool take_names(struct reading *reading, uint32_t count, const char **ret_names) {
	*ret_names = reading->at;
	for (uint32_t i = 0; i < count; i++)
		if (!take_name(reading, false)) return false;
	return true;
}

static bool take_record(struct reading *reading, size_t number, struct known_folder *folder, size_t *ret_above) {
	struct record record;
	if (!take_bytes(reading, &record, sizeof record)) return false;
	const bool tree = record.above == KNOWN_TREE;
	*folder = (struct known_folder){.match_count = record.match_count,
					.socket_count = record.socket_count,
					.entries = record.entries,
					.device = record.device,
					.inode = record.inode,
					.seconds = record.seconds,
					.nanoseconds = record.nanoseconds};
	*ret_above = tree ? SIZE_MAX : record.above;
	folder->name = take_name(reading, tree);
	return (tree || record.above < number) && folder->name &&
	       take_names(reading, folder->match_count, &folder->matches) &&
	       take_names(reading, folder->socket_count, &folder->sockets);
}

/* Only when all are read do they no longer move in memory. The last one is linked first, so that those of a folder are
 * in the order of the file. */
static void link_folders(struct known *known, const size_t *above) {
	for (size_t i = above ? known->count : 0; i-- > 0;) {
		struct known_folder *folder = &known->folders[i];
		const struct known_folder **first = above[i] == SIZE_MAX ? &known->trees : &known->folders[above[i]].in;
		folder->next = *first;
		*first = folder;
	}
}

static bool take_records(struct known *known, struct reading *reading) {
	size_t *above = NULL;
	bool good = true;
	while (good && reading->at < reading->end) {
		known->folders = array_grow(known->folders, known->count, sizeof *known->folders);
		above = array_grow(above, known->count, sizeof *above);
		good = take_record(reading, known->count, &known->folders[known->count], &above[known->count]);
		known->count += good;
	}
	if (good) link_folders(known, above);
	free(above);
	return good;
}

static struct known *known_new(const struct strings *patterns) {
	struct known *known = mem_new(struct known);
	begin(known, patterns);
	return known;
}

/* The bytes are taken over. */
static int take_file(struct known *known, char *bytes, size_t size) {
	struct reading reading = {bytes, bytes + size};
	struct head head;
	known->bytes = bytes;
	const bool ours =
		take_bytes(&reading, &head, sizeof head) && memcmp(&head, known->fresh.data, sizeof head) == 0;
	if (ours && take_records(known, &reading)) return 0;
	free(STEAL(known->folders));
	known->count = 0;
	known->trees = NULL;
	return -EINVAL;
}

int known_read(const char *bytes, size_t size, const struct strings *patterns, struct known **ret_known) {
	CLEANUP_KNOWN struct known *known = known_new(patterns);
	int r = take_file(known, string_copy_bytes(bytes, size), size);
	if (r == 0) *ret_known = STEAL(known);
	return r;
}

struct known *known_load(const char *path, const struct strings *patterns) {
	struct known *known = known_new(patterns);
	char *bytes = NULL;
	size_t size = 0;
	if (regular_read(path, KNOWN_FILE, &bytes, &size, NULL) == 0) take_file(known, bytes, size);
	return known;
}

/* Finding */

static const struct known_folder *find_in(const struct known_folder *folder, const char *name, size_t size) {
	const struct known_folder *at = folder->in;
	while (at && (strncmp(at->name, name, size) != 0 || at->name[size] != '\0')) at = at->next;
	return at;
}

const struct known_folder *known_tree(const struct known *known, const char *path) {
	const struct known_folder *folder = known->trees;
	while (folder && !path_is_below(path, folder->name)) folder = folder->next;
	if (!folder) return NULL;
	for (const char *rest = path + strlen(folder->name); folder && *rest;) {
		rest += strspn(rest, "/");
		const size_t size = strcspn(rest, "/");
		if (size > 0) folder = find_in(folder, rest, size);
		rest += size;
	}
	return folder;
}

/* They come in the order of the file system, which is nearly always that of the last time. */
const struct known_folder *known_child(const struct known_folder *folder, const char *name,
				       const struct known_folder **hint) {
	const struct known_folder *at = *hint ? (*hint)->next : folder->in;
	for (int i = 0; i < KNOWN_NEAR && folder->in; i++, at = at->next) {
		if (!at) at = folder->in;
		if (!string_equal(at->name, name)) continue;
		*hint = at;
		return at;
	}
	return NULL;
}

bool known_is_same(const struct known_folder *folder, const struct statx *status) {
	return folder->seconds != 0 && S_ISDIR(status->stx_mode) && folder->inode == status->stx_ino &&
	       folder->device == makedev(status->stx_dev_major, status->stx_dev_minor) &&
	       folder->seconds == status->stx_ctime.tv_sec && folder->nanoseconds == status->stx_ctime.tv_nsec;
}

/* Keeping */

static bool keeps_times(int fd) {
	static const long trusted[] = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, F2FS_SUPER_MAGIC,
				       XFS_SUPER_MAGIC};
	struct statfs status;
	if (fstatfs(fd, &status) < 0) return false;
	for (size_t i = 0; i < ARRAY_LENGTH(trusted); i++)
		if (status.f_type == trusted[i]) return true;
	return false;
}

static bool is_trusted(struct known *known, int fd, dev_t device) {
	if (known->device != device) {
		known->device = device;
		known->trusted = keeps_times(fd);
	}
	return known->trusted;
}

static int64_t passed_ms(const struct timespec *since, const struct timespec *until) {
	return (int64_t)(until->tv_sec - since->tv_sec) * 1000 + (until->tv_nsec - since->tv_nsec) / 1000000;
}

/* By the clock that it is dated by (inode_set_ctime_current in fs/inode.c), read first: however long the rest takes,
 * what comes after the look is dated by a later tick. */
int known_see(int fd, struct known_seen *ret_seen) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (fstat(fd, &ret_seen->status) < 0) return -errno;
	ret_seen->settled = passed_ms(&ret_seen->status.st_ctim, &now) > KNOWN_SETTLED_MS;
	return 0;
}

static void append_name(struct known *known, const char *name) {
	string_append_bytes(&known->fresh, name, strlen(name) + 1);
}

/* What gets too large isn't saved. */
static uint32_t append(struct known *known, const struct record *record, const char *name) {
	if (known->fresh.size <= KNOWN_FILE) {
		string_append_bytes(&known->fresh, (const char *)record, sizeof *record);
		append_name(known, name);
	}
	known->entries += record->entries;
	return known->fresh_count++;
}

uint32_t known_add(struct known *known, uint32_t above, const char *name, int fd, const struct known_seen *seen,
		   const struct known_found *found) {
	struct record record = {.above = above};
	if (found) {
		const struct stat *status = &seen->status;
		record.entries = found->entries;
		known->read += found->entries;
		record.match_count = (uint32_t)found->matches.count;
		record.socket_count = (uint32_t)found->sockets.count;
		record.device = status->st_dev;
		record.inode = status->st_ino;
		if (is_trusted(known, fd, status->st_dev) && seen->settled) {
			record.seconds = status->st_ctim.tv_sec;
			record.nanoseconds = (uint32_t)status->st_ctim.tv_nsec;
		}
	}
	const uint32_t number = append(known, &record, name);
	for (size_t i = 0; found && i < found->matches.count; i++) append_name(known, found->matches.items[i]);
	for (size_t i = 0; found && i < found->sockets.count; i++) append_name(known, found->sockets.items[i]);
	return number;
}

uint32_t known_keep(struct known *known, uint32_t above, const char *name, const struct known_folder *folder) {
	const struct record record = {.above = above,
				      .device = folder->device,
				      .inode = folder->inode,
				      .seconds = folder->seconds,
				      .nanoseconds = folder->nanoseconds,
				      .entries = folder->entries,
				      .match_count = folder->match_count,
				      .socket_count = folder->socket_count};
	const char *found = folder->matches;
	const uint32_t number = append(known, &record, name);
	for (uint32_t i = 0; i < folder->match_count + folder->socket_count; i++, found += strlen(found) + 1)
		append_name(known, found);
	return number;
}

int known_save(struct known *known, const char *path, struct error *error) {
	CLEANUP_FREE char *folder = path_parent(path);
	const bool small = known->entries<KNOWN_LEAST, large = known->fresh.size> KNOWN_FILE;
	if (small || large || known->read < known->entries / KNOWN_NEWS) return 0;
	int r = file_make_directories(folder, error);
	return r < 0 ? r : file_write(path, known->fresh.data, known->fresh.size, 0600, error);
}
