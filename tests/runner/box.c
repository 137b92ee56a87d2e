#include "box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "mounts/mountinfo.h"
#include "sandbox/filter.h"
#include "support/cmocka.h"

enum { BOX_UID = 65533, BOX_PROGRAM_MAX = 64 << 20, BOX_OUTPUT_MAX = 1 << 20, BOX_ANSWER_MS = 30000 };

#define BOX_END "\001end\n"

static void become_ordinary(const char *top) {
	if (geteuid() != 0) return;
	assert_int_equal(chown(top, BOX_UID, BOX_UID), 0);
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setresgid(BOX_UID, BOX_UID, BOX_UID), 0);
	assert_int_equal(setresuid(BOX_UID, BOX_UID, BOX_UID), 0);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void box_make(struct box *box) {
	char name[] = "/tmp/sbx-box.XXXXXX", *bytes = NULL;
	size_t size = 0;
	assert_non_null(mkdtemp(name));
	assert_int_equal(chmod(name, 0755), 0);
	*box = (struct box){.top = realpath(name, NULL), .in = -1, .out = -1, .stdio = {-1, -1}, .spare = -1};
	box->init_path = path_join(box->top, "init");
	assert_int_equal(file_read(SBX_TEST_INIT, BOX_PROGRAM_MAX, &bytes, &size, NULL), 0);
	assert_int_equal(file_write(box->init_path, bytes, size, 0755, NULL), 0);
	assert_int_equal(chmod(box->init_path, 0755), 0);
	free(bytes);
	become_ordinary(box->top);
	box->home = path_join(box->top, "home");
	assert_int_equal(mkdir(box->home, 0755), 0);
	signal(SIGPIPE, SIG_IGN);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)type, (void)place;
	if (S_ISDIR(status->st_mode)) chmod(path, 0700);
	return remove(path);
}

static int open_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)type, (void)place;
	return S_ISDIR(status->st_mode) ? chmod(path, 0700) : 0;
}

void box_remove(struct box *box) {
	nftw(box->top, open_one, 16, FTW_PHYS);
	nftw(box->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(box->top);
	free(box->home);
	free(box->init_path);
}

/* The plan */

static int compare_mounts(const void *a, const void *b) {
	return path_compare(((const struct mount *)a)->path, ((const struct mount *)b)->path);
}

struct mount *box_add_from(const struct box *box, struct plan *plan, enum mount_kind kind, const char *path,
			   const char *source) {
	plan->mounts = array_grow(plan->mounts, plan->count, sizeof *plan->mounts);
	struct mount *mount = &plan->mounts[plan->count++];
	*mount = (struct mount){.kind = kind, .mode = 0755};
	mount->path = path[0] == '/' ? string_copy(path) : path_join(box->home, path);
	bool relative = source && source[0] != '/' && kind != MOUNT_LINK;
	mount->source = relative ? path_join(box->home, source) : string_copy_or_null(source);
	struct stat status;
	if (kind != MOUNT_LINK && mount->source && lstat(mount->source, &status) == 0) {
		mount->device = status.st_dev;
		mount->inode = status.st_ino;
	}
	CLEANUP_FREE char *wanted = string_copy(mount->path);
	qsort(plan->mounts, plan->count, sizeof *plan->mounts, compare_mounts);
	for (size_t i = 0; i < plan->count; i++)
		if (string_equal(plan->mounts[i].path, wanted)) return &plan->mounts[i];
	return NULL;
}

struct mount *box_add(const struct box *box, struct plan *plan, enum mount_kind kind, const char *path) {
	bool hosts = kind == MOUNT_READ || kind == MOUNT_WRITE || kind == MOUNT_PIN;
	return box_add_from(box, plan, kind, path, hosts ? path : NULL);
}

void box_plan(const struct box *box, struct plan *plan) {
	static const char *const links[][2] = {{"/bin", "usr/bin"}, {"/lib", "usr/lib"}, {"/lib64", "usr/lib64"}};
	*plan = (struct plan){0};
	box_add(box, plan, MOUNT_READ, "/usr");
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++) box_add_from(box, plan, MOUNT_LINK, links[i][0], links[i][1]);
	box_add(box, plan, MOUNT_PROC, "/proc");
	box_add(box, plan, MOUNT_DEV, "/dev");
	box_add(box, plan, MOUNT_FRESH, "/run");
	box_add(box, plan, MOUNT_FRESH, "/tmp");
	box_add(box, plan, MOUNT_FRESH, box->home);
}

