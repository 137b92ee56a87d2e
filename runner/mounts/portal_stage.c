#include "portal_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "portal_tree.h"

int stage_make(int scratch, struct error *error) {
	CLEANUP_FD int file = openat(scratch, "void", O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file < 0 || mkdirat(scratch, "hidden", 0) < 0 || mkdirat(scratch, "stage", 0700) < 0)
		return error_errno(error, "making what masks are made of");
	return 0;
}

static int clone(int scratch, const char *name, struct error *error) {
	CLEANUP_FD int fd = openat(scratch, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_errno(error, "reaching what masks are made of") : tree_clone(fd, false, true, error);
}

int stage_clone_void(int scratch, struct error *error) {
	return clone(scratch, "void", error);
}

int stage_clone_hidden(int scratch, struct error *error) {
	return clone(scratch, "hidden", error);
}

/* It needs a name: what has none is attached nowhere (ENOENT). Equal texts are one file. */
int stage_clone_text(int scratch, const char *text, struct error *error) {
	char name[HASH_HEX_SIZE];
	hash_hex(name, text, strlen(text));
	CLEANUP_FD int file = openat(scratch, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file < 0 && errno == EEXIST) return clone(scratch, name, error);
	if (file < 0 || fchmod(file, 0444) < 0) return error_errno(error, "making a file of sbx's own");
	int r = fd_write_all(file, text, strlen(text), error);
	if (r < 0) unlinkat(scratch, name, 0);
	return r < 0 ? r : tree_clone(file, false, true, error);
}

int stage_attach(int scratch, int tree, struct error *error) {
	CLEANUP_FD int stage = openat(scratch, "stage", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return stage < 0 ? error_errno(error, "reaching the stage") : tree_attach(tree, stage, error);
}

void stage_sweep(const struct spaces *spaces) {
	for (;;) {
		struct place place;
		CLEANUP_FD int stage = spaces_reach(spaces->scratch, "/stage");
		if (stage < 0 || place_of(stage, &place) < 0 || !place.is_root) return;
		if (tree_detach(stage, spaces->self) < 0) return;
	}
}
