/* What sbx's own parts are like; the table of all checks. */
#include "doctor/doctor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "runner/inside.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/output.h"
#include "ui/policy_files.h"

enum { STATUS_MAX = 16 * 1024 };

void doctor_find(struct doctor_finding *finding, enum doctor_status status, char *detail, const char *advice) {
	finding->status = status;
	finding->detail = detail;
	finding->advice = advice ? string_copy(advice) : NULL;
}

static void look_user(struct doctor_finding *finding) {
	if (geteuid() != 0)
		return doctor_find(finding, DOCTOR_OK, string_format("an ordinary user (%u)", geteuid()), NULL);
	doctor_find(finding, DOCTOR_WARN, string_copy("root (user 0), for whom sbx runs nothing"),
		    "Run sbx as an ordinary user, or use 'sbx run --as-user NAME'.");
}

static void look_programs(struct doctor_finding *finding) {
	static const char *const names[] = {"sbxd", "sbx-init"};
	CLEANUP_STRING struct string found = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct error error = ERROR_NONE;
		CLEANUP_FREE char *path = NULL;
		if (program_find(names[i], &path, &error) < 0)
			return doctor_find(finding, DOCTOR_FAIL, text_visible(error.message), NULL);
		CLEANUP_FREE char *shown = text_visible(path);
		string_appendf(&found, "%s%s", i > 0 ? ", " : "", shown);
	}
	doctor_find(finding, DOCTOR_OK, string_steal(&found), NULL);
}

static void look_runtime(struct doctor_finding *finding) {
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *path = NULL;
	if (channel_socket_path(&path, &error) < 0)
		return doctor_find(finding, DOCTOR_FAIL, text_visible(error.message), "Set HOME.");
	const char *fault = channel_runtime_fault();
	CLEANUP_FREE char *shown = text_visible(path);
	doctor_find(finding, DOCTOR_OK,
		    fault ? string_format("%s (%s; that is fine)", shown, fault) : string_copy(shown), NULL);
}

/* One question to the broker, or why there is no answer. */
static json_t *ask_broker(struct doctor_finding *finding) {
	struct error error = ERROR_NONE;
	json_t *reply = NULL;
	if (geteuid() == 0) {
		doctor_find(finding, DOCTOR_WARN, string_copy("not tried: there is no broker for root"),
			    "Run 'sbx doctor' as the user that sbx is for.");
		return NULL;
	}
	if (broker_call("status", NULL, &reply, &error) == 0) return reply;
	doctor_find(finding, DOCTOR_FAIL, text_visible(error.message),
		    "Run sbxd in a terminal (sbxd --help) to see what it says.");
	return NULL;
}

static void look_broker(struct doctor_finding *finding) {
	json_t *status = ask_broker(finding);
	if (!status) return;
	CLEANUP_FREE char *version = json_visible(status, "version");
	doctor_find(finding, string_equal(version, SBX_VERSION) ? DOCTOR_OK : DOCTOR_WARN,
		    string_format("answers: version %s, process %lld", version,
				  (long long)json_integer_value(json_object_get(status, "pid"))),
		    string_equal(version, SBX_VERSION) ? NULL
						       : "It is of another version than sbx: end it (kill its "
							 "process), the next command starts the new one.");
	json_decref(status);
}

/* For the checks behind the broker's own, which has started it or says why there is none. */
static json_t *broker_status(struct doctor_finding *finding) {
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	json_t *reply = NULL;
	if (geteuid() == 0) return ask_broker(finding);
	if (channel_socket_path(&path, NULL) == 0 && channel_connect(path, &channel, NULL) == 0 &&
	    channel_call(channel, "status", NULL, &reply, NULL) == 0)
		return reply;
	doctor_find(finding, DOCTOR_WARN, string_copy("not known: the broker does not answer"), "See 'broker' above.");
	return NULL;
}

/* By the kernel's word, not by the broker's. */
static bool has_filter(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", (int)pid);
	CLEANUP_FREE char *text = NULL;
	if (file_read(path, STATUS_MAX, &text, NULL, NULL) < 0) return false;
	return strstr(text, "\nSeccomp:\t2\n") && strstr(text, "\nNoNewPrivs:\t1\n");
}

