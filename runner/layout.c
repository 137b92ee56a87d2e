#include "layout.h"

#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "facts.h"
#include "other_names.h"
#include "programs.h"
#include "regular.h"
#include "sockets.h"
#include "walk.h"

enum { LAYOUT_REPOSITORIES_MAX = 50 }; /* nested ones whose files are masked one by one: some five mounts each */

/* What every sandbox shows, where the host has it. */
static const char *const shown_trees[] = {
	"/usr",
	"/etc",
	"/opt",
	"/nix/store",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/run/current-system",                 /* NixOS: where its PATH leads */
	"/etc/resolv.conf",                    /* where its link leads: systemd-resolved, WSL, resolvconf */
	"/sys/devices/system",                 /* processors and memory, read by every runtime */
	"/sys/kernel/mm/transparent_hugepage", /* jemalloc, Go */
};

static char *xdg_folder(const char *variable, const char *home, const char *fallback) {
	const char *value = getenv(variable);
	CLEANUP_FREE char *base = value && value[0] == '/' ? string_copy(value) : path_join(home, fallback);
	CLEANUP_FREE char *joined = path_join(base, "sbx");
	char *normal = NULL;
	return path_normalise(NULL, joined, &normal, NULL) == 0 ? normal : STEAL(joined);
}

char *layout_own_home(const char *home, const char *profile) {
	CLEANUP_FREE char *state = xdg_folder("XDG_STATE_HOME", home, ".local/state");
	return string_format("%s/homes/%s", state, profile);
}

/* sbx's folders, at the places the environment names and at the usual ones. */
static void add_protected(const char *home, struct rules *rules) {
	static const char *const usual[] = {".config/sbx", ".local/state/sbx"};
	for (size_t i = 0; i < ARRAY_LENGTH(usual); i++) {
		CLEANUP_FREE char *path = path_join(home, usual[i]);
		rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, path);
	}
	CLEANUP_FREE char *config = xdg_folder("XDG_CONFIG_HOME", home, ".config");
	CLEANUP_FREE char *state = xdg_folder("XDG_STATE_HOME", home, ".local/state");
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, config);
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, state);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (runtime && runtime[0] == '/') {
		CLEANUP_FREE char *path = xdg_folder("XDG_RUNTIME_DIR", home, "");
		rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, path);
	}
	CLEANUP_FREE char *usual_runtime = string_format("/run/user/%u/sbx", getuid());
	rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, usual_runtime);
}

static int add_home(const struct layout *layout, struct rules *rules, struct error *error) {
	CLEANUP_FREE char *own = NULL;
	switch (layout->view->home) {
	case VIEW_HOME_HIDDEN:
		return 0;
	case VIEW_HOME_EPHEMERAL:
		break;
	case VIEW_HOME_OWN:
		own = layout_own_home(layout->home, layout->view->profile);
		if (file_make_directories(own, error) < 0) return error_prefix(error, "the profile's own home");
		break;
	}
	rules_add_source(rules, RULE_LAYOUT, SHOW_FRESH, layout->home, own);
	return 0;
}

/* The control group as a container's runtime would find it: its own at the root (cgroup namespace). */
static void add_cgroup(struct rules *rules) {
	CLEANUP_FREE char *text = NULL;
	if (regular_read("/proc/self/cgroup", 64 * 1024, &text, NULL, NULL) < 0) return;
	char *line = string_starts(text, "0::/") ? text : strstr(text, "\n0::/");
	if (!line) return;
	char *path = strstr(line, "0::") + 3;
	path[strcspn(path, "\n")] = '\0';
	CLEANUP_FREE char *folder = string_format("/sys/fs/cgroup%s", path);
	CLEANUP_FREE char *mark = path_join(folder, "cgroup.controllers"); /* version 2 */
	CLEANUP_FREE char *normal = NULL;
	if (access(mark, R_OK) == 0 && path_normalise(NULL, folder, &normal, NULL) == 0)
		rules_add_source(rules, RULE_LAYOUT, SHOW_READ, "/sys/fs/cgroup", normal);
}

