/*
 * What call.c reads of real threads: a child makes each call under a filter that holds it (seccomp_unotify(2)), and is
 * told EXDEV, so that none is carried out. Forked from here, it has our memory's addresses.
 */
#include <errno.h>
#include <fcntl.h>

#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/call_table.h"
#include "support/passing.h"
#include "support/patience.h"

enum { ORDINARY_UID = 65533 };

struct caller {
	pid_t pid;
	int orders, listener;
	struct seccomp_notif held;
};

static char *top; /* the child's working folder */

static int load_filter(void) {
	struct sock_filter *steps = mem_array(struct sock_filter, 2 * call_shape_count + 2);
	unsigned short count = 0;
	steps[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < call_shape_count; i++) {
		if (call_shapes[i].number < 0) continue;
		steps[count++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call_shapes[i].number, 0, 1);
		steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {.len = count, .filter = steps};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	free(steps);
	return fd;
}

static _Noreturn void call_on_order(int orders) {
	struct call_raw raw;
	while (recv(orders, &raw, sizeof raw, 0) == sizeof raw)
		syscall(raw.number, raw.arguments[0], raw.arguments[1], raw.arguments[2], raw.arguments[3],
			raw.arguments[4], raw.arguments[5]);
	_exit(0);
}

/* `prepare` runs in the child before its filter is there. */
static struct caller caller_start(void (*prepare)(void)) {
	int pair[2], fds[PASSING_MAX];
	size_t count = 0;
	char byte = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	struct caller caller = {.orders = pair[0], .pid = fork()};
	if (caller.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd_close(pair[0]);
		if (prepare) prepare();
		int listener = load_filter();
		if (listener < 0 || passing_send(pair[1], &byte, 1, &listener, 1) < 0) _exit(1);
		fd_close(listener);
		call_on_order(pair[1]);
	}
	fd_close(pair[1]);
	assert_int_equal(passing_receive(caller.orders, &byte, 1, fds, &count), 1);
	assert_int_equal(count, 1);
	caller.listener = fds[0];
	return caller;
}

static void assert_same(const struct call_raw *a, const struct call_raw *b) {
	assert_int_equal(a->number, b->number);
	assert_memory_equal(a->arguments, b->arguments, sizeof a->arguments);
}

static struct call_raw caller_make(struct caller *caller, int number, const uint64_t arguments[CALL_ARGUMENTS]) {
	struct call_raw raw = {.number = number};
	memcpy(raw.arguments, arguments, sizeof raw.arguments);
	assert_int_equal(send(caller->orders, &raw, sizeof raw, 0), sizeof raw);
	caller->held = (struct seccomp_notif){0};
	assert_int_equal(ioctl(caller->listener, SECCOMP_IOCTL_NOTIF_RECV, &caller->held), 0);
	struct call_raw seen = {.number = caller->held.data.nr};
	for (size_t i = 0; i < CALL_ARGUMENTS; i++) seen.arguments[i] = caller->held.data.args[i];
	assert_same(&seen, &raw);
	return seen;
}

/* Who hears of a call may run before its thread has come to rest in it, always so on a single processor. */
static void caller_read(const struct caller *caller, struct call_raw *ret_raw) {
	int code;
	wait_until((code = call_raw_read((pid_t)caller->held.pid, ret_raw)) != -EAGAIN);
	assert_int_equal(code, 0);
}

static void caller_release(struct caller *caller) {
	struct seccomp_notif_resp answer = {.id = caller->held.id, .error = -EXDEV};
	assert_int_equal(ioctl(caller->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
}

static void caller_end(struct caller *caller) {
	fd_close(caller->orders);
	kill(caller->pid, SIGKILL);
	waitpid(caller->pid, NULL, 0);
	fd_close(caller->listener);
}

/* One call by name with its arguments (all of them; uint64_t each), read both ways. */
static void read_call(struct caller *caller, const char *name, struct call *ret_call, const uint64_t arguments[]) {
	const struct call_shape *shape = NULL;
	for (size_t i = 0; i < call_shape_count; i++)
		if (strcmp(call_shapes[i].name, name) == 0) shape = &call_shapes[i];
	*ret_call = (struct call){0};
	if (!shape) {
		fail_msg("no call %s", name);
		return;
	}
	if (shape->number < 0) return; /* not on this architecture */
	struct call_raw raw = caller_make(caller, shape->number, arguments), seen = {0};
	caller_read(caller, &seen);
	assert_same(&seen, &raw);
	call_read((pid_t)caller->held.pid, &raw, ret_call);
	assert_string_equal(ret_call->name, name);
	caller_release(caller);
}

#define P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define ARGUMENTS(...)                                                                                                 \
	(const uint64_t[CALL_ARGUMENTS]) {                                                                             \
		__VA_ARGS__                                                                                            \
	}

static const uint64_t cwd = (uint64_t)AT_FDCWD;

static void each_call_names_its_paths(void **state) {
	(void)state;
	CLEANUP_FD int folder = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
	const uint64_t at = (uint64_t)folder;
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s/socket"};
	const struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "\0abstract"};
	const struct {
		const char *name, *paths[CALL_PATHS]; /* relative: to the working folder */
		enum call_class class;
		uint64_t arguments[CALL_ARGUMENTS];
	} calls[] = {
		{"open", {"/a/b"}, CALL_OPEN, {P("/a//./x/../b"), O_RDONLY}},
		{"creat", {"f"}, CALL_OPEN, {P("f"), 0600}},
		{"openat", {"f"}, CALL_OPEN, {cwd, P("f"), O_RDONLY}},
		{"openat", {"/f"}, CALL_OPEN, {99, P("/f"), O_RDONLY}},
		{"openat", {NULL}, CALL_OPEN, {99, P("f"), O_RDONLY}},
		{"execve", {"/bin/x"}, CALL_EXECUTE, {P("/bin/x"), 0, 0}},
		{"execveat", {"x"}, CALL_EXECUTE, {cwd, P("x"), 0, 0, 0}},
		{"execveat", {""}, CALL_EXECUTE, {cwd, P(""), 0, 0, AT_EMPTY_PATH}},
		{"mkdir", {"d"}, CALL_NAMES, {P("d/"), 0700}},
		{"mkdirat", {"d"}, CALL_NAMES, {cwd, P("d"), 0700}},
		{"mknod", {"n"}, CALL_NAMES, {P("n"), S_IFIFO}},
		{"mknodat", {"n"}, CALL_NAMES, {cwd, P("n"), S_IFIFO}},
		{"symlink", {"l"}, CALL_NAMES, {P("/text"), P("l")}},
		{"symlinkat", {"l"}, CALL_NAMES, {P("/text"), cwd, P("l")}},
		{"bind", {"s/socket"}, CALL_NAMES, {0, P(&address), sizeof address}},
		{"bind", {"s"}, CALL_NAMES, {0, P(&address), offsetof(struct sockaddr_un, sun_path) + 1}},
		{"bind", {NULL}, CALL_NAMES, {0, P(&nowhere), sizeof nowhere}},
		{"bind", {NULL}, CALL_NAMES, {0, P(&address), 2}},
		{"link", {"a", "b"}, CALL_NAMES, {P("a"), P("b")}},
		{"linkat", {"a", "/b"}, CALL_NAMES, {cwd, P("a"), cwd, P("/b"), 0}},
		{"unlink", {"u"}, CALL_NAMES, {P("u")}},
		{"unlinkat", {"u"}, CALL_NAMES, {cwd, P("u"), 0}},
		{"rmdir", {"u"}, CALL_NAMES, {P("u")}},
		{"rename", {"a", "b"}, CALL_NAMES, {P("a"), P("b")}},
		{"renameat", {"a", "b"}, CALL_NAMES, {cwd, P("a"), cwd, P("b")}},
		{"renameat2", {"a", "b"}, CALL_NAMES, {cwd, P("a"), cwd, P("b"), 0}},
		{"truncate", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"chmod", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"fchmodat", {"t"}, CALL_CHANGE, {cwd, P("t"), 0}},
		{"fchmodat2", {"t"}, CALL_CHANGE, {cwd, P("t"), 0, 0}},
		{"chown", {"t"}, CALL_CHANGE, {P("t"), 1, 1}},
		{"lchown", {"t"}, CALL_CHANGE, {P("t"), 1, 1}},
		{"fchownat", {"t"}, CALL_CHANGE, {cwd, P("t"), 1, 1, 0}},
		{"utime", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"utimes", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"futimesat", {"t"}, CALL_CHANGE, {cwd, P("t"), 0}},
		{"utimensat", {"t"}, CALL_CHANGE, {cwd, P("t"), 0, 0}},
		{"setxattr", {"t"}, CALL_CHANGE, {P("t"), 0, 0, 0, 0}},
		{"lsetxattr", {"t"}, CALL_CHANGE, {P("t"), 0, 0, 0, 0}},
		{"setxattrat", {"t"}, CALL_CHANGE, {cwd, P("t"), 0, 0, 0, 0}},
		{"removexattr", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"lremovexattr", {"t"}, CALL_CHANGE, {P("t"), 0}},
		{"removexattrat", {"t"}, CALL_CHANGE, {cwd, P("t"), 0, 0}},
		{"file_setattr", {"t"}, CALL_CHANGE, {cwd, P("t"), 0, 0, 0}},
		{"stat", {"t"}, CALL_LOOK, {P("t"), 0}},
		{"lstat", {"t"}, CALL_LOOK, {P("t"), 0}},
		{"newfstatat", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0}},
		{"statx", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0, 0}},
		{"access", {"t"}, CALL_LOOK, {P("t"), 0}},
		{"faccessat", {"t"}, CALL_LOOK, {cwd, P("t"), 0}},
		{"faccessat2", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0}},
		{"readlink", {"t"}, CALL_LOOK, {P("t"), 0, 0}},
		{"readlinkat", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0}},
		{"chdir", {"t"}, CALL_LOOK, {P("t")}},
		{"chdir", {"/"}, CALL_LOOK, {P("/../../..")}},
		{"statfs", {"t"}, CALL_LOOK, {P("t"), 0}},
		{"getxattr", {"t"}, CALL_LOOK, {P("t"), 0, 0, 0}},
		{"lgetxattr", {"t"}, CALL_LOOK, {P("t"), 0, 0, 0}},
		{"getxattrat", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0, 0, 0}},
		{"listxattr", {"t"}, CALL_LOOK, {P("t"), 0, 0}},
		{"llistxattr", {"t"}, CALL_LOOK, {P("t"), 0, 0}},
		{"listxattrat", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0, 0}},
		{"file_getattr", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0, 0}},
		{"name_to_handle_at", {"t"}, CALL_LOOK, {cwd, P("t"), 0, 0, 0}},
		{"inotify_add_watch", {"t"}, CALL_LOOK, {0, P("t"), 0}},
		/* by descriptor */
		{"fchmod", {""}, CALL_CHANGE, {at, 0}},
		{"fchown", {""}, CALL_CHANGE, {at, 1, 1}},
		{"fsetxattr", {""}, CALL_CHANGE, {at, 0, 0, 0, 0}},
		{"fremovexattr", {""}, CALL_CHANGE, {at, 0}},
		{"utimensat", {""}, CALL_CHANGE, {at, 0, 0, 0}},
		{"fstat", {""}, CALL_LOOK, {at, 0}},
		{"fchdir", {""}, CALL_LOOK, {at}},
		{"fstatfs", {""}, CALL_LOOK, {at, 0}},
		{"fgetxattr", {""}, CALL_LOOK, {at, 0, 0, 0}},
		{"flistxattr", {""}, CALL_LOOK, {at, 0, 0}},
		{"newfstatat", {""}, CALL_LOOK, {at, P(""), 0, AT_EMPTY_PATH}},
		{"unlinkat", {"u"}, CALL_NAMES, {at, P("u"), 0}},
		{"renameat2", {"a", "b"}, CALL_NAMES, {at, P("a"), at, P("b"), 0}},
		{"symlinkat", {"l"}, CALL_NAMES, {P("/text"), at, P("l")}},
	};
	struct caller caller = caller_start(NULL);
	bool seen[256] = {false};
	assert_true(call_shape_count < ARRAY_LENGTH(seen));
	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, calls[i].name, &call, calls[i].arguments);
		for (size_t j = 0; j < call_shape_count; j++)
			seen[j] |= strcmp(call_shapes[j].name, calls[i].name) == 0;
		if (!call.name) continue;
		assert_int_equal(call.class, calls[i].class);
		for (size_t j = 0; j < CALL_PATHS; j++) {
			char *expected = NULL;
			const char *path = calls[i].paths[j];
			if (path) path_normalise(top, *path ? path : ".", &expected, NULL);
			if (!string_equal(call.paths[j], expected))
				fail_msg("%s (row %zu): %s, not %s", call.name, i, call.paths[j], expected);
			free(expected);
		}
	}
	for (size_t j = 0; j < call_shape_count; j++)
		if (!seen[j]) fail_msg("%s has no row here", call_shapes[j].name);
	caller_end(&caller);
}

