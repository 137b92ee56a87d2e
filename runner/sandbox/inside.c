#include "runner/inside.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "bwrap.h"

int inside_refuse(struct error *error) {
	enum { COMM_MAX = 64 };
	struct stat init;
	CLEANUP_FREE char *name = NULL;
	if (lstat(BWRAP_INIT, &init) < 0 || !S_ISREG(init.st_mode)) return 0;
	if (file_read("/proc/1/comm", COMM_MAX, &name, NULL, NULL) < 0 || strcmp(name, "sbx-init\n") != 0) return 0;
	return error_set(error, EOPNOTSUPP,
			 "this is inside a sandbox of sbx, where nothing can be decided; run it outside");
}
