#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/passing.h"
#include "support/patience.h"

enum { TICK_MS = 5, ACTIONS_MAX = 4096, NAMES_MAX = 64 };

/* To the portal. Paths are below the host tree. */
enum order_kind { ORDER_HANG, ORDER_PUT, ORDER_TAKE, ORDER_ABORT, ORDER_READ, ORDER_REACH };
struct order {
	enum order_kind kind;
	char name[PATH_MAX];
};

/* To the sandbox's first process, and back. */
struct task {
	size_t which;
	fixture_action *action;
	char argument[256];
};
struct outcome {
	size_t which;
	bool begun; /* `result` is nothing; the sender's pid comes with it */
	int result;
};

struct held {
	struct held *next;
	struct fixture *fixture;
	uint64_t ticket;
	held_done *done;
	void *argument;
	enum held_end end;
	char *target; /* what is being mounted for it */
	bool interrupted;
};

/* An order that is under way: the portal takes them one by one. */
struct errand {
	struct errand *next;
	bool finished;
	int result;
	struct held *held; /* that waits for it */
};

struct fixture {
	char *folder, *host;
	struct event_base *base;
	struct curtain *curtain;
	pid_t portal, init;
	int portal_fd, tasks_fd;
	struct event *portal_event, *tasks_event;
	enum fixture_answer answer;
	struct strings nodes, hidden, leading, programs, granted, mounting;
	struct held *held;
	struct errand *errands;
	uint64_t last_ticket;
	bool heeds_interrupts, timed_out;
	struct fixture_counts counts;
	size_t task_count;
	int results[ACTIONS_MAX];
	bool finished[ACTIONS_MAX];
	pid_t pids[ACTIONS_MAX];
};

static void check(bool good, const char *what) {
	if (!good) fail_msg("%s: %s", what, strerror(errno));
}

/* --- In the namespaces. */

_Noreturn static void give_up(const char *what) {
	fprintf(stderr, "fixture: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void write_text(const char *path, const char *text) {
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) give_up(path);
}

static void enter_namespaces(void) {
	char map[64];
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0) give_up("unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", map);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) give_up("private");
}

static void set_option(int context, const char *key, const char *text) {
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text, 0) < 0) give_up(key);
}

static int mount_superblock(const char *where) {
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int context = (int)syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC);
	if (device < 0 || context < 0) give_up("/dev/fuse");
	CLEANUP_FREE char *fd = string_format("%d", device);
	CLEANUP_FREE char *mode = string_format("%o", S_IFDIR);
	CLEANUP_FREE char *uid = string_format("%u", getuid());
	CLEANUP_FREE char *gid = string_format("%u", getgid());
	set_option(context, "fd", fd);
	set_option(context, "rootmode", mode);
	set_option(context, "user_id", uid);
	set_option(context, "group_id", gid);
	set_option(context, "source", "sbx");
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "default_permissions", NULL, 0) < 0)
		give_up("default_permissions");
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) give_up("superblock");
	int tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (tree < 0 || syscall(SYS_move_mount, tree, "", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH) < 0) give_up(where);
	close(tree);
	close(context);
	return device;
}

static int clone_over(const char *from, const char *to, unsigned recursive) {
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive);
	if (tree < 0) return errno;
	int code = syscall(SYS_move_mount, tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? errno : 0;
	close(tree);
	return code;
}

/* All names of a folder; how many. */
static int read_names(const char *folder) {
	int count = 0;
	DIR *stream = opendir(folder);
	if (!stream) return -errno;
	while (readdir(stream)) count++;
	closedir(stream);
	return count;
}

/* "0", "1" … in a folder, as a portal does; how many there are. */
static int reach_names(const char *folder) {
	CLEANUP_FD int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int count = 0;; count++) {
		char name[16];
		snprintf(name, sizeof name, "%d", count);
		CLEANUP_FD int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) return errno == ENOENT ? count : -errno;
	}
}

