/*
 * Theory of operation.
 *
 * An image is what the medium has of a file: the bytes of the last sync that succeeded, and in order what was written
 * or cut since. A sync that fails drops these for good, though the file itself still shows them: that is what Linux
 * does (a page whose write-back failed is marked clean; "PostgreSQL's fsync() surprise", LWN 752063), and why nothing
 * may be believed after one. When the power goes each pending change is kept, lost, or kept in some of its sectors;
 * file systems don't keep the order of unsynced writes. A file that was never synced may be empty; a name that was
 * removed may be back, unless the folder was synced.
 */
#include "disk.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"

enum { SECTOR = 512, FILE_SIZE_MAX = 64 * 1024 * 1024 };

struct change {
	STAILQ_ENTRY(change) link;
	size_t offset, size;
	char *bytes; /* NULL: cut to `offset` */
};

struct disk_image {
	LIST_ENTRY(disk_image) link;
	char *path;
	char *bytes;
	size_t size;
	bool removed;
	STAILQ_HEAD(, change) changes;
};

struct disk_file {
	sqlite3_file base;
	struct disk *disk;
	struct disk_image *image; /* NULL: temporary */
	sqlite3_file *real;       /* behind this */
};

static sqlite3_vfs *real_vfs(const sqlite3_vfs *vfs) {
	(void)vfs;
	return sqlite3_vfs_find("unix");
}

/* Images */

static struct disk_image *image_find(struct disk *disk, const char *path) {
	struct disk_image *image;
	LIST_FOREACH(image, &disk->images, link) {
		if (string_equal(image->path, path)) return image;
	}
	return NULL;
}

static struct disk_image *image_of(struct disk *disk, const char *path) {
	struct disk_image *image = image_find(disk, path);
	if (image) return image;
	image = mem_new(struct disk_image);
	image->path = string_copy(path);
	STAILQ_INIT(&image->changes);
	/* What lies there when it is first opened has been there for long. */
	if (file_read(path, FILE_SIZE_MAX, &image->bytes, &image->size, NULL) < 0) image->size = 0;
	LIST_INSERT_HEAD(&disk->images, image, link);
	return image;
}

static void image_note(struct disk_image *image, size_t offset, const void *bytes, size_t size) {
	if (!image) return;
	struct change *change = mem_new(struct change);
	*change = (struct change){.offset = offset, .size = size, .bytes = bytes ? mem_copy(bytes, size) : NULL};
	STAILQ_INSERT_TAIL(&image->changes, change, link);
}

static void image_resize(struct disk_image *image, size_t size) {
	image->bytes = mem_resize(image->bytes, size, 1);
	if (size > image->size) memset(image->bytes + image->size, 0, size - image->size);
	image->size = size;
}

static void image_apply(struct disk_image *image, const struct change *change) {
	if (!change->bytes) {
		image_resize(image, change->offset);
		return;
	}
	if (change->offset + change->size > image->size) image_resize(image, change->offset + change->size);
	memcpy(image->bytes + change->offset, change->bytes, change->size);
}

static struct change *take_change(struct disk_image *image) {
	struct change *change = STAILQ_FIRST(&image->changes);
	if (change) STAILQ_REMOVE_HEAD(&image->changes, link);
	return change;
}

static void change_free(struct change *change) {
	free(change->bytes);
	free(change);
}

static void image_settle(struct disk_image *image, bool synced) {
	for (struct change *change; image && (change = take_change(image));) {
		if (synced) image_apply(image, change);
		change_free(change);
	}
}

/* Some of its sectors. */
static void image_tear(struct disk_image *image, const struct change *change, unsigned *seed) {
	for (size_t at = 0; change->bytes && at < change->size;) {
		size_t size = SECTOR - (change->offset + at) % SECTOR;
		if (size > change->size - at) size = change->size - at;
		const struct change part = {.offset = change->offset + at, .size = size, .bytes = change->bytes + at};
		if (rand_r(seed) % 2 == 0) image_apply(image, &part);
		at += size;
	}
}

