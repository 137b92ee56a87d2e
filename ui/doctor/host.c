/* What the kernel and the installed programs give. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "doctor/doctor.h"
#include "runner/bubblewrap.h"
#include "runner/diag_needs.h"
#include "runner/native_needs.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { SETTING_MAX = 4096 };

/* From which kernel on something is there, and what is lost before (design section 7; each by the name that its commit
 * or manual page has). */
static const struct {
	unsigned major, minor;
	enum doctor_status status;
	const char *lost;
} features[] = {
	{5, 9, DOCTOR_FAIL, "descriptors can't be taken from or given to a sandbox"},
	{5, 12, DOCTOR_FAIL, "mounts can't be made or made read-only in a sandbox that runs (mount_setattr)"},
	{5, 19, DOCTOR_WARN, "a trapped call may be broken off by any signal (WAIT_KILLABLE_RECV)"},
	{6, 5, DOCTOR_WARN, "the broker looks twice to know who talks to it (SO_PEERPIDFD)"},
	{6, 6, DOCTOR_WARN, "a trapped call costs some 30 microseconds more (SYNC_WAKE_UP)"},
	{6, 9, DOCTOR_WARN, "the end of a thread that waits is seen by looking, not told (PIDFD_THREAD)"},
	{6, 12, DOCTOR_WARN,
	 "an open that may make a file (O_CREAT) locks its folder, so it is sent back once before it "
	 "is asked about"},
};

static const char *kernel_advice(enum doctor_status worst) {
	switch (worst) {
	case DOCTOR_FAIL:
		return "Start a newer kernel (5.12 at least).";
	case DOCTOR_WARN:
		return "Nothing has to be done; a newer kernel has it.";
	case DOCTOR_OK:
		break;
	}
	return NULL;
}

void doctor_kernel(struct doctor_finding *finding) {
	struct utsname name;
	unsigned major = 0, minor = 0;
	if (uname(&name) < 0) return doctor_find(finding, DOCTOR_FAIL, string_copy("no answer from uname"), NULL);
	sscanf(name.release, "%u.%u", &major, &minor); /* NOLINT(cert-err34-c): no match leaves 0.0 */
	CLEANUP_STRING struct string lost = {0};
	enum doctor_status worst = DOCTOR_OK;
	for (size_t i = 0; i < ARRAY_LENGTH(features); i++) {
		if (major > features[i].major || (major == features[i].major && minor >= features[i].minor)) continue;
		string_appendf(&lost, "; before %u.%u: %s", features[i].major, features[i].minor, features[i].lost);
		if (features[i].status > worst) worst = features[i].status;
	}
	CLEANUP_FREE char *release = text_visible_cut(name.release, 60);
	doctor_find(finding, worst, string_format("Linux %s%s", release, lost.data ? lost.data : ""),
		    kernel_advice(worst));
}

void doctor_bwrap(struct doctor_finding *finding) {
	char *const argv[] = {(char *)bubblewrap_path(), (char *)"--version", NULL};
	CLEANUP_FREE char *output = NULL;
	int status = argv[0] ? doctor_run(argv, &output) : -1;
	unsigned major = 0, minor = 0;
	if (status != 0 || sscanf(output, "bubblewrap %u.%u", &major, &minor) != 2) /* NOLINT(cert-err34-c) */
		return doctor_find(finding, DOCTOR_FAIL, string_copy("bwrap is not installed, or does not answer"),
				   "Install the package bubblewrap.");
	bool old = major == 0 && minor < 8;
	CLEANUP_FREE char *shown = text_visible_cut(output, 60);
	doctor_find(finding, old ? DOCTOR_WARN : DOCTOR_OK, string_copy(shown),
		    old ? "Install bubblewrap 0.8 or newer, which can also refuse further namespaces inside." : NULL);
}

/* The first line of a setting below /proc/sys; NULL when there is no such setting. */
static char *read_setting(const char *path) {
	char *text = NULL;
	if (file_read(path, SETTING_MAX, &text, NULL, NULL) < 0) return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* As any sandbox begins: 0, or bwrap's status and what it said. */
static int can_make_sandbox(char **ret_output) {
	char *const argv[] = {(char *)bubblewrap_path(),
			      (char *)"--unshare-all",
			      (char *)"--ro-bind",
			      (char *)"/",
			      (char *)"/",
			      (char *)"--proc",
			      (char *)"/proc",
			      (char *)"--dev",
			      (char *)"/dev",
			      (char *)"--",
			      (char *)"/bin/sh",
			      (char *)"-c",
			      (char *)":",
			      NULL};
	CLEANUP_FREE char *output = NULL;
	int status = argv[0] ? doctor_run(argv, &output) : -1;
	if (ret_output) *ret_output = STEAL(output);
	return status;
}

/* Settings that are known to keep ordinary users from namespaces, and the way out. */
static const struct obstacle {
	const char *path, *value, *what, *advice;
} obstacles[] = {
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "the kernel setting kernel.unprivileged_userns_clone is 0",
	 "As root: sysctl -w kernel.unprivileged_userns_clone=1, and the same in a file of /etc/sysctl.d."},
	{"/proc/sys/user/max_user_namespaces", "0", "the kernel setting user.max_user_namespaces is 0",
	 "As root: sysctl -w user.max_user_namespaces=15000, and the same in a file of /etc/sysctl.d."},
};

