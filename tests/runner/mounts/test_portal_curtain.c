/*
 * The portal and a curtain, whose server here is a few answers: every name is a folder, or, beginning with "f", a file;
 * what a call would see behind it is nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "box.h"
#include "support/cmocka.h"

enum { NAMES_MAX = 1 << 20 };

static struct box box;

static struct {
	int device;
	struct event *readable;
	bool folder[NAMES_MAX]; /* by number; 1 is the root */
	uint64_t last;
	size_t lookups, opens;
} server;

static void answer(uint64_t unique, int code, const void *body, size_t size) {
	char bytes[4096];
	const struct fuse_out_header head = {.len = (uint32_t)(sizeof head + size), .error = -code, .unique = unique};
	memcpy(bytes, &head, sizeof head);
	if (size > 0) memcpy(bytes + sizeof head, body, size);
	if (write(server.device, bytes, head.len) < 0) assert_int_equal(errno, ENOENT);
}

static struct fuse_attr attributes(uint64_t number) {
	return (struct fuse_attr){.ino = number,
				  .mode = server.folder[number] ? S_IFDIR | 0755 : S_IFREG | 0755,
				  .nlink = 1,
				  .uid = getuid(),
				  .gid = getgid(),
				  .blksize = 4096};
}

static void answer_lookup(const struct fuse_in_header *head, const char *name) {
	assert_true(server.last + 1 < NAMES_MAX);
	const uint64_t number = ++server.last;
	server.lookups++;
	server.folder[number] = name[0] != 'f'; /* f, false */
	const struct fuse_entry_out entry = {.nodeid = number, .entry_valid = 3600, .attr = attributes(number)};
	answer(head->unique, 0, &entry, sizeof entry);
}

static void on_request(evutil_socket_t fd, short what, void *argument) {
	_Alignas(8) char bytes[FUSE_MIN_READ_BUFFER * 20];
	(void)what, (void)argument;
	for (;;) {
		ssize_t size = read(fd, bytes, sizeof bytes);
		if (size < 0) return;
		const struct fuse_in_header *head = (const struct fuse_in_header *)bytes;
		const char *body = bytes + sizeof *head;
		switch (head->opcode) {
		case FUSE_INIT: {
			const struct fuse_init_out init = {
				.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
			answer(head->unique, 0, &init, sizeof init);
			break;
		}
		case FUSE_LOOKUP:
			answer_lookup(head, body);
			break;
		case FUSE_GETATTR: {
			const struct fuse_attr_out out = {.attr_valid = 3600, .attr = attributes(head->nodeid)};
			answer(head->unique, 0, &out, sizeof out);
			break;
		}
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		case FUSE_OPEN:
			server.opens++;
			answer(head->unique, EACCES, NULL, 0);
			break;
		default:
			answer(head->unique, EACCES, NULL, 0);
		}
	}
}

static void serve(int device) {
	server.device = device;
	server.last = 1;
	server.folder[1] = true;
	server.lookups = server.opens = 0;
	assert_int_equal(fd_nonblocking(device, true, NULL), 0);
	server.readable = event_new(box.base, device, EV_READ | EV_PERSIST, on_request, NULL);
	event_add(server.readable, NULL);
}

static void on_curtain(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	(void)argument;
	if (code != 0) {
		print_message("no curtain: %s\n", text);
		return;
	}
	assert_int_equal(fd_count, 2);
	serve(fds[0]);
	box.spare = fds[1];
}

static int setup(void **state) {
	(void)state;
	box_make(&box);
	server.device = -1;
	return 0;
}

static int teardown(void **state) {
	(void)state;
	if (server.readable) event_free(server.readable);
	server.readable = NULL;
	if (box.launch) box_close(&box);
	fd_close_p(&server.device);
	box_remove(&box);
	return 0;
}

static bool begin(void) {
	box_begin(&box);
	portal_curtain(box.portal, on_curtain, NULL);
	portal_wait(box.portal, NULL);
	return server.device >= 0;
}

static void plan_with_nodes(struct plan *plan) {
	box_plan(&box, plan);
	box_add(&box, plan, MOUNT_CURTAIN, "notes")->mode = S_IFDIR;
	box_add(&box, plan, MOUNT_CURTAIN, "f")->mode = S_IFREG;
	box_add(&box, plan, MOUNT_CURTAIN, "/usr/bin/false")->mode = S_IFREG;
}

static void the_nodes_of_a_curtain_hang_where_they_are_asked(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir notes; echo n >notes/f; mkdir notes/sub; echo s >notes/sub/f; echo f >f");
	if (!begin()) skip();
	plan_with_nodes(&plan);
	box_build(&box, &plan);
	box_expect(&box, "stat -c %F notes f; grep -c ' sbx-curtain ' /proc/self/mountinfo",
		   "directory\nregular empty file\n3");
	box_expect(&box, "cat f 2>/dev/null || echo no; ls notes 2>/dev/null || echo no; touch new && echo made",
		   "no\nno\nmade");
	/* over a node, over what lies in one, and away again */
	plan_with_nodes(&plan);
	box_add(&box, &plan, MOUNT_READ, "notes/sub");
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "cat notes/sub/f; cat notes/f 2>/dev/null || echo no", "s\nno");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_READ, "notes");
	box_add(&box, &plan, MOUNT_CURTAIN, "f")->mode = S_IFREG;
	box_add(&box, &plan, MOUNT_CURTAIN, "/usr/bin/false")->mode = S_IFREG;
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "cat notes/f notes/sub/f", "n\ns");
	plan_with_nodes(&plan);
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "cat notes/f 2>/dev/null || echo no; cat notes/sub/f 2>/dev/null || echo no", "no\nno");
}

