#include "scene.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "environment.h"
#include "layout.h"
#include "own_home.h"
#include "plan/facts.h"
#include "plan/sight.h"
#include "programs.h"
#include "runner/homes.h"
#include "runner/native_needs.h"
#include "runner/patience.h"
#include "runner/program_links.h"

enum {
	PATTERN_COLUMNS = 200,
	VIEWS_MAX = 8, /* until no folder is found that none before had */
};

extern char **environ;

static int find_home(char **ret_home, struct error *error) {
	const char *home = getenv("HOME");
	if (!home || home[0] != '/') {
		const struct passwd *entry = getpwuid(getuid());
		home = entry ? entry->pw_dir : NULL;
	}
	char *real = home ? mem_expect(realpath(home, NULL)) : NULL;
	if (!real) return error_set(error, ENOENT, "your home directory was not found: set HOME");
	*ret_home = real;
	return 0;
}

static int find_directory(const char *path, char **ret_directory, struct error *error) {
	char *real = mem_expect(realpath(path, NULL));
	if (!real) return error_errno(error, "the working directory %s", path);
	*ret_directory = real;
	return 0;
}

/* Where the command is, and where it is looked for. */
static int look_ahead(const struct scene *scene, struct error *error) {
	const char *const named[] = {getenv("HOME"), scene->options->cwd, scene->options->project};
	CLEANUP_FREE char *here = mem_expect(getcwd(NULL, 0));
	CLEANUP_STRINGS struct strings paths = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(named); i++) {
		char *path = NULL;
		if (named[i] && path_normalise(here, named[i], &path, NULL) == 0) strings_take(&paths, path);
	}
	for (const char *at = scene->search; *at; at += *at == ':') {
		const size_t size = strcspn(at, ":");
		if (*at == '/') strings_take(&paths, string_copy_bytes(at, size));
		at += size;
	}
	const struct patience patience = {.paths = &paths, .near = true};
	return patience_look(&patience, error);
}

static char *rule_of(void *context, const char *path) {
	return session_rule(context, path, false);
}

/* What the view names, before all else is done with it. */
static int look_at_view(const struct scene *scene, struct session *session, struct error *error) {
	CLEANUP_STRINGS struct strings paths = {0};
	for (size_t i = 0; i < scene->view->path_count; i++)
		if (!scene->view->paths[i].pattern) strings_add(&paths, scene->view->paths[i].path);
	const struct patience patience = {.paths = &paths, .rule = rule_of, .context = session};
	return patience_look(&patience, error);
}

/* A tool that can write the policy of this run rules the next one (attack R26). */
static void find_policy(struct scene *scene, const char *here) {
	const char *name = scene->options->policy_name;
	CLEANUP_FREE char *real = name ? mem_expect(realpath(name, NULL)) : NULL, *named = NULL;
	struct stat status;
	if (!real || stat(real, &status) < 0 || !S_ISREG(status.st_mode)) return;
	strings_add(&scene->policy, real);
	if (path_normalise(here, name, &named, NULL) == 0 && !string_equal(named, real))
		strings_take(&scene->policy, STEAL(named));
}

int scene_begin(struct scene *scene, const struct run_options *options, int *ret_status, struct error *error) {
	*scene = (struct scene){.options = options, .search = getenv("PATH"), .residence = -1};
	if (!scene->search) scene->search = "/usr/local/bin:/usr/bin:/bin";
	CLEANUP_FREE char *here = NULL; /* the project and ./command are seen from here, whatever --cwd says */
	int r = look_ahead(scene, error);
	if (r == 0) r = find_home(&scene->home, error);
	if (r == 0) r = find_directory(".", &here, error);
	if (r == 0) find_policy(scene, here);
	if (r == 0) r = find_directory(options->cwd ? options->cwd : ".", &scene->directory, error);
	if (r == 0) r = project_find(options->project, here, scene->home, &scene->project, error);
	if (r < 0) return r;
	r = command_find(options->command[0], scene->search, here, scene->home, scene->project.root, &scene->command,
			 error);
	if (r < 0) *ret_status = r == -ENOENT ? RUN_EXIT_NOT_FOUND : RUN_EXIT_NOT_EXECUTABLE;
	return r;
}

static int ask_writable(void *context, const struct strings *folders, bool *ret_writable, struct error *error) {
	return session_writable(context, NULL, folders, ret_writable, error);
}

/* The broker has to know each folder that the plan lets write before that is in force: a link in there may be the
 * tool's. */