/* Memory that can't be read may be read by the kernel all the same: what a call fails with is told instead of a path.
 */
static void what_cant_be_read_is_told(void **state) {
	(void)state;
	char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CLEANUP_FREE char *endless = mem_array(char, PATH_MAX + 1);
	memset(endless, 'x', PATH_MAX);
	const struct {
		const char *name;
		int codes[CALL_PATHS];
		uint64_t arguments[CALL_ARGUMENTS];
	} calls[] = {
		{"openat", {EFAULT}, {cwd, P(none), O_CREAT | O_WRONLY}},
		{"openat", {ENAMETOOLONG}, {cwd, P(endless), O_CREAT | O_WRONLY}},
		{"mkdirat", {EFAULT}, {cwd, P(none), 0700}},
		{"renameat2", {0, EFAULT}, {cwd, P("x"), cwd, P(none), 0}},
		{"symlinkat", {EFAULT}, {P("x"), cwd, P(none)}},
		{"symlinkat", {EFAULT}, {P(none), cwd, P("l")}},
		{"execveat", {EFAULT}, {cwd, P(none), 0, 0, 0}},
		{"bind", {EFAULT}, {0, P(none), sizeof(struct sockaddr_un)}},
		{"mkdirat", {0}, {cwd, P("x"), 0700}},
	};
	struct caller caller = caller_start(NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, calls[i].name, &call, calls[i].arguments);
		assert_memory_equal(call.codes, calls[i].codes, sizeof call.codes);
		if (call.class == CALL_OPEN) assert_true(call.create);
	}
	caller_end(&caller);
	munmap(none, 4096);
}

