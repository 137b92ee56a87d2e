/* runner: what a sandbox is to be: git's files, the layout, the plan, bwrap's arguments, the environment. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/string.h"
#include "bwrap.h"
#include "command.h"
#include "environment.h"
#include "facts.h"
#include "git.h"
#include "git_config.h"
#include "git_index.h"
#include "git_survey.h"
#include "init/orders.h"
#include "inside_message.h"
#include "layout.h"
#include "plan.h"
#include "runner/project.h"
#include "unit.h"

/* A repository with hooks elsewhere and a submodule, as gitformat-index(5) has it, without running git. */
static void prepare(void) {
	static const char config[] = "[core]\n\thooksPath = .husky ; here\n[include]\n\tpath = other\n"
				     "[alias \"x\"]\n\ty = \"a\\\"b\"\n[core]\n\tfsmonitor = /bin/watch\\\n er\n";
	static const char other[] = "[core]\nhooksPath=~/hooks\n";
	unsigned char index[12 + 72 + 20] = {'D', 'I', 'R', 'C', 0, 0, 0, 2, 0, 0, 0, 1};
	unsigned char *entry = index + 12;
	entry[26] = 0xe0;                  /* mode 0160000: a gitlink */
	entry[61] = 8;                     /* length of the name */
	memcpy(entry + 62, "deps/one", 8); /* NOLINT(bugprone-not-null-terminated-result): zeros follow it */
	static const char *const folders[] = {
		"repo", "repo/.git", "repo/.git/objects", "repo/.git/refs", "repo/deps", "repo/deps/one", "home"};
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++)
		if (mkdir(unit_file(folders[i]), 0700) < 0) _exit(1);
	unit_write("repo/.git/HEAD", "ref: refs/heads/main\n", 21);
	unit_write("repo/.git/config", config, sizeof config - 1);
	unit_write("repo/.git/other", other, sizeof other - 1);
	unit_write("repo/.git/index", (const char *)index, sizeof index);
	unit_write("repo/.env", "x", 1);
	unit_write("repo/tool", "#!/bin/sh\n", 10);
	chmod(unit_file("repo/tool"), 0700);
}

static char *file(const char *name) {
	return string_copy(unit_file(name));
}

static void tell_all(const struct strings *texts) {
	for (size_t i = 0; i < texts->count; i++) unit_tell("%s", texts->items[i]);
}

static void use_git(void) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0}, links = {0};
	CLEANUP_FREE char *config = file("repo/.git/config"), *index = file("repo/.git/index"), *home = file("home");
	CLEANUP_FREE char *repo = file("repo");
	git_config_values(config, home, "core.hookspath", &values, &files);
	tell_all(&values);
	tell_all(&files);
	unit_tell("the index is read to its end: %d", git_index_links(index, 20, &links));
	tell_all(&links);
	struct git_layout layout = {0};
	unit_tell("found %d", git_find(repo, home, &layout));
	tell_all(&layout.protect);
	struct git_survey survey = {0};
	CLEANUP_STRINGS struct strings paths = {0};
	git_survey_take(repo, &layout, home, &survey);
	tell_all(&survey.repositories);
	tell_all(&survey.plans);
	tell_all(&survey.notes);
	git_survey_compare(&survey, &paths);
	tell_all(&paths);
	git_survey_finish(&survey);
	git_layout_finish(&layout);
}

static int resolve(void *context, const struct strings *paths, struct layout_mode *modes, struct error *error) {
	(void)context, (void)error;
	for (size_t i = 0; i < paths->count; i++) modes[i] = (struct layout_mode){.mode = VIEW_ABSENT};
	return 0;
}

static struct view *make_view(const char *repo) {
	struct view *view = view_new();
	CLEANUP_FREE char *mask = path_join(repo, "**/.env"), *other = path_join(repo, "masked");
	view->profile = string_copy("default");
	view_add_path(view, repo, false, VIEW_WRITE, false);
	view_add_path(view, mask, true, VIEW_ABSENT, false);
	view_add_path(view, other, false, VIEW_ABSENT, false);
	view_add_path(view, "/srv", false, VIEW_READ, false);
	view_add_program(view, "sudo", VIEW_ABSENT);
	strings_add(&view->environment, "LANG");
	view_set_variable(view, "CI", "1");
	return view;
}

