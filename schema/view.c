#include "schema/view.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "schema/limits.h"
#include "schema/message.h"
#include "schema/record.h"

static const char *const mode_names[] = {
	[VIEW_ABSENT] = "absent", [VIEW_ASK] = "ask", [VIEW_READ] = "read", [VIEW_WRITE] = "write"};
static const struct words modes = {"mode", mode_names, ARRAY_LENGTH(mode_names)};
static const char *const denial_names[] = {
	[VIEW_DENIES_NOTHING] = "nothing", [VIEW_DENIES_WRITE] = "write", [VIEW_DENIES_READ] = "read"};
static const struct words denials = {"denial", denial_names, ARRAY_LENGTH(denial_names)};
static const char *const home_names[] = {[VIEW_HOME_EPHEMERAL] = "ephemeral",
					 [VIEW_HOME_OWN] = "own",
					 [VIEW_HOME_PROJECT] = "project",
					 [VIEW_HOME_HIDDEN] = "hidden"};
static const struct words homes = {"home", home_names, ARRAY_LENGTH(home_names)};
static const char *const network_names[] = {[VIEW_NETWORK_NATIVE] = "native",
					    [VIEW_NETWORK_PROXY] = "proxy",
					    [VIEW_NETWORK_NONE] = "none",
					    [VIEW_NETWORK_HOST] = "host"};
static const struct words networks = {"network", network_names, ARRAY_LENGTH(network_names)};
static const char *const doorbell_names[] = {
	[VIEW_DOORBELL_AUTO] = "auto", [VIEW_DOORBELL_TRAPS] = "traps", [VIEW_DOORBELL_NONE] = "none"};
static const struct words doorbells = {"doorbell", doorbell_names, ARRAY_LENGTH(doorbell_names)};

#define WORDS(type, prefix, table)                                                                                     \
	const char *prefix##_name(type value) {                                                                        \
		return words_name(&(table), (int)value);                                                               \
	}                                                                                                              \
	int prefix##_parse(const char *name, type *ret_value, struct error *error) {                                   \
		return words_parse(&(table), name, (int *)ret_value, error);                                           \
	}
WORDS(enum view_mode, view_mode, modes)
WORDS(enum view_denial, view_denial, denials)
WORDS(enum view_home, view_home, homes)
WORDS(enum view_network, view_network, networks)
WORDS(enum view_doorbell, view_doorbell, doorbells)

/* On the wire the paths are lists by what is said of them: most views say the same of a hundred paths. */
static const struct path_list {
	const char *key;
	enum view_mode mode;
	bool ask_write;
	enum view_denial denial;
	bool mask;
	bool pattern;
	bool gone; /* in changes alone: it is no entry any more */
	bool own;
} path_lists[] = {
	{"denied", VIEW_ABSENT, false, VIEW_DENIES_READ, false, false, false, false},
	{"absent", VIEW_ABSENT, false, VIEW_DENIES_NOTHING, false, false, false, false},
	{"absent-fixed", VIEW_ABSENT, false, VIEW_DENIES_WRITE, false, false, false, false},
	{"absent-mask-fixed", VIEW_ABSENT, false, VIEW_DENIES_WRITE, true, false, false, false},
	{"ask", VIEW_ASK, false, VIEW_DENIES_NOTHING, false, false, false, false},
	{"ask-fixed", VIEW_ASK, false, VIEW_DENIES_WRITE, false, false, false, false},
	{"ask-write", VIEW_ASK, true, VIEW_DENIES_NOTHING, false, false, false, false},
	{"ask-mask", VIEW_ASK, true, VIEW_DENIES_NOTHING, true, false, false, false},
	{"ask-mask-fixed", VIEW_ASK, false, VIEW_DENIES_WRITE, true, false, false, false},
	{"read", VIEW_READ, false, VIEW_DENIES_NOTHING, false, false, false, false},
	{"read-fixed", VIEW_READ, false, VIEW_DENIES_WRITE, false, false, false, false},
	{"read-mask", VIEW_READ, true, VIEW_DENIES_NOTHING, true, false, false, false},
	{"read-mask-fixed", VIEW_READ, false, VIEW_DENIES_WRITE, true, false, false, false},
	{"masked", VIEW_READ, true, VIEW_DENIES_NOTHING, false, false, false, false},
	{"write", VIEW_WRITE, false, VIEW_DENIES_NOTHING, false, false, false, false},
	{"write-own", VIEW_WRITE, false, VIEW_DENIES_NOTHING, false, false, false, true},
	{"patterns", VIEW_READ, false, VIEW_DENIES_NOTHING, false, true, false, false},
	{"patterns-masked", VIEW_READ, true, VIEW_DENIES_NOTHING, false, true, false, false},
	{"patterns-hiding", VIEW_ABSENT, false, VIEW_DENIES_NOTHING, false, true, false, false},
	{"gone", VIEW_ABSENT, false, VIEW_DENIES_NOTHING, false, false, true, false},
	{"patterns-gone", VIEW_ABSENT, false, VIEW_DENIES_NOTHING, false, true, true, false},
};

