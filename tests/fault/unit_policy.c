/* policy: files of every layer, good and bad; verdicts, the view and the texts made of them. */
#include <string.h>
#include <unistd.h>

#include "base/string.h"
#include "policy/source.h"
#include "policy/stack.h"
#include "unit.h"

static const char good[] = "version: 1\n"
			   "permissions: {db:access: use the database}\n"
			   "profiles:\n"
			   "  tooled:\n"
			   "    commands: [tool]\n"
			   "    extends: [base]\n"
			   "    allow:\n"
			   "      fs:write: [\"${project}\", {target: ~/cache}]\n"
			   "      net:access: [\"ok.test:443\", {target: \"10.0.0.1:22\", private: true}]\n"
			   "      db:access: [\"*\"]\n"
			   "    ask: {net:access: [\"*\"], fs:read: [/srv]}\n"
			   "    deny: {net:access: [\"*.bad.test\"], fs:read: [\"**/.env\"], proc:spawn: [git]}\n";
static const char project_text[] =
	"version: 1\nprofiles:\n  tooled:\n    allow: {net:access: [\"of-project.test:443\"]}\n"
	"    deny: {net:access: [\"deny-of-project.test\"]}\n";
static const char admin_text[] = "version: 1\nstack:\n  - requisite: protect\n  - requisite: flood\n"
				 "  - requisite: rules\n  - grants\n  - sufficient: rules\n  - ask\n"
				 "profiles:\n  tooled:\n    deny: {net:access: [\"deny-of-admin.test\"]}\n";
static const char bad[] =
	"version: 1\nprofiles:\n  tooled:\n    alow: {fs:read: [/]}\n    allow: {fs:read: [relative/../x, *.x]}\n";
static const char worse[] =
	"version: 2\nprofiles:\n  x: {extends: [nothing], allow: {fs:raed: [/]}, commands: [a/b]}\n";

/* NULL when it is refused; then it is told why. */
static struct policy_document *load(enum policy_layer layer, const char *text) {
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *document = policy_load(layer, policy_layer_name(layer), text, strlen(text), &errors);
	for (size_t i = 0; i < errors.count; i++) unit_tell_error("%s", errors.items[i]);
	if (!document && errors.count == 0) unit_tell("refused without a word");
	return document;
}

static void use_good_files(void) {
	for (int layer = POLICY_LAYER_ADMIN; layer < POLICY_LAYER_BUILTIN; layer++) {
		struct policy_document *document = load((enum policy_layer)layer, layer == 0 ? admin_text : good);
		if (document)
			unit_tell("%s: %d", policy_layer_name((enum policy_layer)layer),
				  policy_document_needs_trust(document));
		policy_document_unref(document);
	}
}

static void use_bad_files(void) {
	static const char *const texts[] = {
		bad, worse, "version: 1\nprofiles: [\n", "", "version: 1\n\tx: 1\n", "a: \"\xff\"\n"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		for (int layer = POLICY_LAYER_ADMIN; layer < POLICY_LAYER_BUILTIN; layer++) {
			struct policy_document *document = load((enum policy_layer)layer, texts[i]);
			unit_tell("%zu %d is %s", i, layer, document ? "taken" : "refused");
			policy_document_unref(document);
		}
}

static void use_trust(void) {
	CLEANUP_STRINGS struct strings lines = {0};
	struct policy_document *document = load(POLICY_LAYER_PROJECT, good);
	if (!document) return;
	policy_document_describe(document, &lines);
	for (size_t i = 0; i < lines.count; i++) unit_tell("%s", lines.items[i]);
	policy_document_unref(document);
}

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app", .uid = 1000};

/* All layers, the project's untrusted; NULL when one is refused. */
static struct policy *assemble(void) {
	struct policy_document *documents[4] = {load(POLICY_LAYER_ADMIN, admin_text), load(POLICY_LAYER_USER, good)};
	struct policy_document *project = load(POLICY_LAYER_PROJECT, project_text);
	if (documents[0] && documents[1] && project) {
		documents[2] = policy_document_untrusted(project);
		documents[3] = policy_load_builtin();
	}
	policy_document_unref(project);
	if (documents[3]) return policy_new(documents, ARRAY_LENGTH(documents));
	policy_document_unref(documents[0]);
	policy_document_unref(documents[1]);
	return NULL;
}

static bool find_grant(void *context, const struct request *request, struct grant *ret_grant,
		       struct pattern_rank *ret_rank) {
	(void)context;
	if (!string_equal(request->target, "granted.test:443")) return false;
	*ret_grant = (struct grant){.id = 7,
				    .permission = request->permission,
				    .pattern = string_copy(request->target),
				    .effect = EFFECT_ALLOW};
	*ret_rank = (struct pattern_rank){1, 1};
	return true;
}

static const struct stack_grants grants = {.find = find_grant};

static void use_verdicts(void) {
	static const struct {
		enum permission_kind kind;
		const char *target;
	} asked[] = {
		{PERMISSION_FS_READ, "/home/u/app/a"},
		{PERMISSION_FS_WRITE, "/home/u/app/.git/hooks/x"},
		{PERMISSION_FS_READ, "/home/u/.ssh/id"},
		{PERMISSION_FS_READ, "/home/u/app/.env"},
		{PERMISSION_FS_READ, "/srv/x"},
		{PERMISSION_FS_WRITE, "/home/u/cache/x"},
		{PERMISSION_FS_READ, "/state/sbx.db"},
		{PERMISSION_NET_ACCESS, "ok.test:443"},
		{PERMISSION_NET_ACCESS, "x.bad.test:443"},
		{PERMISSION_NET_ACCESS, "10.0.0.1:22"},
		{PERMISSION_NET_ACCESS, "of-project.test:443"},
		{PERMISSION_NET_ACCESS, "deny-of-project.test:443"},
		{PERMISSION_NET_ACCESS, "deny-of-admin.test:443"},
		{PERMISSION_NET_ACCESS, "granted.test:443"},
		{PERMISSION_PROC_SPAWN, "/usr/bin/git"},
	};
	struct policy *policy = assemble();
	if (!policy) return;
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	CLEANUP_STRINGS struct strings protected = {0};
	struct error error = ERROR_NONE;
	strings_add(&protected, "/state");
	if (unit_failed(ruleset_new(policy, "tooled", &scope, NULL, &ruleset, &error), &error)) return;
	const struct stack_context context = {.ruleset = ruleset, .grants = &grants, .protected = &protected};
	for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
		const struct request request = {.subject = {(char *)"tooled", (char *)scope.project},
						.permission = permission_of(asked[i].kind),
						.target = (char *)asked[i].target};
		struct stack_walk walk = {0};
		CLEANUP_VERDICT struct verdict verdict = {0};
		stack_decide(&context, &request, &verdict, &walk);
		unit_tell("%s:", asked[i].target);
		unit_tell_verdict(&verdict);
		for (size_t step = 0; step < walk.count; step++)
			unit_tell("%s %s: %s", walk.steps[step].control, walk.steps[step].module,
				  walk.steps[step].answer.module);
		stack_walk_finish(&walk);
	}
	policy_unref(policy);
}

