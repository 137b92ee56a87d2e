#include "bwrap.h"

#include "base/memory.h"

static void add(struct strings *argv, const char *const *words, size_t count) {
	for (size_t i = 0; i < count; i++) strings_add(argv, words[i]);
}
#define ADD(argv, ...)                                                                                                 \
	do {                                                                                                           \
		const char *const words_[] = {__VA_ARGS__};                                                            \
		add((argv), words_, ARRAY_LENGTH(words_));                                                             \
	} while (0)

enum bwrap_root bwrap_root_of(const struct plan *plan) {
	for (size_t i = 0; i < plan->count; i++) {
		if (!string_equal(plan->mounts[i].path, "/")) continue;
		if (plan->mounts[i].kind == MOUNT_READ) return BWRAP_ROOT_READ;
		if (plan->mounts[i].kind == MOUNT_WRITE) return BWRAP_ROOT_WRITE;
	}
	return BWRAP_ROOT_FRESH;
}

void bwrap_arguments(const struct bwrap_options *options, struct strings *ret_argv) {
	struct strings *argv = ret_argv;
	ADD(argv, options->program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
	    "--unshare-cgroup-try");
	if (!options->network_host) strings_add(argv, "--unshare-net");
	if (options->disable_userns) strings_add(argv, "--disable-userns");
	ADD(argv, "--die-with-parent", "--as-pid-1");
	if (options->root != BWRAP_ROOT_FRESH)
		ADD(argv, options->root == BWRAP_ROOT_READ ? "--ro-bind" : "--bind", "/", "/");
	ADD(argv, "--proc", "/proc", "--dir", "/dev", "--perms", "0755", "--tmpfs", "/run");
	ADD(argv, "--perms", "0555", "--ro-bind-data");
	strings_addf(argv, "%d", BWRAP_FD_INIT);
	ADD(argv, BWRAP_INIT, "--", BWRAP_INIT);
}
