#include "ui/event_words.h"

#include "base/memory.h"
#include "support/cmocka.h"

static char net[] = "net:access", host[] = "a.test:443", file[] = "/p/.sbx.yaml", retention[] = "retention",
	    read[] = "fs:read", link[] = "fs:link", folder[] = "/p";

static void each_kind_has_its_words(void **state) {
	(void)state;
	static const struct {
		enum event_kind kind;
		char *permission, *target, *by;
		const char *detail, *what;
	} cases[] = {
		{EVENT_PROMPT, net, host, NULL, "{\"state\":\"shown\"}", "net:access a.test:443"},
		{EVENT_PROMPT, net, host, NULL, "{\"state\":\"expired\"}",
		 "net:access a.test:443 (nobody answered in time)"},
		{EVENT_CONNECTION, net, host, NULL,
		 "{\"door\":\"http\",\"sent\":512,\"received\":1572864,\"duration_ms\":62000}",
		 "net:access a.test:443 (512 B out, 1.5 MiB in, 1m 2s)"},
		{EVENT_CONNECTION, net, host, NULL, "{}", "net:access a.test:443"},
		{EVENT_SESSION_START, NULL, NULL, NULL, "{\"command\":\"make all\"}", "make all"},
		{EVENT_SESSION_END, NULL, NULL, NULL, "{\"exit\":3}", "exit 3"},
		{EVENT_SESSION_END, NULL, NULL, NULL, "{\"exit\":-2}", "broke off"},
		{EVENT_POLICY, NULL, NULL, retention, "{\"removed\":12,\"anchor\":40}",
		 "12 rows taken away, up to row 40"},
		{EVENT_POLICY, NULL, file, NULL, "{\"trusted\":true,\"hash\":\"ab\"}", "/p/.sbx.yaml: trusted"},
		{EVENT_POLICY, NULL, file, NULL, "{\"trusted\":false}", "/p/.sbx.yaml: trust taken back"},
		{EVENT_POLICY, NULL, file, NULL, "{\"errors\":[],\"hash\":\"ab\"}", "/p/.sbx.yaml: edited"},
		{EVENT_POLICY, NULL, file, NULL, "{\"errors\":[],\"hash\":\"ab\",\"trusted\":false}",
		 "/p/.sbx.yaml: edited, not trusted"},
		{EVENT_POLICY, NULL, file, NULL, "{\"errors\":[]}", "/p/.sbx.yaml: gone"},
		{EVENT_POLICY, NULL, file, NULL, "{\"errors\":[\"x\"],\"hash\":\"ab\"}",
		 "/p/.sbx.yaml: edited, with errors: the last good version holds"},
		{EVENT_DECISION, NULL, NULL, NULL, "{\"count\":7}", "7 requests"},
		{EVENT_DECISION, net, host, NULL, NULL, "net:access a.test:443"},
		{EVENT_DECISION, link, folder, NULL, "{\"link\":\"/q/l\"}", "fs:link /q/l -> /p"},
		{EVENT_PROMPT, link, folder, NULL, "{\"state\":\"expired\",\"link\":\"/q/l\"}",
		 "fs:link /q/l -> /p (nobody answered in time)"},
		{EVENT_REVOKE, net, host, NULL, NULL, "net:access a.test:443"},
		{EVENT_REPAIR, read, folder, NULL, "{\"what\":\"mount put back\"}", "fs:read /p"},
		{EVENT_REPAIR, read, folder, NULL, "{\"what\":\"can't be put back\",\"why\":\"Invalid argument\"}",
		 "fs:read /p: can't be put back: Invalid argument"},
		{EVENT_REPAIR, NULL, NULL, NULL, "{\"what\":\"not in force\",\"why\":\"too many\"}",
		 "not in force: too many"},
		{EVENT_REVOKE, read, folder, NULL,
		 "{\"holders\":[{\"pid\":42,\"command\":\"node\",\"path\":\"/p/"
		 "a\"},{\"pid\":43}],\"more\":1,\"killed\":0}",
		 "fs:read /p: node (42) held /p/a, and 2 more"},
		{EVENT_EXPIRE, read, folder, NULL, "{\"holders\":[],\"more\":0,\"killed\":3}", "fs:read /p: 3 ended"},
		{EVENT_REVOKE, NULL, NULL, NULL,
		 "{\"holders\":[],\"ended\":[{\"pid\":42,\"command\":\"node\",\"path\":\"/p\"},"
		 "{\"pid\":43,\"command\":\"sh\",\"path\":\"/p/a\"}],\"more\":0,\"killed\":2}",
		 "2 ended: node (42), sh (43)"},
		{EVENT_REVOKE, NULL, NULL, NULL,
		 "{\"holders\":[{\"pid\":42,\"command\":\"node\",\"path\":\"/p/a\"}],\"more\":0,\"killed\":1}",
		 "node (42) held /p/a; 1 ended"},
		{EVENT_FINDING, NULL, folder, NULL, "{\"what\":\"link\",\"text\":\"../x\",\"leads\":\"/x\"}",
		 "new link: /p leads to /x"},
		{EVENT_FINDING, NULL, folder, NULL, "{\"what\":\"hidden\",\"how\":\"skip-worktree\"}",
		 "git may no longer show changes: /p: skip-worktree"},
		{EVENT_FINDING, NULL, folder, NULL, "{\"what\":\"repository\"}",
		 "new, to be looked at: /p (repository)"},
		{EVENT_FINDING, NULL, folder, NULL,
		 "{\"what\":\"bound\",\"of\":\"repositories\",\"unit\":\"folders\",\"most\":2000}",
		 "not all was looked at: repositories in /p past 2000 folders"},
		{EVENT_FINDING, NULL, folder, NULL, "{\"what\":\"bound\",\"of\":\"folder\"}",
		 "not all was looked at: /p can't be read"},
		{EVENT_FINDING, NULL, NULL, NULL, "{\"what\":\"link\",\"more\":3}", "3 more: link"},
		{EVENT_REPAIR, NULL, NULL, NULL, "{\"x\":1}", "{\"x\":1}"},
		{EVENT_REPAIR, NULL, NULL, NULL, NULL, "-"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		json_t *detail = cases[i].detail ? json_loads(cases[i].detail, 0, NULL) : NULL;
		const struct event event = {.kind = cases[i].kind,
					    .permission = cases[i].permission,
					    .target = cases[i].target,
					    .by = cases[i].by,
					    .detail = detail};
		CLEANUP_FREE char *what = event_what(&event);
		assert_string_equal(what, cases[i].what);
		json_decref(detail);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_has_its_words)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