static const struct field program_fields[] = {
	{"pattern", FIELD_TEXT, offsetof(struct view_program, pattern), NULL},
	{"mode", FIELD_WORD, offsetof(struct view_program, mode), &modes},
};
static const struct record program_record = {"program of a view", program_fields, ARRAY_LENGTH(program_fields)};

static const struct field limit_fields[] = {
	{"memory", FIELD_COUNT, offsetof(struct view_limits, memory), NULL},
	{"processes", FIELD_COUNT, offsetof(struct view_limits, processes), NULL},
	{"open_files", FIELD_COUNT, offsetof(struct view_limits, open_files), NULL},
	{"cpu_time_ms", FIELD_COUNT, offsetof(struct view_limits, cpu_time_ms), NULL},
	{"kernel_aio", FIELD_BOOL, offsetof(struct view_limits, kernel_aio), NULL},
};
static const struct record limit_record = {"limits of a view", limit_fields, ARRAY_LENGTH(limit_fields)};

static const struct field view_fields[] = {
	{"profile", FIELD_TEXT, offsetof(struct view, profile), NULL},
	{"home", FIELD_WORD, offsetof(struct view, home), &homes},
	{"network", FIELD_WORD, offsetof(struct view, network), &networks},
	{"doorbell", FIELD_WORD, offsetof(struct view, doorbell), &doorbells},
	{"environment", FIELD_STRINGS, offsetof(struct view, environment), NULL},
	{"sockets", FIELD_STRINGS, offsetof(struct view, sockets), NULL},
	{"sockets_asked", FIELD_STRINGS, offsetof(struct view, sockets_asked), NULL},
	{"upstream", FIELD_TEXT, offsetof(struct view, upstream), NULL},
	{"roots", FIELD_STRINGS, offsetof(struct view, roots), NULL},
	{"listens", FIELD_BOOL, offsetof(struct view, listens), NULL},
	{"direct", FIELD_BOOL, offsetof(struct view, direct), NULL},
};
static const struct record view_record = {"view", view_fields, ARRAY_LENGTH(view_fields)};

struct view *view_new(void) {
	return mem_new(struct view);
}

static void free_pairs(struct view_pair *pairs, size_t count) {
	for (size_t i = 0; i < count; i++) {
		free(pairs[i].name);
		free(pairs[i].value);
	}
	free(pairs);
}

static void path_finish(struct view_path *path) {
	free(path->path);
	free(path->resolved);
}

void view_free(struct view *view) {
	if (!view) return;
	for (size_t i = 0; i < view->path_count; i++) path_finish(&view->paths[i]);
	free(view->paths);
	for (size_t i = 0; i < view->program_count; i++) record_finish(&program_record, &view->programs[i]);
	free(view->programs);
	free_pairs(view->set, view->set_count);
	free_pairs(view->hosts, view->host_count);
	record_finish(&view_record, view);
	free(view);
}

/* Compares the entry with the first `size` bytes of `path`. */
static int compare_beginning(const struct view_path *entry, const char *path, size_t size) {
	int order = strncmp(entry->path, path, size);
	return order != 0 ? order : entry->path[size] != '\0';
}

static const struct view_path *find_path(const struct view *view, const char *path, size_t size) {
	size_t low = 0, high = view->path_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct view_path *entry = &view->paths[middle];
		int order = compare_beginning(entry, path, size);
		if (order == 0 && !entry->pattern) return entry;
		if (order < 0)
			low = middle + 1;
		else /* of a path and a pattern of that text the path comes first */
			high = middle;
	}
	return NULL;
}

const struct view_path *view_at(const struct view *view, const char *path) {
	for (size_t size = strlen(path);;) {
		const struct view_path *entry = find_path(view, path, size);
		if (entry || size <= 1) return entry;
		while (size > 1 && path[size - 1] != '/') size--;
		if (size > 1) size--;
	}
}