static void image_lose_power(struct disk_image *image, unsigned *seed) {
	for (struct change *change; (change = take_change(image));) {
		switch (rand_r(seed) % 3) {
		case 0:
			break;
		case 1:
			image_apply(image, change);
			break;
		default:
			image_tear(image, change, seed);
			break;
		}
		change_free(change);
	}
	if (image->removed && rand_r(seed) % 2 == 0)
		unlink(image->path);
	else if (file_write(image->path, image->bytes ? image->bytes : "", image->size, 0600, NULL) < 0)
		abort();
}

void disk_cut_power(struct disk *disk) {
	struct disk_image *image;
	LIST_FOREACH(image, &disk->images, link) {
		image_lose_power(image, &disk->seed);
	}
}

/* Calls */

/* Does this call fail? */
static bool strikes(struct disk *disk, enum disk_call call) {
	if (!(disk->calls & call)) return false;
	long number = ++disk->count;
	switch (disk->fault) {
	case DISK_SOUND:
		return false;
	case DISK_FAILS:
		return number == disk->at;
	case DISK_BREAKS:
		return number >= disk->at;
	case DISK_DIES:
		if (number == disk->at) _exit(DISK_ENDED);
		return false;
	case DISK_LOSES_POWER:
		if (number != disk->at) return false;
		disk_cut_power(disk);
		_exit(DISK_ENDED);
	}
	return false;
}

static struct disk_file *of(sqlite3_file *file) {
	return (struct disk_file *)file;
}

#define REAL(file) (of(file)->real)

static int do_close(sqlite3_file *file) {
	return REAL(file)->pMethods ? REAL(file)->pMethods->xClose(REAL(file)) : SQLITE_OK;
}

static int do_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
	if (strikes(of(file)->disk, DISK_READ)) return SQLITE_IOERR_READ;
	return REAL(file)->pMethods->xRead(REAL(file), bytes, size, offset);
}

static int do_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
	struct disk *disk = of(file)->disk;
	/* Half of it is there already when the end comes. */
	if (disk->fault == DISK_DIES && (disk->calls & DISK_WRITE) && disk->count + 1 == disk->at)
		REAL(file)->pMethods->xWrite(REAL(file), bytes, size / 2, offset);
	if (strikes(disk, DISK_WRITE)) return disk->code == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	image_note(of(file)->image, (size_t)offset, bytes, (size_t)size);
	return REAL(file)->pMethods->xWrite(REAL(file), bytes, size, offset);
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size) {
	if (strikes(of(file)->disk, DISK_TRUNCATE)) return SQLITE_IOERR_TRUNCATE;
	image_note(of(file)->image, (size_t)size, NULL, 0);
	return REAL(file)->pMethods->xTruncate(REAL(file), size);
}

static int do_sync(sqlite3_file *file, int flags) {
	if (strikes(of(file)->disk, DISK_SYNC)) {
		image_settle(of(file)->image, false);
		return SQLITE_IOERR_FSYNC;
	}
	image_settle(of(file)->image, true);
	return REAL(file)->pMethods->xSync(REAL(file), flags);
}

static int do_size(sqlite3_file *file, sqlite3_int64 *ret_size) {
	return REAL(file)->pMethods->xFileSize(REAL(file), ret_size);
}

static int do_lock(sqlite3_file *file, int level) {
	if (strikes(of(file)->disk, DISK_LOCK)) return SQLITE_IOERR_LOCK;
	return REAL(file)->pMethods->xLock(REAL(file), level);
}

static int do_unlock(sqlite3_file *file, int level) {
	return REAL(file)->pMethods->xUnlock(REAL(file), level);
}

static int do_check_lock(sqlite3_file *file, int *ret_locked) {
	return REAL(file)->pMethods->xCheckReservedLock(REAL(file), ret_locked);
}

