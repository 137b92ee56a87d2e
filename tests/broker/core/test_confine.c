/* What a broker that was taken over can still do: a process confines itself as sbxd does and tries. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/confine.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

enum { OTHER = 1, SAID_MAX = 4096, WORKED = 0, REFUSED = 10, NOT_CONFINED, ODD };

/* A child's end: its status (-signal) and what it said. */
struct end {
	int status;
	char said[SAID_MAX];
};

/* REFUSED with this errno is what the attempt must end with, unless an alarm ends the process. */
static int outcome(long result, int expected) {
	if (result >= 0) return WORKED;
	return errno == expected ? REFUSED : ODD;
}

static struct end attempt(int (*attack)(void)) {
	struct end end = {0};
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool confined = false;
		if (dup2(ends[1], STDERR_FILENO) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    confine_self(&confined, NULL) < 0)
			_exit(NOT_CONFINED);
		_exit(confined ? attack() : NOT_CONFINED);
	}
	close(ends[1]);
	size_t size = 0;
	for (ssize_t got; (got = read(ends[0], end.said + size, SAID_MAX - 1 - size)) > 0;) size += (size_t)got;
	close(ends[0]);
	int status;
	while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
	end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	/* A sanitizer's build isn't confined, and says so: nothing is to be tested. */
	if (end.status == NOT_CONFINED && strstr(end.said, "sanitizer")) skip();
	return end;
}

/* Alarms */

static int try_execve(void) {
	return outcome(execl("/bin/true", "true", (char *)NULL), ENOSYS);
}

static int try_execveat(void) {
	char *const words[] = {(char *)"true", NULL};
	return outcome(syscall(SYS_execveat, AT_FDCWD, "/bin/true", words, NULL, 0), ENOSYS);
}

static int try_fork(void) {
	return outcome(fork(), ENOSYS);
}

static int try_thread(void) {
	return outcome(syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, NULL, NULL, NULL, NULL), ENOSYS);
}

static int try_ptrace(void) {
	return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL), ENOSYS);
}

static int try_memory_of_others(void) {
	char byte;
	const struct iovec local = {&byte, 1}, remote = {&byte, 1};
	return outcome(process_vm_readv(1, &local, 1, &remote, 1, 0), ENOSYS);
}

static int try_kill(void) {
	return outcome(kill(getpid(), 0), ENOSYS);
}

/* SIGKILL, SIGSTOP and SIGCONT may be sent, to runners and sandboxes. */
static int try_signal_by_pidfd(void) {
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return pidfd < 0 ? ODD : outcome(syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0), ENOSYS);
}

static int try_signal_to_group(void) {
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return pidfd < 0 ? ODD : outcome(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 4), ENOSYS);
}

static int try_inet(void) {
	return outcome(socket(AF_INET, SOCK_STREAM, 0), ENOSYS);
}

static int try_inet6(void) {
	return outcome(socket(AF_INET6, SOCK_DGRAM, 0), ENOSYS);
}

static int try_netlink(void) {
	return outcome(socket(AF_NETLINK, SOCK_RAW, 0), ENOSYS);
}

/* The session bus, ssh-agent, docker.sock: all streams. */
static int try_stream(void) {
	return outcome(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ENOSYS);
}

/* The kernel looks at the low half alone. */
static int try_high_bits(void) {
	return outcome(syscall(SYS_socket, 0x100000000L | AF_INET, SOCK_STREAM, 0), ENOSYS);
}

static int try_mount(void) {
	return outcome(mount("none", "/tmp", "tmpfs", 0, NULL), ENOSYS);
}

static int try_unshare(void) {
	return outcome(unshare(CLONE_NEWUSER), ENOSYS);
}

static int try_setuid(void) {
	return outcome(setresuid(getuid(), getuid(), getuid()), ENOSYS);
}

static int try_memfd(void) {
	return outcome(memfd_create("code", 0), ENOSYS);
}

static int try_io_uring(void) {
	char parameters[256] = {0};
	return outcome(syscall(425, 1, parameters), ENOSYS);
}

