#include "set_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "calls/call_table.h"
#include "calls/process.h"
#include "plan/lead.h"

enum {
	PERMISSIONS = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO,
	FLAGS_KNOWN = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
};

static mode_t mode_of(const struct call_shape *shape, const struct call_raw *raw) {
	return (mode_t)raw->arguments[shape->mode_at - 1] & (CALL_SET_ID | PERMISSIONS);
}

/* fchmodat2(2) alone has some. */
static uint64_t flags_of(const struct call_shape *shape, const struct call_raw *raw) {
	return shape->flags == CALL_FLAGS_AT ? raw->arguments[shape->flags_at - 1] & UINT32_MAX : 0;
}

/* fchmod(2) wants a descriptor that is open, not a name alone. 0, or the errno. */
static int check_descriptor(pid_t thread, const struct call *call) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fdinfo/%d", thread, call->folders[0]);
	return call->folders[0] < 0 || (process_number(path, "flags", 8) & O_PATH) ? EBADF : 0;
}

/* What the kernel would refuse before it looks for the path: 0, or the errno. */
static int check(pid_t thread, const struct call_shape *shape, const struct call_raw *raw, const struct call *call) {
	const uint64_t flags = flags_of(shape, raw);
	if (flags & ~(uint64_t)FLAGS_KNOWN) return EINVAL;
	if (!shape->paths[0].path) return check_descriptor(thread, call);
	if (raw->arguments[shape->paths[0].path - 1] == 0) return EFAULT;
	if (call->codes[0] != 0) return call->codes[0];
	return !call->ways[0] || (call->ways[0][0] == '\0' && !(flags & AT_EMPTY_PATH)) ? ENOENT : 0;
}

int set_id_open(pid_t thread, const struct call_raw *raw, const struct call *call, dev_t curtain, int *ret_fd) {
	const struct call_shape *shape = call_shape_of(raw->number);
	const struct lead lead = {.thread = thread,
				  .folder = call->folders[0],
				  .curtain = curtain,
				  .last = !(flags_of(shape, raw) & AT_SYMLINK_NOFOLLOW)};
	CLEANUP_FREE char *place = NULL;
	CLEANUP_FD int fd = -1;
	struct stat status;
	int r = check(thread, shape, raw, call);
	if (r != 0) return r;
	r = lead_open(&lead, call->ways[0] ? call->ways[0] : "", &fd, &place);
	if (r < 0) return r == -ESTALE || r == -EXDEV ? EACCES : -r;
	if (curtain != 0 && lead_device(fd) == curtain) return EACCES;
	if (fstat(fd, &status) < 0) return errno;
	if (!S_ISDIR(status.st_mode)) return EPERM;
	*ret_fd = fd_steal(&fd);
	return 0;
}

int set_id_change(int fd, const struct call_raw *raw) {
	return fd_chmod(fd, mode_of(call_shape_of(raw->number), raw)) < 0 ? errno : 0;
}
