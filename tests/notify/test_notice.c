/* What a notification says: all of it bounded, visible, escaped; which buttons it has. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "notice.h"
#include "support/cmocka.h"

static const struct notice_manner with_markup = {.buttons = true, .markup = true, .now_ms = 2000};
static const struct notice_manner plain = {.buttons = true, .now_ms = 2000};
static const struct notice_manner no_buttons = {.now_ms = 2000};

static struct prompt sample(int64_t id, enum permission_kind kind, const char *target) {
	struct prompt prompt = {.id = id,
				.session = 9,
				.permission = permission_of(kind),
				.deadline_ms = 60000,
				.lifetime_ms = INT64_C(3600) * 1000,
				.profile = string_copy("npm"),
				.project = string_copy("/home/ada/app"),
				.target = string_copy(target),
				.process = string_copy("curl (412)"),
				.why = string_copy("ask rule at builtin/npm.yaml:7")};
	strings_add(&prompt.parents, "npm (390)");
	strings_add(&prompt.scopes, "exact");
	return prompt;
}

static void ask_one(const struct prompt *prompt, const struct notice_manner *manner, struct notice *ret) {
	const struct notice_questions questions = {.prompts = {prompt}, .count = 1};
	notice_ask(&questions, manner, ret);
}

static void expect_labels(const struct notice *notice, size_t count, const char *const *labels) {
	assert_int_equal(notice->button_count, count);
	for (size_t i = 0; i < count; i++) assert_string_equal(notice->buttons[i].label, labels[i]);
}
#define EXPECT_LABELS(notice, ...)                                                                                     \
	expect_labels(notice, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                             \
		      (const char *const[]){__VA_ARGS__})

static void all_that_must_be_shown_is_shown(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_string_equal(notice.summary, "sbx: npm wants to connect to …");
	assert_string_equal(notice.body, "<b>example.org:443</b>\n"
					 "Asked by: a process in session 9, calls itself «npm › curl (412)»\n"
					 "Profile npm, project ~/app\n"
					 "Rule: ask rule at builtin/npm.yaml:7\n"
					 "Prompt 12, 58s left, until 00:01:00");
	EXPECT_LABELS(&notice, "Deny", "Allow 1 hour", "Always here");
	assert_int_equal(notice.expire_ms, 58000);
	assert_int_equal(notice.buttons[0].effect, EFFECT_DENY);
	assert_int_equal(notice.buttons[0].lifetime, LIFETIME_ONCE);
	assert_int_equal(notice.buttons[1].lifetime, LIFETIME_UNTIL);
	assert_int_equal(notice.buttons[2].lifetime, LIFETIME_ALWAYS);
}

/* All that a tool can choose, with what could be taken for markup, lines and hidden characters in it. */
static void attack_broker_09_a_tools_words_are_escaped_in_a_notification(void **state) {
	(void)state;
	static const char hostile[] = "<b>x</b>&amp;<a href=\"http://evil.test\">\nProfile root\x1b[2J\xe2\x80\xae'";
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_READ, hostile);
	free(prompt.process);
	prompt.process = string_copy(hostile);
	prompt.reason = string_copy(hostile);
	strings_add(&prompt.parents, hostile);
	free(prompt.project);
	prompt.project = string_copy(hostile);
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	const char *body = notice.body;
	assert_true(string_starts(body, "<b>&lt;b&gt;x&lt;/b&gt;&amp;amp;&lt;a href=&quot;http://evil.test&quot;&gt;"));
	assert_null(strstr(body, "\nProfile root"));
	assert_null(strchr(body, '\x1b'));
	assert_null(strstr(body, "\xe2\x80\xae"));
	size_t tags = 0;
	for (const char *p = body; (p = strchr(p, '<')); p++) tags++;
	assert_int_equal(tags, 2); /* our own <b> and </b> */
	assert_null(strchr(notice.summary, '<'));
	const struct notice_questions questions = {.prompts = {&prompt, &prompt}, .count = 2};
	CLEANUP_NOTICE struct notice several;
	notice_ask(&questions, &with_markup, &several);
	assert_null(strchr(several.body, '<'));
	assert_null(strchr(several.body, '\x1b'));
}