static void names_that_come_and_go_are_told(void **state) {
	(void)state;
	struct caller caller = caller_start(NULL);
	const struct {
		const char *name;
		bool makes[CALL_PATHS], removes[CALL_PATHS], brings;
		uint64_t arguments[CALL_ARGUMENTS];
	} calls[] = {
		{"linkat", {false, true}, {false, false}, false, {cwd, P("a"), cwd, P("b"), 0}},
		{"unlinkat", {false, false}, {true, false}, false, {cwd, P("a"), 0}},
		{"symlinkat", {true, false}, {false, false}, true, {P("a"), cwd, P("b")}},
		{"mkdirat", {true, false}, {false, false}, false, {cwd, P("a"), 0}},
		{"renameat2", {false, true}, {true, false}, true, {cwd, P("a"), cwd, P("b"), 0}},
		{"renameat2", {true, true}, {true, true}, true, {cwd, P("a"), cwd, P("b"), RENAME_EXCHANGE}},
		{"statx", {false, false}, {false, false}, false, {cwd, P("a"), 0, 0, 0}},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, calls[i].name, &call, calls[i].arguments);
		assert_memory_equal(call.makes, calls[i].makes, sizeof call.makes);
		assert_memory_equal(call.removes, calls[i].removes, sizeof call.removes);
		assert_int_equal(call.brings, calls[i].brings);
	}
	caller_end(&caller);
}