static void look_confinement(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	pid_t pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
	bool confined = json_is_true(json_object_get(status, "confined"));
	json_decref(status);
	if (confined && has_filter(pid))
		return doctor_find(finding, DOCTOR_OK, string_copy("sbxd makes only the system calls that it needs"),
				   NULL);
	doctor_find(finding, DOCTOR_WARN,
		    string_format("sbxd (process %d) runs without its filter of system calls", (int)pid),
		    "Builds with a sanitizer do. With any other end sbxd and look into sbxd.log beside the database.");
}

static int count_programs(int *ret_count, struct error *error) {
	json_t *reply = NULL, *line;
	size_t index;
	int r = broker_call("policy", NULL, &reply, error);
	if (r < 0) return r;
	*ret_count = 0;
	json_array_foreach (json_object_get(reply, "stack"), index, line) {
		CLEANUP_FREE char *text = NULL;
		if (message_bytes_take(line, &text, NULL) == 0 && text && strstr(text, "{exec: ")) ++*ret_count;
	}
	json_decref(reply);
	return 0;
}

static void look_executor(struct doctor_finding *finding) {
	struct error error = ERROR_NONE;
	int programs;
	json_t *status = broker_status(finding);
	if (!status) return;
	bool there = json_is_true(json_object_get(status, "executor"));
	json_decref(status);
	if (count_programs(&programs, &error) < 0)
		return doctor_find(finding, DOCTOR_FAIL, text_visible(error.message), NULL);
	if (programs == 0) return doctor_find(finding, DOCTOR_OK, string_copy("no external decision program"), NULL);
	if (there)
		return doctor_find(finding, DOCTOR_OK, string_format("programs that the stack asks: %d", programs),
				   NULL);
	doctor_find(finding, DOCTOR_FAIL,
		    string_format("programs that the stack asks: %d, and sbxd can't run them, so they deny", programs),
		    "End sbxd (kill its process): the next command starts it anew, with the process that runs them.");
}

static void look_watching(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	bool watching = json_is_true(json_object_get(status, "watching"));
	json_decref(status);
	if (watching)
		return doctor_find(finding, DOCTOR_OK, string_copy("changes of policy files are noticed at once"),
				   NULL);
	doctor_find(
		finding, DOCTOR_WARN,
		string_copy("inotify has no room, so changes of policy files are noticed within a second only"),
		"All that you run shares it, sandboxes too: see fs.inotify.max_user_instances and max_user_watches, "
		"end what takes so much, then end sbxd.");
}

static void look_sleep(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	bool told = json_is_true(json_object_get(status, "sleep"));
	json_decref(status);
	if (told)
		return doctor_find(finding, DOCTOR_OK,
				   string_copy("logind says when the machine is about to sleep; calls that wait for an "
					       "answer then end first"),
				   NULL);
	doctor_find(
		finding, DOCTOR_WARN,
		string_copy("no suspend notification (logind missing, or sbx was built without libsystemd)"),
		"On a machine that never sleeps nothing is lost. On others a call that waits for an answer may keep "
		"it awake: answer prompts before it sleeps, or run systemd-logind and D-Bus, and end sbxd.");
}

static bool disk_is_full(const char *path) {
	struct statvfs disk;
	return statvfs(path, &disk) == 0 && disk.f_bavail == 0;
}

static void look_database(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	CLEANUP_FREE char *path = json_visible(status, "database");
	struct stat file;
	bool writable = json_is_true(json_object_get(status, "writable"));
	json_decref(status);
	if (!writable || disk_is_full(path)) {
		return doctor_find(finding, DOCTOR_FAIL, string_format("%s can't be written", path),
				   "If the disk of its folder is full, free some space there; until then what can't be "
				   "recorded is denied. sbxd.log in that folder says more.");
	}
	if (stat(path, &file) < 0)
		return doctor_find(
			finding, DOCTOR_FAIL, string_format("%s is not there", path),
			"Look at the permissions of its folder, then end sbxd; the next command starts it anew.");
	if (file.st_mode & 0077)
		return doctor_find(finding, DOCTOR_WARN, string_format("%s can be read by others", path),
				   "chmod 0600 it, and look at who may have read it.");
	doctor_find(
		finding, DOCTOR_OK,
		string_format("%s, %lld KiB; 'sbx history --verify' checks it", path, (long long)file.st_size / 1024),
		NULL);
}