/* All of what lies between the broker's view and bwrap's start. */
static void use_plan(void) {
	CLEANUP_FREE char *repo = file("repo"), *home = file("home");
	CLEANUP_VIEW struct view *view = make_view(repo);
	struct project project = {0};
	struct command command = {0};
	struct git_survey survey = {0};
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACTS struct facts facts = {0};
	struct finds finds = {0};
	CLEANUP_PLAN struct plan plan = {0};
	struct error error = ERROR_NONE;
	if (unit_failed(project_find(NULL, repo, home, &project, &error), &error)) return;
	if (unit_failed(command_find("./tool", "/usr/bin:/bin", repo, home, repo, &command, &error), &error)) return;
	unit_tell("%s %s %s", project.root, command.path, command.real);
	const struct layout layout = {.view = view,
				      .project = &project,
				      .command = &command,
				      .home = home,
				      .has_home = true,
				      .search = "/usr/bin:/bin",
				      .judge = {.resolve = resolve},
				      .survey = &survey,
				      .finds = &finds};
	if (unit_failed(layout_rules(&layout, &rules, &facts, &error), &error)) return;
	if (unit_failed(plan_build(&rules, &facts, &plan, &error), &error)) return;
	CLEANUP_FREE char *text = plan_text(&plan);
	unit_tell("%s", text);
	tell_all(&plan.missing);
	tell_all(&plan.notes);
	CLEANUP_STRINGS struct strings argv = {0};
	bwrap_arguments(&(struct bwrap_options){.program = "/usr/bin/bwrap"}, &argv);
	tell_all(&argv);
	finds_finish(&finds);
	git_survey_finish(&survey);
	command_finish(&command);
	project_finish(&project);
}

static void use_environment(void) {
	CLEANUP_VIEW struct view *view = make_view("/p");
	CLEANUP_STRINGS struct strings asked = {0}, environment = {0}, left_out = {0};
	char *const outside[] = {(char *)"LANG=C",
				 (char *)"SECRET_TOKEN=hush",
				 (char *)"MINE=x",
				 (char *)"HTTP_PROXY=http://corp",
				 (char *)"LD_PRELOAD=evil.so",
				 NULL};
	strings_add(&asked, "MINE");
	strings_add(&asked, "SET=a=b");
	environment_build(&(struct environment_options){.view = view,
							.outside = outside,
							.asked = &asked,
							.home = "/home/u",
							.path = "/usr/bin",
							.directory = "/p",
							.proxied = true},
			  &environment, &left_out);
	tell_all(&environment);
	tell_all(&left_out);
}

/* What a tool says at its door: taken whole or not at all. */
static void use_inside(void) {
	static const char said[] = "{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/a/../b\", "
				   "\"reason\": \"why\"}";
	CLEANUP_INSIDE_MESSAGE struct inside_message message = {0};
	struct error error = ERROR_NONE;
	if (unit_failed(inside_message_parse(said, sizeof said - 1, &message, &error), &error)) return;
	unit_tell("%s %s %s", message.permission.name, message.target, message.reason);
	const struct verdict verdict = {.module = "rules"};
	json_t *reply = inside_reply_verdict(&verdict);
	CLEANUP_FREE char *text = json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
	unit_tell("%s", text);
	json_decref(reply);
}

static const struct unit units[] = {
	{.what = "git's files", .prepare = prepare, .use = use_git},
	{.what = "layout, plan and bwrap", .prepare = prepare, .use = use_plan},
	{.what = "the environment", .use = use_environment},
	{.what = "what a tool says at its door", .use = use_inside},
};

const struct unit_room units_runner =
	UNIT_ROOM("runner: git's files, layout, plan, bwrap's arguments, environment, door", units);
