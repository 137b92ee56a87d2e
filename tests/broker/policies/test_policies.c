/* The layers in one process: which files count, which are refused, what stays in force, what trust changes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "policies/policies.h"
#include "support/cmocka.h"
#include "support/home.h"

struct world {
	char *root; /* of everything in this test */
	char *project;
	struct places places;
	struct store *store;
	struct policies *policies;
	unsigned told;
};

static char *below(const struct world *world, const char *name) {
	return path_join(world->root, name);
}

static void write_text(const struct world *world, const char *name, const char *text) {
	CLEANUP_FREE char *path = string_format("%s/%s", path_name(world->root), name);
	home_write(path, text);
}

static void open_policies(struct world *world) {
	policies_free(world->policies);
	world->policies = policies_new(&world->places, world->store);
}

static int setup(void **state) {
	static unsigned number;
	struct world *world = mem_new(struct world);
	*state = world;
	CLEANUP_FREE char *name = string_format("p%u", number++);
	world->root = home_path(name);
	write_text(world, "etc/none", "");
	write_text(world, "config/none", "");
	write_text(world, "app/none", "");
	world->project = below(world, "app");
	world->places.home = string_copy(world->root);
	world->places.config = below(world, "config");
	world->places.policy = below(world, "config/policy.yaml");
	world->places.admin = below(world, "etc");
	world->places.admin_owner = geteuid();
	CLEANUP_FREE char *database = below(world, "state/sbx.db");
	if (store_open(database, &world->store, NULL) < 0) return -1;
	open_policies(world);
	return 0;
}

static int teardown(void **state) {
	struct world *world = *state;
	policies_free(world->policies);
	store_free(world->store);
	places_finish(&world->places);
	free(world->project);
	free(world->root);
	free(world);
	return 0;
}

/* A policy with one profile "p" and these rules for net:access. */
static void write_rules(const struct world *world, const char *name, const char *effect, const char *host) {
	CLEANUP_FREE char *text = string_format("version: 1\nprofiles: {p: {%s: {net:access: [%s]}}}\n", effect, host);
	write_text(world, name, text);
}

static void count_telling(void *context, const struct policy_change *change) {
	struct world *world = context;
	assert_non_null(change->path);
	world->told++;
}

/* "allow", "ask", "deny", "none", or the error. As a request would have it: no look but at what was told of. */
static const char *decide(struct world *world, const char *host) {
	static struct error error;
	const struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	const struct ruleset *ruleset;
	error = ERROR_NONE;
	policies_refresh(world->policies, POLICIES_LAYERS, count_telling, world);
	if (policies_ruleset(world->policies, "p", world->project, &ruleset, &error) < 0) return error.message;
	const struct rule *rule = ruleset_find(ruleset, &permission, host, NULL);
	return rule ? effect_name(rule->effect) : "none";
}

#define EXPECT(world, host, effect) assert_string_equal(decide((world), (host)), (effect))
#define EXPECT_ERROR(world, words)                                                                                     \
	do {                                                                                                           \
		const char *said_ = decide((world), "x.test:1");                                                       \
		if (!strstr(said_, (words))) fail_msg("%s", said_);                                                    \
	} while (0)

static void an_administrators_denies_are_final_and_the_rest_comes_last(void **state) {
	struct world *world = *state;
	write_rules(world, "etc/sbx.yaml", "deny", "bad.test");
	write_rules(world, "etc/policy.d/20-b.yaml", "allow", "both.test, late.test");
	write_rules(world, "etc/policy.d/10-a.yaml", "deny", "worse.test");
	write_rules(world, "config/policy.yaml", "ask", "both.test");
	EXPECT(world, "bad.test:1", "deny");
	EXPECT(world, "worse.test:1", "deny");
	EXPECT(world, "both.test:1", "ask");
	EXPECT(world, "late.test:1", "allow");
	EXPECT(world, "other.test:1", "none");
	/* Not only what is there at the start. */
	write_rules(world, "etc/policy.d/30-c.yaml", "deny", "both.test");
	EXPECT(world, "both.test:1", "deny");
	CLEANUP_FREE char *path = below(world, "etc/policy.d/30-c.yaml");
	assert_int_equal(unlink(path), 0);
	EXPECT(world, "both.test:1", "ask");
}

