/* What a notification says: all of it bounded, visible, escaped; which buttons it has. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "lines.h"
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
				.project = string_copy("/home/ada/shop"),
				.command = string_copy("npm install"),
				.target = string_copy(target),
				.process = string_copy("curl (412)"),
				.why = string_copy("ask rule at builtin/npm.yaml:7")};
	strings_add(&prompt.parents, "npm (390)");
	strings_add(&prompt.scopes, "exact");
	return prompt;
}

/* Without the invisible signs of links, which have a test of their own. */
static void ask_all(const struct notice_questions *questions, const struct notice_manner *manner, struct notice *ret) {
	static const char joiner[] = "\xe2\x81\xa0";
	notice_ask(questions, manner, ret);
	for (char *p = ret->body; (p = strstr(p, joiner));) memmove(p, p + 3, strlen(p + 3) + 1);
}

static void ask_one(const struct prompt *prompt, const struct notice_manner *manner, struct notice *ret) {
	const struct notice_questions questions = {.prompts = {prompt}, .count = 1};
	ask_all(&questions, manner, ret);
}

static void expect_labels(const struct notice *notice, size_t count, const char *const *labels) {
	assert_int_equal(notice->button_count, count);
	for (size_t i = 0; i < count; i++) assert_string_equal(notice->buttons[i].label, labels[i]);
}
#define EXPECT_LABELS(notice, ...)                                                                                     \
	expect_labels(notice, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                             \
		      (const char *const[]){__VA_ARGS__})

/* The first lines of it, which are all that some servers show, without markup. */
static char *seen(const char *body) {
	struct string out = {0};
	for (const char *line = body; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		CLEANUP_FREE char *own = string_copy_bytes(line, strcspn(line, "\n"));
		CLEANUP_FREE char *more = string_format("%s%s%s", out.data ? out.data : "", out.size ? "\n" : "", own);
		if (lines_of(more) > LINES_SHOWN) break;
		string_appendf(&out, "%s%s", out.size ? "\n" : "", own);
	}
	return string_steal(&out);
}

static const struct notice_button *button(const struct notice *notice, const char *verb) {
	for (size_t i = 0; i < notice->button_count; i++)
		if (strcmp(notice->buttons[i].verb, verb) == 0) return &notice->buttons[i];
	return NULL;
}

static void a_glance_tells_who_what_where_and_until_when(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_READ, "/home/ada/notes/plan.md");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_string_equal(notice.summary, "npm wants to read a file");
	assert_true(string_starts(notice.body, "<b>~/notes/plan.md</b>\n"
					       "npm install · ~/shop · waits until 00:01:00\n"
					       "Asked by: "));
	assert_non_null(strstr(notice.body, "\nProfile npm, project ~/shop\nRule: ask rule at builtin/npm.yaml:7\n"
					    "Prompt 12"));
	EXPECT_LABELS(&notice, "Deny", "Allow reading 1 hour", "Always, in this project");
	assert_int_equal(notice.expire_ms, 58000);
	assert_int_equal(notice.buttons[0].effect, EFFECT_DENY);
	assert_int_equal(notice.buttons[0].lifetime, LIFETIME_ONCE);
	assert_int_equal(notice.buttons[1].lifetime, LIFETIME_UNTIL);
	assert_int_equal(notice.buttons[2].lifetime, LIFETIME_ALWAYS);
}

/* One that is too narrow for three cuts off text as well. */
static void a_narrow_server_has_two_buttons(void **state) {
	(void)state;
	static const struct notice_manner narrow = {.buttons = true, .narrow = true, .now_ms = 2000};
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &narrow, &notice);
	EXPECT_LABELS(&notice, "Deny", "Allow connecting 1 hour");
}

/* What the user started; where that isn't known nobody's own name for itself stands there. */
static void who_asks_is_what_the_user_started(void **state) {
	(void)state;
	static const struct {
		const char *command, *summary;
	} rows[] = {{"/usr/bin/npm install", "npm wants to connect to a server"},
		    {"sh -c 'curl x'", "sh wants to connect to a server"},
		    {"/opt/a-very-long-name-of-a-program", "a-very-…-program wants to connect to a server"},
		    {NULL, "profile npm wants to connect to a server"},
		    {"", "profile npm wants to connect to a server"}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
		free(prompt.command);
		prompt.command = string_copy_or_null(rows[i].command);
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		assert_string_equal(notice.summary, rows[i].summary);
		assert_null(strstr(notice.summary, "curl"));
	}
}