static int compare_paths(const struct view_path *entry, const char *path, bool pattern) {
	int order = strcmp(entry->path, path);
	return order != 0 ? order : (int)entry->pattern - (int)pattern;
}

/* Where the entry is, or else belongs. */
static size_t place_of(const struct view *view, const char *path, bool pattern, bool *ret_found) {
	size_t low = 0, high = view->path_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_paths(&view->paths[middle], path, pattern) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = low < view->path_count && compare_paths(&view->paths[low], path, pattern) == 0;
	return low;
}

void view_add_path(struct view *view, const char *path, bool pattern, enum view_mode mode, bool ask_write) {
	bool found;
	size_t at = place_of(view, path, pattern, &found);
	if (!found) {
		view->paths = array_grow(view->paths, view->path_count, sizeof *view->paths);
		memmove(&view->paths[at + 1], &view->paths[at], (view->path_count - at) * sizeof *view->paths);
		view->paths[at] = (struct view_path){.path = string_copy(path), .pattern = pattern};
		view->path_count++;
	}
	view->paths[at].mode = pattern && mode != VIEW_ABSENT ? VIEW_READ : mode;
	view->paths[at].ask_write = ask_write && (mode == VIEW_ASK || mode == VIEW_READ);
	view->paths[at].denial = VIEW_DENIES_NOTHING;
	view->paths[at].mask = false;
	view->paths[at].own = false;
	free(STEAL(view->paths[at].resolved));
}

const struct view_path *view_pattern(const struct view *view, const char *pattern) {
	bool found;
	const size_t at = place_of(view, pattern, true, &found);
	return found ? &view->paths[at] : NULL;
}

/* Who may not read may not write either. */
bool view_path_masks(const struct view_path *path) {
	return path->pattern && (path->mode == VIEW_ABSENT || path->ask_write);
}

/* Entries that can't be are not made: none reads what may not be read. */
static enum view_denial most_denied(const struct view_path *path) {
	if (path->mode == VIEW_WRITE || path->ask_write) return VIEW_DENIES_NOTHING;
	return path->mode == VIEW_ABSENT ? VIEW_DENIES_READ : VIEW_DENIES_WRITE;
}

void view_deny_path(struct view *view, const char *path, enum view_denial denial) {
	bool found;
	size_t at = place_of(view, path, false, &found);
	if (!found) return;
	const enum view_denial most = most_denied(&view->paths[at]);
	view->paths[at].denial = denial < most ? denial : most;
}

/* Nothing is masked where nobody denies to write, or asks about it. */
void view_mask_path(struct view *view, const char *path) {
	bool found;
	size_t at = place_of(view, path, false, &found);
	if (found && (view->paths[at].ask_write || view->paths[at].denial == VIEW_DENIES_WRITE))
		view->paths[at].mask = true;
}

void view_own_path(struct view *view, const char *path) {
	bool found;
	size_t at = place_of(view, path, false, &found);
	if (found && view->paths[at].mode == VIEW_WRITE) view->paths[at].own = true;
}

void view_resolve_path(struct view *view, const char *path, const char *resolved) {
	bool found;
	size_t at = place_of(view, path, false, &found);
	if (!found) return;
	free(view->paths[at].resolved);
	view->paths[at].resolved = string_copy(resolved);
}

static void remove_path(struct view *view, const char *path, bool pattern) {
	bool found;
	size_t at = place_of(view, path, pattern, &found);
	if (!found) return;
	path_finish(&view->paths[at]);
	view->path_count--;
	memmove(&view->paths[at], &view->paths[at + 1], (view->path_count - at) * sizeof *view->paths);
}

void view_add_program(struct view *view, const char *pattern, enum view_mode mode) {
	view->programs = array_grow(view->programs, view->program_count, sizeof *view->programs);
	view->programs[view->program_count++] = (struct view_program){string_copy(pattern), mode};
}

static void set_pair(struct view_pair **pairs, size_t *count, const char *name, const char *value) {
	for (size_t i = 0; i < *count; i++) {
		if (strcmp((*pairs)[i].name, name) != 0) continue;
		free((*pairs)[i].value);
		(*pairs)[i].value = string_copy(value);
		return;
	}
	*pairs = array_grow(*pairs, *count, sizeof **pairs);
	(*pairs)[(*count)++] = (struct view_pair){string_copy(name), string_copy(value)};
}

