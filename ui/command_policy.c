/* `sbx policy check` and `sbx policy show`. check uses the pure parser alone: no broker, also as root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/policy.h"
#include "policy/ruleset.h"
#include "policy_files.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "ui/broker.h"
#include "ui/command.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/words.h"

static int check(struct command_call *call, struct error *error) {
	CLEANUP_STRINGS struct strings files = {0};
	if (call->operands->count == 1)
		strings_add(&files, call->operands->items[0]);
	else
		policy_files_default(&files);
	if (files.count == 0) {
		puts("There is no policy file of yours yet: the built-in profiles hold. See sbx-policy(5) for how to "
		     "write "
		     "~/.config/sbx/policy.yaml.");
		return EXIT_DONE;
	}
	int status = EXIT_DONE;
	for (size_t i = 0; i < files.count; i++) {
		CLEANUP_STRINGS struct strings errors = {0};
		int r = policy_file_check(files.items[i], &errors, error);
		if (r < 0) return r;
		CLEANUP_FREE char *name = text_visible(files.items[i]);
		if (errors.count == 0) {
			printf("%s: no errors\n", name);
			continue;
		}
		status = EXIT_NO;
		for (size_t j = 0; j < errors.count; j++) fprintf(stderr, "%s\n", errors.items[j]);
	}
	return status;
}

static void print_files(const json_t *files) {
	size_t index, number;
	json_t *file, *fault;
	puts("# Files that the broker has read, strongest first. With errors the last good version holds.");
	json_array_foreach ((json_t *)files, index, file) {
		CLEANUP_FREE char *path = json_visible(file, "path");
		CLEANUP_FREE char *layer = json_visible(file, "layer");
		size_t faults = json_array_size(json_object_get(file, "errors"));
		printf("#   %-8s %s%s\n", layer, path, faults ? "   HAS ERRORS:" : "");
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
	json_t *reply = NULL;
	int r = broker_call("policy", NULL, &reply, error);
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
	.details = "Without FILE: your own policy file. A file named .sbx.yaml is checked as a project's, one below "
		   "/etc/sbx as the administrator's. Needs no broker. Exit status 1 when there are errors.",
	.operands_most = 1,
	.run = check,
};

static const struct command command_policy_show = {
	.name = "policy show",
	.operands = "",
	.summary = "Show every rule that holds, and where it stands.",
	.refuses_root = true,
	.run = show,
};

static const struct command *const policy_commands[] = {&command_policy_check, &command_policy_show, NULL};

const struct command command_policy = {
	.name = "policy",
	.operands = "check [FILE] | show",
	.summary = "Check policy files, or show what holds.",
	.commands = policy_commands,
};