static const struct obstacle restriction = {
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	"AppArmor keeps bwrap from user namespaces (as Ubuntu 23.10 and later ship)",
	"Load an AppArmor profile that lets /usr/bin/bwrap have them: packaging/apparmor/sbx-bwrap, which scripts/try "
	"offers to load."};

static bool is_in_the_way(const struct obstacle *obstacle) {
	CLEANUP_FREE char *value = read_setting(obstacle->path);
	return value && strcmp(value, obstacle->value) == 0;
}

static const struct obstacle *find_obstacle(void) {
	for (size_t i = 0; i < ARRAY_LENGTH(obstacles); i++)
		if (is_in_the_way(&obstacles[i])) return &obstacles[i];
	return NULL;
}

void doctor_userns(struct doctor_finding *finding) {
	const struct obstacle *obstacle = find_obstacle();
	if (obstacle) return doctor_find(finding, DOCTOR_FAIL, string_copy(obstacle->what), obstacle->advice);
	CLEANUP_FREE char *most = read_setting("/proc/sys/user/max_user_namespaces");
	if (most)
		return doctor_find(finding, DOCTOR_OK,
				   string_format("ordinary users may make user namespaces (at most %s)", most), NULL);
	doctor_find(finding, DOCTOR_FAIL, string_copy("this kernel has no user namespaces"),
		    "Start a kernel with CONFIG_USER_NS.");
}

/* Restricted as it is, bwrap may have a profile that lets it: "sandbox" has tried. */
void doctor_apparmor(struct doctor_finding *finding) {
	CLEANUP_FREE char *enabled = read_setting("/sys/module/apparmor/parameters/enabled");
	if (!enabled || *enabled != 'Y')
		return doctor_find(finding, DOCTOR_OK, string_copy("AppArmor is not in force here"), NULL);
	if (!is_in_the_way(&restriction))
		return doctor_find(finding, DOCTOR_OK, string_copy("AppArmor doesn't restrict user namespaces"), NULL);
	if (can_make_sandbox(NULL) == 0)
		return doctor_find(finding, DOCTOR_OK,
				   string_copy("AppArmor restricts user namespaces, but not bwrap's"), NULL);
	doctor_find(finding, DOCTOR_FAIL, string_copy(restriction.what), restriction.advice);
}

void doctor_namespaces(struct doctor_finding *finding) {
	CLEANUP_FREE char *output = NULL;
	int status = can_make_sandbox(&output);
	const char *as_root = geteuid() == 0 ? " (tried as root: that says little about an ordinary user)" : "";
	if (status == 0)
		return doctor_find(finding, DOCTOR_OK, string_format("a sandbox could be made%s", as_root), NULL);
	const struct obstacle *obstacle = find_obstacle();
	if (!obstacle && is_in_the_way(&restriction)) obstacle = &restriction;
	if (obstacle) return doctor_find(finding, DOCTOR_FAIL, string_copy(obstacle->what), obstacle->advice);
	CLEANUP_FREE char *said = text_visible_cut(output ? output : "", 200);
	doctor_find(finding, DOCTOR_FAIL, string_format("bwrap can't make a sandbox%s: %s", as_root, said),
		    "In a container: start it so that it may make user namespaces and mount /proc.");
}

/* A flag that the kernel has is refused for the filter that isn't there, another as such (seccomp(2), EFAULT, EINVAL).
 */
static bool has_seccomp_flag(unsigned long flag) {
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flag, NULL) < 0 && errno == EFAULT;
}

/* What the traps use; the kernel that it is there from, and what is lost without (seccomp_unotify(2)). */
static const struct {
	const char *name;
	unsigned long flag;
	enum doctor_status status;
	const char *lost;
} seccomp_features[] = {
	{"NEW_LISTENER", SECCOMP_FILTER_FLAG_NEW_LISTENER, DOCTOR_FAIL, "calls can't be held (Linux 5.0)"},
	{"WAIT_KILLABLE_RECV", SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, DOCTOR_WARN,
	 "a held call may be broken off by any signal (Linux 5.19)"},
};

void doctor_seccomp(struct doctor_finding *finding) {
	unsigned action = SECCOMP_RET_USER_NOTIF;
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		return doctor_find(finding, DOCTOR_FAIL, string_format("no user notification: %s", strerror(errno)),
				   "Start a kernel with CONFIG_SECCOMP_FILTER; in a container allow the call seccomp.");
	struct seccomp_notif_sizes sizes;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return doctor_find(finding, DOCTOR_FAIL, string_format("user notification: %s", strerror(errno)),
				   "Start a newer kernel (5.0 at least).");
	for (size_t i = 0; i < ARRAY_LENGTH(seccomp_features); i++)
		if (!has_seccomp_flag(seccomp_features[i].flag))
			return doctor_find(
				finding, seccomp_features[i].status,
				string_format("no %s: %s", seccomp_features[i].name, seccomp_features[i].lost),
				"Start a newer kernel.");
	doctor_find(finding, DOCTOR_OK, string_copy("filters and user notification are there, with WAIT_KILLABLE_RECV"),
		    NULL);
}

