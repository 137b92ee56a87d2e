#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "prompt/prompt_answers.h"
#include "support/cmocka.h"
#include "ui/file_words.h"
#include "ui/prompt_text.h"
#include "ui/socket_words.h"

static struct prompt sample(void) {
	struct prompt prompt = {.id = 3,
				.session = 9,
				.permission = permission_of(PERMISSION_NET_ACCESS),
				.deadline_ms = 60000,
				.profile = string_copy("default"),
				.project = string_copy("/home/ada/app"),
				.target = string_copy("svc.test:8443"),
				.process = string_copy("curl (412)"),
				.why = string_copy("ask rule at builtin/default.yaml:7")};
	strings_add(&prompt.parents, "bash (400)");
	strings_add(&prompt.parents, "npm (390)");
	return prompt;
}

static void all_that_must_be_shown_is_shown(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	prompt_describe(&prompt, 2000, 80, &text);
	assert_string_equal(text.data, "sbx: curl wants to connect to:\n"
				       "  target   svc.test:8443\n"
				       "  asked by npm › bash › curl (pid 412, session 9; name not verified)\n"
				       "  project  ~/app (profile default)\n"
				       "  rule     ask rule at builtin/default.yaml:7\n"
				       "  prompt   3, 58s left\n");
}

/* What a socket means stands beside its path. */
static void what_a_well_known_socket_means_is_said(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	prompt.permission = permission_of(PERMISSION_IPC_CONNECT);
	free(prompt.target);
	prompt.target = string_copy("/run/docker.sock");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data,
			       "sbx: curl wants to connect to the socket:\n"
			       "  target   /run/docker.sock\n"
			       "  that is  Docker: who talks to it can do on this machine whatever Docker can,\n"
			       "           mostly all that root can\n"));
	assert_non_null(strstr(socket_meaning("/tmp/ssh-XYZ/agent.77"), "ssh-agent"));
	assert_non_null(strstr(socket_meaning("/run/user/1000/gnupg/S.gpg-agent.ssh"), "gpg-agent"));
	assert_null(socket_meaning("/srv/app.sock"));
}

static void a_link_is_shown_with_where_it_leads(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	prompt.permission = permission_of(PERMISSION_FS_LINK);
	free(prompt.target);
	prompt.target = string_copy("/home/ada/.bashrc");
	prompt.name = string_copy("/home/ada/app/package-lock.json");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data, "sbx: curl wants to make a link to:\n"
					  "  target   /home/ada/.bashrc\n"
					  "  the link /home/ada/app/package-lock.json\n"
					  "  that is "));
	CLEANUP_FREE char *line = prompt_target(&prompt);
	assert_string_equal(line, "/home/ada/.bashrc (as /home/ada/app/package-lock.json)");
}

static void why_a_mask_asks_is_said(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0}, read = {0};
	prompt.permission = permission_of(PERMISSION_FS_WRITE);
	free(prompt.target);
	prompt.target = string_copy("/home/ada/app/.git/hooks");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data,
			       "\n  that is  git's: git runs what is written there outside the sandbox, when you\n"
			       "           use it\n"));
	prompt.permission = permission_of(PERMISSION_FS_READ);
	prompt_describe(&prompt, 2000, 80, &read);
	assert_null(strstr(read.data, "that is"));
	assert_ptr_equal(file_meaning("/srv/a/.git/hooks/pre-commit"), file_meaning("/srv/a/.git/modules/x/y/config"));
	assert_null(file_meaning("/srv/a/.git/hooksome"));
	assert_null(file_meaning("/srv/a/.git"));
	assert_null(file_meaning("/srv/a/config"));
}

/* A permission of the user's own by the words of its policy; the summary of a flood likewise. */
static void what_a_policy_calls_it_is_shown(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	assert_int_equal(permission_parse("db:access", &prompt.permission, NULL), 0);
	prompt.description = string_copy("use the\tdatabase");
	free(prompt.target);
	prompt.target = string_copy("prod");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data, "sbx: curl wants to use the\\tdatabase:\n  target   prod\n"));
}

static void the_name_of_a_process_is_its_own_word(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_FREE char *named = prompt_asker(&prompt);
	assert_string_equal(named, "npm › bash › curl (pid 412, session 9; name not verified)");
	CLEANUP_FREE char *chain = prompt_chain(&prompt);
	assert_string_equal(chain, "npm › bash › curl (412)");
	free(STEAL(prompt.process)); /* the loopback proxy can't tell */
	CLEANUP_FREE char *nameless = prompt_asker(&prompt);
	assert_string_equal(nameless, "a process in session 9");
	CLEANUP_FREE char *who = prompt_who(&prompt);
	assert_string_equal(who, "session 9");
	prompt.bundle = prompt.id;
	CLEANUP_FREE char *starting = prompt_asker(&prompt);
	assert_string_equal(starting, "session 9, before its tool starts");
	prompt.session = 0;
	CLEANUP_FREE char *unknown = prompt_who(&prompt);
	assert_string_equal(unknown, "a process");
}