void view_set_variable(struct view *view, const char *name, const char *value) {
	set_pair(&view->set, &view->set_count, name, value);
}

void view_add_host(struct view *view, const char *name, const char *address) {
	set_pair(&view->hosts, &view->host_count, name, address);
}

/*
 * On the wire. Part 1 holds everything but the paths, and as many of them as fit; the rest follow.
 */

/* Room for the paths of one part: what is over is for "part", "parts", "type", "session" and the first part's rest. */
enum { PART_PATHS_BYTES = LIMIT_MESSAGE / 2 };

static json_t *pairs_to_json(const struct view_pair *pairs, size_t count) {
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++) json_object_set_new(object, pairs[i].name, message_bytes(pairs[i].value));
	return object;
}

static json_t *head_to_json(const struct view *view) {
	json_t *json = record_to_json(&view_record, view);
	json_t *programs = json_array();
	for (size_t i = 0; i < view->program_count; i++)
		json_array_append_new(programs, record_to_json(&program_record, &view->programs[i]));
	json_object_set_new(json, "programs", programs);
	json_object_set_new(json, "set", pairs_to_json(view->set, view->set_count));
	json_object_set_new(json, "hosts", pairs_to_json(view->hosts, view->host_count));
	json_object_set_new(json, "limits", record_to_json(&limit_record, &view->limits));
	return json;
}

/* What is said of a path: how it is, or that it is gone. */
struct saying {
	const struct view_path *path;
	bool gone;
};

static const char *list_of(const struct saying *saying) {
	const struct view_path *path = saying->path;
	for (size_t i = 0; i < ARRAY_LENGTH(path_lists); i++) {
		const struct path_list *list = &path_lists[i];
		if (path->pattern != list->pattern || saying->gone != list->gone) continue;
		if (list->gone || (path->mode == list->mode && path->ask_write == list->ask_write &&
				   path->denial == list->denial && path->mask == list->mask && path->own == list->own))
			return list->key;
	}
	return path_lists[0].key; /* denied */
}

static void append_path(json_t *paths, const struct saying *saying) {
	const char *key = list_of(saying);
	json_t *list = json_object_get(paths, key);
	if (!list) {
		list = json_array();
		json_object_set_new(paths, key, list);
	}
	json_t *item = message_bytes(saying->path->path);
	if (saying->path->resolved && !saying->gone)
		item = json_pack("[o, o]", item, message_bytes(saying->path->resolved));
	json_array_append_new(list, item);
}

/* A byte that isn't UTF-8 takes three. */
static size_t saying_size(const struct saying *saying) {
	const char *resolved = saying->path->resolved;
	return (strlen(saying->path->path) + (resolved ? strlen(resolved) : 0)) * 3 + 16;
}

/* `whole`: whose head comes with them; NULL: they are changes. */
static json_t *make_parts(const struct view *whole, const struct saying *sayings, size_t count) {
	json_t *parts = json_array(), *paths = NULL;
	size_t used = 0;
	for (size_t i = 0; i < count || !paths;) {
		size_t size = i < count ? saying_size(&sayings[i]) : 0;
		if (!paths || used + size > PART_PATHS_BYTES) {
			json_t *body = whole && json_array_size(parts) == 0 ? head_to_json(whole) : json_object();
			paths = json_object();
			used = 0;
			json_object_set_new(body, "paths", paths);
			json_array_append_new(parts, json_pack("{s:o}", "view", body));
		}
		if (i == count) break;
		used += size;
		append_path(paths, &sayings[i++]);
	}
	size_t index;
	json_t *part;
	json_array_foreach (parts, index, part) {
		json_object_set_new(part, "part", json_integer((json_int_t)index + 1));
		json_object_set_new(part, "parts", json_integer((json_int_t)json_array_size(parts)));
		if (!whole) json_object_set_new(part, "changes", json_true());
	}
	return parts;
}

json_t *view_to_parts(const struct view *view) {
	CLEANUP_FREE struct saying *sayings = mem_array(struct saying, view->path_count + 1);
	for (size_t i = 0; i < view->path_count; i++) sayings[i] = (struct saying){&view->paths[i], false};
	return make_parts(view, sayings, view->path_count);
}

static bool same_pairs(const struct view_pair *a, size_t count, const struct view_pair *b, size_t other_count) {
	bool same = count == other_count;
	for (size_t i = 0; same && i < count; i++)
		same = string_equal(a[i].name, b[i].name) && string_equal(a[i].value, b[i].value);
	return same;
}

