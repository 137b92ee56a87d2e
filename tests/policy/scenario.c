#include "scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/string.h"
#include "policy/stack.h"
#include "schema/limits.h"

static const char home[] = "/home/u", project[] = "/home/u/app";

struct scenario {
	struct policy_document *documents[8];
	size_t document_count;
	struct policy *policy;
	struct ruleset *ruleset;
	char *profile;
	struct grant *grants;
	size_t grant_count;
	struct strings protected, names;
	char *flooded;
	struct strings roots;
	struct stack_exec_answers said;
	bool asks_programs;
	struct string out;
};

static bool grant_covers(const struct grant *grant, const struct request *request, struct pattern_rank *ret_rank) {
	const struct pattern_scope nothing = {0};
	struct pattern *pattern = NULL;
	enum permission_kind asked = request->permission.kind, given = grant->permission.kind;
	bool implied = (asked == PERMISSION_FS_READ && given == PERMISSION_FS_WRITE && grant->effect == EFFECT_ALLOW) ||
		       (asked == PERMISSION_FS_WRITE && given == PERMISSION_FS_READ && grant->effect == EFFECT_DENY);
	if (!implied && !permission_equal(&grant->permission, &request->permission)) return false;
	assert_int_equal(pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL), 0);
	bool covers = pattern_match(pattern, request->target, ret_rank);
	pattern_free(pattern);
	return covers;
}

/* Stands in for the broker's store. */
static bool find_grant(void *context, const struct request *request, struct grant *ret_grant,
		       struct pattern_rank *ret_rank) {
	const struct scenario *scenario = context;
	const struct grant *best = NULL;
	struct pattern_rank rank;
	for (size_t i = 0; i < scenario->grant_count; i++) {
		const struct grant *grant = &scenario->grants[i];
		if (!grant_covers(grant, request, &rank)) continue;
		int closer = best ? pattern_rank_compare(rank, *ret_rank) : 1;
		if (closer < 0 || (closer == 0 && grant->effect >= best->effect)) continue;
		best = grant;
		*ret_rank = rank;
	}
	if (best) grant_copy(ret_grant, best);
	return best != NULL;
}

static void load(struct scenario *scenario, enum policy_layer layer, const char *name, const char *text) {
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *document = policy_load(layer, name, text, strlen(text), &errors);
	for (size_t i = 0; i < errors.count; i++) print_error("%s\n", errors.items[i]);
	assert_non_null(document);
	assert_true(scenario->document_count + 1 < ARRAY_LENGTH(scenario->documents));
	scenario->documents[scenario->document_count++] = document;
}

/* What counts of a project's file that nobody has trusted. */
static void load_untrusted(struct scenario *scenario, const char *text) {
	load(scenario, POLICY_LAYER_PROJECT, "untrusted", text);
	struct policy_document **last = &scenario->documents[scenario->document_count - 1], *all = *last;
	*last = policy_document_untrusted(all);
	policy_document_unref(all);
}

static void prepare(struct scenario *scenario) {
	struct error error = ERROR_NONE;
	const struct pattern_scope scope = {.home = home,
					    .project = project,
					    .roots = scenario->roots.count > 0 ? &scenario->roots : NULL,
					    .uid = 1000};
	if (!scenario->policy) {
		scenario->documents[scenario->document_count++] = policy_load_builtin();
		scenario->policy = policy_new(scenario->documents, scenario->document_count);
	}
	if (scenario->ruleset) return;
	int r = ruleset_new(scenario->policy, scenario->profile, &scope, NULL, &scenario->ruleset, &error);
	if (r < 0) print_error("%s\n", error.message);
	assert_int_equal(r, 0);
}