static void a_button_names_what_it_gives(void **state) {
	(void)state;
	static const struct {
		enum permission_kind kind;
		const char *description, *summary, *label;
	} rows[] = {
		{PERMISSION_FS_READ, NULL, "npm wants to read a file", "Allow reading 1 hour"},
		{PERMISSION_FS_READ, "read everything in", "npm wants to read a whole folder", "Allow reading 1 hour"},
		{PERMISSION_FS_WRITE, NULL, "npm wants to read and write a file", "Allow read/write 1 hour"},
		{PERMISSION_FS_WRITE, "read and write everything in", "npm wants to read and write a whole folder",
		 "Allow read/write 1 hour"},
		{PERMISSION_FS_LINK, NULL, "npm wants to make a link", "Allow the link 1 hour"},
		{PERMISSION_NET_ACCESS, NULL, "npm wants to connect to a server", "Allow connecting 1 hour"},
		{PERMISSION_NET_LISTEN, NULL, "npm wants to open a port on this machine", "Allow the port 1 hour"},
		{PERMISSION_PROC_SPAWN, NULL, "npm wants to run a program", "Allow running 1 hour"},
		{PERMISSION_IPC_CONNECT, NULL, "npm wants to connect to a socket", "Allow connecting 1 hour"},
		{PERMISSION_ENV_READ, NULL, "npm wants to read a variable", "Allow reading 1 hour"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_PROMPT struct prompt prompt = sample(12, rows[i].kind, "/srv/x");
		prompt.description = string_copy_or_null(rows[i].description);
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		assert_string_equal(notice.summary, rows[i].summary);
		EXPECT_LABELS(&notice, "Deny", rows[i].label, "Always, in this project");
	}
	CLEANUP_PROMPT struct prompt typed = sample(12, PERMISSION_FS_READ, "/srv/x");
	free(typed.command);
	typed.command = string_copy("/usr/bin/npm install");
	CLEANUP_NOTICE struct notice named;
	ask_one(&typed, &plain, &named);
	assert_true(string_starts(named.body, "/srv/x\nnpm install · ~/shop · "));
	CLEANUP_PROMPT struct prompt port = sample(12, PERMISSION_NET_LISTEN, "3000");
	CLEANUP_NOTICE struct notice opened;
	ask_one(&port, &plain, &opened);
	assert_true(string_starts(opened.body, "port 3000\n"));
	struct permission own;
	assert_int_equal(permission_parse("db:access", &own, NULL), 0);
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_CUSTOM, "orders");
	prompt.permission = own;
	free(STEAL(prompt.project));
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_string_equal(notice.summary, "npm wants to use db:access");
	EXPECT_LABELS(&notice, "Deny", "Allow db:access 1 hour", "Always, anywhere");
}

/* All that a tool can choose, with what could be taken for markup, lines and hidden characters in it. */
static void attack_broker_09_a_tools_words_are_escaped_in_a_notification(void **state) {
	(void)state;
	static const char hostile[] = "<b>x</b>&amp;<a href=\"x\">\nProfile root\x1b[2J\xe2\x80\xae'";
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
	assert_true(string_starts(body, "<b>…/b&gt;&amp;amp;&lt;a href=&quot;x&quot;&gt;"));
	assert_null(strstr(body, "\nProfile root"));
	assert_null(strchr(body, '\x1b'));
	assert_null(strstr(body, "\xe2\x80\xae"));
	size_t tags = 0;
	for (const char *p = body; (p = strchr(p, '<')); p++) tags++;
	assert_int_equal(tags, 2); /* our own <b> and </b> */
	assert_null(strchr(notice.summary, '<'));
	free(prompt.command);
	prompt.command = string_copy(hostile);
	const struct notice_questions questions = {.prompts = {&prompt, &prompt}, .count = 2};
	CLEANUP_NOTICE struct notice several;
	ask_all(&questions, &with_markup, &several);
	assert_null(strchr(several.body, '<'));
	assert_null(strchr(several.body, '\x1b'));
}