static void use_view(void) {
	struct policy *policy = assemble();
	if (!policy) return;
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	CLEANUP_STRINGS struct strings protected = {0}, names = {0};
	struct error error = ERROR_NONE;
	strings_add(&protected, "/state");
	strings_add(&names, "LANG");
	if (unit_failed(ruleset_new(policy, "tooled", &scope, NULL, &ruleset, &error), &error)) return;
	const struct stack_context context = {.ruleset = ruleset, .grants = &grants, .protected = &protected};
	const struct grant held[] = {{.id = 1,
				      .permission = permission_of(PERMISSION_FS_READ),
				      .pattern = (char *)"/data",
				      .effect = EFFECT_ALLOW},
				     {.id = 2,
				      .permission = permission_of(PERMISSION_FS_READ),
				      .pattern = (char *)"/data/x",
				      .effect = EFFECT_DENY}};
	CLEANUP_VIEW struct view *view =
		view_build(&context, &(struct subject){(char *)"tooled", (char *)scope.project}, 1, held,
			   ARRAY_LENGTH(held), &names);
	for (size_t i = 0; i < view->path_count; i++)
		unit_tell("%s %s %d %d", view->paths[i].path, view_mode_name(view->paths[i].mode),
			  view->paths[i].pattern, view->paths[i].ask_write);
	for (size_t i = 0; i < view->program_count; i++) unit_tell("%s", view->programs[i].pattern);
	for (size_t i = 0; i < view->environment.count; i++) unit_tell("%s", view->environment.items[i]);
	unit_tell("%s", view_network_name(view->network));
	policy_unref(policy);
}

static void use_show(void) {
	struct policy *policy = assemble();
	if (!policy) return;
	CLEANUP_STRINGS struct strings names = {0};
	CLEANUP_FREE char *shown = policy_show(policy);
	policy_profile_names(policy, &names);
	policy_stack_texts(policy, &names);
	unit_tell("%s", shown);
	for (size_t i = 0; i < names.count; i++) unit_tell("%s", names.items[i]);
	unit_tell("%s", policy_profile_of_command(policy, "tool"));
	policy_unref(policy);
}

static void prepare_folder(void) {
	unit_write("policy.yaml", good, sizeof good - 1);
	unit_write(".sbx.yaml", project_text, sizeof project_text - 1);
}

/* From disk, as the broker reads them. */
static void use_source(void) {
	CLEANUP_FREE char *folder = string_copy(unit_file(".")), *text = NULL;
	const struct policy_source source = {.layer = POLICY_LAYER_USER, .folder = folder, .owner = getuid()};
	struct policy_reading reading = {0};
	struct error error = ERROR_NONE;
	bool exists;
	size_t size;
	policy_source_read(&source, NULL, 0, &reading);
	for (size_t i = 0; i < reading.errors.count; i++) unit_tell_error("%s", reading.errors.items[i]);
	for (size_t i = 0; i < reading.paths.count; i++) unit_tell("%s", reading.paths.items[i]);
	unit_tell("%zu files", reading.count);
	policy_reading_finish(&reading);
	if (unit_failed(policy_project_read(folder, &exists, &text, &size, &error), &error)) return;
	unit_tell("%d %s", exists, text);
}

static const struct unit units[] = {
	{.what = "good files", .use = use_good_files},
	{.what = "bad files", .use = use_bad_files},
	{.what = "trust", .use = use_trust},
	{.what = "verdicts", .use = use_verdicts},
	{.what = "the view", .use = use_view},
	{.what = "policy show", .use = use_show},
	{.what = "a folder", .prepare = prepare_folder, .use = use_source},
};

const struct unit_room units_policy =
	UNIT_ROOM("policy: good and bad files of each layer, verdicts, the view, show, trust", units);