static enum show show_of_mode(enum view_mode mode) {
	switch (mode) {
	case VIEW_WRITE:
		return SHOW_WRITE;
	case VIEW_READ:
		return SHOW_READ;
	case VIEW_ASK: /* not there until somebody said yes */
	case VIEW_ABSENT:
		break;
	}
	return SHOW_NOTHING;
}

static void add_view(const struct view *view, struct rules *rules) {
	for (size_t i = 0; i < view->path_count; i++) {
		if (!view->paths[i].pattern)
			rules_add(rules, RULE_VIEW, show_of_mode(view->paths[i].mode), view->paths[i].path);
	}
}

static bool is_inside_shown(const struct rules *rules, const char *path) {
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if (rule->origin == RULE_VIEW && !rule->cap && (rule->show == SHOW_READ || rule->show == SHOW_WRITE) &&
		    path_is_below(path, rule->path))
			return true;
	}
	return false;
}

/* The canonical folders that the view shows, without those inside others. */
static void shown_folders(const struct rules *rules, struct strings *trees) {
	CLEANUP_RULES struct rules shown = {0};
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		if (rule->origin == RULE_VIEW && !rule->cap && (rule->show == SHOW_READ || rule->show == SHOW_WRITE))
			rules_add(&shown, RULE_VIEW, rule->show, rule->path);
	}
	CLEANUP_FACTS struct facts facts = {0};
	facts_collect(&shown, &facts);
	CLEANUP_STRINGS struct strings all = {0};
	for (size_t i = 0; i < facts.count; i++)
		if (facts.items[i].type == FACT_FOLDER) strings_add(&all, facts.items[i].real);
	strings_sort(&all);
	for (size_t i = 0; i < all.count; i++) { /* sorted: what holds a folder comes before it */
		if (trees->count == 0 || !path_is_below(all.items[i], trees->items[trees->count - 1]))
			strings_add(trees, all.items[i]);
	}
}

/* What is the system's own holds no user's sockets (services have theirs in /run), and is large. */
static bool is_system(const char *path) {
	for (size_t i = 0; i < ARRAY_LENGTH(shown_trees); i++)
		if (path_is_below(path, shown_trees[i])) return true;
	return false;
}

static bool find_sockets(const struct strings *trees, struct strings *sockets) {
	CLEANUP_STRINGS struct strings own = {0};
	for (size_t i = 0; i < trees->count; i++)
		if (!is_system(trees->items[i])) strings_add(&own, trees->items[i]);
	return sockets_find(&own, sockets);
}

/* The view's patterns, compiled; relative ones were made absolute by the broker. */
static int compile_patterns(const struct layout *layout, struct pattern **patterns, size_t *ret_count,
			    struct error *error) {
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	const struct pattern_scope scope = {
		.home = layout->home, .project = layout->project->root, .uid = getuid(), .relative_anywhere = true};
	for (size_t i = 0; i < layout->view->path_count; i++) {
		if (!layout->view->paths[i].pattern) continue;
		int r = pattern_compile(&permission, layout->view->paths[i].path, &scope, &patterns[*ret_count], error);
		if (r < 0) return error_prefix(error, "a pattern of the view");
		++*ret_count;
	}
	return 0;
}

static int judge_matches(const struct layout *layout, const struct strings *matches, struct rules *rules,
			 struct error *error) {
	if (matches->count == 0) return 0;
	struct layout_mode *modes = mem_array(struct layout_mode, matches->count);
	int r = layout->judge.resolve(layout->judge.context, matches, modes, error);
	for (size_t i = 0; r == 0 && i < matches->count; i++)
		rules_add(rules, RULE_VIEW, show_of_mode(modes[i].mode), matches->items[i]);
	free(modes);
	return r;
}

