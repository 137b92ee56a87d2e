/*
 * `sbx policy trust`: what a project's file says, and the user's word that it may.
 *
 * What is trusted is what was shown: the hash of these very bytes goes to the broker, which reads the file itself and
 * refuses when it is another one by now.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "policy.h"
#include "policy/source.h"
#include "runner/project.h"
#include "schema/pattern.h"
#include "ui/broker.h"
#include "ui/words.h"

static const char word[] = "trust";
/* The heading, two lines in all, the question, and where the cursor is then. */
enum { FRAME_ROWS = 6, WEIGHT_COLUMNS = 13, COLUMNS_LEAST = 70 };

struct values {
	bool yes, forget;
};

/* A project's file as it was read. */
struct shown {
	char *path;
	char hash[HASH_HEX_SIZE];
	struct policy_document *document;
};

static void shown_finish(struct shown *shown) {
	free(shown->path);
	policy_document_unref(shown->document);
}

static int read_file(const char *root, struct shown *shown, struct error *error) {
	CLEANUP_FREE char *text = NULL;
	CLEANUP_STRINGS struct strings errors = {0};
	size_t size = 0;
	bool exists;
	shown->path = path_join(root, POLICY_PROJECT_FILE);
	int r = policy_project_read(root, &exists, &text, &size, error);
	if (r < 0) return r;
	if (!exists) return error_set(error, ENOENT, "there is no %s: nothing to trust", shown->path);
	hash_hex(shown->hash, text, size);
	shown->document = policy_load(POLICY_LAYER_PROJECT, shown->path, text, size, &errors);
	if (shown->document) return 0;
	for (size_t i = 0; i < errors.count; i++) fprintf(stderr, "%s\n", errors.items[i]);
	return error_set(error, EBADMSG, "the file has errors (%zu shown): nothing was trusted", errors.count);
}

static void print_file(const struct shown *shown, const char *project) {
	CLEANUP_STRINGS struct strings lines = {0};
	CLEANUP_FREE char *path = text_visible(shown->path);
	CLEANUP_FREE char *place = text_visible(project);
	policy_document_describe(shown->document, &lines);
	printf("%s says, for what runs in %s:\n", path, place);
	for (size_t i = 0; i < lines.count; i++) printf("  %s\n", lines.items[i]);
	if (lines.count == 0) puts("  nothing");
	/* Last, so that nothing of weight scrolls out of sight. */
	CLEANUP_FREE char *summary = policy_document_summary(shown->document);
	printf("In all: %s.\n", summary);
	fflush(stdout);
}

struct screen_size {
	size_t rows, columns;
};

static struct screen_size screen_size(void) {
	struct winsize size = {0};
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return (struct screen_size){24, 80};
	return (struct screen_size){size.ws_row, size.ws_col};
}

/* How many of each weight are shown. */
struct choice {
	size_t shown[POLICY_WEIGHT_COUNT];
	size_t rows; /* with the lines that say how many more there are */
};

static size_t rows_of(size_t shown, size_t count) {
	return shown + (shown < count ? 1 : 0);
}

/* Of each weight one at least, then as many as there is room for, the weightiest first. */
static struct choice choose(const struct policy_sayings *sayings, size_t rows) {
	struct choice choice = {0};
	for (size_t i = 0; i < POLICY_WEIGHT_COUNT; i++) {
		choice.shown[i] = sayings->of_weight[i] > 0;
		choice.rows += rows_of(choice.shown[i], sayings->of_weight[i]);
	}
	for (size_t i = 0; i < POLICY_WEIGHT_COUNT; i++) {
		const size_t count = sayings->of_weight[i], left = choice.rows - rows_of(choice.shown[i], count);
		while (choice.shown[i] < count && left + rows_of(choice.shown[i] + 1, count) <= rows) choice.shown[i]++;
		choice.rows = left + rows_of(choice.shown[i], count);
	}
	return choice;
}

static size_t print_weights(const struct policy_sayings *sayings, const struct choice *choice) {
	size_t hidden = 0, next = 0;
	for (size_t i = 0; i < POLICY_WEIGHT_COUNT; i++) {
		const char *name = policy_weight_name((enum policy_weight)i);
		const size_t count = sayings->of_weight[i], shown = choice->shown[i];
		for (size_t k = 0; k < shown; k++)
			printf("%-*s %s\n", WEIGHT_COLUMNS, name, sayings->items[next + k].text);
		if (shown < count) printf("%-*s … and %zu more\n", WEIGHT_COLUMNS, name, count - shown);
		hidden += count - shown;
		next += count;
	}
	return hidden;
}

