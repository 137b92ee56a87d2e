#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "call_table.h"
#include "promptly.h"

enum {
	CALL_LINE_MAX = 256, /* /proc/TID/syscall: nine numbers of at most 18 characters */
	CALL_PROC_NAME = 32,
	CALL_NAPS = 10, /* for a thread that is on its way to rest, */
	CALL_NAP_US = 50,
};

static uint64_t argument(const struct call_raw *raw, unsigned char at) {
	return raw->arguments[at - 1];
}

/* Up to `size` bytes. A read never spans pages: process_vm_readv(2) promises no part of an element. */
static size_t read_memory(pid_t thread, uint64_t address, void *bytes, size_t size) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), rest = page - address % page;
	const struct iovec local = {.iov_base = bytes, .iov_len = size < rest ? size : rest};
	const struct iovec remote = {.iov_base = (void *)(uintptr_t)address, // NOLINT(performance-no-int-to-ptr)
				     .iov_len = local.iov_len};
	ssize_t got = process_vm_readv(thread, &local, 1, &remote, 1, 0);
	return got > 0 ? (size_t)got : 0;
}

static bool read_exactly(pid_t thread, uint64_t address, void *bytes, size_t size) {
	size_t done = 0;
	while (done < size) {
		size_t got = read_memory(thread, address + done, (char *)bytes + done, size - done);
		if (got == 0) return false;
		done += got;
	}
	return true;
}

/* What a call fails with whose argument could not be read. Memory that we can't read and the kernel can is the tool's
 * choice (memfd_secret(2), prctl(2)'s PR_SET_DUMPABLE). */
static int unread(void) {
	return errno == EFAULT ? EFAULT : EACCES;
}

/* 0, or what a call with that path fails with. */
static int read_text(pid_t thread, uint64_t address, char text[PATH_MAX]) {
	size_t done = 0;
	while (done < PATH_MAX) {
		size_t got = read_memory(thread, address + done, text + done, PATH_MAX - done);
		if (got == 0) return unread();
		if (memchr(text + done, '\0', got)) return 0;
		done += got;
	}
	return ENAMETOOLONG;
}

/* What the kernel calls a folder or file of the sandbox: the link's text, which nobody follows. */
static bool read_link(pid_t thread, const char *name, char text[PATH_MAX]) {
	char link[2 * CALL_PROC_NAME];
	snprintf(link, sizeof link, "/proc/%d/%s", thread, name);
	ssize_t size = readlink(link, text, PATH_MAX - 1);
	if (size <= 0 || text[0] != '/') return false; /* "pipe:[1]" is no place */
	text[size] = '\0';
	return true;
}

static bool read_descriptor(pid_t thread, int fd, char text[PATH_MAX]) {
	char name[CALL_PROC_NAME];
	if (fd == AT_FDCWD) return read_link(thread, "cwd", text);
	if (fd < 0) return false;
	snprintf(name, sizeof name, "fd/%d", fd);
	return read_link(thread, name, text);
}

/* sun_path needs no NUL (unix(7)). Empty: it names no path. */
static int read_address(pid_t thread, uint64_t address, uint64_t length, char text[PATH_MAX]) {
	struct sockaddr_un name = {0};
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	const size_t size = (uint32_t)length < sizeof name ? (uint32_t)length : sizeof name;
	if (size <= before) return 0;
	if (!read_exactly(thread, address, &name, size)) return unread();
	if (name.sun_family != AF_UNIX || name.sun_path[0] == '\0') return 0;
	memcpy(text, name.sun_path, size - before);
	text[size - before] = '\0';
	return 0;
}

static char *join(pid_t thread, int fd, const char *way) {
	char folder[PATH_MAX];
	char *result = NULL;
	const bool relative = way[0] != '/';
	if (relative && !read_descriptor(thread, fd, folder)) return NULL;
	path_normalise(relative ? folder : NULL, way[0] ? way : ".", &result, NULL);
	return result;
}

