#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "as_user.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands/commands.h"
#include "notify_start.h"
#include "policies/suggest.h"
#include "runner/inside.h"
#include "runner/patience.h"
#include "runner/run.h"
#include "schema/limits.h"
#include "schema/publication.h"
#include "ui/broker.h"
#include "ui/policy_files.h"
#include "ui/prompt_terminal.h"
#include "ui/words.h"

struct values {
	const char *profile, *project, *policy, *cwd, *as_user;
	struct strings allow, deny, environment, publish;
	int64_t timeout_ms;
	bool offline, fail_on_deny, record, print_plan;
};

static const struct option_info options[] = {
	{"profile", OPTION_TEXT, "PROFILE", "Which profile. Default: the one that lists the command, else default.",
	 offsetof(struct values, profile)},
	{"project", OPTION_TEXT, "DIR",
	 "The project directory. Default: the git top level of the working directory, else the working directory; your "
	 "home directory and / only when named here.",
	 offsetof(struct values, project)},
	{"allow", OPTION_PERMISSION, "PERM=TARGET", "Allow this for this run. May be repeated.",
	 offsetof(struct values, allow)},
	{"deny", OPTION_PERMISSION, "PERM=TARGET", "Deny this for this run. May be repeated.",
	 offsetof(struct values, deny)},
	{"publish", OPTION_LIST, "PORT[:HOSTPORT]",
	 "Make a port of the sandbox reachable on this machine's loopback (127.0.0.1 and ::1), at HOSTPORT; 0: any "
	 "that is free. May be repeated. Default: HOSTPORT is PORT.",
	 offsetof(struct values, publish)},
	{"env", OPTION_LIST, "K[=V]",
	 "Pass your variable K, or set K to V. May be repeated. Default: what the profile passes.",
	 offsetof(struct values, environment)},
	{"policy", OPTION_TEXT, "FILE",
	 "Use this policy file in place of yours for this run. Default: "
	 "~/.config/sbx/policy.yaml.",
	 offsetof(struct values, policy)},
	{"cwd", OPTION_TEXT, "DIR", "Start the command there. Default: the working directory.",
	 offsetof(struct values, cwd)},
	{"timeout", OPTION_DURATION, "DURATION", "End everything after that time, exit status 124. Default: none.",
	 offsetof(struct values, timeout_ms)},
	{"offline", OPTION_FLAG, NULL, "No network at all.", offsetof(struct values, offline)},
	{"fail-on-deny", OPTION_FLAG, NULL, "Exit with 125 if anything was denied.",
	 offsetof(struct values, fail_on_deny)},
	{"record", OPTION_FLAG, NULL,
	 "Ask nothing: deny what is undecided, and end with the rules that would allow it, as 'sbx suggest' prints "
	 "them.",
	 offsetof(struct values, record)},
	{"as-user", OPTION_TEXT, "USER", "As root: become this ordinary user first. Default: root is refused.",
	 offsetof(struct values, as_user)},
	{"print-plan", OPTION_FLAG, NULL, "Show what the sandbox would be made of, and run nothing.",
	 offsetof(struct values, print_plan)},
};

/* The policy file is checked here, where its errors can all be shown; the broker checks it again. */
static int read_policy(const char *path, char **ret_text, struct error *error) {
	size_t size;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_STRINGS struct strings errors = {0};
	int r = file_read(path, LIMIT_POLICY, &text, &size, error);
	if (r == 0 && strlen(text) != size) r = error_set(error, EILSEQ, "%s has a NUL byte: it is no text file", path);
	if (r < 0) return error_prefix(error, "--policy");
	if (policy_text_check(path, text, size, &errors) < 0) {
		for (size_t i = 0; i < errors.count; i++) log_error("%s", errors.items[i]);
		return error_set(error, EBADMSG, "--policy: the file has errors (%zu shown); nothing was run",
				 errors.count);
	}
	*ret_text = STEAL(text);
	return 0;
}

static int check_variables(const struct strings *variables, struct error *error) {
	for (size_t i = 0; i < variables->count; i++) {
		const char *item = variables->items[i];
		size_t size = strcspn(item, "=");
		if (size > 0 && *item != '-' && strcspn(item, " \t\n") >= size) continue;
		CLEANUP_FREE char *shown = text_visible_cut(item, 40);
		return error_set(error, EINVAL, "--env: '%s' has no variable's name; expected K or K=V", shown);
	}
	return 0;
}