static void other_names_in_policy_d_are_passed_over(void **state) {
	struct world *world = *state;
	write_rules(world, "etc/policy.d/a.yaml~", "deny", "x.test");
	write_rules(world, "etc/policy.d/.hidden.yaml", "deny", "x.test");
	write_rules(world, "etc/policy.d/README", "deny", "x.test");
	write_rules(world, "config/policy.yaml", "allow", "x.test");
	EXPECT(world, "x.test:1", "allow");
}

static void the_last_good_files_of_a_layer_stay_as_a_whole(void **state) {
	struct world *world = *state;
	write_rules(world, "etc/policy.d/a.yaml", "deny", "bad.test");
	write_rules(world, "etc/policy.d/b.yaml", "deny", "worse.test");
	write_rules(world, "config/policy.yaml", "allow", "\"*\"");
	EXPECT(world, "bad.test:1", "deny");
	write_text(world, "etc/policy.d/a.yaml", "version: 1\noops\n");
	write_rules(world, "etc/policy.d/b.yaml", "allow", "worse.test");
	EXPECT(world, "bad.test:1", "deny");
	EXPECT(world, "worse.test:1", "deny");
	const struct layer *admin = policies_layer(world->policies, POLICY_LAYER_ADMIN);
	assert_int_equal(admin->now.errors.count, 1);
	assert_non_null(strstr(admin->now.errors.items[0], "etc/policy.d/a.yaml:"));
	write_rules(world, "etc/policy.d/a.yaml", "deny", "mended.test");
	EXPECT(world, "bad.test:1", "allow");
	EXPECT(world, "mended.test:1", "deny");
	assert_int_equal(admin->now.errors.count, 0);
	assert_true(world->told >= 3);
}

static void a_layer_that_was_never_good_refuses_everything(void **state) {
	struct world *world = *state;
	write_text(world, "etc/sbx.yaml", "version: 1\nprofiles: {p: {deny: {net:acess: [x.test]}}}\n");
	write_rules(world, "config/policy.yaml", "allow", "x.test");
	open_policies(world);
	EXPECT_ERROR(world, "etc/sbx.yaml:2:");
	EXPECT_ERROR(world, "nothing is allowed until it is mended");
	write_rules(world, "etc/sbx.yaml", "deny", "y.test");
	EXPECT(world, "x.test:1", "allow");
	write_text(world, "config/policy.yaml", "oops");
	open_policies(world);
	EXPECT_ERROR(world, "config/policy.yaml:1:");
	/* For one run another stands in the user's place, but never in the administrator's. */
	struct policy_document *own = NULL;
	struct policy *policy = NULL;
	assert_int_equal(policies_load_own(world->policies, "own", "version: 1\n", &own, NULL), 0);
	assert_int_equal(policies_assemble(world->policies, own, NULL, &policy, NULL), 0);
	policy_unref(policy);
	write_text(world, "etc/sbx.yaml", "oops");
	open_policies(world);
	assert_int_equal(policies_assemble(world->policies, own, NULL, &policy, NULL), -EINVAL);
	policy_document_unref(own);
}

