#include "set_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/memory.h"
#include "calls/call_table.h"
#include "plan/lead.h"

enum { SET_ID = S_ISUID | S_ISGID, PERMISSIONS = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO };

static mode_t mode_of(const struct call_shape *shape, const struct call_raw *raw) {
	return (mode_t)raw->arguments[shape->mode_at - 1] & (SET_ID | PERMISSIONS);
}

bool set_id_asked(const struct call_raw *raw) {
	const struct call_shape *shape = call_shape_of(raw->number);
	return shape && shape->class == CALL_CHANGE && shape->mode_at && (mode_of(shape, raw) & SET_ID);
}

/* fchmodat2(2) alone has such flags. */
static bool follows(const struct call_shape *shape, const struct call_raw *raw) {
	return shape->flags != CALL_FLAGS_AT || !(raw->arguments[shape->flags_at - 1] & AT_SYMLINK_NOFOLLOW);
}

int set_id_carry_out(pid_t thread, const struct call_raw *raw, const struct call *call, dev_t curtain) {
	const struct call_shape *shape = call_shape_of(raw->number);
	const struct lead lead = {
		.thread = thread, .folder = call->folders[0], .curtain = curtain, .last = follows(shape, raw)};
	CLEANUP_FREE char *place = NULL;
	CLEANUP_FD int fd = -1;
	char name[32];
	struct stat status;
	if (call->codes[0] != 0) return call->codes[0];
	if (!call->ways[0]) return ENOENT;
	const int r = lead_open(&lead, call->ways[0], &fd, &place);
	if (r < 0) return r == -ESTALE || r == -EXDEV ? EACCES : -r;
	if (curtain != 0 && lead_device(fd) == curtain) return EACCES;
	if (fstat(fd, &status) < 0) return errno;
	if (!S_ISDIR(status.st_mode)) return EPERM;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return chmod(name, mode_of(shape, raw)) < 0 ? errno : 0;
}