/* What GNOME Shell makes links of (findUrls, misc/util.js of version 43), wherever it stands. */
static bool has_link(const char *body) {
	regex_t link;
	assert_int_equal(regcomp(&link, "(https?|ftp)://|www[0-9]{0,3}[.]|[a-z0-9.-]+[.][a-z]{2,4}/",
				 REG_EXTENDED | REG_ICASE | REG_NOSUB),
			 0);
	const bool found = regexec(&link, body, 0, NULL, 0) == 0;
	regfree(&link);
	return found;
}

/* A link opens the browser, outside of the sandbox, with what a tool has written into it. */
static void attack_r_16_no_part_of_a_body_is_a_link(void **state) {
	(void)state;
	static const char *const hostile[] = {"see www.ab.co/?k=secret",
					      "HTTP://evil.example/?k=secret",
					      "evil.example/secret",
					      "ftp://x",
					      "WWW12.x y",
					      "..co/secret",
					      "a-.co/secret",
					      "(www.ab.co)",
					      "/srv/a.b/www.c.de/x",
					      "x.www.ab.co:443"};
	assert_true(has_link("a www.x") && has_link("http://x") && has_link("..co/") && !has_link("a.b"));
	for (size_t i = 0; i < ARRAY_LENGTH(hostile); i++) {
		for (enum permission_kind kind = 0; kind < PERMISSION_CUSTOM; kind++) {
			CLEANUP_PROMPT struct prompt prompt = sample(12, kind, hostile[i]);
			char **const texts[] = {&prompt.process, &prompt.command, &prompt.project, &prompt.why,
						&prompt.profile, &prompt.name,    &prompt.reason};
			for (size_t k = 0; k < ARRAY_LENGTH(texts); k++) {
				free(*texts[k]);
				*texts[k] = string_copy(hostile[i]);
			}
			strings_add(&prompt.parents, hostile[i]);
			const struct notice_questions one = {.prompts = {&prompt}, .count = 1, .note = hostile[i]};
			const struct notice_questions two = {.prompts = {&prompt, &prompt}, .count = 2};
			CLEANUP_NOTICE struct notice single, several, told;
			notice_ask(&one, &with_markup, &single);
			notice_ask(&two, &no_buttons, &several);
			CLEANUP_STRINGS struct strings lines = {0};
			strings_take(&lines, notice_line(&prompt));
			notice_missed(1, &lines, &plain, &told);
			assert_false(has_link(single.body) || has_link(several.body) || has_link(told.body));
		}
	}
}

static void a_server_without_markup_gets_none(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_READ, "/home/ada/a&b<c>");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_true(string_starts(notice.body, "~/a&b<c>\n"));
}