static void attack_broker_11_what_others_can_write_is_no_policy(void **state) {
	struct world *world = *state;
	static const struct {
		const char *file;
		mode_t mode;
	} cases[] = {{"etc", 0777},          {"etc", 0770},          {"etc/policy.d", 0777},
		     {"etc/sbx.yaml", 0666}, {"etc/sbx.yaml", 0660}, {"etc/policy.d/a.yaml", 0602},
		     {"config", 0770},       {"config", 0707},       {"config/policy.yaml", 0606}};
	write_rules(world, "etc/sbx.yaml", "deny", "x.test");
	write_rules(world, "etc/policy.d/a.yaml", "deny", "x.test");
	write_rules(world, "config/policy.yaml", "allow", "x.test");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *path = below(world, cases[i].file);
		struct stat status;
		assert_int_equal(stat(path, &status), 0);
		open_policies(world);
		EXPECT(world, "x.test:1", "deny");
		assert_int_equal(chmod(path, cases[i].mode), 0);
		EXPECT(world, "x.test:1", "deny"); /* what was good stays */
		open_policies(world);
		EXPECT_ERROR(world, "can be written by others");
		EXPECT_ERROR(world, cases[i].file);
		assert_int_equal(chmod(path, status.st_mode & 07777), 0);
	}
	world->places.admin_owner = geteuid() + 1;
	open_policies(world);
	EXPECT_ERROR(world, "belongs to user");
}

static void attack_broker_11_links_are_not_followed(void **state) {
	struct world *world = *state;
	static const char *const names[] = {
		"etc/sbx.yaml", "etc/policy.d/a.yaml", "config/policy.yaml", "etc/policy.d", "etc", "config"};
	write_rules(world, "etc/sbx.yaml", "deny", "x.test");
	write_rules(world, "etc/policy.d/a.yaml", "deny", "x.test");
	write_rules(world, "config/policy.yaml", "allow", "x.test");
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		CLEANUP_FREE char *path = below(world, names[i]), *away = string_format("%s.away", path);
		assert_int_equal(rename(path, away) + symlink(away, path), 0);
		open_policies(world);
		EXPECT_ERROR(world, "is a link and isn't followed");
		assert_int_equal(unlink(path) + rename(away, path), 0);
	}
	CLEANUP_FREE char *fifo = below(world, "config/policy.yaml");
	assert_int_equal(unlink(fifo) + mkfifo(fifo, 0600), 0);
	open_policies(world);
	EXPECT_ERROR(world, "is no regular file");
}

static void the_stack_is_in_one_file_alone(void **state) {
	struct world *world = *state;
	write_text(world, "etc/sbx.yaml", "version: 1\nstack: [{requisite: protect}, {requisite: rules}]\n");
	struct policy *policy;
	CLEANUP_STRINGS struct strings lines = {0};
	policies_refresh(world->policies, POLICIES_LAYERS, NULL, NULL);
	assert_int_equal(policies_current(world->policies, &policy, NULL), 0);
	policy_stack_texts(policy, &lines);
	assert_int_equal(lines.count, 2);
	write_text(world, "etc/policy.d/a.yaml", "version: 1\nstack: [{requisite: protect}, ask]\n");
	open_policies(world);
	EXPECT_ERROR(world, "etc/policy.d/a.yaml: \"stack\" can't be set here");
}

static void at_most_so_many_files(void **state) {
	struct world *world = *state;
	for (int i = 0; i <= LIMIT_POLICY_FILES; i++) {
		CLEANUP_FREE char *name = string_format("etc/policy.d/%d.yaml", i);
		write_text(world, name, "version: 1\n");
	}
	open_policies(world);
	EXPECT_ERROR(world, "more than 64 files");
}

static void profiles_may_extend_those_of_the_layers_above(void **state) {
	struct world *world = *state;
	write_rules(world, "etc/sbx.yaml", "deny", "bad.test");
	write_text(world, "config/policy.yaml",
		   "version: 1\nprofiles: {q: {extends: [p]}, p: {extends: [site], allow: {net:access: [\"*\"]}}}\n");
	EXPECT(world, "good.test:1", "none"); /* nobody has a "site" yet */
	assert_int_equal(policies_layer(world->policies, POLICY_LAYER_USER)->now.errors.count, 1);
	write_text(world, "etc/policy.d/site.yaml",
		   "version: 1\nprofiles: {site: {deny: {net:access: [site.test]}}}\n");
	EXPECT(world, "site.test:1", "deny");
	EXPECT(world, "good.test:1", "allow");
}