static int tell_writable(struct scene *scene, struct session *session, const struct plan *plan, struct error *error) {
	CLEANUP_STRINGS struct strings trees = {0};
	struct strings *told = &scene->told;
	for (size_t i = 0; i < plan->count; i++) {
		const struct mount *mount = &plan->mounts[i];
		if (mount->kind == MOUNT_WRITE && string_equal(mount->path, mount->source) &&
		    !path_is_below_any(mount->path, (const char *const *)told->items, told->count) &&
		    !path_is_below_any(mount->path, (const char *const *)trees.items, trees.count))
			strings_add(&trees, mount->path);
	}
	if (trees.count == 0 || !session || scene->options->print_plan) return 0;
	int r = session_writable(session, &trees, NULL, NULL, error);
	for (size_t i = 0; r == 0 && i < trees.count; i++) strings_add(told, trees.items[i]);
	return r;
}

static void add_notes(const struct scene *scene, struct plan *plan) {
	for (size_t i = 0; i < scene->finds.notes.count; i++) strings_add(&plan->notes, scene->finds.notes.items[i]);
	if (scene->nodes.more)
		strings_addf(&plan->notes, "more than %d names could be asked for: the rest is not there",
			     ASK_NODES_MAX);
}

/* NULL: what is below /usr is shown anyway. */
static const char *own_program(const struct run_options *options) {
	return options && options->program && !path_is_below(options->program, "/usr") ? options->program : NULL;
}

/* As a rule would have it: the broker has put "any folder" in front. */
static const char *without_root(const char *pattern) {
	static const char anywhere[] = "/**/";
	const size_t size = strlen(anywhere) - 1;
	while (string_starts(pattern, anywhere) && string_starts(pattern + size, anywhere)) pattern += size;
	return string_starts(pattern, anywhere) ? pattern + 1 : pattern;
}

enum { MOUNTS_OF_FILE = 8 }; /* its own, and one for each folder (add_pins in plan.c) that has no other such file */

/* Which rule it is that matches so much, where one does. */
static int explain_too_many(const struct scene *scene, struct session *session, const struct view *view,
			    struct error *error) {
	const struct finds_options options = {.view = view, .project = &scene->project, .home = scene->home};
	const char *path = NULL;
	size_t count;
	const char *pattern = finds_most(&scene->finds, &options, &count, &path);
	if (!pattern || count < PLAN_MOUNTS_MAX / MOUNTS_OF_FILE) return -E2BIG;
	CLEANUP_FREE char *rule = session_rule(session, path, true);
	CLEANUP_FREE char *where = rule ? text_visible(rule) : NULL;
	CLEANUP_FREE char *shown = text_visible_cut(without_root(pattern), PATTERN_COLUMNS);
	return error_set(
		error, E2BIG,
		"the pattern %s%s%s%s matches %zu files, each of which needs a mount, as does each folder on the way "
		"to one, and %d are the most: name the folders that hold them instead of a pattern, or show the "
		"command fewer folders",
		shown, where ? " (" : "", where ? where : "", where ? ")" : "", count, PLAN_MOUNTS_MAX);
}

int scene_replan(struct scene *scene, struct session *session, const struct view *view, bool fresh,
		 struct plan *ret_plan, struct error *error) {
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACTS struct facts facts = {0};
	CLEANUP_STRINGS struct strings watched = {0};
	if (fresh) {
		fact_book_finish(&scene->finds.book);
		ask_nodes_forget(&scene->nodes);
	}
	const struct layout layout = {.view = view,
				      .project = &scene->project,
				      .command = &scene->command,
				      .home = scene->home,
				      .own_home = scene->own_home,
				      .has_home = scene->home_kind != VIEW_HOME_HIDDEN,
				      .search = scene->search,
				      .policy = &scene->policy,
				      .program = own_program(scene->options),
				      .survey = &scene->survey,
				      .finds = &scene->finds,
				      .texts = scene->network != VIEW_NETWORK_HOST,
				      .curtain = scene->curtain,
				      .holds_sockets = scene->holds_sockets,
				      .trapped = scene->trapped,
				      .judge = session_judge(session),
				      .links = {.writable = ask_writable, .context = session}};
	int r = layout_rules(&layout, &rules, &facts, error);
	if (r < 0) return r;
	if (scene->curtain) ask_nodes_add(&scene->nodes, scene->home, scene->own_home, &rules, &facts, &watched);
	r = plan_build(&rules, &facts, ret_plan, error);
	if (r == -E2BIG) r = explain_too_many(scene, session, view, error);
	if (r < 0) return r;
	if (session) r = roots_check(&scene->roots, session, view, &scene->finds, &scene->finds.notes, error);
	if (r == 0) r = tell_writable(scene, session, ret_plan, error);
	if (r < 0) {
		plan_finish(ret_plan);
		return r;
	}
	ret_plan->watched = watched;
	watched = (struct strings){0};
	add_notes(scene, ret_plan);
	return 0;
}