/* Never its middle, and never what it is known by: then nothing can be allowed by a button. */
static void a_long_target_loses_its_head(void **state) {
	(void)state;
	static const struct {
		enum permission_kind kind;
		const char *before, *filling, *after, *shown;
		bool whole;
	} rows[] = {
		{PERMISSION_FS_READ, "/srv", "/some-folder", "/notes/plan.md", "/some-folder/notes/plan.md\n", true},
		{PERMISSION_FS_READ, "/srv/", "x", "/notes/plan.md", "…/notes/plan.md\n", true},
		{PERMISSION_FS_READ, "/srv/", "x", ".md", "xx.md\n", false},
		{PERMISSION_NET_ACCESS, "accounts.bank.test.", "long.", "evil.example:443", "long.evil.example:443\n",
		 true},
		{PERMISSION_NET_ACCESS, "accounts.bank.test.", "x", ".co.uk:443", "x.co.uk:443\n", false},
		{PERMISSION_CUSTOM, "", "orders ", "of ada", "orders of ada\n", false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_STRING struct string target = {0};
		string_append(&target, rows[i].before);
		while (target.size < 240) string_append(&target, rows[i].filling);
		string_append(&target, rows[i].after);
		CLEANUP_PROMPT struct prompt prompt = sample(12, rows[i].kind, target.data);
		if (rows[i].kind == PERMISSION_CUSTOM) permission_parse("db:access", &prompt.permission, NULL);
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		CLEANUP_FREE char *first = string_copy_bytes(notice.body, strcspn(notice.body, "\n") + 1);
		assert_true(string_starts(first, "…"));
		assert_null(strstr(first + 1, "…"));
		assert_true(string_ends(first, rows[i].shown));
		assert_true(lines_of(first) <= 4); /* the last one is empty */
		assert_int_equal(button(&notice, "allow") != NULL, rows[i].whole);
		assert_int_equal(button(&notice, "review") != NULL, !rows[i].whole);
	}
}

static void all_of_it_is_bounded(void **state) {
	(void)state;
	char target[4001] = "/home/ada/";
	memset(target + 10, 'x', 3980);
	memcpy(target + 3990, "/the-end", 9);
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_WRITE, target);
	prompt.reason = string_copy(target);
	free(prompt.command);
	prompt.command = string_copy(target);
	for (int i = 0; i < 8; i++) strings_add(&prompt.parents, target);
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_non_null(strstr(notice.body, "…/the-end</b>"));
	assert_true(strlen(notice.body) < 1500);
	assert_true(strlen(notice.summary) < 80);
}

/* GNOME Shell shows the buttons of nothing else; the summary of a flood holds up nothing. */
static void a_held_call_is_critical(void **state) {
	(void)state;
	for (enum permission_kind kind = 0; kind < PERMISSION_CUSTOM; kind++) {
		CLEANUP_PROMPT struct prompt prompt = sample(1, kind, "/x");
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		assert_int_equal(notice.urgency, URGENCY_CRITICAL);
		prompt.permission = permission_ask();
		CLEANUP_NOTICE struct notice summary;
		ask_one(&prompt, &plain, &summary);
		assert_int_equal(summary.urgency, URGENCY_NORMAL);
	}
	CLEANUP_NOTICE struct notice more;
	notice_more(2, &more);
	assert_int_equal(more.urgency, URGENCY_NORMAL);
}

static void what_needs_a_terminal_begins_with_the_command_and_has_no_button(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(9, PERMISSION_FS_READ, "/home/ada/.ssh/id_ed25519");
	prompt.confirm_terminal = true;
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &with_markup, &notice);
	assert_int_equal(notice.button_count, 0);
	assert_true(string_starts(notice.body,
				  "Answer in a terminal: sbx allow 9 or sbx deny 9\n<b>~/.ssh/id_ed25519</b>\n"));
}

static void a_server_without_buttons_is_told_the_command(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &no_buttons, &notice);
	assert_int_equal(notice.button_count, 0);
	assert_true(string_starts(notice.body, "Answer in a terminal: sbx allow 12 or sbx deny 12\nexample.org:443\n"));
	const struct notice_questions questions = {.prompts = {&prompt, &prompt}, .count = 2};
	CLEANUP_NOTICE struct notice several;
	ask_all(&questions, &no_buttons, &several);
	assert_true(string_starts(
		several.body,
		"Answer in a terminal: sbx allow NUMBER or sbx deny NUMBER\n• connect to example.org:443 [12]\n"));
}

static void several_are_listed_and_answered_together(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt a = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_PROMPT struct prompt b = sample(13, PERMISSION_FS_READ, "/home/ada/.npmrc");
	b.lifetime_ms = INT64_C(15) * 60 * 1000;
	const struct notice_questions questions = {.prompts = {&a, &b}, .count = 2, .terminal_only = 1};
	CLEANUP_NOTICE struct notice notice;
	ask_all(&questions, &plain, &notice);
	assert_string_equal(notice.summary, "npm wants 2 things");
	assert_true(string_starts(notice.body, "• connect to example.org:443\n"
					       "• read ~/.npmrc\n"
					       "npm install · ~/shop · waits until 00:01:00\n"
					       "Asked by: "));
	assert_non_null(strstr(notice.body, "\nProfile npm, project ~/shop\n"
					    "Prompts 12, 13\n"
					    "Not among these: 1 more, for a terminal only: sbx prompts"));
	EXPECT_LABELS(&notice, "Deny all", "Allow all 15 min"); /* the shortest of them */
	assert_int_equal(notice.buttons[1].ttl_ms, b.lifetime_ms);
}