static int carry_out(const struct fixture *fixture, const struct order *order) {
	CLEANUP_FREE char *to = *order->name ? path_join(fixture->host, order->name) : string_copy(fixture->host);
	CLEANUP_FREE char *node = string_format("%s/fuse%s", fixture->folder, to);
	CLEANUP_FREE char *real = string_format("%s/stage/%s", fixture->folder, order->name);
	switch (order->kind) {
	case ORDER_HANG:
		return clone_over(node, to, 0);
	case ORDER_PUT:
		return clone_over(real, to, AT_RECURSIVE);
	case ORDER_TAKE:
		return umount2(to, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? errno : 0;
	case ORDER_ABORT:
		return umount2(to, MNT_FORCE) < 0 && errno != EBUSY ? errno : 0;
	case ORDER_READ:
		return read_names(node);
	case ORDER_REACH:
		return reach_names(node);
	}
	return EINVAL;
}

static void run_task(int socket, const struct task *task, const char *host) {
	struct outcome outcome = {.which = task->which, .begun = true};
	send(socket, &outcome, sizeof outcome, 0);
	outcome.begun = false;
	outcome.result = task->action(host, task->argument);
	send(socket, &outcome, sizeof outcome, 0);
	_exit(0);
}

_Noreturn static void serve_tasks(int socket, const char *host) {
	struct task task;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	while (recv(socket, &task, sizeof task, 0) == sizeof task) {
		pid_t child = fork();
		if (child == 0) {
			signal(SIGCHLD, SIG_DFL);
			signal(SIGINT, SIG_DFL);
			run_task(socket, &task, host);
		}
		if (child < 0) {
			struct outcome outcome = {.which = task.which, .result = -errno};
			send(socket, &outcome, sizeof outcome, 0);
		}
	}
	_exit(0);
}

_Noreturn static void be_portal(struct fixture *fixture, int orders, int tasks) {
	struct order order;
	CLEANUP_FREE char *stage = path_join(fixture->folder, "stage");
	CLEANUP_FREE char *fuse = path_join(fixture->folder, "fuse");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	enter_namespaces();
	if (mount(fixture->host, stage, NULL, MS_BIND | MS_REC, NULL) < 0) give_up(stage);
	int device = mount_superblock(fuse);
	pid_t init = fork();
	if (init == 0) {
		close(device); /* else the server's end would not end the connection */
		close(orders);
		serve_tasks(tasks, fixture->host);
	}
	close(tasks);
	if (passing_send(orders, &init, sizeof init, &device, 1) < 0) give_up("send");
	close(device);
	while (recv(orders, &order, sizeof order, 0) == sizeof order) {
		int result = carry_out(fixture, &order);
		send(orders, &result, sizeof result, 0);
	}
	_exit(0);
}

/* --- The server's side. */

static bool is_in(const struct strings *names, const char *path, bool below) {
	for (size_t i = 0; i < names->count; i++)
		if (below ? path_is_below(path, names->items[i]) : path_is_below(names->items[i], path)) return true;
	return false;
}

static struct sight sight_of(void *context, const char *path) {
	struct fixture *fixture = context;
	struct sight sight = {.mode = VIEW_ABSENT};
	if (path_is_below(path, fixture->host)) sight.mode = VIEW_ASK;
	if (strings_contain(&fixture->leading, path) || is_in(&fixture->hidden, path, true)) sight.mode = VIEW_ABSENT;
	if (is_in(&fixture->granted, path, true)) sight.mode = VIEW_WRITE;
	fixture->counts.sights++;
	sight.visible = sight.program = strings_contain(&fixture->programs, path);
	sight.leads = is_in(&fixture->nodes, path, false) || is_in(&fixture->mounting, path, false) ||
		      strings_contain(&fixture->leading, path);
	return sight;
}

static void end_held(evutil_socket_t fd, short what, void *argument) {
	struct held *held = argument, **at = &held->fixture->held;
	(void)fd;
	(void)what;
	while (*at && *at != held) at = &(*at)->next;
	if (!*at) return;
	*at = held->next;
	held->fixture->counts.held--;
	if (held->done) held->done(held->argument, held->end);
	free(held->target);
	free(held);
}

static void end_soon(struct held *held, enum held_end end) {
	const struct timeval now = {0};
	held->end = end;
	check(event_base_once(held->fixture->base, -1, EV_TIMEOUT, end_held, held, &now) == 0, "event_base_once");
}

static struct errand *send_order(struct fixture *fixture, enum order_kind kind, const char *name, struct held *held) {
	struct order order = {.kind = kind};
	struct errand *errand = mem_new(struct errand), **last = &fixture->errands;
	snprintf(order.name, sizeof order.name, "%s", name);
	*errand = (struct errand){.held = held};
	while (*last) last = &(*last)->next;
	*last = errand;
	check(send(fixture->portal_fd, &order, sizeof order, 0) == sizeof order, "send");
	return errand;
}

static const char *name_of(const struct fixture *fixture, const char *path) {
	const size_t size = strlen(fixture->host);
	return path[size] ? path + size + 1 : "";
}

static char *target_of(const struct fixture *fixture, const struct need *need) {
	struct stat status;
	char *path = string_copy(need->path);
	if (fixture->answer == ANSWER_NODE) {
		for (size_t i = 0; i < fixture->nodes.count; i++)
			if (path_is_below(path, fixture->nodes.items[i])) {
				free(path);
				return string_copy(fixture->nodes.items[i]);
			}
	}
	/* A link is never mounted, but the folder that it is in. */
	const bool link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
	if ((link || (fixture->answer == ANSWER_FOLDER && !need->by_folder)) && strcmp(path, fixture->host) != 0) {
		char *parent = path_parent(path);
		free(path);
		path = parent;
	}
	return path;
}

static uint64_t hold(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	struct fixture *fixture = context;
	struct held *held = mem_new(struct held);
	(void)thread;
	const struct permission permission = permission_of(need->permission);
	snprintf(fixture->counts.last, sizeof fixture->counts.last, "%s %s%s%s", permission.name,
		 name_of(fixture, need->path), need->by_folder ? " by folder" : "", need->listing ? " listing" : "");
	*held = (struct held){.next = fixture->held,
			      .fixture = fixture,
			      .ticket = ++fixture->last_ticket,
			      .done = done,
			      .argument = argument};
	fixture->held = held;
	fixture->counts.asked++;
	fixture->counts.held++;
	switch (fixture->answer) {
	case ANSWER_OBJECT:
	case ANSWER_FOLDER:
	case ANSWER_NODE:
		held->target = target_of(fixture, need);
		if (is_in(&fixture->granted, held->target, true)) {
			end_soon(held, HELD_AGAIN);
			break;
		}
		if (!strings_contain(&fixture->mounting, held->target)) {
			strings_add(&fixture->mounting, held->target);
			send_order(fixture, ORDER_PUT, name_of(fixture, held->target), held);
		}
		break;
	case ANSWER_REFUSED:
		end_soon(held, HELD_REFUSED);
		break;
	case ANSWER_ABSENT:
		end_soon(held, HELD_ABSENT);
		break;
	case ANSWER_NEVER:
		break;
	}
	return held->ticket;
}

static struct held *find_held(struct fixture *fixture, uint64_t ticket) {
	struct held *held = fixture->held;
	while (held && held->ticket != ticket) held = held->next;
	return held;
}

static void interrupted(void *context, uint64_t ticket) {
	struct fixture *fixture = context;
	struct held *held = find_held(fixture, ticket);
	fixture->counts.interrupted++;
	if (held && fixture->heeds_interrupts && !held->interrupted) {
		held->interrupted = true;
		end_soon(held, HELD_INTERRUPTED);
	}
}

static void drop(void *context, uint64_t ticket) {
	struct held *held = find_held(context, ticket);
	if (held) held->done = NULL;
}

static void ended(void *context) {
	((struct fixture *)context)->counts.ended++;
}

static void take_result(evutil_socket_t fd, short what, void *argument) {
	struct fixture *fixture = argument;
	int result;
	(void)what;
	if (recv(fd, &result, sizeof result, MSG_DONTWAIT) != sizeof result) {
		event_del(fixture->portal_event);
		return;
	}
	struct errand *errand = fixture->errands;
	fixture->errands = errand->next;
	errand->finished = true;
	errand->result = result;
	if (!errand->held) return; /* whoever waits for it frees it */
	CLEANUP_FREE char *target = string_copy(errand->held->target);
	if (result == 0) strings_add(&fixture->granted, target);
	if (result != 0) fprintf(stderr, "fixture: %s: %s\n", target, strerror(result));
	for (struct held *held = fixture->held; held; held = held->next)
		if (held->target && strcmp(held->target, target) == 0)
			end_soon(held, result == 0 ? HELD_AGAIN : HELD_REFUSED);
	free(errand);
}

static void take_outcome(evutil_socket_t fd, short what, void *argument) {
	struct fixture *fixture = argument;
	struct outcome outcome;
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = {.iov_base = &outcome, .iov_len = sizeof outcome};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	(void)what;
	if (recvmsg(fd, &message, MSG_DONTWAIT) != sizeof outcome) {
		event_del(fixture->tasks_event);
		return;
	}
	if (outcome.begun) {
		struct ucred who = {0};
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		if (header && header->cmsg_type == SCM_CREDENTIALS) memcpy(&who, CMSG_DATA(header), sizeof who);
		fixture->pids[outcome.which] = who.pid;
	} else {
		fixture->results[outcome.which] = outcome.result;
		fixture->finished[outcome.which] = true;
	}
}

/* --- What tests call. */

static void demand_fuse(void) {
	const char *no_skip = getenv("SBX_NO_SKIP");
	CLEANUP_FD int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device >= 0) return;
	if (no_skip && strcmp(no_skip, "1") == 0) fail_msg("/dev/fuse can't be opened");
	print_message("skipped: /dev/fuse can't be opened by this user (scripts/test opens it)\n");
	skip();
}