/* The working directory as the user's shell names it, links and all, or NULL. */
static const char *named_directory(void) {
	struct stat named, here;
	const char *path = getenv("PWD");
	if (!path || path[0] != '/' || stat(path, &named) < 0 || stat(".", &here) < 0) return NULL;
	return named.st_dev == here.st_dev && named.st_ino == here.st_ino ? path : NULL;
}

/* As it was named, the project may lie behind a link that a sandbox has made in its place (attack R20). */
static int check_project(const struct scene *scene, struct session *session, struct error *error) {
	const char *here = named_directory(), *asked = scene->options->project;
	const struct foreign_judge judge = {.writable = ask_writable, .context = session};
	CLEANUP_FREE char *named = NULL, *link = NULL, *real = NULL;
	if (!asked || asked[0] == '/')
		named = string_copy_or_null(asked ? asked : here);
	else if (here)
		named = path_join(here, asked);
	int r = named ? foreign_find(named, &judge, &link, &real, error) : 0;
	if (r < 0 || !link) return r;
	CLEANUP_FREE char *shown = text_visible(named), *at = text_visible(link), *where = text_visible(real);
	return error_set(error, EPERM,
			 "%s leads to %s by the link %s, which a sandbox or another user may have made: if that is "
			 "the project you mean, say so with --project %s",
			 shown, where, at, where);
}

/* Is the host's own thing at `path` there inside? */
static bool is_hosts(const struct plan *plan, const char *path) {
	enum show show = plan_show(plan, path);
	return show == SHOW_READ || show == SHOW_WRITE;
}

static bool is_there(const void *context, const char *path) {
	CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
	return real && is_hosts(context, real);
}

/* A program that may be asked for is there to be started: then it is asked for. */
static bool can_start(const struct scene *scene, const char *path) {
	if (is_there(&scene->plan, path)) return true;
	CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
	CLEANUP_SIGHTS struct sights *sights = sights_new(&scene->plan, NULL, scene->view);
	return real && sights_at(sights, real).visible;
}

/* The caller's directory if it is visible; without --cwd the project's is as good. */
static int choose_directory(struct scene *scene, struct error *error) {
	bool home = string_equal(scene->directory, scene->home_inside);
	if (home || is_hosts(&scene->plan, scene->directory)) return 0;
	CLEANUP_FREE char *shown = text_visible(scene->directory);
	if (scene->options->cwd || !is_hosts(&scene->plan, scene->project.root))
		return error_set(
			error, ENOENT,
			"the working directory %s is not visible in the sandbox: allow it with --allow fs:read=%s, "
			"or name another with --cwd",
			shown, shown);
	free(scene->directory);
	scene->directory = string_copy(scene->project.root);
	return 0;
}

/* Names of --allow fs:write=PATH that don't exist, and can't be made in the sandbox: that must be said. */
static void warn_missing_writes(const struct scene *scene) {
	const struct strings *allow = &scene->options->allow;
	CLEANUP_SIGHTS struct sights *sights = sights_new(&scene->plan, NULL, scene->view);
	for (size_t i = 0; i < allow->count; i++) {
		struct permission permission;
		const char *target;
		CLEANUP_FREE char *path = NULL;
		if (permission_split(allow->items[i], &permission, &target, NULL) < 0) continue;
		if (permission.kind != PERMISSION_FS_WRITE || strpbrk(target, "*?[{$")) continue;
		if (string_starts(target, "~/"))
			path = path_join(scene->home, target + 2);
		else if (path_normalise(scene->directory, target, &path, NULL) < 0)
			continue;
		if (access(path, F_OK) == 0 || is_hosts(&scene->plan, path) || sights_at(sights, path).lost) continue;
		CLEANUP_FREE char *shown = text_visible(path);
		log_warning("%s does not exist, and the command can't make it: make it first", shown);
	}
}