static int read_way(pid_t thread, const struct call_raw *raw, const struct call_shape *shape, size_t which,
		    struct call *call) {
	char text[PATH_MAX];
	const unsigned char folder = shape->paths[which].folder, path = shape->paths[which].path;
	if (!folder && !path) return 0;
	const uint64_t pointer = path ? argument(raw, path) : 0;
	int code = 0;
	text[0] = '\0';
	if (shape->form == CALL_ADDRESS)
		code = read_address(thread, pointer, argument(raw, path + 1), text);
	else if (pointer || !folder || shape->text)
		code = read_text(thread, pointer, text);
	if (code != 0) return code;
	if (text[0] == '\0' && !folder) return 0; /* ENOENT, or an address that is no path */
	call->folders[which] = folder ? (int)argument(raw, folder) : AT_FDCWD;
	call->ways[which] = string_copy(text);
	return 0;
}

static void apply_open_flags(struct call *call, uint64_t flags) {
	const uint64_t how = flags & O_ACCMODE;
	call->quiet = flags & O_PATH;
	call->straight = flags & O_NOFOLLOW;
	if (call->quiet) return; /* the others are ignored then */
	call->listing = (flags & O_DIRECTORY) && !(flags & (O_TMPFILE & ~O_DIRECTORY));
	call->exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	call->nameless = (flags & O_TMPFILE) == O_TMPFILE;
	call->create = (flags & O_CREAT) || call->nameless;
	call->write = how != O_RDONLY || (flags & O_TRUNC) || call->nameless;
}

static void apply_flags(const struct call_raw *raw, const struct call_shape *shape, struct call *call) {
	switch (shape->flags) {
	case CALL_FLAGS_NONE:
		break;
	case CALL_FLAGS_AT:
		call->straight = argument(raw, shape->flags_at) & AT_SYMLINK_NOFOLLOW;
		break;
	case CALL_FLAGS_OPEN:
		apply_open_flags(call, argument(raw, shape->flags_at));
		break;
	case CALL_FLAGS_CREAT:
		apply_open_flags(call, O_CREAT | O_WRONLY | O_TRUNC);
		break;
	case CALL_FLAGS_ACCESS:
		call->write = argument(raw, shape->flags_at) & W_OK;
		break;
	case CALL_FLAGS_LINK:
		call->follows = argument(raw, shape->flags_at) & AT_SYMLINK_FOLLOW;
		break;
	case CALL_FLAGS_RENAME:
		if (argument(raw, shape->flags_at) & RENAME_EXCHANGE) call->makes[0] = call->removes[1] = true;
		call->exclusive = argument(raw, shape->flags_at) & RENAME_NOREPLACE;
		break;
	}
}

/* It is read before the path, as the kernel does. */
static int read_link_text(pid_t thread, const struct call_raw *raw, const struct call_shape *shape, struct call *call) {
	char text[PATH_MAX];
	int code = shape->text ? read_text(thread, argument(raw, shape->text), text) : 0;
	if (shape->text && code == 0) call->text = string_copy(text);
	return code;
}

/* mknod(2) makes a regular file by a mode without a type, too. */
static bool makes_special(const struct call_raw *raw, const struct call_shape *shape) {
	if (shape->class != CALL_NAMES) return false;
	const mode_t type = shape->mode_at ? (mode_t)argument(raw, shape->mode_at) & S_IFMT : 0;
	return shape->form == CALL_ADDRESS || (type != 0 && type != S_IFREG);
}

void call_read_ways(pid_t thread, const struct call_raw *raw, struct call *ret_call) {
	const struct call_shape *shape = call_shape_of(raw->number);
	*ret_call = (struct call){.class = CALL_OTHER};
	if (!shape) return;
	ret_call->class = shape->class;
	ret_call->name = shape->name;
	ret_call->brings = shape->brings;
	ret_call->straight = shape->straight;
	ret_call->set_id =
		shape->class == CALL_CHANGE && shape->mode_at && (argument(raw, shape->mode_at) & CALL_SET_ID);
	ret_call->special = makes_special(raw, shape);
	for (size_t i = 0; i < CALL_PATHS; i++) {
		ret_call->makes[i] = shape->paths[i].makes;
		ret_call->removes[i] = shape->paths[i].removes;
	}
	apply_flags(raw, shape, ret_call);
	const int code = read_link_text(thread, raw, shape, ret_call);
	for (size_t i = 0; i < CALL_PATHS; i++) ret_call->codes[i] = read_way(thread, raw, shape, i, ret_call);
	if (code != 0) ret_call->codes[0] = code;
}