/* Projects */

static void trust(struct world *world, const char *text) {
	char hash[HASH_HEX_SIZE];
	struct error error = ERROR_NONE;
	hash_hex(hash, text, strlen(text));
	struct project_file *file = policies_project(world->policies, world->project, world->project);
	assert_int_equal(store_begin(world->store, STORE_FULL, NULL), 0);
	if (project_file_trust(file, hash, 1, &error) < 0) fail_msg("%s", error.message);
	assert_int_equal(store_commit(world->store, NULL), 0);
	policies_judge(world->policies, world->project);
}

static const char project_text[] = "version: 1\n"
				   "profiles:\n"
				   "  p:\n"
				   "    commands: [tool, npm]\n"
				   "    extends: [wide]\n"
				   "    allow: {net:access: [\"*\"]}\n"
				   "    ask: {net:access: [asked.test]}\n"
				   "    deny: {net:access: [denied.test]}\n"
				   "  wide:\n"
				   "    allow: {fs:write: [/]}\n";

static void attack_broker_21_a_projects_file_widens_nothing_until_it_is_trusted(void **state) {
	struct world *world = *state;
	write_rules(world, "config/policy.yaml", "allow", "denied.test.example");
	write_text(world, "app/.sbx.yaml", project_text);
	EXPECT(world, "x.test:1", "none");
	EXPECT(world, "asked.test:1", "none");
	EXPECT(world, "denied.test:1", "deny");
	struct project_file *file = policies_project(world->policies, world->project, world->project);
	struct policy *policy;
	assert_true(project_file_needs_trust(file));
	assert_int_equal(policies_assemble(world->policies, NULL, file, &policy, NULL), 0);
	assert_string_equal(policy_profile_of_command(policy, "tool"), "default");
	assert_string_equal(policy_profile_of_command(policy, "npm"), "npm");
	assert_false(policy_has_profile(policy, "wide"));
	policy_unref(policy);

	trust(world, project_text);
	EXPECT(world, "x.test:1", "allow");
	EXPECT(world, "asked.test:1", "ask");
	EXPECT(world, "denied.test:1", "deny");
	assert_false(project_file_needs_trust(file));
	assert_int_equal(policies_assemble(world->policies, NULL, file, &policy, NULL), 0);
	assert_string_equal(policy_profile_of_command(policy, "tool"), "p");
	policy_unref(policy);

	/* Exactly this content: one byte more isn't trusted, the same again is. */
	CLEANUP_FREE char *more = string_format("%s# more\n", project_text);
	write_text(world, "app/.sbx.yaml", more);
	EXPECT(world, "x.test:1", "none");
	write_text(world, "app/.sbx.yaml", project_text);
	EXPECT(world, "x.test:1", "allow");
	/* In this project. */
	write_text(world, "other/.sbx.yaml", project_text);
	free(world->project);
	world->project = below(world, "other");
	EXPECT(world, "x.test:1", "none");
}

static void attack_broker_21_only_what_was_shown_is_trusted(void **state) {
	struct world *world = *state;
	char hash[HASH_HEX_SIZE];
	struct error error = ERROR_NONE;
	write_rules(world, "config/policy.yaml", "ask", "other.test");
	write_text(world, "app/.sbx.yaml", "version: 1\nprofiles: {p: {allow: {net:access: [shown.test]}}}\n");
	hash_hex(hash, project_text, sizeof project_text - 1);
	struct project_file *file = policies_project(world->policies, world->project, world->project);
	assert_int_equal(project_file_trust(file, hash, 1, &error), -ESTALE);
	assert_non_null(strstr(error.message, "has changed since it was shown"));
	EXPECT(world, "shown.test:1", "none");
	write_text(world, "app/.sbx.yaml", "oops");
	file = policies_project(world->policies, world->project, world->project);
	hash_hex(hash, "oops", 4);
	assert_int_equal(project_file_trust(file, hash, 1, &error), -EINVAL);
}