/* Its life */

void box_wait(struct box *box) {
	struct error error = ERROR_NONE;
	if (portal_wait(box->portal, &error) < 0) fail_msg("%s", error.message);
}

static void make_pipes(struct box *box) {
	int in[2], out[2];
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	box->in = in[1];
	box->out = out[0];
	box->stdio[0] = in[0];
	box->stdio[1] = out[1];
}

void box_begin(struct box *box) {
	struct error error = ERROR_NONE;
	make_pipes(box);
	const struct launch_options options = {
		.init_path = box->init_path, .cgroup = -1, .stdio = {box->stdio[0], box->stdio[1], box->stdio[1]}};
	box->base = loop_new();
	if (launch_start(&options, &box->launch, &error) < 0 || portal_start(box->base, -1, &box->portal, &error) < 0 ||
	    launch_hello(box->launch, &box->init, &error) < 0)
		fail_msg("%s", error.message);
	portal_join(box->portal, box->init, NULL, NULL);
	portal_enter(box->portal, false, NULL, NULL);
	box_wait(box);
}

/* Without a pty and without traps there is nothing to take. */
static void await_ready(struct box *box) {
	struct report report;
	struct error error = ERROR_NONE;
	struct pollfd polled = {.fd = launch_fd(box->launch), .events = POLLIN};
	assert_int_equal(poll(&polled, 1, BOX_ANSWER_MS), 1);
	assert_int_equal(launch_report(box->launch, &report, &error), 1);
	if (report.kind != REPORT_READY) fail_msg("report %d: %s", report.kind, report.text);
	assert_true(report.terminal < 0 && report.listener < 0);
}

static void go(struct box *box) {
	struct launch_orders orders = {.program = (char *)"/bin/sh",
				       .directory = box->home,
				       .filter = filters[0].steps,
				       .filter_count = filters[0].count};
	const struct order order = {.kind = ORDER_PREPARE};
	strings_add(&orders.arguments, "sh");
	strings_add(&orders.environment, "PATH=/usr/bin");
	strings_addf(&orders.environment, "HOME=%s", box->home);
	assert_int_equal(launch_prepare(box->launch, &order, &orders, NULL), 0);
	await_ready(box);
	assert_int_equal(launch_order(box->launch, ORDER_GO, 0), 0);
	fd_close_p(&box->stdio[0]);
	fd_close_p(&box->stdio[1]);
	strings_finish(&orders.arguments);
	strings_finish(&orders.environment);
	/* w FILE…: can it be written? */
	box_send(box, "w() { for f; do (echo x >>\"$f\") 2>/dev/null && echo wrote || echo refused; done; }");
	box_expect(box, "echo ready", "ready");
}

void box_build(struct box *box, struct plan *plan) {
	CLEANUP_STEPS struct steps steps = {0};
	plan_changes(NULL, plan, &steps);
	if (box_apply(box, &steps) != 0) fail_msg("%s", box->text);
	box->plan = *plan;
	portal_seal(box->portal, "/", NULL, NULL);
	portal_seal(box->portal, "/run", NULL, NULL);
	box_wait(box);
	go(box);
}

void box_open(struct box *box, struct plan *plan) {
	box_begin(box);
	box_build(box, plan);
}

void box_close(struct box *box) {
	portal_free(box->portal);
	launch_free(box->launch);
	event_base_free(box->base);
	plan_finish(&box->plan);
	portal_applied_finish(&box->applied);
	fd_close_p(&box->in);
	fd_close_p(&box->out);
	fd_close_p(&box->stdio[0]);
	fd_close_p(&box->stdio[1]);
	fd_close_p(&box->spare);
	box->portal = NULL;
	box->launch = NULL;
}

static void on_adopted(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct box *box = argument;
	if (code != 0 || fd_count != 1) fail_msg("adopting a curtain: %s", text);
	box->spare = fds[0];
}

