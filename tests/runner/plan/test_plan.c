/*
 * Golden tests of facts and plan. A file in data/plan has three parts, separated by lines "---": what the host has, the
 * rules, and the plan that must come of it. The host is made for real below a fresh folder, which is cut from the
 * plan's text again. With SBX_GOLDEN_WRITE=1 in the environment the third part is written anew.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "plan/facts.h"
#include "plan/plan.h"
#include "sandbox/ask_nodes.h"
#include "support/cmocka.h"

static const char *const show_names[] = {
	[SHOW_NOTHING] = "nothing", [SHOW_ASK] = "ask",   [SHOW_READ] = "read", [SHOW_WRITE] = "write",
	[SHOW_FRESH] = "fresh",     [SHOW_PROC] = "proc", [SHOW_DEV] = "dev",   [SHOW_TEXT] = "text",
};
static_assert(ARRAY_LENGTH(show_names) == SHOW_TEXT + 1, "a name for each");

static char *root, *project;

static char *below_root(const char *path) {
	if (string_equal(path, "/")) return string_copy(root);
	return path[0] == '/' ? string_format("%s%s", root, path) : string_copy(path);
}

static void make_parent(const char *path) {
	CLEANUP_FREE char *parent = path_parent(path);
	assert_int_equal(file_make_directories(parent, NULL), 0);
}

static void make_socket(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
}

/* "folder /a", "point /a" (a folder that a portal has made), "file /a/b", "socket /a/s", "fifo /a/f", "link /a/l ->
 * TEXT", "name /a/n -> /a/b" (a hard link) */
static void make_host(char *line) {
	char *kind = strtok_r(line, " ", &line), *name = strtok_r(NULL, " ", &line);
	CLEANUP_FREE char *path = below_root(name);
	make_parent(path);
	if (string_equal(kind, "folder") || string_equal(kind, "point")) {
		assert_int_equal(file_make_directories(path, NULL), 0);
		if (kind[0] == 'p') assert_int_equal(chmod(path, 01755), 0);
	} else if (string_equal(kind, "file")) {
		assert_int_equal(file_write(path, "x", 1, 0600, NULL), 0);
	} else if (string_equal(kind, "socket")) {
		make_socket(path);
	} else if (string_equal(kind, "fifo")) {
		assert_int_equal(mkfifo(path, 0600), 0);
	} else if (string_equal(kind, "name")) {
		CLEANUP_FREE char *file = below_root(line + strlen("-> "));
		assert_int_equal(link(file, path), 0);
	} else {
		assert_string_equal(kind, "link");
		CLEANUP_FREE char *text = below_root(line + strlen("-> "));
		assert_int_equal(symlink(text, path), 0);
	}
}

/* "curtain", "view write /a", "layout fresh /home", "layout fresh /home from /state", "mask /a/b", "protected /a",
 * "text /a", "deny read /a", "deny write /a", "project /a" */
static void add_rule(struct rules *rules, char *line) {
	static const struct {
		const char *word;
		enum rule_origin origin;
	} origins[] = {{"layout", RULE_LAYOUT}, {"firm", RULE_FIRM}, {"place", RULE_PLACE}, {"view", RULE_VIEW}};
	char *word = strtok_r(line, " ", &line);
	if (string_equal(word, "curtain")) {
		rules->curtain = true;
		return;
	}
	if (string_equal(word, "mask") || string_equal(word, "protected") || string_equal(word, "text")) {
		CLEANUP_FREE char *path = below_root(strtok_r(NULL, " ", &line));
		if (word[0] == 'm')
			rules_add_mask(rules, path);
		else if (word[0] == 't')
			rules_add_text(rules, path, "a text\n");
		else
			rules_add(rules, RULE_PROTECTED, SHOW_NOTHING, path);
		return;
	}
	if (string_equal(word, "project")) {
		free(project);
		rules->project = project = below_root(strtok_r(NULL, " ", &line));
		return;
	}
	if (string_equal(word, "deny")) {
		const bool reading = string_equal(strtok_r(NULL, " ", &line), "read");
		CLEANUP_FREE char *path = below_root(strtok_r(NULL, " ", &line));
		rules_add_denial(rules, reading ? SHOW_NOTHING : SHOW_READ, path,
				 reading ? VIEW_DENIES_READ : VIEW_DENIES_WRITE);
		return;
	}
	const char *show_word = strtok_r(NULL, " ", &line), *name = strtok_r(NULL, " ", &line);
	CLEANUP_FREE char *path = below_root(name);
	CLEANUP_FREE char *source = string_starts(line, "from ") ? below_root(line + strlen("from ")) : NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(origins); i++) {
		for (enum show show = SHOW_NOTHING; string_equal(word, origins[i].word) && show <= SHOW_DEV; show++) {
			if (!string_equal(show_names[show], show_word)) continue;
			rules_add_source(rules, origins[i].origin, show, path, source);
			return;
		}
	}
	fail_msg("no such rule: %s %s", word, show_word);
}

static char *without_root(const char *text) {
	struct string out = {0};
	for (const char *found; (found = strstr(text, root)); text = found + strlen(root))
		string_append_bytes(&out, text, (size_t)(found - text));
	string_append(&out, text);
	return string_steal(&out);
}