static void what_only_an_intruder_calls_ends_the_broker(void **state) {
	(void)state;
	static const struct {
		const char *call; /* as the log names it */
		int (*attack)(void);
	} attacks[] = {
		{"execve", try_execve},
		{"execveat", try_execveat},
		{"clone", try_fork},
		{"clone", try_thread},
		{"ptrace", try_ptrace},
		{"process_vm_readv", try_memory_of_others},
		{"kill", try_kill},
		{"pidfd_send_signal", try_signal_by_pidfd},
		{"pidfd_send_signal", try_signal_to_group},
		{"socket", try_inet},
		{"socket", try_inet6},
		{"socket", try_netlink},
		{"socket", try_stream},
		{"socket", try_high_bits},
		{"mount", try_mount},
		{"unshare", try_unshare},
		{"setresuid", try_setuid},
		{"memfd_create", try_memfd},
		{"io_uring_setup", try_io_uring},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(attacks); i++) {
		const struct end end = attempt(attacks[i].attack);
		CLEANUP_FREE char *line = string_format("system call %s", attacks[i].call);
		if (end.status != CONFINE_ALARM || !strstr(end.said, line))
			fail_msg("attack %zu (%s): status %d, said: %s", i, attacks[i].call, end.status, end.said);
	}
}

/* What a newer library may try, and does without */

static int try_prctl(void) {
	return outcome(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), ENOSYS);
}

static int try_executable_memory(void) {
	const void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return outcome(memory == MAP_FAILED ? -1 : 0, ENOSYS);
}

static int try_made_executable(void) {
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? ODD : outcome(mprotect(memory, 4096, PROT_READ | PROT_EXEC), ENOSYS);
}

static int try_socket_option(void) {
	static const int on = 1;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	return fd < 0 ? ODD : outcome(setsockopt(fd, 6, 1, &on, sizeof on), ENOSYS);
}

static int try_signal_to_another(void) {
	return outcome(syscall(SYS_tgkill, 1, 1, 0), ENOSYS);
}

static int try_unknown(void) {
	return outcome(syscall(1000), ENOSYS);
}

/* Who is told of a descriptor's events, and by which signal, is for the caller to say: any process of the user's. */
static int command(int what, long argument) {
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	return fd < 0 ? ODD : outcome(fcntl(fd, what, argument), ENOSYS);
}

static int try_owner(void) {
	return command(F_SETOWN, OTHER);
}

static int try_owner_by_kind(void) {
	const struct f_owner_ex owner = {F_OWNER_PID, OTHER};
	return command(F_SETOWN_EX, (long)&owner);
}

static int try_signal_of_events(void) {
	return command(F_SETSIG, SIGKILL);
}

static int try_signals_on(void) {
	return command(F_SETFL, O_ASYNC | O_NONBLOCK);
}

static int try_signals_of_a_folder(void) {
	return command(F_NOTIFY, DN_CREATE);
}

static int try_lease(void) {
	return command(F_SETLEASE, F_RDLCK);
}

static int control(unsigned long what) {
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), argument = OTHER;
	return fd < 0 ? ODD : outcome(ioctl(fd, what, &argument), ENOSYS);
}

static int try_owner_by_ioctl(void) {
	return control(FIOSETOWN);
}

static int try_group_by_ioctl(void) {
	return control(SIOCSPGRP);
}

static int try_signals_by_ioctl(void) {
	return control(FIOASYNC);
}

static int try_timer(void) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	int timer;
	return outcome(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer), ENOSYS);
}

static int try_message_queue(void) {
	return outcome(syscall(SYS_mq_notify, 0, NULL), ENOSYS);
}

static int try_limits_of_others(void) {
	return outcome(prlimit(OTHER, RLIMIT_NOFILE, NULL, NULL), ENOSYS);
}

static int try_priority_of_others(void) {
	return outcome(setpriority(PRIO_PROCESS, (id_t)OTHER, 19), ENOSYS);
}

static int try_kcmp(void) {
	return outcome(syscall(SYS_kcmp, getpid(), OTHER, 0, 0, 0), ENOSYS);
}

static int try_filter_of_a_socket(void) {
	static const char program[16];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	return fd < 0 ? ODD : outcome(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, program, sizeof program), ENOSYS);
}

static void refuses(int (*const *attacks)(void), size_t count) {
	for (size_t i = 0; i < count; i++) {
		const struct end end = attempt(attacks[i]);
		const char *line = strstr(end.said, "system call ");
		if (end.status != REFUSED || !line || strstr(line + 1, "system call "))
			fail_msg("attack %zu: status %d, said: %s", i, end.status, end.said);
	}
}

static void others_fail_as_if_the_kernel_had_none_and_are_told(void **state) {
	(void)state;
	static int (*const attacks[])(void) = {try_prctl,         try_executable_memory, try_made_executable,
					       try_socket_option, try_signal_to_another, try_unknown};
	refuses(attacks, ARRAY_LENGTH(attacks));
}