static void add_grant(struct scenario *scenario, char *line) {
	char *save = NULL;
	const char *id = strtok_r(line, " ", &save), *effect = strtok_r(NULL, " ", &save);
	const char *permission = strtok_r(NULL, " ", &save);
	scenario->grants = array_grow(scenario->grants, scenario->grant_count, sizeof *scenario->grants);
	struct grant *grant = &scenario->grants[scenario->grant_count++];
	*grant = (struct grant){.id = strtoll(id, NULL, 10), .pattern = string_copy(save)};
	assert_int_equal(effect_parse(effect, &grant->effect, NULL), 0);
	assert_int_equal(permission_parse(permission, &grant->permission, NULL), 0);
}

/* "allow /usr/bin/judge because" */
static void add_answer(struct scenario *scenario, char *line) {
	char *save = NULL;
	const char *word = strtok_r(line, " ", &save), *program = strtok_r(NULL, " ", &save);
	stack_exec_answers_add(
		&scenario->said,
		(struct stack_exec_answer){.command = string_format("[\"%s\"]", program),
					   .passes = strcmp(word, "pass") == 0,
					   .failed = strcmp(word, "fail") == 0,
					   .effect = strcmp(word, "allow") == 0 ? EFFECT_ALLOW : EFFECT_DENY,
					   .why = *save ? string_copy(save) : NULL});
}

static void append_verdict(struct string *out, const struct verdict *verdict) {
	string_appendf(out, "%s by %s", effect_name(verdict->effect), verdict->module);
	/* The lines of the built-in profiles move. */
	bool builtin = verdict->rule && string_starts(verdict->rule, "built-in/");
	if (verdict->rule)
		string_appendf(out, " at %.*s", (int)(builtin ? strcspn(verdict->rule, ":") : strlen(verdict->rule)),
			       verdict->rule);
	if (verdict->grant) string_appendf(out, " grant %lld", (long long)verdict->grant);
	if (verdict->confirm_terminal) string_append(out, " confirm");
	if (verdict->private_allowed) string_append(out, " private");
	if (verdict->direct) string_append(out, " direct");
	string_append_char(out, '\n');
}

static void append_walk(struct string *out, const struct stack_walk *walk) {
	for (size_t i = 0; i < walk->count; i++) {
		const struct stack_step *step = &walk->steps[i];
		bool passed = step->answer.module[0] == '\0';
		string_appendf(out, "    %s%s%s: %s%s%s%s\n", step->control, *step->control ? " " : "", step->module,
			       passed ? "pass" : effect_name(step->answer.effect), step->counted ? "!" : "",
			       step->answer.why ? ", " : "", step->answer.why ? step->answer.why : "");
	}
}

static struct stack_context context_of(struct scenario *scenario, struct stack_grants *grants) {
	*grants = (struct stack_grants){find_grant, scenario};
	return (struct stack_context){.ruleset = scenario->ruleset,
				      .grants = grants,
				      .protected = &scenario->protected,
				      .flooded = scenario->flooded,
				      .exec = scenario->asks_programs ? &scenario->said : NULL};
}

static void ask(struct scenario *scenario, char *line, bool why) {
	struct stack_grants grants;
	struct stack_context context = context_of(scenario, &grants);
	struct stack_walk walk = {0};
	char *target = strchr(line, ' ');
	assert_non_null(target);
	*target++ = '\0';
	struct request request = {.subject = {scenario->profile, (char *)project}, .target = target};
	CLEANUP_VERDICT struct verdict verdict = {0};
	assert_int_equal(permission_parse(line, &request.permission, NULL), 0);
	const struct stack_exec *needed = stack_decide(&context, &request, &verdict, &walk);
	string_appendf(&scenario->out, "%s %s: ", line, target);
	if (needed) string_appendf(&scenario->out, "needs %s, ", needed->text);
	append_verdict(&scenario->out, &verdict);
	assert_non_null(verdict.why);
	if (why) {
		string_appendf(&scenario->out, "    = %s\n", verdict.why);
		append_walk(&scenario->out, &walk);
	}
	stack_walk_finish(&walk);
}