static void look_heads(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	CLEANUP_FREE char *place = json_visible(status, "heads");
	json_decref(status);
	if (strcmp(place, "nowhere") != 0)
		return doctor_find(finding, DOCTOR_OK,
				   string_format("the history's heads go to the %s",
						 strcmp(place, "journal") == 0 ? "journal" : "system log"),
				   NULL);
	doctor_find(
		finding, DOCTOR_WARN,
		string_copy("neither journal nor syslog takes the history's heads: there is neither "
			    "/run/systemd/journal/socket nor /dev/log"),
		"Start one, or note what 'sbx history --verify' says now and then: a history that was made anew as a "
		"whole shows only when compared with such a head.");
}

/* What holds while there are errors; the broker alone knows, and may see none. */
static char *advice_on_errors(void) {
	json_t *reply = NULL, *file;
	size_t index;
	const char *holds = NULL, *worst = NULL;
	if (geteuid() != 0) broker_call("policy", NULL, &reply, NULL);
	json_array_foreach (json_object_get(reply, "files"), index, file) {
		if (!(holds = policy_file_holds(file))) continue;
		if (!worst || !json_is_true(json_object_get(file, "good"))) worst = holds;
	}
	json_decref(reply);
	return string_format("'sbx policy check' lists them all%s%s.", worst ? "; " : "", worst ? worst : "");
}

static void look_policy(struct doctor_finding *finding) {
	CLEANUP_STRINGS struct strings files = {0};
	CLEANUP_STRINGS struct strings errors = {0};
	CLEANUP_STRINGS struct strings warnings = {0};
	policy_files_check(NULL, &files, &errors, &warnings);
	if (errors.count > 0) {
		CLEANUP_FREE char *advice = advice_on_errors();
		return doctor_find(finding, DOCTOR_FAIL,
				   string_format("%zu error%s; the first: %s", errors.count,
						 errors.count == 1 ? "" : "s", errors.items[0]),
				   advice);
	}
	if (warnings.count > 0)
		return doctor_find(finding, DOCTOR_WARN, text_visible(warnings.items[0]),
				   "And think of who may have read it.");
	doctor_find(finding, DOCTOR_OK,
		    files.count == 0
			    ? string_copy("no file of yours: the built-in profiles hold")
			    : string_format("%zu file%s without errors", files.count, files.count == 1 ? "" : "s"),
		    NULL);
}

static void look_upstream(struct doctor_finding *finding) {
	json_t *status = broker_status(finding);
	if (!status) return;
	bool is_set = json_is_string(json_object_get(status, "upstream"));
	CLEANUP_FREE char *upstream = is_set ? json_visible(status, "upstream") : NULL;
	json_decref(status);
	doctor_upstream(finding, upstream);
}

static const struct doctor_check checks[] = {
	{"user", look_user}, /* a row each */
	{"kernel", doctor_kernel},
	{"userns", doctor_userns},
	{"apparmor", doctor_apparmor},
	{"bwrap", doctor_bwrap},
	{"sandbox", doctor_namespaces},
	{"seccomp", doctor_seccomp},
	{"descriptors", doctor_descriptors},
	{"native", doctor_native},
	{"listeners", doctor_listeners},
	{"fuse", doctor_fuse},
	{"cgroup", doctor_cgroup},
	{"programs", look_programs},
	{"runtime", look_runtime},
	{"broker", look_broker},
	{"confinement", look_confinement},
	{"executor", look_executor},
	{"watching", look_watching},
	{"sleep", look_sleep},
	{"database", look_database},
	{"heads", look_heads},
	{"policy", look_policy},
	{"upstream", look_upstream},
	{"bus", doctor_bus},
	{"notify", doctor_notifications},
	{"terminal", doctor_terminal},
};

/* What a sandbox lacks is meant to be so, and says nothing of the machine. */
static void look_place(struct doctor_finding *finding) {
	doctor_find(finding, DOCTOR_FAIL,
		    string_copy("this is inside a sandbox of sbx, where much is missing on purpose"),
		    "Run 'sbx doctor' outside.");
}

static const struct doctor_check checks_inside[] = {{"place", look_place}};

const struct doctor_check *doctor_checks(size_t *ret_count) {
	if (inside_refuse(NULL) < 0) {
		*ret_count = ARRAY_LENGTH(checks_inside);
		return checks_inside;
	}
	*ret_count = ARRAY_LENGTH(checks);
	return checks;
}