static void trust_is_taken_back(void **state) {
	struct world *world = *state;
	write_rules(world, "config/policy.yaml", "deny", "never.test");
	write_text(world, "app/.sbx.yaml", project_text);
	trust(world, project_text);
	EXPECT(world, "x.test:1", "allow");
	EXPECT(world, "never.test:1", "deny"); /* the user's own file comes before */
	struct project_file *file = policies_project(world->policies, world->project, world->project);
	assert_int_equal(project_file_forget(file, NULL), 0);
	policies_judge(world->policies, world->project);
	EXPECT(world, "x.test:1", "none");
	/* Nor is anything trusted whose trust can't be looked up. */
	policies_free(world->policies);
	world->policies = policies_new(&world->places, NULL);
	EXPECT(world, "x.test:1", "none");
	EXPECT(world, "denied.test:1", "deny");
}

static void attack_broker_21_a_broken_file_begins_nothing(void **state) {
	struct world *world = *state;
	static const char *const texts[] = {
		"oops", "version: 1\nprofiles: {p: {hosts: {x.test: 127.0.0.1}}}\n",
		"version: 1\nprofiles: {p: {network: host}}\n",
		"version: 1\nprofiles: {p: {allow: {net:access: [{target: x.test, private: true}]}}}\n",
		"version: 1\nstack: [{requisite: protect}]\n"};
	write_rules(world, "config/policy.yaml", "allow", "x.test");
	CLEANUP_FREE char *path = below(world, "app/.sbx.yaml");
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		write_text(world, "app/.sbx.yaml", texts[i]);
		EXPECT_ERROR(world, "app/.sbx.yaml:");
		EXPECT_ERROR(world, "until the file is mended or moved away");
	}
	CLEANUP_FREE char *large = mem_alloc(LIMIT_PROJECT_FILE + 2, 1);
	memset(large, '#', LIMIT_PROJECT_FILE + 1);
	write_text(world, "app/.sbx.yaml", large);
	EXPECT_ERROR(world, "larger than 65536 bytes");
	assert_int_equal(unlink(path) + symlink("/etc/hostname", path), 0);
	EXPECT_ERROR(world, "is a link and isn't followed");
	assert_int_equal(unlink(path) + mkfifo(path, 0600), 0);
	EXPECT_ERROR(world, "is no regular file");
	assert_int_equal(unlink(path) + mkdir(path, 0700), 0);
	EXPECT_ERROR(world, "is no regular file");
	assert_int_equal(rmdir(path), 0);
	EXPECT(world, "x.test:1", "allow");
}

/* What runs keeps what was good last; what it doesn't say any more isn't kept by mistake. */
static void a_followed_file_that_breaks_keeps_what_was_good(void **state) {
	struct world *world = *state;
	write_text(world, "app/.sbx.yaml", project_text);
	struct project_file *file =
		project_file_follow(policies_project(world->policies, world->project, world->project));
	struct policy_document *before = file->counting;
	write_text(world, "app/.sbx.yaml", "oops");
	assert_false(policies_refresh(world->policies, POLICIES_LAYERS, NULL, NULL)); /* left for the timer */
	assert_true(policies_are_stirred(world->policies));
	assert_true(policies_refresh(world->policies, POLICIES_STIRRED, NULL, NULL));
	assert_false(policies_are_stirred(world->policies));
	assert_ptr_equal(file->counting, before);
	assert_int_equal(file->errors.count, 1);
	write_text(world, "app/.sbx.yaml", "version: 1\n");
	assert_true(policies_refresh(world->policies, POLICIES_STIRRED, NULL, NULL));
	assert_int_equal(file->errors.count, 0);
	assert_ptr_not_equal(file->counting, before);
	project_file_leave(file);
}