static void changes_of_links_themselves_follow_none(void **state) {
	(void)state;
	const uint64_t no = AT_SYMLINK_NOFOLLOW;
	struct caller caller = caller_start(NULL);
	const struct {
		const char *name;
		uint64_t arguments[CALL_ARGUMENTS];
		bool straight;
	} calls[] = {
		{"chown", {P("a"), 1, 1}, false},
		{"lchown", {P("a"), 1, 1}, true},
		{"fchownat", {cwd, P("a"), 1, 1, 0}, false},
		{"fchownat", {cwd, P("a"), 1, 1, no}, true},
		{"utimensat", {cwd, P("a"), 0, 0}, false},
		{"utimensat", {cwd, P("a"), 0, no}, true},
		{"fchmodat2", {cwd, P("a"), 0, no}, true},
		{"setxattr", {P("a"), P("n")}, false},
		{"lsetxattr", {P("a"), P("n")}, true},
		{"lremovexattr", {P("a"), P("n")}, true},
		{"setxattrat", {cwd, P("a"), no}, true},
		{"removexattrat", {cwd, P("a"), no}, true},
		{"file_setattr", {cwd, P("a"), 0, 0, no}, true},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, calls[i].name, &call, calls[i].arguments);
		if (call.straight != calls[i].straight) fail_msg("%s, row %zu", calls[i].name, i);
	}
	caller_end(&caller);
}

