#include "used_up.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"

static const struct {
	const char *complaint, *sentence;
} all[] = {
	{"Resource temporarily unavailable", /* fork(2), clone(2) */
	 "as many processes run as are allowed (ulimit -u; pids.max and TasksMax= of the session's cgroup); end what "
	 "isn't "
	 "needed (`sbx sessions`, `sbx kill`)"},
	{"ENOSPC", /* bwrap's own word for clone(2)'s */
	 "as many namespaces are there as are allowed (/proc/sys/user/max_*_namespaces); end what isn't needed (`sbx "
	 "sessions`, `sbx kill`)"},
	{"No space left on device", /* unshare(2), mount(2) */
	 "as many namespaces or mounts are there as are allowed (/proc/sys/user/max_*_namespaces, "
	 "/proc/sys/fs/mount-max); "
	 "end what isn't needed (`sbx sessions`, `sbx kill`)"},
	{"Too many open files", /* open(2) */
	 "as many files are open as are allowed (ulimit -n, /proc/sys/fs/file-max)"},
};

const char *used_up_sentence(const char *complaint) {
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (strstr(complaint, all[i].complaint)) return all[i].sentence;
	return NULL;
}

int used_up_errno(struct error *error, const char *what) {
	const int code = errno;
	const char *sentence = used_up_sentence(strerror(code));
	return error_set(error, code, "%s: %s", what, sentence ? sentence : strerror(code));
}