void doctor_descriptors(struct doctor_finding *finding) {
	const char *lacks = sandbox_lacks();
	if (!lacks)
		return doctor_find(finding, DOCTOR_OK, string_copy("sbx's processes can share what they have open"),
				   NULL);
	doctor_find(finding, DOCTOR_FAIL, string_format("%s, so no sandbox starts", lacks),
		    "Start a newer kernel (5.6 at least); in a container allow the call pidfd_getfd; keep "
		    "kernel.yama.ptrace_scope below 3.");
}

void doctor_native(struct doctor_finding *finding) {
	const char *lacks = native_lacks();
	if (!lacks)
		return doctor_find(finding, DOCTOR_OK, string_copy("any program's connections are asked about by name"),
				   NULL);
	doctor_find(finding, DOCTOR_WARN,
		    string_format("%s, so 'network: native' is 'network: proxy': only programs that follow proxy "
				  "variables get out",
				  lacks),
		    "Start a newer kernel (5.19 at least); in a container allow the call seccomp.");
}

/* In the order of what is lost; the first that holds is said. */
void doctor_listeners(struct doctor_finding *finding) {
	const struct diag_needs needs = diag_needs_look();
	const struct {
		bool holds;
		const char *sentence;
	} losses[] = {
		{!needs.listeners, "this kernel doesn't say who listens (neither sock_diag nor /proc/net/tcp), so "
				   "sandboxes don't reach this machine's localhost"},
		{!needs.bound, "this kernel doesn't say who has bound a Unix socket (unix_diag), so a sandbox's "
			       "programs don't reach Unix sockets of their own that have a path"},
		{needs.tables, "this kernel has no tcp_diag, so who listens on localhost is read from /proc/net/tcp, "
			       "which takes longer the more ports there are"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(losses); i++)
		if (losses[i].holds)
			return doctor_find(finding, DOCTOR_WARN, string_copy(losses[i].sentence),
					   "Load the modules (modprobe -a tcp_diag udp_diag unix_diag), or start a "
					   "kernel that has them.");
	doctor_find(finding, DOCTOR_OK, string_copy("the kernel says who listens on localhost, and on Unix sockets"),
		    NULL);
}

void doctor_fuse(struct doctor_finding *finding) {
	CLEANUP_FD int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return doctor_find(finding, DOCTOR_OK,
				   string_copy("/dev/fuse can be opened: hidden files are asked about when they are "
					       "touched"),
				   NULL);
	doctor_find(
		finding, DOCTOR_WARN,
		string_format("/dev/fuse: %s; hidden files are asked about by traps, when they are opened: nobody "
			      "sees their names before, and each open of a tool costs more",
			      strerror(errno)),
		"Load the module fuse (modprobe fuse), and let users open it (chmod 0666 /dev/fuse, as udev does); a "
		"container needs the device (--device /dev/fuse).");
}

/* Our cgroup's directory in the unified hierarchy; NULL when there is none. */
static char *own_cgroup(void) {
	CLEANUP_FREE char *text = NULL;
	if (file_read("/proc/self/cgroup", SETTING_MAX, &text, NULL, NULL) < 0) return NULL;
	char *line = strstr(text, "0::/");
	if (!line || (line != text && line[-1] != '\n')) return NULL;
	line[strcspn(line, "\n")] = '\0';
	return string_format("/sys/fs/cgroup%s", line + 3);
}

void doctor_cgroup(struct doctor_finding *finding) {
	static const char advice[] =
		"The limit 'memory' then holds for each process by itself (RLIMIT_DATA). For one that "
		"holds for all of a sandbox start it in a delegated cgroup: systemd-run --user --scope "
		"-p Delegate=yes sbx run -- COMMAND";
	CLEANUP_FREE char *cgroup = own_cgroup();
	if (!cgroup) return doctor_find(finding, DOCTOR_WARN, string_copy("no cgroup of version 2"), advice);
	CLEANUP_FREE char *controllers = string_format("%s/cgroup.controllers", cgroup);
	CLEANUP_FREE char *procs = string_format("%s/cgroup.procs", cgroup);
	CLEANUP_FREE char *list = read_setting(controllers);
	CLEANUP_FREE char *shown = text_visible_cut(cgroup, 100);
	if (!list || !strstr(list, "memory"))
		return doctor_find(finding, DOCTOR_WARN, string_format("%s has no memory controller", shown), advice);
	if (access(cgroup, W_OK) < 0 || access(procs, W_OK) < 0)
		return doctor_find(finding, DOCTOR_WARN, string_format("%s is not delegated to you", shown), advice);
	doctor_find(finding, DOCTOR_OK, string_format("%s is delegated, with memory", shown), NULL);
}