static void opens_say_how(void **state) {
	(void)state;
	const struct {
		uint64_t flags;
		bool write, create, nameless;
	} opens[] = {
		{O_RDONLY, false, false, false},
		{O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW, false, false, false},
		{O_WRONLY, true, false, false},
		{O_RDWR, true, false, false},
		{O_ACCMODE, true, false, false}, /* 3: neither read nor write, for ioctl; the mode must allow both */
		{O_RDONLY | O_TRUNC, true, false, false},
		{O_RDONLY | O_CREAT, false, true, false},
		{O_WRONLY | O_CREAT | O_EXCL, true, true, false},
		{O_TMPFILE | O_RDWR, true, true, true},
		{O_PATH | O_RDWR | O_CREAT | O_TRUNC, false, false, false},
		{O_RDONLY | UINT64_C(1) << 40, false, false, false},
	};
	struct caller caller = caller_start(NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(opens); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, "openat", &call, ARGUMENTS(cwd, P("f"), opens[i].flags));
		assert_int_equal(call.write, opens[i].write);
		assert_int_equal(call.create, opens[i].create);
		assert_int_equal(call.nameless, opens[i].nameless);
	}
	CLEANUP_CALL struct call call;
	read_call(&caller, "creat", &call, ARGUMENTS(P("f"), 0600));
	if (call.name) assert_true(call.write && call.create);
	caller_end(&caller);
}

/* Two pages, the second of which can't be read. */
static char *make_edge(void) {
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	return pages + page;
}

