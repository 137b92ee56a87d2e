/*
 * What is asked about a call, by a sight that the test makes.
 */
#include "hold/call_needs.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "base/string.h"
#include "sandbox/filter.h"
#include "support/cmocka.h"

static struct strings looked_up; /* on the host */

/* /w written, /ask read and writing asked, /read read, /hidden asked about, /home the sandbox's own with a rule that
 * asks about what the host has there, /lost the sandbox's own where nobody looks, the rest absent. */
static struct sight sight(void *context, const char *path) {
	struct sight sight = {.mode = VIEW_ABSENT};
	(void)context;
	if (path_is_below(path, "/w") || path_is_below(path, "/dev")) sight.mode = VIEW_WRITE;
	if (path_is_below(path, "/ask") || path_is_below(path, "/w/mask") || path_is_below(path, "/proc/ask"))
		sight = (struct sight){.mode = VIEW_READ, .ask_write = true};
	if (path_is_below(path, "/read") || path_is_below(path, "/ask/mask")) sight = (struct sight){.mode = VIEW_READ};
	if (path_is_below(path, "/hidden")) sight.mode = VIEW_ASK;
	sight.like_mask = path_is_below(path, "/hidden/new-mask") || path_is_below(path, "/hidden/mask");
	if (path_is_below(path, "/home")) sight = (struct sight){.mode = VIEW_WRITE, .own_or_asked = path[5]};
	if (path_is_below(path, "/lost"))
		sight = (struct sight){
			.mode = VIEW_WRITE, .lost = true, .given = path_is_below(path, "/lost/given-new")};
	sight.leads = strcmp(path, "/home/mounts") == 0 || strcmp(path, "/w/mounts") == 0;
	sight.hosts = sight.mode == VIEW_WRITE && path_is_below(path, "/w");
	sight.masked_missing = path_is_below(path, "/w/missing") || strcmp(path, "/w/new-missing") == 0;
	sight.masked_name = path_is_below(path, "/w/pattern") || path_is_below(path, "/w/new-pattern");
	sight.masked_lock = strstr(path, "/config.lock") != NULL;
	sight.own_name = strcmp(path, "/w/granted") == 0;
	sight.above_missing = strcmp(path, "/w/above") == 0 || strcmp(path, "/w/above-new") == 0;
	if (path_is_below(path, "/w/mask") || path_is_below(path, "/w/mask-new")) {
		sight.mode = VIEW_READ;
		sight.mask = strlen(path_is_below(path, "/w/mask") ? "/w/mask" : "/w/mask-new");
	}
	sight.above_mask = path_is_below(path, "/w/around") || path_is_below(path, "/w/around-new");
	sight.program = path_is_below(path, "/read/asked") || path_is_below(path, "/hidden/asked") ||
			path_is_below(path, "/absent/asked");
	return sight;
}

static bool exists(void *context, const char *path) {
	(void)context;
	strings_add(&looked_up, path);
	return strstr(path, "new") == NULL;
}

static bool vacant(void *context, const char *path) {
	return !exists(context, path) || strstr(path, "empty") != NULL;
}

static bool lands(void *context, const char *path) {
	(void)context;
	return strstr(path, "new") != NULL;
}

static bool made(void *context, const char *path) {
	(void)context;
	return strcmp(path, "/w/made-here") == 0;
}

static const char *mask_below(void *context, const char *folder) {
	static char path[64];
	(void)context;
	snprintf(path, sizeof path, "%s/masked", folder);
	return path;
}

static bool is_program(void *context, const char *path) {
	(void)context;
	return strcmp(path, "/read/asked/folder") != 0 && strcmp(path, "/read/asked/new") != 0;
}

static void programs(void *context, const char *path, struct strings *ret_paths) {
	(void)context;
	strings_add(&looked_up, path);
	if (strcmp(path, "/read/script") == 0) strings_add(ret_paths, "/read/asked");
	if (strcmp(path, "/dev/shm/script") == 0 || !*path) strings_add(ret_paths, "/read/asked");
	if (strcmp(path, "/w/script") == 0) strings_add(ret_paths, "/absent/asked");
}

static const char *const permissions[] = {
	[PERMISSION_FS_READ] = "read", [PERMISSION_FS_WRITE] = "write", [PERMISSION_PROC_SPAWN] = "spawn"};