static int do_control(sqlite3_file *file, int operation, void *argument) {
	return REAL(file)->pMethods->xFileControl(REAL(file), operation, argument);
}

static int do_sector_size(sqlite3_file *file) {
	(void)file;
	return SECTOR;
}

/* None: a write may be torn, and one file's may tear another's page no more than a disk's. */
static int do_characteristics(sqlite3_file *file) {
	(void)file;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* Without the methods for shared memory: the store holds its database exclusively, so the index of its log is in its
 * own memory. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = do_close,
	.xRead = do_read,
	.xWrite = do_write,
	.xTruncate = do_truncate,
	.xSync = do_sync,
	.xFileSize = do_size,
	.xLock = do_lock,
	.xUnlock = do_unlock,
	.xCheckReservedLock = do_check_lock,
	.xFileControl = do_control,
	.xSectorSize = do_sector_size,
	.xDeviceCharacteristics = do_characteristics,
};

static int do_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags) {
	struct disk *disk = vfs->pAppData;
	struct disk_file *ours = of(file);
	*ours = (struct disk_file){.disk = disk, .real = (sqlite3_file *)(ours + 1)};
	if (strikes(disk, DISK_OPEN)) return SQLITE_CANTOPEN;
	if (path) ours->image = image_of(disk, path);
	/* A name that was removed and is made anew may have the old bytes behind it until it is synced. */
	if (ours->image && ours->image->removed) image_note(ours->image, 0, NULL, 0);
	if (ours->image) ours->image->removed = false;
	int r = real_vfs(vfs)->xOpen(real_vfs(vfs), path, ours->real, flags, ret_flags);
	if (r == SQLITE_OK) ours->base.pMethods = &methods;
	return r;
}

static int do_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
	struct disk *disk = vfs->pAppData;
	if (strikes(disk, DISK_DELETE)) return SQLITE_IOERR_DELETE;
	int r = real_vfs(vfs)->xDelete(real_vfs(vfs), path, sync_folder);
	struct disk_image *image = image_find(disk, path);
	if (r != SQLITE_OK || !image) return r;
	image->removed = true;
	if (sync_folder) {
		LIST_REMOVE(image, link);
		image_settle(image, false);
	}
	return r;
}

static int do_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret_yes) {
	return real_vfs(vfs)->xAccess(real_vfs(vfs), path, flags, ret_yes);
}

static int do_full_path(sqlite3_vfs *vfs, const char *path, int size, char *ret_path) {
	return real_vfs(vfs)->xFullPathname(real_vfs(vfs), path, size, ret_path);
}

static int do_random(sqlite3_vfs *vfs, int size, char *bytes) {
	return real_vfs(vfs)->xRandomness(real_vfs(vfs), size, bytes);
}

static int do_sleep(sqlite3_vfs *vfs, int microseconds) {
	return real_vfs(vfs)->xSleep(real_vfs(vfs), microseconds);
}

static int do_time(sqlite3_vfs *vfs, sqlite3_int64 *ret_time) {
	return real_vfs(vfs)->xCurrentTimeInt64(real_vfs(vfs), ret_time);
}

static int do_last_error(sqlite3_vfs *vfs, int size, char *text) {
	return real_vfs(vfs)->xGetLastError(real_vfs(vfs), size, text);
}

void disk_install(struct disk *disk) {
	static sqlite3_vfs vfs = {
		.iVersion = 2,
		.zName = "disk",
		.xOpen = do_open,
		.xDelete = do_delete,
		.xAccess = do_access,
		.xFullPathname = do_full_path,
		.xRandomness = do_random,
		.xSleep = do_sleep,
		.xGetLastError = do_last_error,
		.xCurrentTimeInt64 = do_time,
	};
	const sqlite3_vfs *real = real_vfs(NULL);
	vfs.szOsFile = (int)sizeof(struct disk_file) + real->szOsFile;
	vfs.mxPathname = real->mxPathname;
	vfs.pAppData = disk;
	LIST_INIT(&disk->images);
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) abort();
}
