#include "findings.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "finds/new_links.h"
#include "git/git_review.h"
#include "git/git_survey.h"
#include "hold/links.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/patterns.h"

enum {
	PATH_COLUMNS = 200,
	NAME_COLUMNS = 80,
	DETAIL_BYTES = 400, /* of a text; three of them fit what the broker takes (handle_session.c), however escaped */
	BESIDE_NAMES_MAX = 20 * 1000,      /* of a new repository's folder */
	CLOCK_SLACK_NS = 20 * 1000 * 1000, /* files are dated by a clock that ticks 100 times a second at least */
};

/* A line is: lead, the first of them, what follows one or many. */
static const struct {
	const char *what, *lead, *one, *many;
} words[] = {
	[FINDING_PROTECTED] = {"protected", "",
			       " is new and would have been protected: look at it before a program on the host uses it",
			       " are new and would have been protected: look at them before a program on the host uses "
			       "them"},
	[FINDING_REPOSITORY] = {"repository", "a sandboxed tool created ",
				": check it (hooks, config) before you run git there",
				": check them (hooks, config) before you run git there"},
	[FINDING_LINK] = {"link", "by new links a program outside would write where the tool could not: ", ": check it",
			  ": check them"},
	[FINDING_HIDDEN] = {"hidden", "git may no longer show changes of ", "", ""},
	[FINDING_BOUND] = {"bound", "not all was looked at: ", ": what lies there is not named here",
			   ": what lies there is not named here"},
};
_Static_assert(ARRAY_LENGTH(words) == FINDING_KIND_COUNT, "every kind of finding has its words");

void findings_finish(struct findings *findings) {
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		struct findings_of_kind *of = &findings->kinds[kind];
		for (size_t i = 0; i < of->count; i++) {
			free(of->items[i].target);
			free(of->items[i].shown);
			json_decref(of->items[i].detail);
		}
		free(of->items);
	}
	*findings = (struct findings){0};
}

void findings_add(struct findings *findings, enum finding_kind kind, const char *target, const char *shown,
		  json_t *detail) {
	struct findings_of_kind *of = &findings->kinds[kind];
	json_object_set_new(detail, "what", json_string(words[kind].what));
	if (of->all++ >= FINDINGS_TOLD) {
		json_decref(detail);
		return;
	}
	of->items = array_grow(of->items, of->count, sizeof *of->items);
	of->items[of->count++] =
		(struct finding){.target = string_copy(target),
				 .shown = shown ? string_copy(shown) : text_visible_cut(target, PATH_COLUMNS),
				 .detail = detail};
}

static json_t *cut_text(const char *text) {
	CLEANUP_FREE char *cut = string_copy_bytes(text, strnlen(text, DETAIL_BYTES));
	return message_bytes(cut);
}

/* As seen from the project, or from the home. */
static char *near_path(const struct scene *scene, const char *path) {
	const char *root = scene->project.root, *home = scene->home;
	CLEANUP_FREE char *near = NULL;
	if (path_is_below(path, root) && !string_equal(path, root) && root[1])
		near = string_copy(path + strlen(root) + 1);
	else if (path_is_below(path, home) && home[1])
		near = string_format("~%s", path + strlen(home));
	return text_visible_cut(near ? near : path, NAME_COLUMNS);
}

/* Names that would have been protected */

static void add_once(struct strings *paths, const char *path) {
	if (!strings_contain(paths, path)) strings_add(paths, path);
}

/* Nothing is said of what was allowed. */
static void add_new(const struct findings_options *options, const char *path, struct strings *paths) {
	if (!strings_contain(options->made->allowed, path)) add_once(paths, path);
}

/* Also by a link that has come on its way, wherever that leads: when it was missed there was none. */
static bool has_come(const char *path) {
	CLEANUP_FREE char *above = path_parent(path);
	struct stat status;
	if (lstat(path, &status) == 0) return true;
	while (above[1] && (lstat(above, &status) < 0 || !S_ISLNK(status.st_mode))) {
		char *parent = path_parent(above);
		free(above);
		above = parent;
	}
	return above[1];
}

/* A mask can't be laid over what isn't there: what has appeared since is for the user to look at. */
static void look_at_protected(const struct findings_options *options, struct strings *paths) {
	const struct strings *missing = &options->plan->missing, *made = &options->made->paths;
	for (size_t i = 0; i < missing->count; i++)
		if (has_come(missing->items[i])) add_new(options, missing->items[i], paths);
	for (size_t i = 0; i < made->count; i++) add_new(options, made->items[i], paths);
}