static void a_server_without_markup_gets_none(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_READ, "/home/ada/a&b<c>");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_true(string_starts(notice.body, "/home/ada/a&b<c>\n"));
}

static void a_long_target_loses_its_middle_and_the_whole_is_bounded(void **state) {
	(void)state;
	char target[4001] = "/home/ada/";
	memset(target + 10, 'x', 3980);
	memcpy(target + 3990, "/the-end", 9);
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_WRITE, target);
	prompt.reason = string_copy(target);
	for (int i = 0; i < 8; i++) strings_add(&prompt.parents, target);
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_non_null(strstr(notice.body, "…"));
	assert_non_null(strstr(notice.body, "/the-end</b>"));
	assert_true(strlen(notice.body) < 1500);
}

static void urgency_goes_by_risk(void **state) {
	(void)state;
	static const struct {
		enum permission_kind kind;
		bool confirm;
		enum notice_urgency urgency;
	} rows[] = {{PERMISSION_FS_READ, false, URGENCY_NORMAL},      {PERMISSION_ENV_READ, false, URGENCY_NORMAL},
		    {PERMISSION_NET_ACCESS, false, URGENCY_NORMAL},   {PERMISSION_FS_WRITE, false, URGENCY_NORMAL},
		    {PERMISSION_PROC_SPAWN, false, URGENCY_CRITICAL}, {PERMISSION_IPC_CONNECT, false, URGENCY_CRITICAL},
		    {PERMISSION_FS_READ, true, URGENCY_CRITICAL}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_PROMPT struct prompt prompt = sample(1, rows[i].kind, "/x");
		prompt.confirm_terminal = rows[i].confirm;
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		assert_int_equal(notice.urgency, rows[i].urgency);
	}
}

static void what_needs_a_terminal_has_no_button(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_READ, "/home/ada/.ssh");
	prompt.confirm_terminal = true;
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_int_equal(notice.button_count, 0);
	assert_non_null(strstr(notice.body, "\nOnly in a terminal: sbx allow 12 · sbx deny 12"));
}

static void a_server_without_buttons_is_told_the_command(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &no_buttons, &notice);
	assert_int_equal(notice.button_count, 0);
	assert_non_null(strstr(notice.body, "\nAnswer in a terminal: sbx allow 12 · sbx deny 12"));
}

static void several_are_listed_and_answered_together(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt a = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_PROMPT struct prompt b = sample(13, PERMISSION_FS_READ, "/home/ada/.npmrc");
	b.lifetime_ms = INT64_C(15) * 60 * 1000;
	const struct notice_questions questions = {.prompts = {&a, &b}, .count = 2, .terminal_only = 1};
	CLEANUP_NOTICE struct notice notice;
	notice_ask(&questions, &plain, &notice);
	assert_string_equal(notice.summary, "sbx: npm asks for 2 things");
	assert_string_equal(notice.body, "• connect to example.org:443 [12]\n"
					 "• read /home/ada/.npmrc [13]\n"
					 "Asked by: a process in session 9, calls itself «npm › curl (412)»\n"
					 "Profile npm, project ~/app\n"
					 "58s left, until 00:01:00\n"
					 "One by one: sbx allow NUMBER · sbx deny NUMBER\n"
					 "Not among these: 1 more, for a terminal only: sbx prompts");
	EXPECT_LABELS(&notice, "Deny all", "Allow all 15 minutes"); /* the shortest of them */
	assert_int_equal(notice.buttons[1].ttl_ms, b.lifetime_ms);
}

