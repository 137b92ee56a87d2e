/* The curtain's parts without a kernel: names and their numbers, messages, where the host is far, listings. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/string.h"
#include "curtain_host.h"
#include "curtain_list.h"
#include "curtain_mounts.h"
#include "curtain_node.h"
#include "curtain_wire.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/memory_use.h"
#include "support/patience.h"

enum { MILLION = 1000 * 1000 };

/* --- nodes */

static void a_name_keeps_its_number_while_it_is_held(void **state) {
	(void)state;
	CLEANUP(nodes_free_p) struct nodes *nodes = nodes_new();
	struct node *root = nodes_find(nodes, NODE_ROOT);
	struct node *home = nodes_look_up(nodes, root, "home", S_IFDIR);
	struct node *notes = nodes_look_up(nodes, home, "notes", S_IFREG);
	const uint64_t number = notes->number;
	char path[PATH_MAX];
	assert_ptr_equal(nodes_look_up(nodes, home, "notes", S_IFREG), notes);
	assert_ptr_equal(nodes_child(nodes, home, "notes"), notes);
	assert_int_equal(node_path(notes, path), 0);
	assert_string_equal(path, "/home/notes");
	assert_int_equal(node_path(root, path), 0);
	assert_string_equal(path, "/");
	assert_int_equal(node_path_of_name(root, "x", path), 0);
	assert_string_equal(path, "/x");

	/* what a name below holds stays, and goes with it */
	nodes_forget(nodes, home, 1);
	assert_non_null(nodes_find(nodes, home->number));
	nodes_forget(nodes, notes, 1);
	assert_non_null(nodes_find(nodes, number));
	nodes_forget(nodes, notes, 1);
	assert_null(nodes_find(nodes, number));
	assert_int_equal(nodes_count(nodes), 1);
	assert_true(nodes_look_up(nodes, root, "notes", S_IFREG)->number > number);
}

static void the_kernel_can_forget_no_more_than_it_knew(void **state) {
	(void)state;
	CLEANUP(nodes_free_p) struct nodes *nodes = nodes_new();
	struct node *root = nodes_find(nodes, NODE_ROOT);
	nodes_forget(nodes, root, UINT64_MAX);
	assert_non_null(nodes_find(nodes, NODE_ROOT));
	nodes_forget(nodes, nodes_look_up(nodes, root, "a", S_IFREG), UINT64_MAX);
	assert_int_equal(nodes_count(nodes), 1);
}

static void paths_and_names_have_an_end(void **state) {
	(void)state;
	CLEANUP(nodes_free_p) struct nodes *nodes = nodes_new();
	struct node *node = nodes_find(nodes, NODE_ROOT);
	char name[NAME_MAX + 2], path[PATH_MAX];
	memset(name, 'n', sizeof name);
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(node_path_of_name(node, name, path), -ENAMETOOLONG);
	name[NAME_MAX] = '\0';
	for (size_t size = 0; size + 1 + NAME_MAX < PATH_MAX; size += 1 + NAME_MAX) {
		assert_int_equal(node_path_of_name(node, name, path), 0);
		node = nodes_look_up(nodes, node, name, S_IFDIR);
	}
	assert_int_equal(node_path_of_name(node, name, path), -ENAMETOOLONG);
	node = nodes_look_up(nodes, node, name, S_IFDIR);
	assert_int_equal(node_path(node, path), -ENAMETOOLONG);
}

static void a_million_names_leave_nothing(void **state) {
	(void)state;
	CLEANUP(nodes_free_p) struct nodes *nodes = nodes_new();
	struct node *root = nodes_find(nodes, NODE_ROOT);
	long before = 0;
	for (int i = 0; i < MILLION; i++) {
		char name[32];
		snprintf(name, sizeof name, "n%d", i);
		if (i == MILLION / 10) before = memory_use_kib();
		nodes_forget(nodes, nodes_look_up(nodes, root, name, S_IFREG), 1);
	}
	assert_int_equal(nodes_count(nodes), 1);
	assert_true(memory_use_stayed(before, memory_use_kib(), 256));
}

/* --- messages */

struct message {
	struct fuse_in_header header;
	char body[256];
};

static int parse(struct message *message, size_t body, struct wire_request *ret_request) {
	message->header.len = (uint32_t)(sizeof message->header + body);
	return wire_parse(message, message->header.len, ret_request);
}