static char *part_end(char *part) {
	char *end = strstr(part, "---\n");
	assert_non_null(end);
	*end = '\0';
	return end + strlen("---\n");
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static char *plan_of(char *host, char *wishes) {
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACT_BOOK struct fact_book book = {0};
	CLEANUP_FACTS struct facts facts = {0};
	CLEANUP_ASK_NODES struct ask_nodes nodes = {0};
	CLEANUP_STRINGS struct strings watched = {0};
	CLEANUP_PLAN struct plan plan = {0};
	struct error error = ERROR_NONE;
	for (char *line; (line = strtok_r(host, "\n", &host));)
		if (line[0] != '#') make_host(line);
	for (char *line; (line = strtok_r(wishes, "\n", &wishes));) add_rule(&rules, line);
	facts_collect(&rules, &book, &facts);
	const struct rule *home = NULL;
	for (size_t i = 0; i < rules.count; i++)
		if (rules.items[i].show == SHOW_FRESH && rules.items[i].source) home = &rules.items[i];
	if (rules.curtain)
		ask_nodes_add(&nodes, home ? home->path : "/", home ? home->source : NULL, &rules, &facts, &watched);
	bool refused = plan_build(&rules, &facts, &plan, &error) < 0;
	CLEANUP_FREE char *text = refused ? string_format("refused: %s\n", error.message) : plan_text(&plan);
	return without_root(text);
}

static void golden(void **state) {
	const char *file = *state;
	CLEANUP_FREE char *text = NULL, *original = NULL;
	assert_int_equal(file_read(file, 1 << 20, &text, NULL, NULL), 0);
	original = string_copy(text);
	root = string_copy("/tmp/sbx-plan.XXXXXX");
	assert_non_null(mkdtemp(root));
	char *wishes = part_end(text), *expected = part_end(wishes);
	CLEANUP_FREE char *kept = string_copy(expected);
	CLEANUP_FREE char *plan = plan_of(text, wishes);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(root);
	free(STEAL(project));
	if (getenv("SBX_GOLDEN_WRITE")) {
		CLEANUP_STRING struct string out = {0};
		string_append_bytes(&out, original,
				    (size_t)(strstr(strstr(original, "---\n") + 4, "---\n") + 4 - original));
		string_append(&out, plan);
		assert_int_equal(file_write(file, out.data, out.size, 0644, NULL), 0);
		return;
	}
	assert_string_equal(plan, kept);
}

static void add_led(struct rules *rules, struct fact *fact, const char *link, bool foreign, const char *place) {
	rules_add_denial(rules, SHOW_NOTHING, link, VIEW_DENIES_READ);
	*fact = (struct fact){.real = string_copy(place), .type = FACT_FOLDER};
	fact_add_link(fact, link, place);
	fact->links[0].foreign = foreign;
}

/* What would lead a denial or a question elsewhere is followed where neither the tool nor somebody else can move it. */
static void ways_are_of_rules_that_deny_or_ask_and_the_users(void **state) {
	(void)state;
	CLEANUP_RULES struct rules rules = {0};
	CLEANUP_FACTS struct facts facts = {0};
	CLEANUP_PLAN struct plan plan = {0};
	struct fact known[8] = {{.real = string_copy("/w"), .type = FACT_FOLDER},
				{.real = string_copy("/missing")},
				{.real = string_copy("/w/masked"), .type = FACT_FILE}};
	rules_add(&rules, RULE_VIEW, SHOW_WRITE, "/w");
	rules_add_denial(&rules, SHOW_NOTHING, "/missing", VIEW_DENIES_READ);
	rules_add_denial(&rules, SHOW_READ, "/w/masked", VIEW_DENIES_WRITE);
	add_led(&rules, &known[3], "/link", false, "/w/a");
	add_led(&rules, &known[4], "/others/link", true, "/w/b");
	add_led(&rules, &known[5], "/w/link", false, "/w/c");
	add_led(&rules, &known[6], "/asked", false, "/w/d");
	rules.items[6].denial = VIEW_DENIES_NOTHING;
	rules.items[6].asks = true;
	add_led(&rules, &known[7], "/shown", false, "/w/e");
	rules.items[7].denial = VIEW_DENIES_NOTHING;
	strings_add(&rules.ways, "/bin/program");
	strings_add(&rules.ways, "/w/program");
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) facts_add(&facts, &known[i]);
	assert_int_equal(plan_build(&rules, &facts, &plan, NULL), 0);
	assert_int_equal(plan.ways.count, 4);
	assert_string_equal(plan.ways.items[0], "/missing");
	assert_string_equal(plan.ways.items[1], "/link");
	assert_string_equal(plan.ways.items[2], "/asked");
	assert_string_equal(plan.ways.items[3], "/bin/program");
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) fact_finish(&known[i]);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_case(const struct dirent *entry) {
	return string_ends(entry->d_name, ".plan");
}

int main(void) {
	struct dirent **entries = NULL;
	int count = scandir(SBX_TEST_DATA "/plan", &entries, is_case, by_name);
	if (count <= 0) return 1;
	struct CMUnitTest *tests = mem_array(struct CMUnitTest, (size_t)count + 1);
	for (int i = 0; i < count; i++) {
		char *path = path_join(SBX_TEST_DATA "/plan", entries[i]->d_name);
		tests[i] = (struct CMUnitTest){.name = path_name(path), .test_func = golden, .initial_state = path};
	}
	tests[count] = (struct CMUnitTest)cmocka_unit_test(ways_are_of_rules_that_deny_or_ask_and_the_users);
	int failed = _cmocka_run_group_tests("plan", tests, (size_t)count + 1, NULL, NULL);
	for (int i = 0; i < count; i++) {
		free(tests[i].initial_state);
		free(entries[i]);
	}
	free(entries);
	free(tests);
	return failed;
}