static void add_paths(struct findings *findings, enum finding_kind kind, const struct strings *paths) {
	for (size_t i = 0; i < paths->count; i++) findings_add(findings, kind, paths->items[i], NULL, json_object());
}

/* Bounds */

static void add_bound(struct findings *findings, const char *root, const char *of, const char *unit, size_t most) {
	CLEANUP_FREE char *near = text_visible_cut(root, PATH_COLUMNS);
	CLEANUP_FREE char *shown = string_format("%s in %s past %zu %s", of, near, most, unit);
	findings_add(findings, FINDING_BOUND, root, shown,
		     json_pack("{s:s, s:s, s:I}", "of", of, "unit", unit, "most", (json_int_t)most));
}

/* Repositories */

static void add_repository(const struct strings *known, struct strings *repositories, const char *path) {
	if (!strings_contain(known, path)) add_once(repositories, path);
}

static void compare_survey(const struct git_survey *before, const struct strings *known, struct strings *paths,
			   struct findings *findings) {
	CLEANUP_STRINGS struct strings fresh = {0};
	size_t folders = 0;
	if (!git_survey_compare(before, &fresh, &folders))
		add_bound(findings, before->root, "repositories", "folders", folders);
	for (size_t i = 0; i < fresh.count; i++) add_repository(known, paths, fresh.items[i]);
}

static void look_at_repositories(const struct scene *scene, const struct strings *known, struct strings *paths,
				 struct findings *findings) {
	const struct finds *finds = &scene->finds;
	compare_survey(&scene->survey, known, paths, findings);
	for (size_t i = 0; i < finds->survey_count; i++) compare_survey(&finds->surveys[i], known, paths, findings);
}

static void compile_masks(const struct scene *scene, struct patterns *masks) {
	const struct pattern_scope scope = {
		.home = scene->home, .project = scene->project.root, .uid = getuid(), .relative_anywhere = true};
	for (size_t i = 0; i < scene->view->path_count; i++) {
		const struct view_path *entry = &scene->view->paths[i];
		if (view_path_masks(entry)) patterns_add(masks, PERMISSION_FS_WRITE, entry->path, &scope, NULL);
	}
}

/* Names that a pattern protects in the project, and not there. */
static void look_by_patterns(const struct scene *scene, const char *folder, struct strings *paths) {
	CLEANUP_PATTERNS struct patterns masks = {0};
	DIR *stream = mem_expect(opendir(folder));
	int budget = BESIDE_NAMES_MAX;
	compile_masks(scene, &masks);
	for (const struct dirent *entry; stream && --budget > 0 && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		CLEANUP_FREE char *same = path_join(scene->project.root, entry->d_name);
		if (patterns_match(&masks, same) && !patterns_match(&masks, path)) add_once(paths, path);
	}
	if (stream) closedir(stream);
}

/* What is protected in the project is protected in a repository, once that is known: what the run has made in a new one
 * is named beside it, unless it was protected there, too. */
static void look_beside(const struct scene *scene, const char *repository, struct strings *paths) {
	const bool git = string_equal(path_name(repository), ".git");
	CLEANUP_FREE char *folder = git ? path_parent(repository) : string_copy(repository);
	const char *root = scene->project.root;
	for (size_t i = 0; i < scene->view->path_count; i++) {
		const struct view_path *entry = &scene->view->paths[i];
		if (!entry->mask || entry->pattern || !path_is_below(entry->path, root)) continue;
		CLEANUP_FREE char *path = string_format("%s%s", folder, entry->path + strlen(root));
		const struct view_path *there = view_at(scene->view, path);
		const bool inside = git && path_is_below(path, repository), kept = there && there->mask;
		if (!inside && !kept && file_is_there(path)) add_once(paths, path);
	}
	look_by_patterns(scene, folder, paths);
}

/* Links */

static void git_directories(const struct scene *scene, struct strings *directories) {
	const struct finds *finds = &scene->finds;
	for (size_t i = 0; i < finds->review.count; i++) strings_add(directories, finds->review.items[i].directory);
	for (size_t i = 0; i < scene->survey.bare.count; i++) strings_add(directories, scene->survey.bare.items[i]);
	for (size_t i = 0; i < finds->survey_count; i++)
		for (size_t k = 0; k < finds->surveys[i].bare.count; k++)
			strings_add(directories, finds->surveys[i].bare.items[k]);
}

void findings_begin(struct findings_since *ret_since) {
	clock_gettime(CLOCK_REALTIME_COARSE, &ret_since->real); /* what files are dated by: inode_set_ctime_current() */
	clock_gettime(CLOCK_BOOTTIME, &ret_since->boot);
}