static void a_message_that_is_cut_is_refused_and_can_be_answered(void **state) {
	(void)state;
	struct wire_request request;
	struct message message = {.header = {.opcode = FUSE_LOOKUP, .unique = 7, .pid = 5, .nodeid = 1}};
	memcpy(message.body, "name", 5);
	assert_int_equal(parse(&message, 5, &request), 0);
	assert_string_equal(request.name, "name");
	assert_int_equal(request.thread, 5);
	assert_int_equal(parse(&message, 4, &request), -EIO);
	assert_int_equal(request.unique, 7);
	assert_true(wire_wants_reply(&request));
	assert_int_equal(parse(&message, 6, &request), -EIO); /* something behind it */
	assert_int_equal(wire_parse(&message, 39, &request), -EIO);
	message.header.opcode = FUSE_OPEN;
	assert_int_equal(parse(&message, 7, &request), -EIO);
	message.header.opcode = FUSE_BATCH_FORGET;
	*(uint32_t *)message.body = 2;
	assert_int_equal(parse(&message, 8 + 31, &request), -EIO);
	assert_int_equal(parse(&message, 8 + 32, &request), 0);
	assert_false(wire_wants_reply(&request));
}

static void names_that_no_folder_can_have_are_refused(void **state) {
	(void)state;
	static const char *const names[] = {"", ".", "..", "a/b", "/"};
	struct wire_request request;
	struct message message = {.header = {.opcode = FUSE_LOOKUP}};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		memcpy(message.body, names[i], strlen(names[i]) + 1);
		assert_int_equal(parse(&message, strlen(names[i]) + 1, &request), -EIO);
	}
}

/* --- the host */

struct seen {
	int code;
	mode_t mode;
	size_t names;
	unsigned times;
};

static void note(void *argument, int code, const struct stat *status, struct host_names *names) {
	struct seen *seen = argument;
	seen->code = code;
	seen->mode = status ? status->st_mode & S_IFMT : 0;
	seen->names = names ? names->count : 0;
	seen->times++;
}

static void the_host_is_looked_at_without_following_links(void **state) {
	(void)state;
	struct event_base *base = loop_new();
	struct host *host = host_new(base);
	struct seen seen = {0};
	CLEANUP_FREE char *folder = home_path("look");
	CLEANUP_FREE char *file = home_path("look/file"), *link = home_path("look/link"),
			  *through = home_path("look/link/file");
	home_write("look/file", "x");
	assert_int_equal(symlink(".", link), 0);
	host_look(host, "/", note, &seen);
	assert_int_equal(seen.mode, S_IFDIR);
	host_look(host, file, note, &seen);
	assert_int_equal(seen.mode, S_IFREG);
	host_look(host, link, note, &seen);
	assert_int_equal(seen.mode, S_IFLNK);
	host_look(host, through, note, &seen);
	assert_int_equal(seen.code, -ENOENT);
	host_list(host, link, note, &seen);
	assert_int_equal(seen.code, -ENOTDIR);
	host_list(host, folder, note, &seen);
	assert_int_equal(seen.code, 0);
	assert_int_equal(seen.names, 4); /* with . and .. */
	assert_int_equal(seen.times, 6);
	host_free(host);
	event_base_free(base);
}

static void write_map(const char *path, const char *text) {
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) _exit(2);
}

static void enter_namespaces(void) {
	char map[64];
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) _exit(2);
	write_map("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	write_map("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	write_map("/proc/self/gid_map", map);
}

/* A FUSE server that never answers. */
static void mount_what_hangs(const char *where) {
	char options[128];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device, getuid(), getgid());
	if (device < 0 || mount("hangs", where, "fuse.hangs", MS_NOSUID | MS_NODEV, options) < 0) _exit(3);
}

static int look_where_it_hangs(const char *where) {
	enter_namespaces();
	struct event_base *base = loop_new();
	struct host *host = host_new(base);
	struct seen near = {0}, far = {0}, second = {0}, third = {0};
	CLEANUP_FREE char *inside = string_format("%s/file", where);
	host_look(host, where, note, &near);
	if (near.times != 1) return 4; /* it is there already */
	mount_what_hangs(where);
	const int64_t begun = now_ms();
	host_look(host, inside, note, &far);
	host_list(host, where, note, &second);
	host_look(host, "/", note, &near);
	if (near.times != 2 || far.times || second.times) return 5;
	while (!far.times || !second.times) event_base_loop(base, EVLOOP_ONCE);
	const int64_t took = now_ms() - begun;
	if (far.code != -EIO || second.code != -EIO || took < LIMIT_LOOK_MS - 100 || took > PATIENCE_MS) return 6;
	host_look(host, inside, note, &third);
	if (third.code != -EIO || far.times != 1 || second.times != 1) return 7;
	host_free(host); /* waits for nobody */
	event_base_free(base);
	return now_ms() - begun < PATIENCE_MS ? 0 : 8;
}