static void append_view(struct string *out, const struct view *view) {
	string_appendf(out, "view of %s: home %s, network %s, doorbell %s\n", view->profile, view_home_name(view->home),
		       view_network_name(view->network), view_doorbell_name(view->doorbell));
	for (size_t i = 0; i < view->path_count; i++)
		string_appendf(out, "  %s %s%s\n", view->paths[i].path,
			       view->paths[i].pattern ? "(pattern)" : view_mode_name(view->paths[i].mode),
			       view->paths[i].ask_write ? ", writing is asked" : "");
	for (size_t i = 0; i < view->program_count; i++)
		string_appendf(out, "  program %s %s\n", view->programs[i].pattern,
			       view_mode_name(view->programs[i].mode));
	for (size_t i = 0; i < view->sockets_asked.count; i++)
		string_appendf(out, "  socket %s %s\n", view->sockets_asked.items[i],
			       strings_contain(&view->sockets, view->sockets_asked.items[i]) ? "allow" : "ask");
	for (size_t i = 0; i < view->environment.count; i++)
		string_appendf(out, "  variable %s\n", view->environment.items[i]);
	for (size_t i = 0; i < view->set_count; i++)
		string_appendf(out, "  set %s=%s\n", view->set[i].name, view->set[i].value);
	for (size_t i = 0; i < view->host_count; i++)
		string_appendf(out, "  host %s %s\n", view->hosts[i].name, view->hosts[i].value);
	if (view->listens) string_append(out, "  what listens may be published\n");
	if (view->direct) string_append(out, "  sockets of the host's may be handed in\n");
	const struct view_limits *limits = &view->limits;
	string_appendf(out, "  limits %lld %lld %lld %lld\n", (long long)limits->memory, (long long)limits->processes,
		       (long long)limits->open_files, (long long)limits->cpu_time_ms);
}

static void show_view(struct scenario *scenario) {
	struct stack_grants grants;
	struct stack_context context = context_of(scenario, &grants);
	const struct subject subject = {scenario->profile, (char *)project};
	CLEANUP_VIEW struct view *view =
		view_build(&context, &subject, 1, scenario->grants, scenario->grant_count, &scenario->names);
	append_view(&scenario->out, view);
}

enum section {
	NONE,
	LAYER_USER,
	LAYER_PROJECT,
	LAYER_UNTRUSTED,
	LAYER_ADMIN,
	GRANTS,
	PROTECTED,
	NAMES,
	PROGRAMS,
	ASK,
	WHY
};

static void end_layer(struct scenario *scenario, enum section section, struct string *text) {
	if (section == LAYER_USER) load(scenario, POLICY_LAYER_USER, "user", text->data);
	if (section == LAYER_PROJECT) load(scenario, POLICY_LAYER_PROJECT, "project", text->data);
	if (section == LAYER_UNTRUSTED) load_untrusted(scenario, text->data);
	if (section == LAYER_ADMIN) load(scenario, POLICY_LAYER_ADMIN, "admin", text->data);
	string_finish(text);
}

static void set_profile(struct scenario *scenario, const char *name) {
	free(scenario->profile);
	scenario->profile = string_copy(name);
	ruleset_unref(scenario->ruleset);
	scenario->ruleset = NULL;
	string_appendf(&scenario->out, "profile %s\n", name);
}