/* Who asks is the subject of our own sentence: a name of more than a plain word can't go on in it. */
static void attack_b09_a_name_does_not_read_on_into_the_sentence(void **state) {
	static const struct {
		const char *process, *who;
	} cases[] = {{"curl (412)", "curl"},
		     {"g++-12 (1)", "g++-12"},
		     {"(412)", "«(412)»"},
		     {" (412)", "«»"},
		     {"", "«»"},
		     {"x (9) (412)", "«x (9)»"},
		     {"sbx: denied, (3)", "«sbx: denied,»"},
		     {"a\nb (3)", "«a\\nb»"},
		     {"ls is harmless and wants to say so", "«ls is har… to say so»"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PROMPT struct prompt prompt = sample();
		free(prompt.process);
		prompt.process = string_copy(cases[i].process);
		CLEANUP_FREE char *who = prompt_who(&prompt);
		assert_string_equal(who, cases[i].who);
	}
}

/* What the user typed is no word of the tool's. */
static void who_asks_is_what_the_user_started(void **state) {
	static const struct {
		const char *command, *who;
	} cases[] = {{"npm install express", "npm"},
		     {"/usr/bin/node x.js", "node"},
		     {"./tool", "tool"},
		     {"", "curl"},
		     {"a-name-that-is-longer-than-a-name-should-be", "a-name-tha…e-should-be"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PROMPT struct prompt prompt = sample();
		prompt.command = string_copy(cases[i].command);
		CLEANUP_FREE char *who = prompt_who(&prompt);
		assert_string_equal(who, cases[i].who);
	}
}

static void what_a_folder_is_asked_for_is_shown_with_it(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	prompt.permission = permission_of(PERMISSION_FS_WRITE);
	prompt.description = string_copy("read and write everything in");
	free(prompt.target);
	prompt.target = string_copy("/home/ada/notes");
	prompt.name = string_copy("/home/ada/notes/to\ndo.txt");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data, "sbx: curl wants to read and write everything in:\n"
					  "  target   /home/ada/notes\n"
					  "  for      /home/ada/notes/to\\ndo.txt\n"));
}

static void the_other_host_that_the_first_bytes_ask_for_is_shown(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0};
	prompt.name = string_copy("other.test");
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data,
			       "  target   svc.test:8443 (its first bytes ask for other.test, which must be\n"
			       "           allowed, too)\n"));
	assert_null(strstr(text.data, "\n  for "));
}

/* Long names of its own choice in the first bytes would push the end of the host out of sight. */
static void attack_b09_the_end_of_the_host_is_seen(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string text = {0}, name = {0};
	while (name.size < 240) string_append(&name, "api.example.org.");
	free(prompt.target);
	prompt.target = string_format("%sevil.test:443", name.data);
	prompt.name = string_copy(name.data);
	prompt_describe(&prompt, 2000, 80, &text);
	assert_non_null(strstr(text.data, ".evil.test:443\n"));
	assert_null(strstr(text.data, "first bytes"));
}

static void attack_b09_a_name_is_one_link_of_the_chain(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	free(prompt.process);
	prompt.process = string_copy("git › npm (1)");
	strings_add(&prompt.parents, "a (b) › (7)");
	strings_add(&prompt.parents, "(12)");
	strings_add(&prompt.parents, "x (9) (10)");
	CLEANUP_FREE char *named = prompt_asker(&prompt);
	assert_string_equal(named, "x (9) › (12) › a (b) ??? › npm › bash › git ??? npm (pid 1, session 9; name not "
				   "verified)");
}

static void assert_harmless(const char *text, size_t width) {
	CLEANUP_FREE char *copy = string_copy(text);
	for (const char *p = text; *p; p++) assert_true((unsigned char)*p >= ' ' || *p == '\n');
	assert_null(strstr(text, "\xe2\x80\xae"));
	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
		assert_true(text_columns(line) <= width);
		/* What a tool says never begins a line: it stands behind a label or indented below one. */
		assert_true(string_starts(line, "sbx: curl wants to") || string_starts(line, "sbx: «x\\nsbx: ") ||
			    string_starts(line, "  "));
	}
}

