#include "bwrap.h"

#include "base/memory.h"
#include "base/path.h"

static void add(struct strings *argv, const char *const *words, size_t count) {
	for (size_t i = 0; i < count; i++) strings_add(argv, words[i]);
}
#define ADD(argv, ...)                                                                                                 \
	do {                                                                                                           \
		const char *const words_[] = {__VA_ARGS__};                                                            \
		add((argv), words_, ARRAY_LENGTH(words_));                                                             \
	} while (0)

static void add_data(struct strings *argv, const char *mode, int fd, const char *path) {
	ADD(argv, "--perms", mode, "--ro-bind-data");
	strings_addf(argv, "%d", fd);
	strings_add(argv, path);
}

static void add_fresh(struct strings *argv, unsigned mode, const char *path) {
	strings_add(argv, "--perms");
	strings_addf(argv, "%04o", mode);
	ADD(argv, "--tmpfs", path);
}

static void add_mount(struct strings *argv, const struct mount *mount, int *empty) {
	switch (mount->kind) {
	case MOUNT_READ:
		ADD(argv, "--ro-bind", mount->source, mount->path);
		break;
	case MOUNT_WRITE:
	case MOUNT_OWN:
	case MOUNT_PIN:
		ADD(argv, "--bind", mount->source, mount->path);
		break;
	case MOUNT_FRESH:
	case MOUNT_HIDE_FOLDER:
		add_fresh(argv, mount->mode, mount->path);
		break;
	case MOUNT_HIDE_FILE:
		add_data(argv, "0000", (*empty)++, mount->path);
		break;
	case MOUNT_LINK:
		ADD(argv, "--symlink", mount->source, mount->path);
		break;
	case MOUNT_HELD:
	case MOUNT_CURTAIN:
		break; /* the portal's */
	case MOUNT_PROC:
		ADD(argv, "--proc", mount->path);
		break;
	case MOUNT_DEV:
		ADD(argv, "--dev", mount->path);
		break;
	}
}

size_t bwrap_empty_count(const struct plan *plan) {
	size_t count = 1;
	for (size_t i = 0; i < plan->count; i++) count += plan->mounts[i].kind == MOUNT_HIDE_FILE;
	return count;
}

void bwrap_arguments(const struct plan *plan, const struct bwrap_options *options, struct strings *ret_argv) {
	struct strings *argv = ret_argv;
	ADD(argv, options->program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
	    "--unshare-cgroup-try");
	if (!options->network_host) strings_add(argv, "--unshare-net");
	if (options->disable_userns) strings_add(argv, "--disable-userns");
	ADD(argv, "--die-with-parent", "--as-pid-1");

	int empty = BWRAP_FD_FIRST_EMPTY;
	bool root = false;
	for (size_t i = 0; i < plan->count; i++) {
		add_mount(argv, &plan->mounts[i], &empty);
		root |= string_equal(plan->mounts[i].path, "/");
	}
	add_data(argv, "0555", BWRAP_FD_INIT, BWRAP_INIT);
	add_data(argv, "0000", empty, BWRAP_VOID);
	ADD(argv, "--perms", "0000", "--dir", BWRAP_HIDDEN);

	/* sealed last, when every mount point in them is there; /run is sealed by the portal after its sockets are */
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->mounts[i].kind == MOUNT_HIDE_FOLDER) ADD(argv, "--remount-ro", plan->mounts[i].path);
	}
	if (!root) ADD(argv, "--remount-ro", "/");
	ADD(argv, "--", BWRAP_INIT);
}