static enum section begin_section(struct scenario *scenario, const char *line) {
	static const struct {
		const char *name;
		enum section section;
	} sections[] = {{"@user", LAYER_USER},
			{"@project", LAYER_PROJECT},
			{"@untrusted", LAYER_UNTRUSTED},
			{"@admin", LAYER_ADMIN},
			{"@grants", GRANTS},
			{"@protected", PROTECTED},
			{"@names", NAMES},
			{"@ask", ASK},
			{"@why", WHY},
			{"@programs", PROGRAMS}};
	for (size_t i = 0; i < ARRAY_LENGTH(sections); i++) {
		if (strcmp(line, sections[i].name) != 0) continue;
		if (sections[i].section == PROGRAMS) scenario->asks_programs = true;
		return sections[i].section;
	}
	if (string_starts(line, "@profile ")) {
		set_profile(scenario, line + strlen("@profile "));
	} else if (string_starts(line, "@flooded ")) {
		scenario->flooded = string_copy(line + strlen("@flooded "));
	} else if (string_starts(line, "@root ")) {
		strings_add(&scenario->roots, line + strlen("@root "));
	} else if (strcmp(line, "@view") == 0) {
		prepare(scenario);
		show_view(scenario);
	} else {
		fail_msg("unknown section %s", line);
	}
	return NONE;
}

static void play_line(struct scenario *scenario, enum section section, char *line, struct string *text) {
	switch (section) {
	case LAYER_USER:
	case LAYER_PROJECT:
	case LAYER_UNTRUSTED:
	case LAYER_ADMIN:
		string_appendf(text, "%s\n", line);
		return;
	case GRANTS:
		if (*line) add_grant(scenario, line);
		return;
	case PROTECTED:
		if (*line) strings_add(&scenario->protected, line);
		return;
	case NAMES:
		if (*line) strings_add(&scenario->names, line);
		return;
	case PROGRAMS:
		if (*line) add_answer(scenario, line);
		return;
	case ASK:
	case WHY:
		if (*line == '#') string_appendf(&scenario->out, "%s\n", line);
		if (*line == '\0' || *line == '#') return;
		prepare(scenario);
		ask(scenario, line, section == WHY);
		return;
	case NONE:
		break;
	}
	if (*line && *line != '#') fail_msg("outside of a section: %s", line);
}

static void scenario_finish(struct scenario *scenario) {
	ruleset_unref(scenario->ruleset);
	policy_unref(scenario->policy);
	for (size_t i = 0; i < scenario->grant_count; i++) grant_finish(&scenario->grants[i]);
	free(scenario->grants);
	strings_finish(&scenario->protected);
	strings_finish(&scenario->names);
	strings_finish(&scenario->roots);
	free(scenario->flooded);
	stack_exec_answers_finish(&scenario->said);
	free(scenario->profile);
}

char *scenario_play(const char *text) {
	CLEANUP(scenario_finish) struct scenario scenario = {.profile = string_copy("default")};
	CLEANUP_STRING struct string layer = {0};
	enum section section = NONE;
	while (*text) {
		size_t size = strcspn(text, "\n");
		CLEANUP_FREE char *line = string_copy_bytes(text, size);
		text += size + (text[size] == '\n' ? 1 : 0);
		if (*line == '@') {
			end_layer(&scenario, section, &layer);
			section = begin_section(&scenario, line);
		} else {
			play_line(&scenario, section, line, &layer);
		}
	}
	return string_steal(&scenario.out);
}

char *golden_read(const char *path) {
	char *text = NULL;
	struct error error = ERROR_NONE;
	int r = file_read(path, LIMIT_POLICY * 4, &text, NULL, &error);
	if (r < 0) fail_msg("%s", error.message);
	return text;
}

void golden_check(const char *path, const char *actual) {
	if (string_equal(getenv("SBX_GOLDEN"), "write")) {
		assert_int_equal(file_write(path, actual, strlen(actual), 0644, NULL), 0);
		return;
	}
	CLEANUP_FREE char *expected = golden_read(path);
	if (strcmp(expected, actual) == 0) return;
	size_t line = 1, i = 0, start = 0;
	for (; expected[i] && expected[i] == actual[i]; i++)
		if (expected[i] == '\n') {
			line++;
			start = i + 1;
		}
	fail_msg("%s differs from line %zu on:\nexpected: %.*s\nfound:    %.*s", path, line,
		 (int)strcspn(expected + start, "\n"), expected + start, (int)strcspn(actual + start, "\n"),
		 actual + start);
}
