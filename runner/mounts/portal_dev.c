#include "portal_dev.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "portal_tree.h"

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
enum { DEVICE_COUNT = ARRAY_LENGTH(devices) };

static const char *const folders[] = {"pts", "shm"};

static const struct {
	const char *name, *text;
} links[] = {
	{"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"},
	{"fd", "/proc/self/fd"},      {"core", "/proc/kcore"},       {"ptmx", "pts/ptmx"},
};

struct dev {
	int tree, terminals, devices[DEVICE_COUNT];
};

static void dev_finish(struct dev *dev) {
	fd_close(dev->tree);
	fd_close(dev->terminals);
	for (size_t i = 0; i < DEVICE_COUNT; i++) fd_close(dev->devices[i]);
}

static int clone_device(const struct spaces *spaces, const char *name, struct error *error) {
	CLEANUP_FREE char *path = string_format("/dev/%s", name);
	CLEANUP_FD int fd = spaces_reach(spaces->host, path);
	struct place place;
	if (fd < 0) return error_errno(error, "%s", path);
	int r = place_of(fd, &place);
	if (r < 0) return error_set(error, -r, "looking at %s", path);
	if (!S_ISCHR(place.mode)) return error_set(error, ENODEV, "%s is no device", path);
	r = tree_clone_device(fd, error);
	return r < 0 ? error_prefix(error, "%s", path) : r;
}

/* In our own namespace. */
static int make_parts(const struct spaces *spaces, struct dev *dev, struct error *error) {
	if ((dev->tree = tree_fresh(0755, false, error)) < 0) return dev->tree;
	if ((dev->terminals = tree_terminals(error)) < 0) return dev->terminals;
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		dev->devices[i] = clone_device(spaces, devices[i], error);
		if (dev->devices[i] < 0) return dev->devices[i];
	}
	return 0;
}

/* In the sandbox's. */
static int put_together(const struct spaces *spaces, const struct dev *dev, struct error *error) {
	CLEANUP_FD int point = spaces_reach(spaces->inside, "/dev");
	if (point < 0) return error_errno(error, "the sandbox's /dev");
	int r = tree_attach(dev->tree, point, error);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(folders); i++)
		if (mkdirat(dev->tree, folders[i], 0755) < 0) r = error_errno(error, "/dev/%s", folders[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(links); i++)
		if (symlinkat(links[i].text, dev->tree, links[i].name) < 0)
			r = error_errno(error, "/dev/%s", links[i].name);
	for (size_t i = 0; r == 0 && i < DEVICE_COUNT; i++) {
		if (mknodat(dev->tree, devices[i], S_IFREG | 0444, 0) < 0)
			r = error_errno(error, "/dev/%s", devices[i]);
		if (r == 0) r = tree_attach_to(dev->devices[i], dev->tree, devices[i], error);
	}
	return r < 0 ? r : tree_attach_to(dev->terminals, dev->tree, "pts", error);
}

int dev_make(const struct spaces *spaces, struct error *error) {
	__attribute__((cleanup(dev_finish))) struct dev dev = {.tree = -1, .terminals = -1};
	for (size_t i = 0; i < DEVICE_COUNT; i++) dev.devices[i] = -1;
	int r = make_parts(spaces, &dev, error);
	if (r == 0) r = spaces_step_in(spaces, error);
	if (r < 0) return r;
	r = put_together(spaces, &dev, error);
	spaces_step_out(spaces);
	return r;
}