static void nobody_else_is_signalled_or_changed(void **state) {
	(void)state;
	static int (*const attacks[])(void) = {try_owner,
					       try_owner_by_kind,
					       try_signal_of_events,
					       try_signals_on,
					       try_signals_of_a_folder,
					       try_lease,
					       try_owner_by_ioctl,
					       try_group_by_ioctl,
					       try_signals_by_ioctl,
					       try_timer,
					       try_message_queue,
					       try_limits_of_others,
					       try_priority_of_others,
					       try_kcmp,
					       try_filter_of_a_socket};
	refuses(attacks, ARRAY_LENGTH(attacks));
}

static int try_often(void) {
	for (int i = 0; i < 3; i++)
		if (syscall(1000) >= 0 || errno != ENOSYS) return ODD;
	return REFUSED;
}

static void the_same_call_is_told_once(void **state) {
	(void)state;
	const struct end end = attempt(try_often);
	const char *line = strstr(end.said, "system call ");
	assert_int_equal(end.status, REFUSED);
	assert_non_null(line);
	assert_null(strstr(line + 1, "system call "));
}

/* A taken-over broker may throw the handler away. */
static int try_without_the_handler(void) {
	if (signal(SIGSYS, SIG_IGN) == SIG_ERR) return ODD;
	execl("/bin/true", "true", (char *)NULL);
	return WORKED;
}

static int try_spawn(void) {
	char *const words[] = {(char *)"true", NULL};
	pid_t child;
	errno = posix_spawn(&child, "/bin/true", NULL, NULL, words, NULL);
	return outcome(errno == 0 ? 0 : -1, ENOSYS);
}

static void without_its_handler_nothing_more_gets_through(void **state) {
	(void)state;
	assert_int_equal(attempt(try_without_the_handler).status, -SIGSYS);
	assert_int_equal(attempt(try_spawn).status, -SIGSYS); /* it blocks signals */
}

/* Files */

static int open_as(const char *name, int flags) {
	CLEANUP_FREE char *path = home_path(name);
	return outcome(open(path, flags | O_CLOEXEC, 0600), ENOSYS);
}

static int try_create(void) {
	return open_as(".bashrc", O_WRONLY | O_CREAT);
}

static int try_write(void) {
	return open_as("existing", O_WRONLY);
}

static int try_update(void) {
	return open_as("existing", O_RDWR);
}

static int try_truncate(void) {
	return open_as("existing", O_RDONLY | O_TRUNC);
}

static int try_temporary(void) {
	return open_as(".", O_WRONLY | O_TMPFILE);
}

static int try_rename(void) {
	return outcome(rename("existing", "other"), ENOSYS);
}

static int try_mode(void) {
	CLEANUP_FREE char *path = home_path("existing");
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? ODD : outcome(fchmod(fd, 04777), ENOSYS);
}

static int try_mode_by_name(void) {
	return outcome(chmod("existing", 04777), ENOSYS);
}

/* A socket made by bind(2) would be for all. */
static int try_umask(void) {
	errno = 0;
	long before = syscall(SYS_umask, 0);
	return outcome(before, ENOSYS);
}

static int try_exchange(void) {
	return outcome(syscall(SYS_renameat2, AT_FDCWD, "existing", AT_FDCWD, "other", 2), ENOSYS);
}

static int try_hard_link(void) {
	return outcome(linkat(AT_FDCWD, "existing", AT_FDCWD, "other", 0), ENOSYS);
}

static int try_folder_removed(void) {
	return outcome(unlinkat(AT_FDCWD, "existing", AT_REMOVEDIR), ENOSYS);
}

static int try_openat2(void) {
	static const uint64_t how[3] = {O_WRONLY};
	return outcome(syscall(437, AT_FDCWD, "existing", how, sizeof how), ENOSYS);
}

static int try_link(void) {
	return outcome(symlink("existing", "other"), ENOSYS);
}

static void it_opens_nothing_for_writing(void **state) {
	(void)state;
	static int (*const attacks[])(void) = {
		try_create, try_write,        try_update, try_truncate, try_temporary, try_rename,         try_link,
		try_mode,   try_mode_by_name, try_umask,  try_exchange, try_hard_link, try_folder_removed, try_openat2};
	home_write("existing", "x");
	refuses(attacks, ARRAY_LENGTH(attacks));
	home_write("existing", "y"); /* it is there, and could be written */
}