static bool same_head(const struct view *a, const struct view *b) {
	bool same = a->program_count == b->program_count && record_equal(&view_record, a, b) &&
		    record_equal(&limit_record, &a->limits, &b->limits) &&
		    same_pairs(a->set, a->set_count, b->set, b->set_count) &&
		    same_pairs(a->hosts, a->host_count, b->hosts, b->host_count);
	for (size_t i = 0; same && i < a->program_count; i++)
		same = record_equal(&program_record, &a->programs[i], &b->programs[i]);
	return same;
}

/* The view's entry like that one, from *at on, when both are gone through in their order; or NULL. */
static const struct view_path *counterpart(const struct view *view, size_t *at, const struct view_path *entry) {
	int order = -1;
	while (*at < view->path_count && (order = compare_paths(&view->paths[*at], entry->path, entry->pattern)) < 0)
		(*at)++;
	return *at < view->path_count && order == 0 ? &view->paths[*at] : NULL;
}

json_t *view_changes(const struct view *from, const struct view *to) {
	if (!same_head(from, to)) return view_to_parts(to);
	CLEANUP_FREE struct saying *sayings = mem_array(struct saying, from->path_count + to->path_count + 1);
	size_t count = 0, at = 0;
	/* These first, so that there are never more than a view holds. */
	for (size_t i = 0; i < from->path_count; i++)
		if (!counterpart(to, &at, &from->paths[i])) sayings[count++] = (struct saying){&from->paths[i], true};
	at = 0;
	for (size_t i = 0; i < to->path_count; i++) {
		const struct view_path *now = &to->paths[i], *before = counterpart(from, &at, now);
		if (!before || before->mode != now->mode || before->ask_write != now->ask_write ||
		    before->denial != now->denial || before->mask != now->mask || before->own != now->own ||
		    !string_equal(before->resolved, now->resolved))
			sayings[count++] = (struct saying){now, false};
	}
	return count > 0 ? make_parts(NULL, sayings, count) : json_array();
}

static int take_pairs(const json_t *json, void (*add)(struct view *, const char *, const char *), struct view *view,
		      struct error *error) {
	const char *name;
	json_t *value;
	if (!json_is_object(json)) return error_set(error, EINVAL, "a view lacks its variables or hosts");
	json_object_foreach ((json_t *)json, name, value) {
		CLEANUP_FREE char *text = NULL;
		int r = message_bytes_take(value, &text, error);
		if (r < 0) return r;
		if (!text) return error_set(error, EINVAL, "'%.40s' of a view has no value", name);
		add(view, name, text);
	}
	return 0;
}

static int take_path(struct view *view, const struct path_list *kind, const json_t *item, struct error *error) {
	const bool leads = json_is_array(item) && json_array_size(item) == 2 && !kind->gone && !kind->pattern;
	CLEANUP_FREE char *path = NULL, *resolved = NULL;
	int r = message_bytes_take(leads ? json_array_get(item, 0) : item, &path, error);
	if (r == 0 && leads) r = message_bytes_take(json_array_get(item, 1), &resolved, error);
	if (r < 0) return r;
	if (!path || (leads && !resolved)) return error_set(error, EINVAL, "a path of a view is empty");
	if (kind->gone)
		remove_path(view, path, kind->pattern);
	else
		view_add_path(view, path, kind->pattern, kind->mode, kind->ask_write);
	if (!kind->gone && !kind->pattern) view_deny_path(view, path, kind->denial);
	if (kind->mask) view_mask_path(view, path);
	if (kind->own) view_own_path(view, path);
	if (leads) view_resolve_path(view, path, resolved);
	if (view->path_count > LIMIT_VIEW_PATHS)
		return error_set(error, E2BIG, "a view has more than %d paths", LIMIT_VIEW_PATHS);
	return 0;
}

static int take_list(struct view *view, bool changes, const char *key, const json_t *list, struct error *error) {
	const struct path_list *kind = NULL;
	size_t index;
	json_t *item;
	for (size_t i = 0; i < ARRAY_LENGTH(path_lists) && !kind; i++)
		if (strcmp(path_lists[i].key, key) == 0) kind = &path_lists[i];
	if (!kind || (kind->gone && !changes) || !json_is_array(list))
		return error_set(error, EINVAL, "the paths of a view have no list '%.40s'", key);
	json_array_foreach (list, index, item) {
		int r = take_path(view, kind, item, error);
		if (r < 0) return r;
	}
	return 0;
}