static void on_applied(void *argument, int code, const char *text, const struct portal_applied *applied);

void box_restart(struct box *box, const struct steps *under_way) {
	struct error error = ERROR_NONE;
	portal_free(box->portal);
	const bool has_spare = box->spare >= 0;
	if (portal_start(box->base, fd_steal(&box->spare), &box->portal, &error) < 0) fail_msg("%s", error.message);
	portal_join(box->portal, box->init, NULL, NULL);
	if (has_spare) portal_adopt(box->portal, on_adopted, box);
	portal_enter(box->portal, true, NULL, NULL);
	portal_apply_again(box->portal, &box->plan, under_way, on_applied, box);
	box_wait(box);
}

static void copy_applied(const struct portal_applied *from, struct portal_applied *to) {
	*to = (struct portal_applied){
		.failed = mem_copy(from->failed, from->failed_count * sizeof *from->failed),
		.failed_count = from->failed_count,
		.taken = mem_copy(from->taken, from->taken_count * sizeof *from->taken),
		.taken_count = from->taken_count,
	};
}

static void on_applied(void *argument, int code, const char *text, const struct portal_applied *applied) {
	struct box *box = argument;
	box->code = code;
	snprintf(box->text, sizeof box->text, "%s", text);
	portal_applied_finish(&box->applied);
	if (applied) copy_applied(applied, &box->applied);
}

int box_apply(struct box *box, const struct steps *steps) {
	portal_apply(box->portal, steps, on_applied, box);
	portal_wait(box->portal, NULL);
	return box->code;
}

int box_change(struct box *box, struct plan *plan) {
	CLEANUP_STEPS struct steps steps = {0};
	plan_changes(&box->plan, plan, &steps);
	plan_finish(&box->plan);
	box->plan = *plan;
	return box_apply(box, &steps);
}

/* Inside and outside */

void box_send(struct box *box, const char *line) {
	CLEANUP_FREE char *text = string_format("%s\n", line);
	assert_int_equal(fd_write_all(box->in, text, strlen(text), NULL), 0);
}

char *box_say(struct box *box, const char *line) {
	struct string text = {0};
	CLEANUP_FREE char *marked = string_format("{ %s\n} 2>&1; printf '\\001end\\n'", line);
	box_send(box, marked);
	for (int waited = 0;; waited++) {
		char bytes[4096];
		struct pollfd polled = {.fd = box->out, .events = POLLIN};
		event_base_loop(box->base, EVLOOP_NONBLOCK); /* what the shell does may need an answer of ours */
		if (poll(&polled, 1, 1) != 1) {
			if (waited == BOX_ANSWER_MS) fail_msg("no answer to: %s\nso far: %s", line, text.data);
			continue;
		}
		ssize_t size = read(box->out, bytes, sizeof bytes);
		if (size <= 0) fail_msg("the shell ended at: %s", line);
		string_append_bytes(&text, bytes, (size_t)size);
		if (string_ends(text.data, BOX_END)) break;
		assert_true(text.size < BOX_OUTPUT_MAX);
	}
	text.data[text.size - strlen(BOX_END)] = '\0';
	char *said = string_steal(&text);
	size_t size = strlen(said);
	if (size > 0 && said[size - 1] == '\n') said[size - 1] = '\0';
	return said;
}

void box_expect(struct box *box, const char *line, const char *output) {
	CLEANUP_FREE char *said = box_say(box, line);
	if (strcmp(said, output) != 0) fail_msg("%s\nprinted '%s', not '%s'", line, said, output);
}

void box_host(const struct box *box, const char *line) {
	pid_t pid = fork();
	if (pid == 0) {
		if (chdir(box->home) == 0) execl("/bin/sh", "sh", "-ec", line, NULL);
		_exit(1);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0) fail_msg("on the host: %s", line);
}

size_t box_count_fds(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fd", pid);
	DIR *stream = opendir(path);
	size_t count = 0;
	assert_non_null(stream);
	while (readdir(stream)) count++;
	closedir(stream);
	return count - 2;
}

size_t box_count_mounts(const struct box *box) {
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", box->init);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	assert_int_equal(mountinfo_read(fd, &info), 0);
	return info.count;
}