/* Before anything is looked at that may hang. */
static int look_at_named(const struct values *values, struct error *error) {
	CLEANUP_STRINGS struct strings paths = {0};
	const char *home = home_directory();
	const size_t count = values->allow.count + values->deny.count;
	for (size_t i = 0; i < count; i++) {
		struct permission permission;
		const char *pattern, *text = i < values->allow.count ? values->allow.items[i]
								     : values->deny.items[i - values->allow.count];
		if (permission_split(text, &permission, &pattern, NULL) < 0) continue;
		if (*pattern == '/') strings_add(&paths, pattern);
		if (string_starts(pattern, "~/") && home) strings_addf(&paths, "%s%s", home, pattern + 1);
	}
	const struct patience patience = {.paths = &paths, .near = true};
	return patience_look(&patience, error);
}

/* Of "PERM=PATTERN": where a path leads by a link, or NULL. */
static char *resolved_of(const char *text, struct permission *ret_permission) {
	const char *pattern;
	return permission_split(text, ret_permission, &pattern, NULL) < 0 ? NULL
									  : words_resolved(ret_permission, pattern);
}

/* Likewise of a pattern with wildcards behind a link. */
static char *linked_of(const char *text) {
	struct permission permission;
	const char *pattern;
	return permission_split(text, &permission, &pattern, NULL) < 0 ? NULL : words_linked(&permission, pattern);
}

/* What is allowed through a link is so where it leads now. */
static void resolve_allowed(const struct values *values, struct strings *ret_resolved) {
	for (size_t i = 0; i < values->allow.count; i++) {
		struct permission permission;
		char *resolved = resolved_of(values->allow.items[i], &permission);
		strings_take(ret_resolved, resolved ? resolved : string_copy(""));
	}
}

/* What is denied through a link is so wherever it leads, and where it leads now. */
static void resolve_denied(struct strings *deny) {
	for (size_t i = 0, count = deny->count; i < count; i++) {
		struct permission permission;
		CLEANUP_FREE char *resolved = resolved_of(deny->items[i], &permission);
		CLEANUP_FREE char *quoted = resolved ? pattern_quote(&permission, resolved) : linked_of(deny->items[i]);
		if (quoted) strings_addf(deny, "%s=%s", permission.name, quoted);
	}
}

/* What was asked for and can't have an effect. */
static void warn_of_nothing(const struct values *values) {
	for (size_t i = 0; i < values->environment.count; i++) {
		const char *item = values->environment.items[i];
		CLEANUP_FREE char *shown = text_visible_cut(item, 60);
		if (!strchr(item, '=') && !getenv(item)) log_warning("--env: %s is not set: nothing is passed", shown);
	}
	for (size_t i = 0; i < values->allow.count; i++) {
		struct permission permission;
		const char *pattern;
		if (permission_split(values->allow.items[i], &permission, &pattern, NULL) < 0) continue;
		CLEANUP_FREE char *missing = words_missing(&permission, pattern);
		if (missing) log_warning("--allow: %s does not exist", missing);
	}
}

/* What is published is allowed for this run. */
static int read_publications(struct values *values, struct publication **ret_publications, struct error *error) {
	struct publication *publications = mem_array(struct publication, values->publish.count + 1);
	*ret_publications = publications;
	for (size_t i = 0; i < values->publish.count; i++) {
		int r = publication_parse(values->publish.items[i], &publications[i], error);
		if (r < 0) return error_prefix(error, "--publish");
		CLEANUP_FREE char *allowed = string_format("net:listen=%u", publications[i].port);
		if (!strings_contain(&values->allow, allowed)) strings_add(&values->allow, allowed);
	}
	return 0;
}

static int refuse_root(struct error *error) {
	if (geteuid() != 0 && getuid() != 0) return 0;
	return error_set(
		error, EPERM,
		"sbx does not run anything as root (user 0), since the kernel's own files stay writable for it "
		"whatever a sandbox does: run it as an ordinary user, or add --as-user NAME");
}