static int take_paths(struct view *view, bool changes, const json_t *paths, struct error *error) {
	const char *key;
	json_t *list;
	if (!json_is_object(paths)) return error_set(error, EINVAL, "a view lacks its paths");
	json_object_foreach ((json_t *)paths, key, list) {
		int r = take_list(view, changes, key, list, error);
		if (r < 0) return r;
	}
	return 0;
}

static int take_programs(struct view *view, const json_t *programs, struct error *error) {
	size_t index;
	json_t *item;
	if (!json_is_array(programs)) return error_set(error, EINVAL, "a view lacks its programs");
	json_array_foreach (programs, index, item) {
		struct view_program program = {0};
		int r = record_from_json(&program_record, item, &program, error);
		if (r == 0 && (!program.pattern || (int)program.mode < 0 || program.mode > VIEW_ASK))
			r = error_set(error, EINVAL, "a program of a view lacks its pattern or mode");
		if (r == 0) view_add_program(view, program.pattern, program.mode);
		record_finish(&program_record, &program);
		if (r < 0) return r;
	}
	return 0;
}

static int take_head(struct view *view, json_t *body, struct error *error) {
	json_t *fields = json_object();
	for (size_t i = 0; i < ARRAY_LENGTH(view_fields); i++)
		json_object_set(fields, view_fields[i].key, json_object_get(body, view_fields[i].key));
	int r = record_from_json(&view_record, fields, view, error);
	json_decref(fields);
	if (r == 0 && (!view->profile || (int)view->home < 0 || (int)view->network < 0 || (int)view->doorbell < 0))
		r = error_set(error, EINVAL, "a view lacks its profile, home, network or doorbell");
	if (r == 0) r = record_from_json(&limit_record, json_object_get(body, "limits"), &view->limits, error);
	if (r == 0) r = take_programs(view, json_object_get(body, "programs"), error);
	if (r == 0) r = take_pairs(json_object_get(body, "set"), view_set_variable, view, error);
	if (r == 0) r = take_pairs(json_object_get(body, "hosts"), view_add_host, view, error);
	return r;
}

static int begin_view(struct view **view, const struct view *before, bool changes, json_t *body, struct error *error) {
	if (changes && !before) return error_set(error, EINVAL, "a view changed that was never told");
	*view = changes ? view_copy(before) : view_new();
	return changes ? 0 : take_head(*view, body, error);
}

int view_add_part(struct view **view, const struct view *before, const json_t *message, struct error *error) {
	json_t *body = json_object_get(message, "view");
	json_int_t part = json_integer_value(json_object_get(message, "part"));
	json_int_t parts = json_integer_value(json_object_get(message, "parts"));
	const json_t *kind = json_object_get(message, "changes");
	const bool changes = json_is_true(kind);
	int r = 0;
	if (!json_is_object(body) || (kind && !json_is_boolean(kind)) || part < 1 || part > parts ||
	    (part == 1) != (*view == NULL))
		r = error_set(error, EINVAL, "part %lld of %lld of a view came out of order", (long long)part,
			      (long long)parts);
	if (r == 0 && part == 1) r = begin_view(view, before, changes, body, error);
	if (r == 0) r = take_paths(*view, changes, json_object_get(body, "paths"), error);
	if (r == 0) return part == parts ? 1 : 0;
	view_free(*view);
	*view = NULL;
	return r;
}

struct view *view_copy(const struct view *view) {
	struct view *copy = view_new();
	*copy = *view;
	record_copy(&view_record, copy, view);
	copy->paths = NULL;
	for (size_t i = 0; i < view->path_count; i++) {
		copy->paths = array_grow(copy->paths, i, sizeof *copy->paths);
		copy->paths[i] = view->paths[i];
		copy->paths[i].path = string_copy(view->paths[i].path);
		copy->paths[i].resolved = string_copy_or_null(view->paths[i].resolved);
	}
	copy->programs = NULL;
	copy->set = copy->hosts = NULL;
	copy->program_count = copy->set_count = copy->host_count = 0;
	for (size_t i = 0; i < view->program_count; i++)
		view_add_program(copy, view->programs[i].pattern, view->programs[i].mode);
	for (size_t i = 0; i < view->set_count; i++) view_set_variable(copy, view->set[i].name, view->set[i].value);
	for (size_t i = 0; i < view->host_count; i++) view_add_host(copy, view->hosts[i].name, view->hosts[i].value);
	return copy;
}