static int add_matches(const struct layout *layout, struct rules *rules, struct error *error) {
	CLEANUP_STRINGS struct strings trees = {0}, matches = {0}, sockets = {0};
	struct pattern **patterns = mem_array(struct pattern *, layout->view->path_count + 1);
	size_t count = 0;
	int r = compile_patterns(layout, patterns, &count, error);
	if (r == 0) {
		shown_folders(rules, &trees);
		const struct walk walk = {.trees = &trees, .patterns = patterns, .pattern_count = count};
		r = walk_trees(&walk, &matches, &sockets, error);
		if (!find_sockets(&trees, &sockets))
			strings_addf(&layout->survey->notes,
				     "sockets were looked for in the shallow folders: a deeper one can be reached");
	}
	if (r == 0) r = judge_matches(layout, &matches, rules, error);
	/* seeing a folder is no permission to talk to what listens in it */
	for (size_t i = 0; r == 0 && i < sockets.count; i++)
		rules_add(rules, RULE_VIEW, SHOW_NOTHING, sockets.items[i]);
	for (size_t i = 0; i < count; i++) pattern_free(patterns[i]);
	free(patterns);
	return r;
}

/* A grant at or below a mask lifts it; a rule for the whole tree does not. */
static bool is_lifted(const struct view *view, const char *path) {
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		if (!entry->pattern && entry->mode == VIEW_WRITE && path_is_below(entry->path, path)) return true;
	}
	return false;
}

static void add_masks(const struct layout *layout, const struct git_layout *git, struct rules *rules) {
	for (size_t i = 0; i < git->protect.count; i++) {
		if (!is_lifted(layout->view, git->protect.items[i])) rules_add_mask(rules, git->protect.items[i]);
	}
}

/* Nested repositories as the top one; past a number of them the whole `.git`. */
static void add_nested(const struct layout *layout, const char *top, struct rules *rules) {
	struct git_survey *survey = layout->survey;
	for (size_t i = 0; i < survey->repositories.count; i++) {
		const char *folder = survey->repositories.items[i];
		CLEANUP_GIT_LAYOUT struct git_layout git = {0};
		if (string_equal(folder, top)) continue;
		if (i < LAYOUT_REPOSITORIES_MAX) {
			git_at(folder, layout->home, &git);
			add_masks(layout, &git, rules);
			continue;
		}
		CLEANUP_FREE char *dotgit = path_join(folder, ".git");
		if (!is_lifted(layout->view, dotgit)) rules_add_mask(rules, dotgit);
		if (i == LAYOUT_REPOSITORIES_MAX)
			strings_addf(&survey->notes, "of %zu repositories in the project all but %d are read-only",
				     survey->repositories.count, LAYOUT_REPOSITORIES_MAX);
	}
}

static void add_git(const struct layout *layout, struct rules *rules) {
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	git_find(layout->project->root, layout->home, &git);
	/* the repository of a linked worktree or submodule that lists this one: git can't work without it */
	if (git.outside && is_inside_shown(rules, git.top)) {
		rules_add(rules, RULE_VIEW, SHOW_WRITE, git.common);
		if (!path_is_below(git.directory, git.common)) rules_add(rules, RULE_VIEW, SHOW_WRITE, git.directory);
	}
	add_masks(layout, &git, rules);
	git_survey_take(layout->project->root, &git, layout->home, layout->survey);
	add_nested(layout, git.top, rules);
}

int layout_rules(const struct layout *layout, struct rules *rules, struct error *error) {
	for (size_t i = 0; i < ARRAY_LENGTH(shown_trees); i++) rules_add(rules, RULE_LAYOUT, SHOW_READ, shown_trees[i]);
	rules_add(rules, RULE_FIRM, SHOW_FRESH, "/tmp");
	rules_add(rules, RULE_FIRM, SHOW_FRESH, "/run");
	rules_add(rules, RULE_FIRM, SHOW_PROC, "/proc");
	rules_add(rules, RULE_FIRM, SHOW_DEV, "/dev");
	add_cgroup(rules);
	for (size_t i = 0; i < layout->command->places.count; i++)
		rules_add(rules, RULE_PLACE, SHOW_READ, layout->command->places.items[i]);
	add_protected(layout->home, rules);
	int r = add_home(layout, rules, error);
	if (r < 0) return r;
	add_view(layout->view, rules);
	add_git(layout, rules);
	r = add_matches(layout, rules, error);
	if (r < 0) return r;
	other_names_add(layout->project->root, rules);
	return programs_add(layout->view, layout->search, rules, error);
}