/* A mount that is noexec refuses by itself. */
static void a_program_behind_a_node_is_asked(void **state) {
	(void)state;
	struct plan plan;
	if (!begin()) skip();
	plan_with_nodes(&plan);
	box_build(&box, &plan);
	const size_t before = server.opens;
	box_expect(&box, "/usr/bin/false 2>/dev/null; echo $?", "126");
	assert_true(server.opens > before);
}

static void another_portal_has_the_curtain(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir notes; echo n >notes/f");
	if (!begin()) skip();
	plan_with_nodes(&plan);
	box_build(&box, &plan);
	const size_t mounts = box_count_mounts(&box);
	for (int i = 0; i < 3; i++) {
		kill(portal_pid(box.portal), SIGKILL);
		box_restart(&box, NULL);
		assert_int_equal(box_count_mounts(&box), mounts);
		plan_with_nodes(&plan);
		box_add(&box, &plan, MOUNT_CURTAIN, "another")->mode = S_IFDIR;
		box_add(&box, &plan, MOUNT_READ, "notes/f");
		assert_int_equal(box_change(&box, &plan), 0);
		box_expect(&box, "stat -c %F another; cat notes/f", "directory\nn");
		plan_with_nodes(&plan);
		assert_int_equal(box_change(&box, &plan), 0);
		box_expect(&box, "test -e another || echo absent", "absent");
	}
}

/* What a home of so many names costs: one look-up each. */
static void many_nodes_are_one_look_up_each(void **state) {
	(void)state;
	static const size_t counts[] = {0, 50, 150, 1000};
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		struct plan plan;
		struct timespec start, end;
		if (!begin()) skip();
		box_plan(&box, &plan);
		for (size_t k = 0; k < counts[i]; k++) {
			CLEANUP_FREE char *name = string_format("name%zu", k);
			box_add(&box, &plan, MOUNT_CURTAIN, name)->mode = S_IFDIR;
		}
		clock_gettime(CLOCK_MONOTONIC, &start);
		box_build(&box, &plan);
		clock_gettime(CLOCK_MONOTONIC, &end);
		const int64_t us = (end.tv_sec - start.tv_sec) * 1000000 + (end.tv_nsec - start.tv_nsec) / 1000;
		print_message("%zu nodes: built and a shell started in %" PRId64 " us, %zu look-ups\n", counts[i], us,
			      server.lookups);
		assert_true(server.lookups <= counts[i] + path_depth(box.home));
		if (counts[i] > 0) box_expect(&box, "ls -d name* | wc -l", i == 1 ? "50" : i == 2 ? "150" : "1000");
		event_free(server.readable);
		server.readable = NULL;
		box_close(&box);
		fd_close_p(&server.device);
	}
}

#define CURTAIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		CURTAIN_TEST(the_nodes_of_a_curtain_hang_where_they_are_asked),
		CURTAIN_TEST(a_program_behind_a_node_is_asked),
		CURTAIN_TEST(another_portal_has_the_curtain),
		CURTAIN_TEST(many_nodes_are_one_look_up_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