static void of_several_sessions_each_says_whose_it_is(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt a = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_PROMPT struct prompt b = sample(13, PERMISSION_FS_READ, "/etc/x");
	free(b.profile);
	b.profile = string_copy("pip");
	b.session = 10;
	const struct notice_questions questions = {.prompts = {&a, &b}, .count = 2};
	CLEANUP_NOTICE struct notice notice;
	notice_ask(&questions, &plain, &notice);
	assert_string_equal(notice.summary, "sbx: 2 questions wait");
	assert_non_null(strstr(notice.body, "• npm: connect to example.org:443, asked by a process in session 9"));
	assert_non_null(strstr(notice.body, "• pip: read /etc/x, asked by a process in session 10"));
}

/* An answer on the desktop means the first scope that is offered, as in the terminal: it is said. */
static void what_an_allow_covers_beyond_the_target_is_said(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_WRITE, "/home/ada/notes/todo.txt");
	strings_finish(&prompt.scopes);
	prompt.scopes = (struct strings){0};
	strings_add(&prompt.scopes, "folder");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_non_null(strstr(notice.body, "\nAn allow covers the folder: ~/notes\n"));
	const struct notice_questions questions = {.prompts = {&prompt, &prompt}, .count = 2};
	CLEANUP_NOTICE struct notice several;
	notice_ask(&questions, &plain, &several);
	assert_non_null(strstr(several.body, "todo.txt (with the folder ~/notes) [12]"));
}

/* The summary of a flood makes no grant, so no lifetime is offered; still two buttons, never a lone one. */
static void may_it_ask_on_is_yes_or_no(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "64 questions");
	prompt.permission = permission_ask();
	prompt.description = string_copy("ask you more");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_string_equal(notice.summary, "sbx: npm wants to ask you more …");
	EXPECT_LABELS(&notice, "Deny", "Let it ask on");
}

static void attack_broker_08_a_key_is_a_buttons_only_with_this_token(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	for (size_t i = 0; i < notice.button_count; i++) {
		CLEANUP_FREE char *key = notice_key(&notice.buttons[i], "0123");
		assert_ptr_equal(notice_find(&notice, "0123", key), &notice.buttons[i]);
		assert_null(notice_find(&notice, "4567", key));
		assert_string_not_equal(notice.buttons[i].verb, "default");
	}
	static const char *const wrong[] = {"",          "default",     "allow", "allow-",
					    "allow-012", "allow-01234", "0123",  "-0123"};
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) assert_null(notice_find(&notice, "0123", wrong[i]));
}

static void what_expired_unseen_is_told(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings lines = {0};
	strings_add(&lines, "npm: read /a<b");
	CLEANUP_NOTICE struct notice notice;
	notice_missed(3, &lines, &with_markup, &notice);
	assert_string_equal(notice.summary, "sbx: 3 questions expired while you were not disturbed");
	assert_non_null(strstr(notice.body, "• npm: read /a&lt;b\nand 2 more\n"));
	assert_int_equal(notice.button_count, 0);
}

int main(void) {
	setenv("HOME", "/home/ada", 1);
	setenv("TZ", "UTC", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_must_be_shown_is_shown),
		cmocka_unit_test(attack_broker_09_a_tools_words_are_escaped_in_a_notification),
		cmocka_unit_test(a_server_without_markup_gets_none),
		cmocka_unit_test(a_long_target_loses_its_middle_and_the_whole_is_bounded),
		cmocka_unit_test(urgency_goes_by_risk),
		cmocka_unit_test(what_needs_a_terminal_has_no_button),
		cmocka_unit_test(a_server_without_buttons_is_told_the_command),
		cmocka_unit_test(several_are_listed_and_answered_together),
		cmocka_unit_test(of_several_sessions_each_says_whose_it_is),
		cmocka_unit_test(what_an_allow_covers_beyond_the_target_is_said),
		cmocka_unit_test(may_it_ask_on_is_yes_or_no),
		cmocka_unit_test(attack_broker_08_a_key_is_a_buttons_only_with_this_token),
		cmocka_unit_test(what_expired_unseen_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
