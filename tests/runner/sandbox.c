#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "fake_broker.h"
#include "schema/channel.h"
#include "support/patience.h"

enum { SANDBOX_UID = 65533, SANDBOX_OUTPUT_MAX = 1 << 20, SANDBOX_PROGRAM_MAX = 64 << 20 };

static void become_ordinary(const char *top) {
	if (geteuid() != 0) return;
	assert_int_equal(chown(top, SANDBOX_UID, SANDBOX_UID), 0);
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID), 0);
	assert_int_equal(setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID), 0);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Into a folder that the ordinary user can read, wherever the build is. */
static char *copy_program(const char *top, const char *from, const char *name) {
	char *to = path_join(top, name), *bytes = NULL;
	size_t size = 0;
	assert_int_equal(file_read(from, SANDBOX_PROGRAM_MAX, &bytes, &size, NULL), 0);
	assert_int_equal(file_write(to, bytes, size, 0755, NULL), 0);
	assert_int_equal(chmod(to, 0755), 0);
	free(bytes);
	return to;
}

static int connect_to(void *context, struct channel **ret_channel, struct error *error) {
	return channel_connect(context, ret_channel, error);
}

void sandbox_make(struct sandbox *sandbox) {
	char name[] = "/tmp/sbx-run.XXXXXX";
	assert_non_null(mkdtemp(name));
	assert_int_equal(chmod(name, 0755), 0);
	char *init = copy_program(name, SBX_TEST_INIT, "init"), *attack = copy_program(name, SBX_TEST_ATTACK, "attack");
	become_ordinary(name);
	*sandbox = (struct sandbox){.top = realpath(name, NULL), .view = view_new(), .init = init, .attack = attack};
	sandbox->home = path_join(sandbox->top, "home");
	sandbox->project = path_join(sandbox->top, "home/app");
	sandbox->events = path_join(sandbox->top, "events");
	sandbox->socket = path_join(sandbox->top, "broker");
	assert_int_equal(file_make_directories(sandbox->project, NULL), 0);
	setenv("HOME", sandbox->home, 1);
	unsetenv("XDG_RUNTIME_DIR");
	sandbox->view->profile = string_copy("test");
	view_add_path(sandbox->view, sandbox->project, false, VIEW_WRITE, false);
	view_add_path(sandbox->view, attack, false, VIEW_READ, false);
	sandbox->options =
		(struct run_options){.connect = connect_to, .connect_context = sandbox->socket, .init_path = init};
	strings_addf(&sandbox->options.environment, "A=%s", attack);
	assert_int_equal(chdir(sandbox->project), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)type, (void)place;
	if (S_ISDIR(status->st_mode)) chmod(path, 0700);
	return remove(path);
}

void sandbox_remove(struct sandbox *sandbox) {
	assert_int_equal(chdir("/"), 0);
	nftw(sandbox->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	view_free(sandbox->view);
	strings_finish(&sandbox->options.environment);
	char *const owned[] = {sandbox->top,    sandbox->home, sandbox->project, sandbox->events,
			       sandbox->socket, sandbox->init, sandbox->attack};
	for (size_t i = 0; i < ARRAY_LENGTH(owned); i++) free(owned[i]);
}

void sandbox_shell(const struct sandbox *sandbox, const char *line) {
	pid_t pid = fork();
	if (pid == 0) {
		if (chdir(sandbox->project) == 0) execl("/bin/sh", "sh", "-ec", line, NULL);
		_exit(1);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0) fail_msg("on the host: %s", line);
}

static _Noreturn void run_in_child(struct sandbox *sandbox, const char *line, int out, int err) {
	char *const command[] = {(char *)"/bin/sh", (char *)"-c", (char *)line, NULL};
	struct error error = ERROR_NONE;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(99);
	struct run_options options = sandbox->options;
	options.command = command;
	int status = run_sandbox(&options, &error);
	if (status < 0) fprintf(stderr, "run_sandbox: %s\n", error.message);
	fflush(NULL);
	_exit(status < 0 ? 99 : status);
}

static void wait_for_start(const struct sandbox *sandbox) {
	CLEANUP_FREE char *started = path_join(sandbox->project, "started");
	wait_until(access(started, F_OK) == 0);
	unlink(started);
}

void sandbox_run(struct sandbox *sandbox, const char *line, void (*meanwhile)(struct sandbox *sandbox),
		 struct outcome *ret_outcome) {
	CLEANUP_FREE char *out_path = path_join(sandbox->top, "out"), *err_path = path_join(sandbox->top, "err");
	pid_t broker = fake_broker_start(sandbox->socket, sandbox->view, sandbox->matched, sandbox->events);
	assert_true(broker > 0);
	CLEANUP_FD int out = open(out_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CLEANUP_FD int err = open(err_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	pid_t pid = fork();
	if (pid == 0) run_in_child(sandbox, line, out, err);
	if (meanwhile) {
		wait_for_start(sandbox);
		meanwhile(sandbox);
	}
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	fake_broker_stop(broker);
	*ret_outcome = (struct outcome){.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000};
	assert_int_equal(file_read(out_path, SANDBOX_OUTPUT_MAX, &ret_outcome->out, NULL, NULL), 0);
	assert_int_equal(file_read(err_path, SANDBOX_OUTPUT_MAX, &ret_outcome->err, NULL, NULL), 0);
}

void outcome_finish(struct outcome *outcome) {
	free(outcome->out);
	free(outcome->err);
}