/* "write /a in, spawn /b" */
static char *needs_text(const struct call *call, unsigned wanted) {
	const struct call_world world = {.sight = sight,
					 .exists = exists,
					 .vacant = vacant,
					 .lands = lands,
					 .made = made,
					 .mask_below = mask_below,
					 .is_program = is_program,
					 .programs = programs};
	CLEANUP_CALL_NEEDS struct call_needs needs;
	call_needs_find(call, wanted, &world, &needs);
	CLEANUP_STRING struct string text = {0};
	for (size_t i = 0; i < needs.count; i++)
		string_appendf(&text, "%s%s %s%s%s%s", i ? ", " : "", permissions[needs.items[i].permission],
			       needs.items[i].path, needs.items[i].by_folder ? " in" : "",
			       needs.items[i].listing ? " list" : "", needs.items[i].brought ? " brought" : "");
	if (needs.made) string_append(&text, " made");
	if (needs.code != 0) string_appendf(&text, " fails %d", needs.code);
	return string_steal(&text);
}

enum { READ = 0, WRITE = 1, CREATE = 2, NAMELESS = 4, LIST = 8 };

static void check_open(const char *path, int how, unsigned wanted, const char *expected) {
	struct call call = {.class = CALL_OPEN,
			    .write = how & (WRITE | NAMELESS),
			    .create = how & (CREATE | NAMELESS),
			    .nameless = how & NAMELESS,
			    .listing = how & LIST,
			    .paths = {(char *)path}};
	CLEANUP_FREE char *text = needs_text(&call, wanted);
	if (strcmp(text, expected) != 0) fail_msg("open %s %d: '%s', not '%s'", path, how, text, expected);
}

static void opens(void **state) {
	(void)state;
	const unsigned curtain = TRAPS_WRITES | TRAPS_PROGRAMS, none = TRAPS_OPENS;
	const struct {
		const char *path;
		int how;
		const char *with_curtain, *without;
	} rows[] = {
		{"/w/f", WRITE | CREATE, "", ""},
		{"/read/f", WRITE, "", ""},
		{"/read/new", CREATE, "", ""},
		{"/absent/f", WRITE | CREATE, "", ""},
		{"/ask/f", READ, "", ""},
		{"/ask/f", WRITE, "write /ask/f", "write /ask/f"},
		{"/ask/f", WRITE | CREATE, "write /ask/f", "write /ask/f"},
		{"/ask/f", CREATE, "", ""}, /* it is there: O_CREAT makes nothing */
		{"/ask/new", CREATE, "write /ask in", "write /ask in"},
		{"/ask/d/new", WRITE | CREATE, "write /ask/d in", "write /ask/d in"},
		{"/ask/new", WRITE, "", ""}, /* ENOENT */
		{"/ask/d", NAMELESS, "write /ask/d in", "write /ask/d in"},
		{"/ask/mask", WRITE, "", ""},
		{"/w/mask", WRITE, "write /w/mask", "write /w/mask"},
		{"/w/missing", WRITE | CREATE, "write /w/missing", "write /w/missing"},
		{"/w/missing", WRITE, "write /w/missing", "write /w/missing"}, /* the host has made it since */
		{"/w/missing/f", WRITE, "write /w/missing/f", "write /w/missing/f"},
		{"/w/new-missing", WRITE, "", ""}, /* ENOENT */
		{"/w/above-new", WRITE | CREATE, "write /w/above-new/masked", "write /w/above-new/masked"},
		{"/w/missing", READ, "", ""},
		{"/w/pattern", WRITE | CREATE, "write /w/pattern", "write /w/pattern"},
		{"/w/pattern/a/b", CREATE, "write /w/pattern/a/b", "write /w/pattern/a/b"},
		{"/w/pattern", WRITE, "write /w/pattern", "write /w/pattern"}, /* the host has made it since */
		{"/w/new-pattern", WRITE, "", ""},                             /* ENOENT */
		{"/w/pattern", READ, "", ""},
		{"/w/mask/new", CREATE, "write /w/mask in", "write /w/mask in"},
		{"/w/mask-new", WRITE | CREATE, "write /w/mask-new", "write /w/mask-new"}, /* the host has removed it */
		{"/w/mask-new/f", CREATE, "write /w/mask-new/f", "write /w/mask-new/f"},
		{"/w/mask-new", WRITE, "", ""}, /* ENOENT */
		{"/w/mask-new", READ, "", ""},
		{"/hidden/f", READ, "", "read /hidden/f"},
		{"/hidden", READ | LIST, "", "read /hidden list"},
		{"/hidden/f", WRITE, "", "write /hidden/f"},
		{"/hidden/new", WRITE | CREATE, "", "write /hidden in"},
		{"/hidden/new-mask", WRITE | CREATE, "write /hidden in", "write /hidden in"}, /* before the curtain */
		{"/hidden/f", CREATE, "", "read /hidden/f"},
		{"/hidden/new", READ, "", ""}, /* ENOENT */
		{"/hidden/new/new", WRITE | CREATE, "", ""},
		{"/home", READ | LIST, "", ""},
		{"/home/f", READ, "", "read /home/f"},
		{"/home/new", READ, "", ""},
		{"/home/new", WRITE | CREATE, "", ""}, /* the sandbox's own home */
		{"/home/new/new", WRITE | CREATE, "", ""},
		{"/home/d/new", WRITE | CREATE, "", "write /home/d in"},
		{"/home/d/f", WRITE | CREATE, "", "write /home/d/f"},
		{"/proc/ask/f", WRITE, "", ""}, /* the kernel's trees: never */
		{"/sys", WRITE, "", ""},
		{"/dev/null", WRITE, "", ""},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		check_open(rows[i].path, rows[i].how, curtain, rows[i].with_curtain);
		check_open(rows[i].path, rows[i].how, none, rows[i].without);
	}
}