static void attack_b09_hostile_texts_can_not_look_like_ours(void **state) {
	(void)state;
	static const char hostile[] = "x\nsbx: curl wants to read nothing?\r\x1b[2J\x1b]0;t\x07\xe2\x80\xae\xff";
	for (size_t width = 40; width <= 80; width += 8) {
		CLEANUP_PROMPT struct prompt prompt = sample();
		char **texts[] = {&prompt.target,  &prompt.profile, &prompt.project, &prompt.name,
				  &prompt.process, &prompt.why,     &prompt.reason};
		for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
			free(*texts[i]);
			*texts[i] = string_copy(hostile);
		}
		strings_add(&prompt.parents, hostile);
		CLEANUP_STRING struct string text = {0};
		prompt_describe(&prompt, 0, width, &text);
		assert_harmless(text.data, width);
	}
}

/* Whoever can't see its middle doesn't know what an allow is about. */
static void attack_r_19_a_long_target_is_shown_whole(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample();
	CLEANUP_STRING struct string target = {0}, text = {0}, shown = {0};
	for (int i = 0; i < 400; i++) string_appendf(&target, "/%04d-name", i);
	free(prompt.target);
	prompt.target = string_copy(target.data);
	prompt.permission = permission_of(PERMISSION_FS_WRITE);
	prompt_describe(&prompt, 0, 80, &text);
	assert_harmless(text.data, 80);
	const char *end = strstr(text.data, "\n  asked by");
	for (const char *at = strstr(text.data, "/0000-name"); at && at < end; at++)
		if (!strchr("\n ", *at)) string_append_char(&shown, *at);
	assert_string_equal(shown.data, target.data);
}

/* In a list each has a line or two: a name of any length takes none of the words that say what an allow covers. */
static void attack_b09_a_long_name_hides_no_folder(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	for (size_t width = 40; width <= 80; width += 8) {
		for (size_t rows = 15; rows <= 24; rows += 9) {
			for (size_t size = 10; size <= 250; size += 60) {
				struct prompt prompts[] = {sample(), sample()};
				for (size_t i = 0; i < ARRAY_LENGTH(prompts); i++) {
					CLEANUP_FREE char *name = string_format("%0*d", (int)size, 0);
					free(prompts[i].target);
					prompts[i].target =
						string_format("/home/ada/work/monorepo/services/api/%s", name);
					prompts[i].permission = permission_of(PERMISSION_FS_WRITE);
					strings_add(&prompts[i].scopes, i == 0 ? "folder" : "exact");
				}
				CLEANUP_STRING struct string text = {0}, flat = {0};
				prompt_answers_things(prompts, 2, 0, width, rows, &text);
				for (char *p = text.data; *p; p++) /* where it was broken */
					if (*p == '\n' || *p == ' ')
						p += strspn(p, " \n") - 1;
					else
						string_append_char(&flat, *p);
				const char *words = strstr(flat.data ? flat.data : "", "(andallin~");
				assert_non_null(words);
				assert_true(strstr(words, ")2r"));                   /* at its end */
				assert_null(strstr(words + 1, "(andallin"));         /* of the first alone */
				assert_true(width < 80 || strstr(words, "s/api)2")); /* and by its name */
				for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
					assert_true(text_columns(line) <= width);
				for (size_t i = 0; i < ARRAY_LENGTH(prompts); i++) prompt_finish(&prompts[i]);
			}
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_must_be_shown_is_shown),
		cmocka_unit_test(what_a_policy_calls_it_is_shown),
		cmocka_unit_test(what_a_well_known_socket_means_is_said),
		cmocka_unit_test(a_link_is_shown_with_where_it_leads),
		cmocka_unit_test(why_a_mask_asks_is_said),
		cmocka_unit_test(the_name_of_a_process_is_its_own_word),
		cmocka_unit_test(what_a_folder_is_asked_for_is_shown_with_it),
		cmocka_unit_test(the_other_host_that_the_first_bytes_ask_for_is_shown),
		cmocka_unit_test(attack_b09_the_end_of_the_host_is_seen),
		cmocka_unit_test(attack_b09_a_long_name_hides_no_folder),
		cmocka_unit_test(attack_b09_a_name_is_one_link_of_the_chain),
		cmocka_unit_test(attack_b09_a_name_does_not_read_on_into_the_sentence),
		cmocka_unit_test(who_asks_is_what_the_user_started),
		cmocka_unit_test(attack_b09_hostile_texts_can_not_look_like_ours),
		cmocka_unit_test(attack_r_19_a_long_target_is_shown_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