struct fixture *fixture_new(void) {
	static unsigned last;
	demand_fuse();
	struct fixture *fixture = mem_new(struct fixture);
	CLEANUP_FREE char *name = string_format("f%u", ++last);
	fixture->folder = home_path(name);
	fixture->host = path_join(fixture->folder, "h");
	CLEANUP_FREE char *stage = path_join(fixture->folder, "stage");
	CLEANUP_FREE char *fuse = path_join(fixture->folder, "fuse");
	check(mkdir(fixture->folder, 0700) == 0 && mkdir(fixture->host, 0700) == 0 && mkdir(stage, 0700) == 0 &&
		      mkdir(fuse, 0700) == 0,
	      fixture->folder);
	fixture->portal_fd = fixture->tasks_fd = -1;
	return fixture;
}

const char *fixture_host(const struct fixture *fixture) {
	return fixture->host;
}

char *fixture_path(const struct fixture *fixture, const char *name) {
	return *name ? path_join(fixture->host, name) : string_copy(fixture->host);
}

void fixture_start(struct fixture *fixture) {
	struct error error = ERROR_NONE;
	int orders[2], tasks[2], device = -1;
	size_t count = 0;
	const int on = 1;
	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) == 0, "socketpair");
	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, tasks) == 0, "socketpair");
	check(setsockopt(tasks[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0, "SO_PASSCRED");
	fixture->portal = fork();
	check(fixture->portal >= 0, "fork");
	if (fixture->portal == 0) {
		close(orders[0]);
		close(tasks[0]);
		be_portal(fixture, orders[1], tasks[1]);
	}
	close(orders[1]);
	close(tasks[1]);
	fixture->portal_fd = orders[0];
	fixture->tasks_fd = tasks[0];
	int fds[PASSING_MAX];
	if (passing_receive(orders[0], &fixture->init, sizeof fixture->init, fds, &count) <= 0 || count != 1)
		fail_msg("no curtain here");
	device = fds[0];
	fixture->base = loop_new();
	const struct curtain_options options = {.base = fixture->base,
						.portal = fixture->portal,
						.init = fixture->init,
						.uid = getuid(),
						.gid = getgid(),
						.sight = sight_of,
						.hold = hold,
						.interrupted = interrupted,
						.drop = drop,
						.ended = ended,
						.context = fixture};
	if (curtain_new(device, &options, &fixture->curtain, &error) < 0) fail_msg("%s", error.message);
	fixture->portal_event = event_new(fixture->base, orders[0], EV_READ | EV_PERSIST, take_result, fixture);
	fixture->tasks_event = event_new(fixture->base, tasks[0], EV_READ | EV_PERSIST, take_outcome, fixture);
	event_add(fixture->portal_event, NULL);
	event_add(fixture->tasks_event, NULL);
}

void fixture_free(struct fixture *fixture) {
	if (!fixture) return;
	if (fixture->base) {
		kill(fixture->init, SIGKILL);
		curtain_free(fixture->curtain);
		kill(fixture->portal, SIGKILL);
		waitpid(fixture->portal, NULL, 0);
		event_free(fixture->portal_event);
		event_free(fixture->tasks_event);
		event_base_free(fixture->base);
	}
	while (fixture->held) {
		struct held *held = fixture->held;
		fixture->held = held->next;
		free(held->target);
		free(held);
	}
	while (fixture->errands) {
		struct errand *errand = fixture->errands;
		fixture->errands = errand->next;
		free(errand);
	}
	struct strings *lists[] = {&fixture->nodes,    &fixture->hidden,  &fixture->leading,
				   &fixture->programs, &fixture->granted, &fixture->mounting};
	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) strings_finish(lists[i]);
	fd_close(fixture->portal_fd);
	fd_close(fixture->tasks_fd);
	free(fixture->folder);
	free(fixture->host);
	free(fixture);
}