static int prepare(const struct command_call *call, struct values *values, struct run_options *run, char **policy,
		   char **init, char **program, struct publication **publications, struct error *error) {
	int r = check_variables(&values->environment, error);
	if (r == 0) r = read_publications(values, publications, error);
	if (r < 0) return r;
	if (inside_refuse(error) < 0) return error_prefix(error, "one sandbox can't be made in another");
	if (values->as_user)
		return as_user_start_over(values->as_user, &values->environment, values->cwd || values->project,
					  call->argv, error);
	if ((r = refuse_root(error)) < 0) return r;
	if (words_patterns(&values->allow, error) < 0) return error_prefix(error, "--allow");
	words_follow(&values->allow);
	if (words_patterns(&values->deny, error) < 0) return error_prefix(error, "--deny");
	if ((r = look_at_named(values, error)) < 0) return r;
	resolve_denied(&values->deny);
	warn_of_nothing(values);
	if (values->policy && (r = read_policy(values->policy, policy, error)) < 0) return r;
	if ((r = program_find("sbx-init", init, error)) < 0) return r;
	(void)program_find("sbx", program, NULL); /* without it the tool can't ask ahead, and that is all */
	*run = (struct run_options){
		.profile = values->profile,
		.project = values->project,
		.cwd = values->cwd,
		.allow = values->allow,
		.deny = values->deny,
		.environment = values->environment,
		.policy_name = values->policy,
		.policy_text = *policy,
		.publications = *publications,
		.publication_count = values->publish.count,
		.timeout_ms = values->timeout_ms,
		.offline = values->offline,
		.fail_on_deny = values->fail_on_deny,
		.record = values->record,
		.print_plan = values->print_plan,
		.command = call->operands->items,
		.connect = broker_connect,
		.init_path = *init,
		.program = *program,
	};
	return 0;
}

/* Beside what the command has written, and whatever becomes of it the command ended as it did. */
static void suggest_after(int64_t session) {
	struct error error = ERROR_NONE;
	if (suggest_session(session, stderr, &error) < 0) log_error("suggest: %s", error.message);
}

static void start_agent(void) {
	CLEANUP_FD int agent = notify_start();
	const bool in_terminal = isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
	if (agent >= 0 && !in_terminal) notify_await(agent);
}

static int run(struct command_call *call, struct error *error) {
	CLEANUP_FREE char *policy = NULL;
	CLEANUP_FREE char *init = NULL;
	CLEANUP_FREE char *program = NULL;
	CLEANUP_FREE struct publication *publications = NULL;
	CLEANUP_STRINGS struct strings resolved = {0};
	static const struct run_terminal terminal = {.ask = prompt_terminal_ask};
	int64_t session = 0;
	struct run_options run_options = {0};
	int r = prepare(call, call->values, &run_options, &policy, &init, &program, &publications, error);
	if (r == -EINVAL) return r;
	if (r < 0) {
		log_error("run: %s", error->message);
		return RUN_EXIT_FAILED;
	}
	resolve_allowed(call->values, &resolved);
	run_options.resolved = resolved;
	run_options.terminal = &terminal;
	run_options.ret_session = &session;
	/* Early, so that it is there when the first question comes. */
	if (!run_options.record && !run_options.print_plan) start_agent();
	fflush(stdout);
	r = run_sandbox(&run_options, error);
	if (r >= 0 && run_options.record && !run_options.print_plan) suggest_after(session);
	if (r >= 0) return r;
	log_error("run: %s", error->message);
	return RUN_EXIT_FAILED; /* 126 and 127 come from run_sandbox */
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARG]...",
	.summary = "Run a command with only what policy and your grants allow.",
	.details = "When the command reaches for more, the call is held and you are asked; on yes it goes on. Exit "
		   "status: the "
		   "command's; 128+n when signal n ended it; 124 time-out; 125 sbx failed; 126 not executable; 127 not "
		   "found; 2 wrong usage. --allow and --deny also take PERM and TARGET as two words.",
	.options = {.options = options, .count = ARRAY_LENGTH(options), .stop_at_operand = true},
	.values_size = sizeof(struct values),
	.operands_least = 1,
	.operands_most = SIZE_MAX,
	.run = run,
};