static void many_projects_are_forgotten_but_not_those_that_are_followed(void **state) {
	struct world *world = *state;
	write_text(world, "app/.sbx.yaml", project_text);
	struct project_file *file =
		project_file_follow(policies_project(world->policies, world->project, world->project));
	for (int i = 0; i < 100; i++) {
		CLEANUP_FREE char *name = string_format("%s/many%d", world->root, i);
		const struct ruleset *ruleset;
		assert_int_equal(policies_ruleset(world->policies, "default", name, &ruleset, NULL), 0);
	}
	assert_ptr_equal(policies_project(world->policies, world->project, world->project), file);
	project_file_leave(file);
}

static void the_same_documents_make_the_same_policy(void **state) {
	struct world *world = *state;
	struct policy *first, *second;
	write_text(world, "app/.sbx.yaml", project_text);
	const struct project_file *file = policies_project(world->policies, world->project, world->project);
	assert_int_equal(policies_assemble(world->policies, NULL, file, &first, NULL), 0);
	assert_int_equal(policies_assemble(world->policies, NULL, file, &second, NULL), 0);
	assert_true(policy_equal(first, second));
	policy_unref(second);
	assert_int_equal(policies_assemble(world->policies, NULL, NULL, &second, NULL), 0);
	assert_false(policy_equal(first, second));
	policy_unref(first);
	policy_unref(second);
}

static struct ruleset *compiled(struct world *world, const char *profile, const char *root) {
	struct policy *policy;
	struct ruleset *ruleset = NULL;
	assert_int_equal(policies_assemble(world->policies, NULL, NULL, &policy, NULL), 0);
	const struct policies_place place = {.project = root};
	assert_int_equal(policies_compile(world->policies, policy, profile, &place, &ruleset, NULL), 0);
	policy_unref(policy);
	return ruleset;
}

/* For one who has them they stay what they were, also when nobody else can have them any more. */
static void who_wants_the_same_rules_shares_them(void **state) {
	struct world *world = *state;
	const struct permission permission = permission_of(PERMISSION_NET_ACCESS);
	write_rules(world, "config/policy.yaml", "allow", "one.test");
	policies_refresh(world->policies, POLICIES_ALL, NULL, NULL);
	CLEANUP_RULESET struct ruleset *first = compiled(world, "p", "/p"), *same = compiled(world, "p", "/p");
	CLEANUP_RULESET struct ruleset *profile = compiled(world, "default", "/p"), *root = compiled(world, "p", "/q");
	assert_ptr_equal(first, same);
	assert_ptr_not_equal(first, profile);
	assert_ptr_not_equal(first, root);
	write_rules(world, "config/policy.yaml", "allow", "another.test");
	policies_refresh(world->policies, POLICIES_ALL, NULL, NULL);
	CLEANUP_RULESET struct ruleset *later = compiled(world, "p", "/p");
	assert_ptr_not_equal(first, later);
	assert_null(ruleset_find(later, &permission, "one.test:1", NULL));
	for (int i = 0; i < 20; i++) {
		CLEANUP_FREE char *other = string_format("/p%d", i);
		CLEANUP_RULESET struct ruleset *ruleset = compiled(world, "p", other);
		assert_ptr_not_equal(first, ruleset);
	}
	assert_non_null(ruleset_find(first, &permission, "one.test:1", NULL));
}

/* "deny", or "none" of a file that no other rule names. */
static const char *decide_file(struct world *world, const char *name) {
	CLEANUP_FREE char *path = below(world, name);
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	const struct ruleset *ruleset;
	policies_refresh(world->policies, POLICIES_LAYERS, NULL, NULL);
	assert_int_equal(policies_ruleset(world->policies, "p", world->project, &ruleset, NULL), 0);
	const struct rule *rule = ruleset_find(ruleset, &permission, path, NULL);
	return rule ? effect_name(rule->effect) : "none";
}