void fixture_free_p(struct fixture **fixture) {
	fixture_free(*fixture);
}

static void tick(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	(void)argument;
}

static bool serve_while(struct fixture *fixture, int ms, bool (*goes_on)(struct fixture *, void *), void *argument) {
	const struct timeval time = {.tv_usec = TICK_MS * 1000};
	const int64_t end = now_ms() + ms;
	/* What is waited for may be no event of the loop. */
	struct event *timer = event_new(fixture->base, -1, EV_PERSIST, tick, NULL);
	check(timer && event_add(timer, &time) == 0, "timer");
	while (now_ms() < end && goes_on(fixture, argument)) event_base_loop(fixture->base, EVLOOP_ONCE);
	event_free(timer);
	return !goes_on(fixture, argument);
}

static bool always(struct fixture *fixture, void *argument) {
	(void)fixture;
	(void)argument;
	return true;
}

void fixture_serve(struct fixture *fixture, int ms) {
	serve_while(fixture, ms, always, NULL);
}

struct condition {
	bool (*holds)(struct fixture *, size_t);
	size_t wanted;
};

static bool not_yet(struct fixture *fixture, void *argument) {
	const struct condition *condition = argument;
	return !condition->holds(fixture, condition->wanted);
}

bool fixture_serve_until(struct fixture *fixture, bool (*holds)(struct fixture *fixture, size_t wanted),
			 size_t wanted) {
	struct condition condition = {holds, wanted};
	return serve_while(fixture, PATIENCE_MS, not_yet, &condition);
}