static void the_host_is_looked_at_only_where_somebody_is_asked(void **state) {
	(void)state;
	strings_finish(&looked_up);
	const char *const quiet[] = {"/w/f", "/read/f", "/absent/f", "/proc/ask/f", "/w/missing", "/hidden/f"};
	for (size_t i = 0; i < ARRAY_LENGTH(quiet); i++) {
		struct call call = {.class = CALL_OPEN, .write = true, .create = true, .paths = {(char *)quiet[i]}};
		free(needs_text(&call, TRAPS_WRITES));
	}
	const char *const executed[] = {"/absent/script", "/hidden/script", "/read/asked"};
	for (size_t i = 0; i < ARRAY_LENGTH(executed); i++) {
		struct call call = {.class = CALL_EXECUTE, .paths = {(char *)executed[i]}};
		free(needs_text(&call, TRAPS_WRITES | TRAPS_PROGRAMS));
	}
	assert_int_equal(looked_up.count, 0);
	check_open("/ask/f", WRITE | CREATE, TRAPS_WRITES, "write /ask/f");
	assert_int_equal(looked_up.count, 1);
	strings_finish(&looked_up);
}

static void names_change_their_folder(void **state) {
	(void)state;
	const struct {
		const char *first, *second; /* "+/made", "-/removed", "%/both", "=/named" */
		const char *expected;
	} rows[] = {
		{"+/w/d", NULL, ""},
		{"+/ask/d", NULL, "write /ask in"},
		{"-/ask/d/f", NULL, "write /ask/d in"},
		{"+/read/d", NULL, ""},
		{"+/absent/d", NULL, ""},
		{"-/w/mask", NULL, "write /w/mask"}, /* a mount point: it has to go first */
		{"-/ask/mask", NULL, ""},
		{"+/w/missing", NULL, "write /w/missing"},
		{"-/w/missing", NULL, ""},
		{"-/w/a", "+/w/missing", "write /w/missing"},
		{"+/w/pattern", NULL, "write /w/pattern"},
		{"-/w/pattern", "+/w/a", ""},
		{"-/w/a", "+/w/new-pattern", "write /w/new-pattern"},
		{"-/ask/a", "+/ask/b", "write /ask in"},
		{"-/ask/d/a", "+/ask/e/b", "write /ask/d in, write /ask/e in"},
		{"-/w/a", "+/ask/b", "write /ask in"},
		{"-/w/a", "+/w/mask", "write /w/mask"}, /* git's way to write .git/config */
		{"+/w/above", NULL, ""},
		{"-/w/a", "+/w/above", "write /w/above/masked brought"}, /* brings what is below it along */
		{"-/w/above", "+/w/b", ""},
		{"+/w/mask-new", NULL, "write /w/mask-new"},
		{"-/w/a", "+/w/mask-new", "write /w/mask-new"},
		{"-/w/a", "+/w/around", ""}, /* the kernel refuses that */
		{"-/w/a", "+/w/around-new", "write /w/around-new/masked brought"},
		{"-/w/a", "+/w/around/empty", "write /w/around/empty/masked brought"},
		{"%/w/a", "%/w/around", "write /w/around/masked brought"},
		{"+/w/around-new", NULL, ""},
		{"=/ask/a", "+/w/b", ""}, /* link(2) from there changes nothing there */
		{"=/w/a", "+/ask/b", "write /ask in"},
		{"-/proc/ask/a", "+/w/b", ""},
		{"+/hidden/d", NULL, ""}, /* the curtain's */
		{"+/hidden/mask", NULL, "write /hidden in"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *const paths[] = {rows[i].first, rows[i].second};
		struct call call = {.class = CALL_NAMES};
		for (size_t j = 0; j < CALL_PATHS; j++) {
			if (!paths[j]) continue;
			call.makes[j] = paths[j][0] == '+' || paths[j][0] == '%';
			call.removes[j] = paths[j][0] == '-' || paths[j][0] == '%';
			call.brings |= call.removes[j] && paths[1];
			call.paths[j] = (char *)paths[j] + 1;
		}
		CLEANUP_FREE char *text = needs_text(&call, TRAPS_WRITES);
		if (strcmp(text, rows[i].expected) != 0) fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].expected);
	}
	/* A link is asked about here where a curtain would hold it; the sandbox's own places are as ever. */
	static const struct {
		const char *path, *expected;
	} links[] = {{"/hidden/d/e", "write /hidden/d in"}, {"/hidden/new/new", ""}, {"/home/d/new", ""}, {"/w/l", ""}};
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++) {
		struct call call = {.class = CALL_NAMES,
				    .brings = true,
				    .makes = {true},
				    .text = (char *)"x",
				    .paths = {(char *)links[i].path}};
		CLEANUP_FREE char *text = needs_text(&call, TRAPS_WRITES);
		assert_string_equal(text, links[i].expected);
	}
	const struct {
		const char *path, *expected;
	} hidden[] = {{"/hidden/d/e", "write /hidden/d in"},
		      {"/hidden/new/new", ""},
		      {"/home/new", ""},
		      {"/home/d/new", "write /home/d in"},
		      {"/home/new/new", ""}};
	for (size_t i = 0; i < ARRAY_LENGTH(hidden); i++) {
		struct call call = {.class = CALL_NAMES, .makes = {true}, .paths = {(char *)hidden[i].path}};
		CLEANUP_FREE char *text = needs_text(&call, TRAPS_OPENS);
		assert_string_equal(text, hidden[i].expected);
	}
}