/* On one screen, whatever texts the file has: what they would push out of sight is counted. */
static int print_screen(const struct shown *shown, const struct project *project, struct error *error) {
	const struct screen_size size = screen_size();
	const struct pattern_scope scope = {.home = home_directory(), .project = project->root, .uid = getuid()};
	CLEANUP_POLICY_SAYINGS struct policy_sayings sayings = {0};
	const size_t columns = size.columns > WEIGHT_COLUMNS + 2 ? size.columns - WEIGHT_COLUMNS - 2 : 1;
	policy_document_weigh(shown->document, &scope, columns, &sayings);
	const size_t rows = size.rows > FRAME_ROWS ? size.rows - FRAME_ROWS : 0;
	const struct choice choice = choose(&sayings, rows);
	if (choice.rows > rows || size.columns < COLUMNS_LEAST)
		return error_set(
			error, EMSGSIZE,
			"this terminal has no room for what matters in it: make it larger, at least %zu lines of %d "
			"columns",
			choice.rows + FRAME_ROWS, COLUMNS_LEAST);
	CLEANUP_FREE char *path = text_visible_cut(shown->path, size.columns - sizeof " says:");
	printf("%s says:\n", path);
	const size_t hidden = print_weights(&sayings, &choice);
	printf("In all: %zu that count%s if you trust it, %zu %s anyway.\n", sayings.count,
	       sayings.count == 1 ? "s" : "", sayings.denials,
	       sayings.denials == 1 ? "denial, which does" : "denials, which do");
	if (hidden > 0) printf("%zu are NOT on this screen: sbx policy trust | less\n", hidden);
	fflush(stdout);
	return 0;
}

static bool in_terminal(void) {
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* A whole word: what was typed before the question was there is thrown away. */
static int confirm(struct error *error) {
	char line[64] = "";
	if (!in_terminal())
		return error_set(
			error, EPERM,
			"there is no terminal to ask at: read what it says, then say `sbx policy trust --yes`");
	tcflush(STDIN_FILENO, TCIFLUSH);
	printf("Type %s to trust exactly this, anything else not to: ", word);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin)) line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, word) == 0 ? 0 : error_set(error, ECANCELED, "nothing was trusted");
}

static json_t *body_of(const struct project *project) {
	json_t *body = json_object();
	json_put_text(body, "project", project->project);
	json_put_text(body, "root", project->root);
	return body;
}

static int call_broker(json_t *body, struct error *error) {
	json_t *reply = NULL;
	int r = broker_call("trust", body, &reply, error);
	json_decref(reply);
	return r;
}

static int forget(const struct project *project, struct error *error) {
	CLEANUP_FREE char *place = text_visible(project->project);
	json_t *body = body_of(project);
	json_object_set_new(body, "forget", json_true());
	int r = call_broker(body, error);
	if (r == 0) printf("Of %s in %s only the denials count from now on.\n", POLICY_PROJECT_FILE, place);
	return r;
}

/* What `sbx run` in the directory that was named would take, where that is another project. */
static void warn_of_other(const char *asked, const struct project *project) {
	CLEANUP_PROJECT struct project taken = {0};
	struct error error = ERROR_NONE;
	if (!asked || project_find(NULL, project->root, home_directory(), &taken, &error) < 0 ||
	    strcmp(taken.root, project->root) == 0)
		return;
	CLEANUP_FREE char *named = text_visible(project->root);
	CLEANUP_FREE char *other = text_visible(taken.root);
	fprintf(stderr,
		"sbx: warning: %s is no project by itself: `sbx run` there takes %s, unless it is told --project %s\n",
		named, other, named);
}

static int trust(const struct project *project, const char *asked, bool yes, struct error *error) {
	CLEANUP(shown_finish) struct shown shown = {0};
	int r = read_file(project->root, &shown, error);
	if (r < 0) return r;
	if (!yes && in_terminal())
		r = print_screen(&shown, project, error);
	else
		print_file(&shown, project->project);
	if (r < 0) return r;
	if (!policy_document_needs_trust(shown.document)) {
		puts("Denials count without being trusted: there is nothing to do.");
		return 0;
	}
	if (!yes && (r = confirm(error)) < 0) return r;
	json_t *body = body_of(project);
	json_object_set_new(body, "hash", json_string(shown.hash));
	r = call_broker(body, error);
	if (r < 0) return r;
	CLEANUP_FREE char *named = asked ? text_visible(asked) : NULL;
	printf("Trusted until the file changes. To take it back: sbx policy trust --forget%s%s\n", named ? " " : "",
	       named ? named : "");
	return 0;
}

static int run(struct command_call *call, struct error *error) {
	const struct values *values = call->values;
	CLEANUP_FREE char *directory = NULL;
	CLEANUP_PROJECT struct project project = {0};
	const char *asked = call->operands->count == 1 ? call->operands->items[0] : NULL;
	if (values->yes && values->forget) return error_set(error, EINVAL, "--yes and --forget don't go together");
	int r = working_directory(&directory, error);
	if (r == 0) r = project_find(asked, directory, home_directory(), &project, error);
	if (r == 0) warn_of_other(asked, &project);
	if (r == 0) r = values->forget ? forget(&project, error) : trust(&project, asked, values->yes, error);
	return r < 0 ? r : EXIT_DONE;
}

static const struct option_info options[] = {
	{"yes", OPTION_FLAG, NULL, "Don't ask. For scripts that have read the file.", offsetof(struct values, yes)},
	{"forget", OPTION_FLAG, NULL, "Take back all trust in files of this project.", offsetof(struct values, forget)},
};

const struct command command_policy_trust = {
	.name = "policy trust",
	.operands = "[DIR]",
	.summary = "Show what a project's .sbx.yaml says, and let it count.",
	.details = "Until you trust exactly its content, only what a project's file denies counts, for it comes from a "
		   "repository. When it changes it is not trusted any more. DIR is the project's directory; default: "
		   "the current project.",
	.options = OPTION_TABLE(options),
	.values_size = sizeof(struct values),
	.operands_most = 1,
	.refuses_root = true,
	.run = run,
};