static void warn_policy(const struct scene *scene) {
	for (size_t i = 0; i < scene->policy.count; i++) {
		CLEANUP_FREE char *folder = path_parent(scene->policy.items[i]);
		if (plan_show(&scene->plan, folder) != SHOW_WRITE) continue;
		CLEANUP_FREE char *shown = text_visible(scene->policy.items[i]);
		log_warning(
			"--policy: %s lies where the command may write: it is read-only in this run, but a run without "
			"this --policy can change it; keep it elsewhere, such as in ~/.config/sbx",
			shown);
		return;
	}
}

static void warn_shared(const struct scene *scene) {
	for (size_t i = 0; i < scene->plan.shared.count; i++) {
		CLEANUP_FREE char *shown = text_visible(scene->plan.shared.items[i]);
		log_warning("%s has other names (hard links): what is done through them isn't seen", shown);
	}
}

/* Before the tool can use it (attack R8). */
static void warn_unlooked(const struct scene *scene) {
	const struct strings *unlooked = &scene->finds.unlooked;
	for (size_t i = 0; i < unlooked->count; i++) log_warning("%s", unlooked->items[i]);
}

/* To whoever looks on: in scripts and logs it would be the same line every time. */
static void say_no_native(const char *lacks) {
	if (isatty(STDERR_FILENO) || getenv("SBX_DEBUG"))
		log_notice("only programs that follow proxy variables get out (%s): sbx doctor says more", lacks);
}

static void settle_network(struct scene *scene) {
	scene->network = scene->view->network;
	if (scene->network == VIEW_NETWORK_HOST) return;
	const char *lacks = native_lacks();
	scene->holds_sockets = !lacks;
	if (lacks && scene->network == VIEW_NETWORK_NATIVE) say_no_native(lacks);
}

/* A link to the command, by whose name it is denied; freed by the caller; or NULL. */
static char *denied_link(const struct scene *scene, bool asks) {
	CLEANUP_STRINGS struct strings links = {0};
	program_links(scene->command.real, scene->search, &links);
	for (size_t i = 0; i < links.count; i++)
		if (programs_deny(scene->view, asks, links.items[i])) return text_visible(links.items[i]);
	return NULL;
}

/* Again while the broker makes the rules count for folders that were found on the way. */
static int make_plan(struct scene *scene, struct session *session, struct error *error) {
	for (int views = 1;; views++) {
		int r = look_at_view(scene, session, error);
		if (r == 0) r = scene_replan(scene, session, scene->view, true, &scene->plan, error);
		if (r != -EAGAIN) return r;
		if (views == VIEWS_MAX) return error_set(error, EPROTO, "the broker's view has not what it was told");
		view_free(STEAL(scene->view));
		if ((r = session_next_view(session, &scene->view, error)) < 0) return r;
	}
}

/* Who has run something before there were homes that last. */
static void tell_of_homes(const struct scene *scene, const struct session *session) {
	CLEANUP_FREE char *state = homes_state(scene->home);
	if (scene->home_kind == VIEW_HOME_OWN && session_id(session) > 1 && !file_is_in(state, "homes"))
		log_notice("each profile has a home of its own that lasts now: sbx home lists what is in it, and "
			   "'home: ephemeral' in your policy has it as it was");
}

static int enter_home(struct scene *scene, const struct session *session, struct error *error) {
	if (!scene->own_home || scene->options->print_plan) return 0;
	tell_of_homes(scene, session);
	return own_home_enter(scene->own_home, scene->home, &scene->plan, &scene->residence, error);
}