static int64_t nanoseconds_of(const struct timespec *time) {
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* By the clock as it is set now, where that was set back since. */
static struct timespec began(const struct findings_since *since) {
	struct findings_since now;
	findings_begin(&now);
	const int64_t passed = nanoseconds_of(&now.boot) - nanoseconds_of(&since->boot);
	const int64_t then = nanoseconds_of(&now.real) - passed;
	if (then >= nanoseconds_of(&since->real) - CLOCK_SLACK_NS) return since->real;
	const int64_t first = then - CLOCK_SLACK_NS;
	return (struct timespec){.tv_sec = first / 1000000000, .tv_nsec = first % 1000000000};
}

static bool was_allowed(const struct findings_options *options, const struct new_link *link) {
	CLEANUP_FREE char *key = links_key(link->path, link->text);
	return strings_contain(options->made->allowed, key);
}

static void add_link(const struct scene *scene, const struct new_link *link, struct findings *findings) {
	CLEANUP_FREE char *path = near_path(scene, link->path), *leads = near_path(scene, link->leads);
	CLEANUP_FREE char *shown = string_format("%s -> %s", path, leads);
	json_t *detail = json_pack("{s:o, s:o}", "text", cut_text(link->text), "leads", cut_text(link->leads));
	findings_add(findings, FINDING_LINK, link->path, shown, detail);
}

static void look_at_links(const struct findings_options *options, struct findings *findings) {
	CLEANUP_STRINGS struct strings directories = {0};
	CLEANUP_NEW_LINKS struct new_links links = {0};
	const struct scene *scene = options->scene;
	CLEANUP_FREE char *known = scene->finds.state ? path_join(scene->finds.state, FINDS_LOOKED) : NULL;
	git_directories(scene, &directories);
	const struct new_links_options look = {.plan = options->plan,
					       .trees = &scene->told,
					       .git = &directories,
					       .home = scene->home,
					       .known = known,
					       .since = began(options->since)};
	new_links_find(&look, &links);
	for (size_t i = 0; i < links.count; i++)
		if (!was_allowed(options, &links.items[i])) add_link(scene, &links.items[i], findings);
	for (size_t i = 0; i < links.shut.count; i++) {
		CLEANUP_FREE char *near = near_path(scene, links.shut.items[i]);
		CLEANUP_FREE char *folder = string_format("%s, which can't be read", near);
		findings_add(findings, FINDING_BOUND, links.shut.items[i], folder, json_pack("{s:s}", "of", "folder"));
	}
	if (links.cut) add_bound(findings, scene->project.root, "links", "names", links.entries);
}

/* What git directories say */

struct news {
	const struct scene *scene;
	const struct strings *known; /* names that would have been protected */
	struct strings *repositories;
	struct findings *findings;
};

/* Of the work tree, where that is known. */
static char *path_of(const struct git_reviewed *of, const char *name) {
	const bool named = string_equal(path_name(of->directory), ".git");
	CLEANUP_FREE char *top = of->top ? string_copy(of->top) : named ? path_parent(of->directory) : NULL;
	char *path = NULL;
	if (!name[0] || !top) return string_copy(of->directory);
	return path_normalise(top, name, &path, NULL) == 0 ? path : string_copy(of->directory);
}

/* "NAME (HOW)", and in which git directory, unless it is the project's. */
static void add_of_git(const struct news *news, enum finding_kind kind, const struct git_reviewed *of, const char *how,
		       const char *target, const char *name) {
	const bool own = string_equal(of->directory, news->scene->finds.git.directory);
	CLEANUP_FREE char *what = text_visible_cut(name[0] ? name : "files", NAME_COLUMNS);
	CLEANUP_FREE char *near = near_path(news->scene, of->directory);
	CLEANUP_FREE char *shown = string_format("%s (%s%s%s)", what, how, own ? "" : " in ", own ? "" : near);
	json_t *detail =
		json_pack("{s:s, s:o, s:o}", "how", how, "name", cut_text(name), "directory", cut_text(of->directory));
	findings_add(news->findings, kind, target, shown, detail);
}

/* What the finding is about. */
enum about { ABOUT_ENTRY, ABOUT_INSIDE, ABOUT_EXCLUDE, ABOUT_DIRECTORY, ABOUT_NAME };

static char *target_of(const struct git_reviewed *of, enum about about, const char *name) {
	switch (about) {
	case ABOUT_ENTRY:
		return path_of(of, name);
	case ABOUT_INSIDE:
		return path_join(of->directory, name);
	case ABOUT_EXCLUDE:
		return path_join(of->directory, "info/exclude");
	case ABOUT_NAME:
		return string_copy(name);
	case ABOUT_DIRECTORY:
		break;
	}
	return string_copy(of->directory);
}

static void add_news(void *context, const struct git_reviewed *of, enum git_news what, const char *name) {
	static const struct {
		enum finding_kind kind;
		enum about about;
		const char *how;
	} told[] = {
		[GIT_ASSUMED] = {FINDING_HIDDEN, ABOUT_ENTRY, "assume-unchanged"},
		[GIT_SKIPPED] = {FINDING_HIDDEN, ABOUT_ENTRY, "skip-worktree"},
		[GIT_EXCLUDED] = {FINDING_HIDDEN, ABOUT_EXCLUDE, "new in info/exclude"},
		[GIT_REORDERED] = {FINDING_HIDDEN, ABOUT_EXCLUDE, "info/exclude is another one"},
		[GIT_UNREAD] = {FINDING_HIDDEN, ABOUT_DIRECTORY, "can't be read to its end"},
		[GIT_FORGED] = {FINDING_PROTECTED, ABOUT_DIRECTORY, "in git's index, which writes it there"},
		[GIT_LINKED] = {FINDING_REPOSITORY, ABOUT_ENTRY, NULL},
		[GIT_PLANNED] = {FINDING_REPOSITORY, ABOUT_INSIDE, NULL},
		[GIT_BELOW] = {FINDING_REPOSITORY, ABOUT_NAME, NULL},
	};
	_Static_assert(ARRAY_LENGTH(told) == GIT_NEWS_COUNT, "all news are told");
	const struct news *news = context;
	CLEANUP_FREE char *target = target_of(of, told[what].about, name);
	if (told[what].kind == FINDING_REPOSITORY)
		add_repository(news->known, news->repositories, target);
	else
		add_of_git(news, told[what].kind, of, told[what].how, target, name);
}

static void look_at_news(const struct scene *scene, const struct strings *known, struct strings *repositories,
			 struct findings *findings) {
	struct news news = {scene, known, repositories, findings};
	const struct git_review *review = &scene->finds.review;
	if (!git_review_compare(review, add_news, &news))
		add_bound(findings, scene->project.root, "what git says", "repositories", review->count);
}

void findings_look(const struct findings_options *options, struct findings *findings) {
	CLEANUP_STRINGS struct strings paths = {0}, repositories = {0};
	look_at_protected(options, &paths);
	look_at_repositories(options->scene, &paths, &repositories, findings);
	look_at_news(options->scene, &paths, &repositories, findings);
	for (size_t i = 0; i < repositories.count && i < FINDINGS_SHOWN; i++)
		look_beside(options->scene, repositories.items[i], &paths);
	add_paths(findings, FINDING_PROTECTED, &paths);
	add_paths(findings, FINDING_REPOSITORY, &repositories);
	look_at_links(options, findings);
}

/* Telling */

void findings_tell(const struct findings *findings, struct session *session, const struct strings *recorded) {
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		const struct findings_of_kind *of = &findings->kinds[kind];
		for (size_t i = 0; i < of->count; i++) {
			const char *target = of->items[i].target;
			if (kind == FINDING_PROTECTED && strings_contain(recorded, target)) continue;
			session_event(session, "finding", NULL, strlen(target) <= LIMIT_TARGET ? target : NULL, 0, NULL,
				      json_incref(of->items[i].detail));
		}
		if (of->all > of->count)
			session_event(session, "finding", NULL, NULL, 0, NULL,
				      json_pack("{s:s, s:I}", "what", words[kind].what, "more",
						(json_int_t)(of->all - of->count)));
	}
}

char *findings_line(const struct findings *findings, enum finding_kind kind) {
	const struct findings_of_kind *of = &findings->kinds[kind];
	struct string line = {0};
	if (of->all == 0) return NULL;
	string_append(&line, words[kind].lead);
	for (size_t i = 0; i < of->count && i < FINDINGS_SHOWN; i++) {
		const bool last = i + 1 == of->all;
		string_appendf(&line, "%s%s", i == 0 ? "" : last ? " and " : ", ", of->items[i].shown);
	}
	if (of->all > FINDINGS_SHOWN)
		string_appendf(&line, " and %zu more (sbx history --session %lld)", of->all - FINDINGS_SHOWN,
			       (long long)findings->session);
	string_append(&line, of->all == 1 ? words[kind].one : words[kind].many);
	return string_steal(&line);
}

void findings_say(const struct findings *findings) {
	for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
		CLEANUP_FREE char *line = findings_line(findings, (enum finding_kind)kind);
		if (line) log_warning("%s", line);
	}
}