/* Allow all answered five things of which GNOME Shell shows two. */
static void attack_r_16_no_button_allows_what_is_not_seen(void **state) {
	(void)state;
	for (size_t letters = 1; letters < 90; letters++) {
		for (size_t count = 2; count <= NOTICE_LISTED_MAX; count++) {
			struct prompt prompts[NOTICE_LISTED_MAX];
			struct notice_questions questions = {.count = count};
			for (size_t i = 0; i < count; i++) {
				CLEANUP_STRING struct string target = {0};
				string_append(&target, "/srv/");
				for (size_t k = 0; k < letters; k++) string_append_char(&target, k % 9 ? 'w' : '-');
				string_appendf(&target, "/%zu", i);
				prompts[i] = sample(12 + (int64_t)i, PERMISSION_FS_READ, target.data);
				questions.prompts[i] = &prompts[i];
			}
			CLEANUP_NOTICE struct notice notice;
			ask_all(&questions, &plain, &notice);
			CLEANUP_FREE char *glance = seen(notice.body);
			bool all = true;
			for (size_t i = 0; i < count; i++) all &= strstr(glance, prompts[i].target) != NULL;
			if (button(&notice, "allow")) assert_true(all);
			assert_ptr_not_equal(button(&notice, "allow"), button(&notice, "review"));
			assert_non_null(button(&notice, "deny"));
			assert_int_equal(notice.button_count, 2);
			for (size_t i = 0; i < count; i++) prompt_finish(&prompts[i]);
		}
	}
}

static void attack_r_16_a_bundle_of_five_that_does_not_fit_is_reviewed(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt =
		sample(12, PERMISSION_FS_READ, "/home/ada/shop/packages/frontend/configuration/secrets.json");
	const struct notice_questions questions = {.prompts = {&prompt, &prompt, &prompt, &prompt, &prompt},
						   .count = 5};
	CLEANUP_NOTICE struct notice notice;
	ask_all(&questions, &plain, &notice);
	EXPECT_LABELS(&notice, "Deny all", "Review");
	assert_true(string_starts(notice.body, "• read …/configuration/secrets.json\n• read …/"));
	assert_true(notice.buttons[1].reviews);
	assert_false(notice.buttons[0].reviews);
	CLEANUP_PROMPT struct prompt brief = sample(12, PERMISSION_FS_READ, "/srv/a");
	const struct notice_questions few = {.prompts = {&brief, &brief, &brief, &brief}, .count = 4};
	CLEANUP_NOTICE struct notice fits;
	ask_all(&few, &plain, &fits);
	EXPECT_LABELS(&fits, "Deny all", "Allow all 1 hour");
	const struct notice_questions with_note = {.prompts = {&brief, &brief, &brief, &brief},
						   .count = 4,
						   .note = "The answer could not be given: the disk is full"};
	CLEANUP_NOTICE struct notice noted; /* it takes the room of two */
	ask_all(&with_note, &plain, &noted);
	EXPECT_LABELS(&noted, "Deny all", "Review");
	assert_true(string_starts(noted.body, "The answer could not be given: the disk is full\n• read /srv/a\n"));
}

static void of_several_sessions_each_says_whose_it_is(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt a = sample(12, PERMISSION_NET_ACCESS, "example.org:443");
	CLEANUP_PROMPT struct prompt b = sample(13, PERMISSION_FS_READ, "/etc/x");
	free(b.profile);
	b.profile = string_copy("pip");
	free(b.command);
	b.command = string_copy("pip install x");
	b.session = 10;
	const struct notice_questions questions = {.prompts = {&a, &b}, .count = 2};
	CLEANUP_NOTICE struct notice notice;
	ask_all(&questions, &plain, &notice);
	assert_string_equal(notice.summary, "2 questions of sandboxes");
	assert_true(
		string_starts(notice.body, "• npm: connect to example.org:443\n• pip: read /etc/x\n~/shop · waits"));
	EXPECT_LABELS(&notice, "Deny all", "Review"); /* a grant for whom isn't told */
}