static void link_to(const struct world *world, const char *text, const char *name) {
	CLEANUP_FREE char *path = below(world, name);
	unlink(path);
	assert_int_equal(symlink(text, path), 0);
}

static void a_denied_link_goes_along_from_one_request_to_the_next(void **state) {
	struct world *world = *state;
	write_text(world, "config/policy.yaml", "version: 1\nprofiles: {p: {deny: {fs:read: [~/link]}}}\n");
	for (int i = 0; i < 3; i++) {
		link_to(world, "one", "link");
		assert_string_equal(decide_file(world, "one/file"), "deny");
		assert_string_equal(decide_file(world, "two/file"), "none");
		link_to(world, "two", "link");
		assert_string_equal(decide_file(world, "one/file"), "none");
		assert_string_equal(decide_file(world, "two/file"), "deny");
	}
}

/* 40 links, each with a text as long as a link's may be. */
static void make_long_links(const struct world *world) {
	write_text(world, "app/a/none", "");
	for (int i = 0; i < 40; i++) {
		CLEANUP_STRING struct string text = {0};
		CLEANUP_FREE char *name = string_format("app/l%d", i);
		while (text.size < 4000) string_append(&text, "a/../");
		string_appendf(&text, "l%d", i + 1);
		link_to(world, text.data, name);
	}
}

static int64_t took_ms(struct world *world, const char *name) {
	const int64_t start = clock_ms(CLOCK_MONOTONIC);
	assert_string_equal(decide_file(world, name), "deny");
	return clock_ms(CLOCK_MONOTONIC) - start;
}

static void attack_w_1_links_of_a_project_that_are_long_to_follow_hold_nobody_up(void **state) {
	struct world *world = *state;
	CLEANUP_STRING struct string text = {0};
	string_append(&text, "version: 1\nprofiles:\n  p:\n    deny:\n      fs:read:\n");
	for (int i = 0; i < 2400; i++) string_appendf(&text, "      - ${project}/l0/%d\n", i);
	make_long_links(world);
	write_text(world, "config/policy.yaml", "version: 1\nprofiles: {p: {deny: {fs:read: [~/link]}}}\n");
	link_to(world, "one", "link");
	write_text(world, "app/.sbx.yaml", text.data);
	const int64_t made = took_ms(world, "one/file"), asked = took_ms(world, "app/l0/7");
	print_message("made in %lld ms, asked in %lld ms\n", (long long)made, (long long)asked);
	assert_true(made < 1000);
	assert_true(asked < 100);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_denied_link_goes_along_from_one_request_to_the_next),
		TEST(attack_w_1_links_of_a_project_that_are_long_to_follow_hold_nobody_up),
		TEST(who_wants_the_same_rules_shares_them),
		TEST(an_administrators_denies_are_final_and_the_rest_comes_last),
		TEST(other_names_in_policy_d_are_passed_over),
		TEST(the_last_good_files_of_a_layer_stay_as_a_whole),
		TEST(a_layer_that_was_never_good_refuses_everything),
		TEST(attack_broker_11_what_others_can_write_is_no_policy),
		TEST(attack_broker_11_links_are_not_followed),
		TEST(the_stack_is_in_one_file_alone),
		TEST(at_most_so_many_files),
		TEST(profiles_may_extend_those_of_the_layers_above),
		TEST(attack_broker_21_a_projects_file_widens_nothing_until_it_is_trusted),
		TEST(attack_broker_21_only_what_was_shown_is_trusted),
		TEST(trust_is_taken_back),
		TEST(attack_broker_21_a_broken_file_begins_nothing),
		TEST(a_followed_file_that_breaks_keeps_what_was_good),
		TEST(many_projects_are_forgotten_but_not_those_that_are_followed),
		TEST(the_same_documents_make_the_same_policy),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