/* What it needs */

static bool works(bool result, const char *what) {
	if (!result) fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return result;
}

static int try_socket(void) {
	CLEANUP_FREE char *name = home_path("run/socket");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, name, strlen(name));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool fine = works(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0, "a socket");
	return fine && works(unlink(name) == 0, "removing it") ? REFUSED : ODD;
}

static int try_reading(void) {
	CLEANUP_FREE char *path = home_path("existing");
	CLEANUP_FREE char *text = NULL;
	struct stat status;
	bool fine = works(file_read(path, 100, &text, NULL, NULL) == 0, "a file") &&
		    works(stat("/proc/1/status", &status) == 0, "/proc");
	return fine ? REFUSED : ODD;
}

/* The database's locks, also those of open files; a folder read anew by a copy of its descriptor. */
static int try_locks(void) {
	CLEANUP_FREE char *path = home_path("existing");
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	CLEANUP_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	bool fine = works(fcntl(fd, F_SETLK, &lock) == 0 && fcntl(fd, F_GETLK, &lock) == 0, "a lock") &&
		    works(fcntl(fd, F_SETFD, fcntl(fd, F_GETFD)) == 0, "a descriptor's flags") &&
		    works(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0, "a file's flags") &&
		    works(copy >= 0, "a copy");
	return fine ? REFUSED : ODD;
}

static int try_library(void) {
	char token[64];
	time_t now = time(NULL);
	struct tm local;
	struct pollfd none = {.fd = -1};
	void *large = mem_alloc(64, 1 << 20);
	bool fine = works(localtime_r(&now, &local) != NULL, "local time") && works(poll(&none, 1, 1) == 0, "poll");
	memset(large, 1, 64 << 20);
	large = mem_resize(large, 128, 1 << 20);
	free(large);
	openlog("sbxd-of-test", LOG_PID, LOG_USER);
	syslog(LOG_DEBUG, "a test of what a confined process may do");
	snprintf(token, sizeof token, "%f", (double)now);
	return fine ? REFUSED : ODD;
}

static void what_it_needs_still_works_and_nothing_is_told(void **state) {
	(void)state;
	home_write("existing", "x");
	static int (*const needs[])(void) = {try_socket, try_reading, try_locks, try_library};
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++) {
		const struct end end = attempt(needs[i]);
		if (end.status != REFUSED || end.said[0])
			fail_msg("need %zu: status %d, said: %s", i, end.status, end.said);
	}
}

static int try_abort(void) {
	abort();
}

static void it_can_still_abort(void **state) {
	(void)state;
	assert_int_equal(attempt(try_abort).status, -SIGABRT);
}

/* The real one, by the kernel's word. */
static int64_t status_number(pid_t pid, const char *key) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", (int)pid);
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *line = string_format("\n%s:\t", key);
	assert_int_equal(file_read(path, 65536, &text, NULL, NULL), 0);
	const char *found = strstr(text, line);
	return found ? strtoll(found + strlen(line), NULL, 16) : -1;
}

static void sbxd_is_confined(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	struct peer *peer = peer_connect(true);
	json_t *reply = peer_call(peer, "status", NULL);
	pid_t pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
	bool confined = json_is_true(json_object_get(reply, "confined"));
	json_decref(reply);
	int64_t mode = status_number(pid, "Seccomp");
	int64_t rights = status_number(pid, "CapBnd") & status_number(pid, "CapPrm");
	int64_t no_more = status_number(pid, "NoNewPrivs");
	peer_free(peer); /* skip() leaves by longjmp */
	broker_stop();
	assert_int_equal(no_more, 1);
	assert_int_equal(rights, 0);
	if (!confined) skip(); /* a sanitizer's build */
	assert_int_equal(mode, 2);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_only_an_intruder_calls_ends_the_broker),
		cmocka_unit_test(others_fail_as_if_the_kernel_had_none_and_are_told),
		cmocka_unit_test(nobody_else_is_signalled_or_changed),
		cmocka_unit_test(the_same_call_is_told_once),
		cmocka_unit_test(without_its_handler_nothing_more_gets_through),
		cmocka_unit_test(it_opens_nothing_for_writing),
		cmocka_unit_test(what_it_needs_still_works_and_nothing_is_told),
		cmocka_unit_test(it_can_still_abort),
		cmocka_unit_test(sbxd_is_confined),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