/* An answer on the desktop means the first scope that is offered, as in the terminal: it is said, or there is none. */
static void attack_r_16_what_an_allow_covers_beyond_the_target_is_seen(void **state) {
	(void)state;
	for (size_t letters = 1; letters < 160; letters++) {
		CLEANUP_STRING struct string target = {0};
		string_append(&target, "/home/ada/");
		for (size_t i = 0; i < letters; i++) string_append_char(&target, i % 11 ? 'n' : '-');
		CLEANUP_FREE char *folder = string_format("~%s", target.data + strlen("/home/ada"));
		string_append(&target, "/todo.txt");
		CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_FS_WRITE, target.data);
		strings_finish(&prompt.scopes);
		prompt.scopes = (struct strings){0};
		strings_add(&prompt.scopes, "folder");
		CLEANUP_NOTICE struct notice notice;
		ask_one(&prompt, &plain, &notice);
		CLEANUP_FREE char *glance = seen(notice.body);
		CLEANUP_FREE char *line = string_format("\nAllowing covers the whole folder %s\n", folder);
		const bool told = strstr(glance, line) != NULL;
		assert_int_equal(button(&notice, "allow") != NULL, told);
		assert_int_equal(button(&notice, "always") != NULL, told);
		if (letters < 10) assert_true(told);
		if (letters == 159) assert_false(told);
	}
	CLEANUP_PROMPT struct prompt program = sample(12, PERMISSION_PROC_SPAWN, "/usr/bin/awk");
	program.name = string_copy("/usr/bin/mawk");
	CLEANUP_NOTICE struct notice linked;
	ask_one(&program, &plain, &linked);
	assert_true(string_starts(linked.body, "/usr/bin/awk\nAllowing covers the file /usr/bin/mawk\n"));
}

/* The summary of a flood makes no grant, so no lifetime is offered; still two buttons, never a lone one. */
static void may_it_ask_on_is_yes_or_no(void **state) {
	(void)state;
	CLEANUP_PROMPT struct prompt prompt = sample(12, PERMISSION_NET_ACCESS, "64 questions");
	prompt.permission = permission_ask();
	prompt.description = string_copy("ask you more");
	CLEANUP_NOTICE struct notice notice;
	ask_one(&prompt, &plain, &notice);
	assert_string_equal(notice.summary, "npm wants to ask you more");
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
		cmocka_unit_test(a_glance_tells_who_what_where_and_until_when),
		cmocka_unit_test(a_narrow_server_has_two_buttons),
		cmocka_unit_test(who_asks_is_what_the_user_started),
		cmocka_unit_test(a_button_names_what_it_gives),
		cmocka_unit_test(attack_broker_09_a_tools_words_are_escaped_in_a_notification),
		cmocka_unit_test(attack_r_16_no_part_of_a_body_is_a_link),
		cmocka_unit_test(a_server_without_markup_gets_none),
		cmocka_unit_test(a_long_target_loses_its_head),
		cmocka_unit_test(all_of_it_is_bounded),
		cmocka_unit_test(a_held_call_is_critical),
		cmocka_unit_test(what_needs_a_terminal_begins_with_the_command_and_has_no_button),
		cmocka_unit_test(a_server_without_buttons_is_told_the_command),
		cmocka_unit_test(several_are_listed_and_answered_together),
		cmocka_unit_test(attack_r_16_no_button_allows_what_is_not_seen),
		cmocka_unit_test(attack_r_16_a_bundle_of_five_that_does_not_fit_is_reviewed),
		cmocka_unit_test(of_several_sessions_each_says_whose_it_is),
		cmocka_unit_test(attack_r_16_what_an_allow_covers_beyond_the_target_is_seen),
		cmocka_unit_test(may_it_ask_on_is_yes_or_no),
		cmocka_unit_test(attack_broker_08_a_key_is_a_buttons_only_with_this_token),
		cmocka_unit_test(what_expired_unseen_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