static void a_server_that_hangs_holds_up_nobody(void **state) {
	(void)state;
	CLEANUP_FREE char *where = home_path("hangs");
	int status;
	assert_int_equal(mkdir(where, 0700), 0);
	if (access("/dev/fuse", R_OK | W_OK) < 0) skip(); /* the others of this folder say so aloud */
	pid_t child = fork();
	if (child == 0) _exit(look_where_it_hangs(where));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- listings */

enum { ROOM = 100 };

static bool all_but_secrets(void *argument, const char *text, unsigned char type, uint64_t next) {
	struct string *entries = argument;
	const struct wire_name name = {.name = text, .type = type, .next = next};
	if (string_starts(text, "secret")) return true;
	if (entries->size + wire_name_size(&name, false) > ROOM) return false;
	wire_append_name(entries, &name);
	return true;
}

static void add_name(struct host_names *names, const char *name) {
	names->starts = array_grow(names->starts, names->count, sizeof *names->starts);
	names->starts[names->count++] = names->text.size;
	string_append_char(&names->text, 4);
	string_append_bytes(&names->text, name, strlen(name) + 1);
}

static void listings_are_read_piece_by_piece_and_bounded(void **state) {
	(void)state;
	CLEANUP(listings_free_p) struct listings *listings = listings_new();
	struct host_names names = {0};
	uint64_t offset = 0;
	size_t count = 0;
	for (int i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof name, i % 2 ? "name%d" : "secret%d", i);
		add_name(&names, name);
	}
	const uint64_t handle = listings_open(listings, &names);
	assert_true(handle > 0);
	for (;;) {
		CLEANUP_STRING struct string entries = {0};
		assert_int_equal(listings_read(listings, handle, offset, all_but_secrets, &entries), 0);
		assert_true(entries.size <= ROOM);
		if (entries.size == 0) break;
		for (size_t at = 0; at < entries.size;) {
			struct fuse_dirent entry;
			memcpy(&entry, entries.data + at, FUSE_NAME_OFFSET);
			assert_memory_equal(entries.data + at + FUSE_NAME_OFFSET, "name", 4);
			offset = entry.off;
			at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.namelen);
			count++;
		}
	}
	assert_int_equal(count, 500);
	CLEANUP_STRING struct string entries = {0};
	assert_int_equal(listings_read(listings, handle, UINT64_MAX, all_but_secrets, &entries), 0);
	assert_int_equal(entries.size, 0);
	listings_close(listings, handle);
	assert_int_equal(listings_read(listings, handle, 0, all_but_secrets, &entries), -EBADF);
}

static void open_listings_have_a_limit(void **state) {
	(void)state;
	CLEANUP(listings_free_p) struct listings *listings = listings_new();
	size_t opened = 0;
	for (;;) {
		struct host_names names = {0};
		char name[NAME_MAX];
		memset(name, 'n', sizeof name);
		name[NAME_MAX - 1] = '\0';
		for (int i = 0; i < 4000; i++) add_name(&names, name);
		const uint64_t handle = listings_open(listings, &names);
		host_names_finish(&names);
		if (handle == 0) break;
		opened++;
		assert_true(opened < 1000);
	}
	assert_true(opened > 5);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_number_while_it_is_held),
		cmocka_unit_test(the_kernel_can_forget_no_more_than_it_knew),
		cmocka_unit_test(paths_and_names_have_an_end),
		cmocka_unit_test(a_million_names_leave_nothing),
		cmocka_unit_test(a_message_that_is_cut_is_refused_and_can_be_answered),
		cmocka_unit_test(names_that_no_folder_can_have_are_refused),
		cmocka_unit_test(the_host_is_looked_at_without_following_links),
		cmocka_unit_test(a_server_that_hangs_holds_up_nobody),
		cmocka_unit_test(listings_are_read_piece_by_piece_and_bounded),
		cmocka_unit_test(open_listings_have_a_limit),
	};
	home_make(NULL);
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return result;
}