static void hostile_pointers_give_no_path(void **state) {
	(void)state;
	char *edge = make_edge();
	CLEANUP_FREE char *endless = mem_array(char, 4 * PATH_MAX), *longest = mem_array(char, PATH_MAX);
	memset(endless, 'x', 4 * PATH_MAX);
	for (size_t i = 0; i < PATH_MAX - 1; i++) longest[i] = i % 2 ? 'a' : '/';
	longest[PATH_MAX - 2] = '/';
	edge[-2] = '/', edge[-1] = 'x'; /* no NUL before the edge */
	memcpy(edge - 7, "/in", 4);
	CLEANUP_FREE char *name = mem_array(char, NAME_MAX + 3);
	memset(name, 'n', NAME_MAX + 1);
	const uint64_t bad[] = {1,
				4096,
				UINT64_MAX,
				UINT64_MAX - 4096,
				UINT64_C(0xffff888000000000),
				UINT64_C(1) << 47,
				P(edge),
				P(edge - 2),
				P(endless),
				P(name),
				P("")};
	struct caller caller = caller_start(NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		CLEANUP_CALL struct call call;
		read_call(&caller, "chdir", &call, ARGUMENTS(bad[i]));
		if (call.paths[0]) fail_msg("pointer %zu gave %s", i, call.paths[0]);
	}
	CLEANUP_CALL struct call call, most, null;
	read_call(&caller, "chdir", &call, ARGUMENTS(P(edge - 7)));
	assert_string_equal(call.paths[0], "/in");
	read_call(&caller, "chdir", &most, ARGUMENTS(P(longest)));
	assert_int_equal(strlen(most.paths[0]), PATH_MAX - 2);
	read_call(&caller, "chdir", &null, ARGUMENTS(0));
	assert_null(null.paths[0]);
	caller_end(&caller);
	munmap(edge - sysconf(_SC_PAGESIZE), 2 * (size_t)sysconf(_SC_PAGESIZE));
}

static char *racing; /* shared with the child */

static void *rewrite(void *argument) {
	(void)argument;
	for (;;) {
		memcpy(racing, "/aaaaaaaaaaaaaaaa", 18);
		memset(racing, '.', PATH_MAX); /* and no NUL */
		memcpy(racing, "/../..//b", 10);
	}
	return NULL;
}

static void start_rewriting(void) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, rewrite, NULL) != 0) _exit(1);
}