/* The file that git writes by it is asked about. */
static void a_lock_of_gits_is_as_masked_as_its_file(void **state) {
	(void)state;
	check_open("/w/config.lock", WRITE, TRAPS_WRITES, "write /w/config");
	check_open("/w/config.lock", READ, TRAPS_WRITES, "");
	check_open("/w/new/config.lock", WRITE | CREATE, TRAPS_WRITES, "write /w/new/config");
	check_open("/w/new/config.lock", WRITE, TRAPS_WRITES, "");
	struct call call = {.class = CALL_NAMES, .makes = {true}, .paths = {(char *)"/w/new/config.lock"}};
	CLEANUP_FREE char *made = needs_text(&call, TRAPS_WRITES);
	assert_string_equal(made, "write /w/new/config");
	call = (struct call){.class = CALL_CHANGE, .paths = {(char *)"/w/config.lock"}};
	CLEANUP_FREE char *changed = needs_text(&call, TRAPS_WRITES);
	assert_string_equal(changed, "write /w/config");
}

/* What a mask has come to lie over since, or a newer mount hides. */
static void a_descriptor_of_before_is_judged_by_the_mask(void **state) {
	(void)state;
	static const struct {
		const char *path;
		bool covered;
		const char *expected;
	} rows[] = {{"/w/mask/f", false, "write /w/mask/f"},
		    {"/w/mask/f", true, "write /w/mask/f"},
		    {"/w/f", false, ""},
		    {"/hidden/f", true, ""}, /* a file that was handed in */
		    {"/absent/f", true, ""}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct call call = {.class = CALL_CHANGE,
				    .by_object = {true},
				    .covered = {rows[i].covered},
				    .paths = {(char *)rows[i].path}};
		CLEANUP_FREE char *changed = needs_text(&call, TRAPS_WRITES);
		assert_string_equal(changed, rows[i].expected);
		call.class = CALL_OPEN;
		CLEANUP_FREE char *read = needs_text(&call, TRAPS_WRITES);
		assert_string_equal(read, "");
		call.write = true;
		CLEANUP_FREE char *written = needs_text(&call, TRAPS_WRITES);
		assert_string_equal(written, rows[i].expected);
	}
}