void call_join(pid_t thread, struct call *call, size_t which) {
	if (call->ways[which] && !call->paths[which])
		call->paths[which] = join(thread, call->folders[which], call->ways[which]);
}

void call_read(pid_t thread, const struct call_raw *raw, struct call *ret_call) {
	call_read_ways(thread, raw, ret_call);
	for (size_t i = 0; i < CALL_PATHS; i++) call_join(thread, ret_call, i);
}

void call_finish(struct call *call) {
	for (size_t i = 0; i < CALL_PATHS; i++) {
		free(call->paths[i]);
		free(call->ways[i]);
	}
	free(call->text);
	*call = (struct call){.class = CALL_OTHER};
}

struct reading {
	pid_t thread;
	struct call_raw raw;
	struct call call;
};

static void reading_run(void *work) {
	struct reading *reading = work;
	call_read(reading->thread, &reading->raw, &reading->call);
}

static void reading_drop(void *work) {
	struct reading *reading = work;
	call_finish(&reading->call);
	free(reading);
}

void call_read_promptly(struct promptly *promptly, pid_t thread, const struct call_raw *raw, struct call *ret_call) {
	struct reading *reading = mem_new(struct reading);
	*reading = (struct reading){.thread = thread, .raw = *raw, .call = {.class = CALL_OTHER}};
	*ret_call = (struct call){.class = CALL_OTHER};
	if (!promptly_do(promptly, reading_run, reading_drop, reading)) return;
	*ret_call = reading->call;
	free(reading);
}

/* Of a thread that is held. Who hears of that may run before it has come to rest in its call, on Linux 6.1 with a
 * single processor always: so it is given that. */
static int read_held(pid_t thread, struct call_raw *ret_raw) {
	int code = call_raw_read(thread, ret_raw);
	for (int i = 0; code == -EAGAIN && i < CALL_NAPS; i++) {
		usleep(CALL_NAP_US);
		code = call_raw_read(thread, ret_raw);
	}
	return code;
}

char *call_name_in(struct promptly *promptly, pid_t thread, const char *folder) {
	struct call_raw raw = {.number = -1};
	CLEANUP_CALL struct call call = {.class = CALL_OTHER};
	if (read_held(thread, &raw) < 0) return NULL;
	call_read_promptly(promptly, thread, &raw, &call);
	for (size_t i = 0; i < CALL_PATHS && !call.nameless; i++) {
		if (!call.paths[i] || string_equal(call.paths[i], folder)) continue;
		CLEANUP_FREE char *parent = path_parent(call.paths[i]);
		if (string_equal(parent, folder)) return STEAL(call.paths[i]);
	}
	return NULL;
}

char *call_started(struct promptly *promptly, pid_t thread) {
	struct call_raw raw = {.number = -1};
	CLEANUP_CALL struct call call = {.class = CALL_OTHER};
	if (read_held(thread, &raw) < 0) return NULL;
	call_read_promptly(promptly, thread, &raw, &call);
	return call.class == CALL_EXECUTE ? STEAL(call.paths[0]) : NULL;
}

int call_raw_read(pid_t thread, struct call_raw *ret_raw) {
	char name[CALL_PROC_NAME], line[CALL_LINE_MAX + 1];
	snprintf(name, sizeof name, "/proc/%d/syscall", thread);
	CLEANUP_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return errno == ENOENT ? -ESRCH : -errno;
	ssize_t size = read(fd, line, CALL_LINE_MAX);
	if (size < 0) return -errno;
	line[size] = '\0';

	struct call_raw raw;
	char *at = line, *end;
	const long number = strtol(at, &end, 10);
	if (end == at) return size > 0 ? -EAGAIN : -ESRCH; /* "running" */
	if (number < 0) return -ESRCH;                     /* blocked in no call ("-1 …") */
	raw.number = (int)number;
	for (size_t i = 0; i < CALL_ARGUMENTS; i++) {
		at = end;
		raw.arguments[i] = strtoull(at, &end, 16);
		if (end == at) return -ESRCH;
	}
	*ret_raw = raw;
	return 0;
}

bool call_links(const struct call *call) {
	return call->class == CALL_NAMES && call->makes[1] && !call->makes[0] && !call->removes[0];
}