static void racing_memory_gives_some_normal_path_or_none(void **state) {
	(void)state;
	racing = mmap(NULL, 2 * PATH_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(racing, MAP_FAILED);
	struct caller caller = caller_start(start_rewriting);
	struct call_raw raw = caller_make(&caller, SYS_chdir, ARGUMENTS(P(racing)));
	for (int i = 0; i < 20000; i++) {
		CLEANUP_CALL struct call call;
		CLEANUP_FREE char *again = NULL;
		call_read((pid_t)caller.held.pid, &raw, &call);
		if (!call.paths[0]) continue;
		assert_int_equal(path_normalise(NULL, call.paths[0], &again, NULL), 0);
		assert_string_equal(again, call.paths[0]);
	}
	caller_release(&caller);
	caller_end(&caller);
	munmap(racing, 2 * PATH_MAX);
}

static void a_dead_thread_gives_nothing(void **state) {
	(void)state;
	struct caller caller = caller_start(NULL);
	struct call_raw raw = caller_make(&caller, SYS_renameat2, ARGUMENTS(cwd, P("a"), cwd, P("/b"))), seen;
	caller_read(&caller, &seen);
	kill(caller.pid, SIGKILL);
	waitpid(caller.pid, NULL, 0);
	assert_int_equal(call_raw_read((pid_t)caller.held.pid, &seen), -ESRCH);
	CLEANUP_CALL struct call call;
	call_read((pid_t)caller.held.pid, &raw, &call);
	assert_int_equal(call.class, CALL_NAMES);
	assert_null(call.paths[0]);
	assert_null(call.paths[1]);
	caller_end(&caller);
}

static void stand_back(void) {
	const struct sched_param none = {0};
	if (sched_setscheduler(0, SCHED_IDLE, &none) < 0) _exit(1);
}

/* On a single processor whoever hears of a call takes it from the thread that makes it, before that has come to rest:
 * on Linux 6.1 always, as the thread stands back. */
static void a_thread_on_its_way_to_rest_is_read(void **state) {
	(void)state;
	cpu_set_t all, one;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	struct caller caller = caller_start(stand_back);
	for (int i = 0; i < 20; i++) {
		caller_make(&caller, SYS_execve, ARGUMENTS(P("/bin/x"), 0, 0));
		CLEANUP_FREE char *started = call_started(NULL, (pid_t)caller.held.pid);
		caller_release(&caller);
		caller_make(&caller, SYS_openat, ARGUMENTS(cwd, P("/a/b"), O_WRONLY | O_CREAT));
		CLEANUP_FREE char *name = call_name_in(NULL, (pid_t)caller.held.pid, "/a");
		caller_release(&caller);
		assert_string_equal(started ? started : "nothing", "/bin/x");
		assert_string_equal(name ? name : "nothing", "/a/b");
	}
	caller_end(&caller);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void a_thread_that_runs_is_not_gone(void **state) {
	(void)state;
	struct call_raw raw;
	const pid_t pid = fork();
	if (pid == 0)
		for (;;) continue;
	const int code = call_raw_read(pid, &raw);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(code, -EAGAIN);
	assert_int_equal(call_raw_read(pid, &raw), -ESRCH);
}

static void hide(void) {
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void a_thread_that_hides_gives_nothing(void **state) {
	(void)state;
	struct caller caller = caller_start(hide);
	struct call_raw raw = caller_make(&caller, SYS_openat, ARGUMENTS(cwd, P("/a"), O_WRONLY)), seen;
	int r = call_raw_read((pid_t)caller.held.pid, &seen);
	assert_true(r == -EPERM || r == -EACCES);
	CLEANUP_CALL struct call call;
	call_read((pid_t)caller.held.pid, &raw, &call);
	assert_true(call.write); /* the kernel gave that */
	assert_null(call.paths[0]);
	caller_release(&caller);
	caller_end(&caller);
}

static void a_thread_in_no_such_call_is_other(void **state) {
	(void)state;
	struct call_raw raw;
	struct caller caller = caller_start(NULL);
	wait_until(call_raw_read(caller.pid, &raw) == 0); /* it waits for orders */
	CLEANUP_CALL struct call call;
	call_read(caller.pid, &raw, &call);
	assert_int_equal(call.class, CALL_OTHER);
	assert_null(call.name);
	caller_end(&caller);
}

static void thread_ids_are_threads(void **state) {
	(void)state;
	struct call_raw raw;
	assert_int_equal(call_raw_read(0x3fffffff, &raw), -ESRCH);
	assert_true(call_raw_read(1, &raw) < 0);
}

static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-call.XXXXXX";
	assert_non_null(mkdtemp(name));
	assert_int_equal(chmod(name, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID), 0);
		assert_int_equal(chown(name, ORDINARY_UID, ORDINARY_UID), 0);
		assert_int_equal(setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID), 0);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	}
	top = realpath(name, NULL);
	return chdir(top);
}

static int teardown(void **state) {
	(void)state;
	int r = rmdir(top);
	free(top);
	return r;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_names_its_paths),
		cmocka_unit_test(what_cant_be_read_is_told),
		cmocka_unit_test(names_that_come_and_go_are_told),
		cmocka_unit_test(changes_of_links_themselves_follow_none),
		cmocka_unit_test(opens_say_how),
		cmocka_unit_test(hostile_pointers_give_no_path),
		cmocka_unit_test(racing_memory_gives_some_normal_path_or_none),
		cmocka_unit_test(a_dead_thread_gives_nothing),
		cmocka_unit_test(a_thread_on_its_way_to_rest_is_read),
		cmocka_unit_test(a_thread_that_runs_is_not_gone),
		cmocka_unit_test(a_thread_that_hides_gives_nothing),
		cmocka_unit_test(a_thread_in_no_such_call_is_other),
		cmocka_unit_test(thread_ids_are_threads),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