bool held_reach(struct fixture *fixture, size_t wanted) {
	return fixture->counts.held >= wanted;
}

bool interrupts_reach(struct fixture *fixture, size_t wanted) {
	return fixture->counts.interrupted >= wanted;
}

static bool is_under_way(struct fixture *fixture, void *argument) {
	(void)fixture;
	return !((struct errand *)argument)->finished;
}

static int order(struct fixture *fixture, enum order_kind kind, const char *name) {
	struct errand *errand = send_order(fixture, kind, name, NULL);
	if (!serve_while(fixture, PATIENCE_MS, is_under_way, errand)) fail_msg("the portal hangs at %s", name);
	int result = errand->result;
	free(errand);
	return result;
}

void fixture_hang(struct fixture *fixture, const char *name) {
	strings_take(&fixture->nodes, fixture_path(fixture, name));
	errno = order(fixture, ORDER_HANG, name);
	check(errno == 0, name);
}

void fixture_answer(struct fixture *fixture, enum fixture_answer answer) {
	fixture->answer = answer;
}

void fixture_hide(struct fixture *fixture, const char *name) {
	strings_take(&fixture->hidden, fixture_path(fixture, name));
}

void fixture_lead(struct fixture *fixture, const char *name) {
	strings_take(&fixture->leading, fixture_path(fixture, name));
}