static void what_is_masked_by_its_name_gets_no_other_one(void **state) {
	(void)state;
	static const struct {
		const char *from;
		bool crosses;
	} rows[] = {{"/w/f", false},      {"/w/granted", true}, {"/w/config.lock", true},
		    {"/w/pattern", true}, {"/w/missing", true}, {"/read/f", false}};
	const struct call_world world = {.sight = sight, .exists = exists, .vacant = vacant};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_CALL_NEEDS struct call_needs needs;
		struct call call = {
			.class = CALL_NAMES, .makes = {false, true}, .paths = {(char *)rows[i].from, (char *)"/w/new"}};
		call_needs_find(&call, TRAPS_WRITES, &world, &needs);
		assert_int_equal(needs.code, rows[i].crosses ? EXDEV : 0);
		call.removes[0] = true; /* a rename */
		call_needs_find(&call, TRAPS_WRITES, &world, &needs);
		assert_int_equal(needs.code, 0);
	}
}

static void a_name_that_is_there_is_not_made(void **state) {
	(void)state;
	const struct {
		const char *path;
		bool exclusive;
		const char *expected;
	} rows[] = {{"/w/above", false, "write /w/above/masked brought"},
		    {"/w/above", true, ""},
		    {"/w/above-new", true, "write /w/above-new/masked brought"}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct call call = {.class = CALL_NAMES,
				    .removes = {true},
				    .makes = {false, true},
				    .brings = true,
				    .exclusive = rows[i].exclusive,
				    .paths = {(char *)"/w/f", (char *)rows[i].path}};
		CLEANUP_FREE char *text = needs_text(&call, TRAPS_WRITES);
		assert_string_equal(text, rows[i].expected);
	}
}

static void changes_and_programs(void **state) {
	(void)state;
	const struct {
		enum call_class class;
		const char *path, *with_curtain, *without;
	} rows[] = {
		{CALL_CHANGE, "/w/f", "", ""},
		{CALL_CHANGE, "/read/f", "", ""},
		{CALL_CHANGE, "/ask/f", "write /ask/f", "write /ask/f"},
		{CALL_CHANGE, "/w/mask", "write /w/mask", "write /w/mask"},
		{CALL_CHANGE, "/w/pattern", "write /w/pattern", "write /w/pattern"},
		{CALL_CHANGE, "/w/new-pattern", "", ""}, /* nothing is there */
		{CALL_CHANGE, "/hidden/f", "write /hidden/f", "write /hidden/f"},
		{CALL_CHANGE, "/dev/tty", "", ""},
		{CALL_EXECUTE, "/read/f", "", ""},
		{CALL_EXECUTE, "/read/asked", "spawn /read/asked", "spawn /read/asked"},
		{CALL_EXECUTE, "/read/asked/new", "", ""},                                /* nothing is there */
		{CALL_EXECUTE, "/absent/asked", "", ""},                                  /* no oracle */
		{CALL_EXECUTE, "/read/script", "spawn /read/asked", "spawn /read/asked"}, /* by its #! line */
		{CALL_EXECUTE, "/w/script", "", ""},
		{CALL_EXECUTE, "/dev/shm/script", "spawn /read/asked", "spawn /read/asked"},
		{CALL_OPEN, "/read/asked", "", "spawn /read/asked"},
		{CALL_OPEN, "/read/asked/folder", "", ""},
		{CALL_EXECUTE, "/hidden/f", "", "read /hidden/f"},
		{CALL_EXECUTE, "/hidden/asked", "", "read /hidden/asked, spawn /hidden/asked"},
		{CALL_LOOK, "/ask/f", "", ""},
		{CALL_OTHER, "/ask/f", "", ""},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct call call = {.class = rows[i].class, .paths = {(char *)rows[i].path}};
		CLEANUP_FREE char *with = needs_text(&call, TRAPS_WRITES | TRAPS_PROGRAMS);
		CLEANUP_FREE char *without = needs_text(&call, TRAPS_OPENS | TRAPS_PROGRAMS);
		assert_string_equal(with, rows[i].with_curtain);
		assert_string_equal(without, rows[i].without);
	}
}