int scene_complete(struct scene *scene, struct session *session, int *ret_status, struct error *error) {
	const bool asks = scene->curtain || scene->trapped;
	if (programs_deny(scene->view, asks, scene->command.path) ||
	    programs_deny(scene->view, asks, scene->command.real)) {
		*ret_status = RUN_EXIT_NOT_EXECUTABLE;
		return error_set(error, EACCES, "%s: the profile %s does not let it run (proc:spawn)",
				 scene->options->command[0], scene->view->profile);
	}
	if (scene->options->offline) scene->view->network = VIEW_NETWORK_NONE;
	scene->home_kind = scene->view->home;
	settle_network(scene);
	scene->own_home = homes_place(scene->home_kind, scene->home, scene->view->profile, scene->project.project);
	int r = check_project(scene, session, error);
	if (r == 0) r = make_plan(scene, session, error);
	if (r == 0) r = enter_home(scene, session, error);
	if (r < 0) return r;
	scene->home_inside = string_copy(scene->view->home == VIEW_HOME_HIDDEN ? "/tmp" : scene->home);
	if (!can_start(scene, scene->command.path)) {
		CLEANUP_FREE char *shown = text_visible(scene->command.path), *link = denied_link(scene, asks);
		*ret_status = RUN_EXIT_NOT_EXECUTABLE;
		if (link)
			return error_set(
				error, EACCES,
				"%s: the profile %s does not let it run (proc:spawn): it denies %s, which leads "
				"there",
				scene->options->command[0], scene->view->profile, link);
		return error_set(error, EACCES, "%s is not visible in the sandbox: allow it with --allow fs:read=%s",
				 scene->options->command[0], shown);
	}
	if ((r = choose_directory(scene, error)) < 0) return r;
	warn_missing_writes(scene);
	warn_shared(scene);
	warn_policy(scene);
	if (!scene->options->print_plan) warn_unlooked(scene);
	CLEANUP_FREE char *visible = command_visible_path(scene->search, is_there, &scene->plan);
	CLEANUP_FREE char *path =
		own_program(scene->options) ? string_format("%s:%s", visible, LAYOUT_PROGRAMS) : string_copy(visible);
	const struct environment_options environment = {.view = scene->view,
							.outside = environ,
							.asked = &scene->options->environment,
							.home = scene->home_inside,
							.path = path,
							.directory = scene->directory,
							.proxied = scene_is_proxied(scene)};
	environment_build(&environment, &scene->environment, &scene->left_out);
	return 0;
}

bool scene_is_native(const struct scene *scene) {
	return scene->network == VIEW_NETWORK_NATIVE && scene->holds_sockets;
}

bool scene_is_direct(const struct scene *scene) {
	return scene_is_native(scene) && scene->view->direct;
}

bool scene_is_proxied(const struct scene *scene) {
	return scene_has_gate(scene) && !scene_is_native(scene);
}

bool scene_has_gate(const struct scene *scene) {
	return scene->network == VIEW_NETWORK_NATIVE || scene->network == VIEW_NETWORK_PROXY;
}

char *scene_text(const struct scene *scene) {
	struct string text = {0};
	const struct view_limits *limits = &scene->view->limits;
	const struct {
		const char *word, *value;
	} lines[] = {{"profile", scene->view->profile},
		     {"project", scene->project.project},
		     {"root", scene->project.root},
		     {"command", scene->command.path},
		     {"directory", scene->directory},
		     {"home", scene->home_inside},
		     {"network", view_network_name(scene_is_proxied(scene) ? VIEW_NETWORK_PROXY : scene->network)}};
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		CLEANUP_FREE char *shown = text_visible(lines[i].value);
		string_appendf(&text, "%-11s %s\n", lines[i].word, shown);
	}
	string_appendf(
		&text,
		"%-11s memory %lld, processes %lld, open-files %lld, cpu-time %lld ms (0 = none), kernel-aio %s\n",
		"limits", (long long)limits->memory, (long long)limits->processes, (long long)limits->open_files,
		(long long)limits->cpu_time_ms, limits->kernel_aio ? "true" : "false");
	for (size_t i = 0; i < scene->environment.count; i++) {
		CLEANUP_FREE char *name =
			string_copy_bytes(scene->environment.items[i], strcspn(scene->environment.items[i], "="));
		CLEANUP_FREE char *shown = text_visible(name);
		string_appendf(&text, "%-11s %s\n", "variable", shown);
	}
	CLEANUP_FREE char *plan = plan_text(&scene->plan);
	string_append(&text, plan);
	for (size_t i = 0; i < scene->finds.unlooked.count; i++)
		string_appendf(&text, "%-11s %s\n", "note", scene->finds.unlooked.items[i]);
	return string_steal(&text);
}

void scene_finish(struct scene *scene) {
	free(scene->home);
	free(scene->directory);
	free(scene->home_inside);
	free(scene->own_home);
	fd_close(scene->residence);
	project_finish(&scene->project);
	command_finish(&scene->command);
	view_free(scene->view);
	plan_finish(&scene->plan);
	git_survey_finish(&scene->survey);
	finds_finish(&scene->finds);
	ask_nodes_finish(&scene->nodes);
	strings_finish(&scene->environment);
	strings_finish(&scene->left_out);
	strings_finish(&scene->told);
	roots_finish(&scene->roots);
	strings_finish(&scene->policy);
}