void fixture_program(struct fixture *fixture, const char *name) {
	strings_take(&fixture->programs, fixture_path(fixture, name));
}

int fixture_put(struct fixture *fixture, const char *name) {
	char *path = fixture_path(fixture, name);
	strings_take(&fixture->mounting, path);
	int result = order(fixture, ORDER_PUT, name);
	if (result == 0) strings_add(&fixture->granted, path);
	return result;
}

static void remove_name(struct strings *names, const char *name) {
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0) {
			free(names->items[i]);
			names->items[i--] = names->items[--names->count];
			names->items[names->count] = NULL;
		}
}

int fixture_take(struct fixture *fixture, const char *name) {
	CLEANUP_FREE char *path = fixture_path(fixture, name);
	int result = order(fixture, ORDER_TAKE, name);
	remove_name(&fixture->granted, path);
	remove_name(&fixture->mounting, path);
	return result;
}

int fixture_read(struct fixture *fixture, const char *name) {
	return order(fixture, ORDER_READ, name);
}

int fixture_reach(struct fixture *fixture, const char *name) {
	return order(fixture, ORDER_REACH, name);
}

int fixture_abort(struct fixture *fixture) {
	return order(fixture, ORDER_ABORT, "");
}

size_t fixture_begin(struct fixture *fixture, fixture_action *action, const char *argument) {
	struct task task = {.which = fixture->task_count++, .action = action};
	assert_true(task.which < ACTIONS_MAX);
	snprintf(task.argument, sizeof task.argument, "%s", argument);
	check(send(fixture->tasks_fd, &task, sizeof task, 0) == sizeof task, "send");
	return task.which;
}

static bool runs(struct fixture *fixture, void *argument) {
	return !fixture->finished[*(size_t *)argument];
}

int fixture_wait(struct fixture *fixture, size_t which) {
	return serve_while(fixture, PATIENCE_MS, runs, &which) ? fixture->results[which] : -ETIME;
}

int fixture_run(struct fixture *fixture, fixture_action *action, const char *argument) {
	return fixture_wait(fixture, fixture_begin(fixture, action, argument));
}

size_t fixture_begun(const struct fixture *fixture) {
	return fixture->task_count;
}

size_t fixture_finished(const struct fixture *fixture) {
	size_t count = 0;
	for (size_t i = 0; i < fixture->task_count; i++) count += fixture->finished[i];
	return count;
}

pid_t fixture_pid(struct fixture *fixture, size_t which) {
	return fixture->pids[which];
}

const struct fixture_counts *fixture_counts(const struct fixture *fixture) {
	return &fixture->counts;
}

void fixture_settle(struct fixture *fixture, enum held_end end) {
	for (struct held *held = fixture->held; held; held = held->next) end_soon(held, end);
}

void fixture_heed_interrupts(struct fixture *fixture, bool on) {
	fixture->heeds_interrupts = on;
}

struct event_base *fixture_base(struct fixture *fixture) {
	return fixture->base;
}

struct curtain *fixture_curtain(struct fixture *fixture) {
	return fixture->curtain;
}

pid_t fixture_init(const struct fixture *fixture) {
	return fixture->init;
}
