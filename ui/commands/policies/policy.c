/* `sbx policy check` and `sbx policy show`. check uses the pure parser alone: no broker, also as root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "policy.h"
#include "runner/project.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/policy_files.h"
#include "ui/words.h"

/* The current project's directory, or NULL where there is none (the home directory). */
static char *current_root(char **ret_project) {
	CLEANUP_FREE char *directory = NULL;
	CLEANUP_PROJECT struct project project = {0};
	if (working_directory(&directory, NULL) < 0 ||
	    project_find(NULL, directory, home_directory(), &project, NULL) < 0)
		return NULL;
	if (ret_project) *ret_project = STEAL(project.project);
	return STEAL(project.root);
}

/* Is one of the errors about this file? */
static bool has_errors(const char *path, const struct strings *errors) {
	size_t size = strlen(path);
	for (size_t i = 0; i < errors->count; i++)
		if (strncmp(errors->items[i], path, size) == 0 && strchr(": ", errors->items[i][size])) return true;
	return false;
}

static int check(struct command_call *call, struct error *error) {
	CLEANUP_STRINGS struct strings files = {0}, errors = {0}, warnings = {0};
	CLEANUP_FREE char *root = current_root(NULL);
	int r = 0;
	if (call->operands->count == 1) {
		strings_add(&files, call->operands->items[0]);
		r = policy_file_check(files.items[0], &errors, error);
	} else {
		policy_files_check(root, &files, &errors, &warnings);
	}
	if (r < 0) return r;
	for (size_t i = 0; i < errors.count; i++) fprintf(stderr, "%s\n", errors.items[i]);
	for (size_t i = 0; i < warnings.count; i++) fprintf(stderr, "%s\n", warnings.items[i]);
	for (size_t i = 0; i < files.count; i++) {
		CLEANUP_FREE char *name = text_visible(files.items[i]);
		if (!has_errors(name, &errors)) printf("%s: no errors\n", name);
	}
	if (files.count == 0 && errors.count == 0)
		puts("There is no policy file of yours yet: the built-in profiles hold. See sbx-policy(5) for how to "
		     "write ~/.config/sbx/policy.yaml.");
	return errors.count > 0 ? EXIT_NO : EXIT_DONE;
}

static const char *note_on_trust(const json_t *file) {
	const char *trust = json_string_value(json_object_get(file, "trust"));
	if (trust && strcmp(trust, "untrusted") == 0)
		return "   NOT TRUSTED: only its denials count (sbx policy trust)";
	if (trust && strcmp(trust, "enclosing") == 0) return "   of an outer project: only its denials count";
	return trust && strcmp(trust, "trusted") == 0 ? "   trusted" : "";
}

static void print_files(const json_t *files) {
	size_t index, number;
	json_t *file, *fault;
	puts("# Files that the broker has read, strongest first.");
	json_array_foreach ((json_t *)files, index, file) {
		CLEANUP_FREE char *path = json_visible(file, "path");
		CLEANUP_FREE char *layer = json_visible(file, "layer");
		const char *holds = policy_file_holds(file);
		printf("#   %-8s %s%s%s%s%s\n", layer, path, note_on_trust(file), holds ? "   HAS ERRORS: " : "",
		       holds ? holds : "", holds ? ":" : "");
		json_array_foreach (json_object_get(file, "errors"), number, fault) {
			CLEANUP_FREE char *bytes = NULL;
			message_bytes_take(fault, &bytes, NULL);
			CLEANUP_FREE char *text = text_visible(bytes ? bytes : "");
			printf("#     %s\n", text);
		}
	}
	if (json_array_size(files) == 0) puts("#   none but the built-in profiles");
}

static void print_stack(const json_t *stack) {
	size_t index;
	json_t *line;
	puts("# The decision stack:");
	json_array_foreach ((json_t *)stack, index, line) {
		CLEANUP_FREE char *bytes = NULL;
		message_bytes_take(line, &bytes, NULL);
		CLEANUP_FREE char *text = text_visible(bytes ? bytes : "");
		printf("#   %s\n", text);
	}
}

static int show(struct command_call *call, struct error *error) {
	(void)call;
	CLEANUP_FREE char *project = NULL;
	CLEANUP_FREE char *root = current_root(&project);
	json_t *reply = NULL, *body = json_object();
	json_put_text(body, "project", project);
	json_put_text(body, "root", root);
	int r = broker_call("policy", body, &reply, error);
	if (r < 0) return r;
	print_files(json_object_get(reply, "files"));
	print_stack(json_object_get(reply, "stack"));
	CLEANUP_FREE char *text = NULL;
	r = policy_files_show(json_object_get(reply, "files"), &text, error);
	if (r == 0) printf("\n%s", text);
	json_decref(reply);
	return r;
}

static const struct command command_policy_check = {
	.name = "policy check",
	.operands = "[FILE]",
	.summary = "Print every error of a policy file with its place.",
	.details =
		"Without FILE: all that hold here: the administrator's in /etc/sbx, yours, and the current project's "
		".sbx.yaml, with their owners and modes. A file of that name is checked as a project's, one below "
		"/etc/sbx as the administrator's. Needs no broker. Exit status 1 when there are errors.",
	.operands_most = 1,
	.run = check,
};

static const struct command command_policy_show = {
	.name = "policy show",
	.operands = "",
	.summary = "Show every rule that holds here, and where it stands.",
	.refuses_root = true,
	.run = show,
};

static const struct command *const policy_commands[] = {&command_policy_check, &command_policy_show,
							&command_policy_trust, NULL};

const struct command command_policy = {
	.name = "policy",
	.operands = "check [FILE] | show | trust [DIR]",
	.summary = "Check policy files, show what holds, or trust a project's.",
	.commands = policy_commands,
};