static void what_has_no_name_needs_its_interpreters_alone(void **state) {
	(void)state;
	for (int class = 0; class < CALL_CLASS_COUNT; class ++) {
		struct call call = {
			.class = (enum call_class) class, .write = true, .create = true, .makes = {true, true}};
		CLEANUP_FREE char *text = needs_text(&call, TRAPS_WRITES | TRAPS_PROGRAMS | TRAPS_OPENS);
		assert_string_equal(text, class == CALL_EXECUTE ? "spawn /read/asked" : "");
	}
}

static void what_would_be_lost_is_made_on_the_host(void **state) {
	(void)state;
	static const struct {
		struct call call;
		const char *expected;
	} rows[] = {
		{{.class = CALL_NAMES,
		  .name = "rename",
		  .brings = true,
		  .makes = {false, true},
		  .removes = {true},
		  .paths = {(char *)"/home/mounts", (char *)"/home/.x"},
		  .ways = {(char *)"a", (char *)"b"}},
		 " fails 16"},
		{{.class = CALL_OPEN, .write = true, .create = true, .paths = {(char *)"/lost/new"}},
		 "write /lost/new made"},
		{{.class = CALL_OPEN, .create = true, .paths = {(char *)"/lost/given-new"}}, " made"},
		{{.class = CALL_OPEN, .write = true, .create = true, .paths = {(char *)"/lost/there"}}, ""},
		{{.class = CALL_OPEN, .write = true, .paths = {(char *)"/lost/new"}}, ""},
		{{.class = CALL_OPEN, .create = true, .exclusive = true, .paths = {(char *)"/lost/new"}},
		 "write /lost/new made"},
		{{.class = CALL_NAMES,
		  .name = "unlink",
		  .removes = {true},
		  .paths = {(char *)"/w/made-here"},
		  .ways = {(char *)"x"}},
		 " made"},
		{{.class = CALL_NAMES,
		  .name = "unlink",
		  .removes = {true},
		  .paths = {(char *)"/w/other"},
		  .ways = {(char *)"x"}},
		 ""},
		{{.class = CALL_OPEN, .write = true, .create = true, .nameless = true, .paths = {(char *)"/lost/new"}},
		 ""},
		{{.class = CALL_NAMES,
		  .name = "mkdir",
		  .makes = {true},
		  .paths = {(char *)"/lost/new"},
		  .ways = {(char *)"new"}},
		 "write /lost/new made"},
		{{.class = CALL_NAMES,
		  .name = "mkdir",
		  .makes = {true},
		  .paths = {(char *)"/lost/there"},
		  .ways = {(char *)"there"}},
		 ""},
		{{.class = CALL_NAMES,
		  .name = "symlink",
		  .text = (char *)"x",
		  .brings = true,
		  .makes = {true},
		  .paths = {(char *)"/lost/new"},
		  .ways = {(char *)"new"}},
		 " made"}, /* links.h asks */
		{{.class = CALL_NAMES,
		  .name = "bind",
		  .special = true,
		  .makes = {true},
		  .paths = {(char *)"/lost/new"},
		  .ways = {(char *)"new"}},
		 " fails 30"},
		{{.class = CALL_NAMES,
		  .name = "rename",
		  .brings = true,
		  .makes = {false, true},
		  .removes = {true},
		  .paths = {(char *)"/home/part", (char *)"/lost/new"},
		  .ways = {(char *)"a", (char *)"b"}},
		 " fails 18"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *text = needs_text(&rows[i].call, TRAPS_WRITES);
		if (strcmp(text, rows[i].expected) != 0) fail_msg("%zu: '%s', not '%s'", i, text, rows[i].expected);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens),
		cmocka_unit_test(what_would_be_lost_is_made_on_the_host),
		cmocka_unit_test(the_host_is_looked_at_only_where_somebody_is_asked),
		cmocka_unit_test(names_change_their_folder),
		cmocka_unit_test(a_name_that_is_there_is_not_made),
		cmocka_unit_test(a_lock_of_gits_is_as_masked_as_its_file),
		cmocka_unit_test(what_is_masked_by_its_name_gets_no_other_one),
		cmocka_unit_test(a_descriptor_of_before_is_judged_by_the_mask),
		cmocka_unit_test(changes_and_programs),
		cmocka_unit_test(what_has_no_name_needs_its_interpreters_alone),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	strings_finish(&looked_up);
	return r;
}
