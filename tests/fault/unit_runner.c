/* runner: what a sandbox is to be: git's files, the layout, the plan, bwrap's arguments, the environment. */
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "git/git.h"
#include "git/git_config.h"
#include "git/git_index.h"
#include "git/git_review.h"
#include "git/git_survey.h"
#include "init/orders.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "runner/project.h"
#include "sandbox/bwrap.h"
#include "sandbox/command.h"
#include "sandbox/environment.h"
#include "sandbox/layout.h"
#include "session/inside_door.h"
#include "session/inside_message.h"
#include "terminal/screen.h"
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

static void tell_news(void *context, const struct git_reviewed *of, enum git_news what, const char *name) {
	(void)context, (void)of;
	unit_tell("new %d %s", what, name);
}

static void use_git(void) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0};
	CLEANUP_FREE char *config = file("repo/.git/config"), *index = file("repo/.git/index"), *home = file("home");
	CLEANUP_FREE char *repo = file("repo");
	git_config_values(config, home, "core.hookspath", &values, &files);
	tell_all(&values);
	tell_all(&files);
	CLEANUP_GIT_INDEX struct git_index read = {0};
	git_index_read(index, 20, &read);
	unit_tell("the index is read to its end: %d", read.whole);
	tell_all(&read.links);
	struct git_layout layout = {0};
	unit_tell("found %d", git_find(repo, home, &layout));
	tell_all(&layout.protect);
	struct git_survey survey = {0};
	CLEANUP_STRINGS struct strings paths = {0};
	size_t folders;
	git_survey_take(repo, &layout, &survey);
	tell_all(&survey.repositories);
	tell_all(&survey.notes);
	unit_tell("nothing was left out: %d", git_survey_compare(&survey, &paths, &folders));
	tell_all(&paths);
	struct git_review review = {0};
	git_review_add(&review, &layout);
	unit_tell("%zu git directories, none left out: %d", review.count, git_review_compare(&review, tell_news, NULL));
	git_review_finish(&review);
	git_survey_finish(&survey);
	git_layout_finish(&layout);
}

static int writable(void *context, const struct strings *folders, bool *ret_writable, struct error *error) {
	(void)context, (void)error;
	for (size_t i = 0; i < folders->count; i++) ret_writable[i] = false;
	return 0;
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
	const struct strings masked = {0};
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
				      .policy = &masked,
				      .judge = {.resolve = resolve},
				      .links = {.writable = writable},
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

static bool door_caller(void *context, pid_t process, char **ret_process, struct strings *ret_parents) {
	(void)context;
	*ret_process = string_copy("tool");
	strings_add(ret_parents, "sh");
	return process == getpid();
}

static uint64_t door_serve(void *context, const struct inside_wish *wish, inside_done *done, void *argument) {
	(void)context;
	unit_tell("%s of %s: %s %s", wish->process, wish->parents->items[0], wish->message->permission.name,
		  wish->message->target);
	done(argument, inside_reply_no("none", "nothing allows it"));
	return 0;
}

static void door_cancel(void *context, uint64_t ticket) {
	(void)context, (void)ticket;
}

/* Two tools at the door, one of which talks nonsense; as the runner has it, libevent's allocations never fail. */
static void use_door(void) {
	static const char *const said[] = {"{\"type\": \"request\", \"permission\": \"fs:read\", \"target\": \"/a\"}",
					   "{\"type\": \"grant\"}"};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct error error = ERROR_NONE;
	CLEANUP(inside_door_free_p) struct inside_door *door = NULL;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", unit_file("door"));
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0) _exit(1);
	struct event_base *base = loop_new();
	const struct inside_door_options options = {
		.base = base, .caller = door_caller, .serve = door_serve, .cancel = door_cancel};
	if (unit_failed(inside_door_new(listener, &options, &door, &error), &error)) return;
	for (size_t i = 0; i < ARRAY_LENGTH(said); i++) {
		char reply[1024];
		CLEANUP_FD int tool = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(tool, (const struct sockaddr *)&address, sizeof address) < 0 ||
		    send(tool, said[i], strlen(said[i]), 0) < 0)
			_exit(1);
		do event_base_loop(base, EVLOOP_ONCE);
		while (inside_door_count(door) > 0);
		ssize_t size = recv(tool, reply, sizeof reply, 0);
		unit_tell("%.*s", size > 0 ? (int)size : 0, reply);
	}
	inside_door_free(STEAL(door));
	event_base_free(base);
}

static void tell_bytes(const struct string *bytes) {
	CLEANUP_FREE char *text = text_visible(bytes->data ? bytes->data : "");
	unit_tell("%s", text);
}

/* What a question leaves and puts back: all that the tool has switched on, and its picture. */
static void use_screen(void) {
	static const char *const shown[] = {
		"one\r\ntwo \x1b[1;31mred\x1b[0m\r\n\x1b[?1;2004h\x1b[?25l",
		"\x1b[?1049h\x1b[H\x1b[2J\x1b[1;5Hone\x1b[2;5Htw\xc3\xb6\x1b[38;5;208mcolour\x1b[5;10r\x1b[?1000h",
		"\x1b]0;a title\x07\x1bP+q544e\x1b\\\x1b[3;3Hthr",
		"ee\r\n\x1b[?6;7h\x1b)0\x0e\x1b[>4;2m\x1b[5 q\x1b]2;half",
	};
	CLEANUP_SCREEN struct screen *screen = screen_new(24);
	for (size_t i = 0; i < ARRAY_LENGTH(shown); i++) {
		CLEANUP_STRING struct string left = {0}, back = {0};
		screen_see(screen, shown[i], strlen(shown[i]));
		screen_leave(screen, i % 2 == 0, &left);
		enum screen_back how = screen_return(screen, &back);
		tell_bytes(&left);
		tell_bytes(&back);
		unit_tell("it is %d", how);
		if (i == 1) screen_resized(screen, 30);
	}
	CLEANUP_STRING struct string end = {0};
	screen_end(screen, true, &end);
	tell_bytes(&end);
}

static const struct unit units[] = {
	{.what = "git's files", .prepare = prepare, .use = use_git},
	{.what = "layout, plan and bwrap", .prepare = prepare, .use = use_plan},
	{.what = "the environment", .use = use_environment},
	{.what = "what a tool says at its door", .use = use_inside},
	{.what = "the door itself", .use = use_door},
	{.what = "what a tool shows", .use = use_screen},
};

const struct unit_room units_runner =
	UNIT_ROOM("runner: git's files, layout, plan, bwrap's arguments, environment, door, screen", units);
