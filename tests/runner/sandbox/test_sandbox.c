/*
 * Attacks from inside real sandboxes (bwrap, sbx-init, portal), with a fake broker that hands out the test's own view.
 * The rows of the attack list are in the names.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "sandbox.h"
#include "support/cmocka.h"

#define ATTACK "$A " /* attack.c */

static struct sandbox sandbox;

static int setup(void **state) {
	(void)state;
	sandbox_make(&sandbox);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	sandbox_remove(&sandbox);
	return 0;
}

static void add_view(const char *name, enum view_mode mode, bool ask_write) {
	CLEANUP_FREE char *path = path_join(sandbox.home, name);
	view_add_path(sandbox.view, path, false, mode, ask_write);
}

/* Run one line; its output must be exactly that. */
static void expect(const char *line, const char *output) {
	CLEANUP_OUTCOME struct outcome outcome = {0};
	sandbox_run(&sandbox, line, NULL, &outcome);
	if (strcmp(outcome.out, output) != 0) print_message("%s: status %d\n%s\n", line, outcome.status, outcome.err);
	assert_string_equal(outcome.out, output);
}

static void it_runs_and_tells_the_status(void **state) {
	(void)state;
	CLEANUP_OUTCOME struct outcome outcome = {0};
	sandbox_run(&sandbox, "echo out; echo err >&2; exit 7", NULL, &outcome);
	assert_string_equal(outcome.out, "out\n");
	assert_string_equal(outcome.err, "err\n");
	assert_int_equal(outcome.status, 7);
}

static void attack_fs_03_a_denied_link_hides_its_target(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "mkdir real; echo key >real/key; ln -s real link");
	add_view("app/link", VIEW_ABSENT, false);
	expect("cat link/key real/key; ls real 2>/dev/null; rm -f link; test -L link && echo held", "held\n");
}

static void attack_fs_04_masked_names_and_folders_above_stay(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "git init -q .; mkdir other; echo '#!/bin/sh' >.git/hooks/pre-commit");
	expect(ATTACK "rename .git .git2;" ATTACK "exchange .git other;" ATTACK "rename .git/hooks .git/h;" ATTACK
		      "unlink .git/config;" ATTACK "write .git/config;" ATTACK "write .git/hooks/pre-commit;" ATTACK
		      "chmod .git/hooks/pre-commit;" ATTACK "umount .git/config",
	       "EBUSY\nEBUSY\nEBUSY\nEBUSY\nEROFS\nEROFS\nEROFS\nEPERM\n");
}

static void attack_fs_04_a_hooks_folder_that_is_a_link_is_held(void **state) {
	(void)state;
	sandbox_shell(
		&sandbox,
		"git init -q .; rm -r .git/hooks; mkdir tools; ln -s ../tools .git/hooks; echo a >tools/pre-commit");
	expect(ATTACK "unlink .git/hooks;" ATTACK "rename .git/hooks .git/x;" ATTACK "write tools/pre-commit;" ATTACK
		      "write .git/hooks/pre-commit",
	       "EBUSY\nEBUSY\nEROFS\nEROFS\n");
}

static void attack_fs_05_narrower_rules_stand(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "mkdir -p a/b; echo no >a/secret; echo yes >a/b/open");
	add_view("app/a", VIEW_ABSENT, false);
	add_view("app/a/b", VIEW_WRITE, false);
	expect("cat a/b/open; cat a/secret; ls a; echo new >a/b/new && echo wrote; echo x >a/x; mkdir a/y; test -e a/y "
	       "|| echo none",
	       "yes\nwrote\nnone\n");
}

static void attack_fs_06_the_pointer_of_a_worktree_stays(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "printf 'gitdir: elsewhere\\n' >.git");
	expect(ATTACK "write .git;" ATTACK "unlink .git;" ATTACK "rename .git g", "EROFS\nEBUSY\nEBUSY\n");
}

static void attack_fs_07_a_denied_program_is_gone_by_every_name(void **state) {
	(void)state;
	view_add_program(sandbox.view, "sha1sum", VIEW_ABSENT);
	expect("sha1sum </dev/null 2>/dev/null || echo refused; /usr/bin/sha1sum </dev/null 2>/dev/null || echo "
	       "refused;"
	       "cp /usr/bin/sha1sum copy 2>/dev/null || echo unreadable; /proc/self/root/usr/bin/sha1sum </dev/null "
	       "2>/dev/null || "
	       "echo refused",
	       "refused\nrefused\nunreadable\nrefused\n");
}

static void attack_fs_11_only_three_descriptors(void **state) {
	(void)state;
	int leaked = dup2(1, 77);
	expect(ATTACK "descriptors", "EBADF\n");
	fd_close(leaked);
}

static void attack_fs_12_sbx_init_can_not_be_overwritten(void **state) {
	(void)state;
	expect(ATTACK "init-program;" ATTACK "write /run/sbx/init;" ATTACK "chmod /run/sbx/init;" ATTACK
		      "unlink /run/sbx/init",
	       "EACCES\nEACCES\nEROFS\nEROFS\n");
}

static void attack_fs_13_home_as_the_project_keeps_sbx_out(void **state) {
	(void)state;
	CLEANUP_FREE char *state_folder = path_join(sandbox.home, ".local/state/sbx"),
			  *config = path_join(sandbox.home, ".config/sbx");
	assert_int_equal(file_make_directories(state_folder, NULL), 0);
	assert_int_equal(file_make_directories(config, NULL), 0);
	add_view("", VIEW_WRITE, false);
	view_add_path(sandbox.view, sandbox.home, false, VIEW_WRITE, false);
	view_add_path(sandbox.view, config, false, VIEW_WRITE, false);
	sandbox.options.project = sandbox.home;
	expect("cd; touch seen && echo writable; ls .local/state/sbx .config/sbx 2>/dev/null; echo x "
	       ">.config/sbx/policy.yaml;"
	       "mv .config c2 2>/dev/null || echo pinned; mv .local l2 2>/dev/null || echo pinned",
	       "writable\npinned\npinned\n");
}

static void attack_fs_14_names_of_any_bytes(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "mkdir -- 'a\nb' '-rf' \"$(printf 'x\\377y')\" '$(id)'; for d in */ ./-rf/; do echo no "
				">\"$d/f\"; done");
	add_view("app/a\nb", VIEW_ABSENT, false);
	add_view("app/-rf", VIEW_ABSENT, false);
	add_view("app/x\377y", VIEW_ABSENT, false);
	add_view("app/$(id)", VIEW_ABSENT, false);
	expect("cat ./*/f 2>/dev/null; set -- ./*/; echo $#", "4\n");
}

static void attack_fs_16_a_pattern_is_expanded_and_bounded(void **state) {
	(void)state;
	sandbox_shell(&sandbox, "mkdir -p x/y; echo s >.env; echo s >x/y/.env; echo ok >x/y/other");
	view_add_path(sandbox.view, "/**/.env", true, VIEW_ABSENT, false);
	sandbox.matched = ".env";
	expect("cat .env x/y/.env 2>/dev/null; cat x/y/other; mv x z 2>/dev/null || echo pinned", "ok\npinned\n");
}

static void replace_config(struct sandbox *running) {
	for (int i = 0; i < 5; i++) sandbox_shell(running, "git config sbx.count 1; sleep 0.05");
	sandbox_shell(running, "touch go");
}

static void attack_fs_17_what_the_host_tears_off_is_put_back(void **state) {
	(void)state;
	CLEANUP_OUTCOME struct outcome outcome = {0};
	CLEANUP_FREE char *events = NULL;
	sandbox_shell(&sandbox, "git init -q .");
	sandbox_run(&sandbox,
		    "touch started; until [ -e go ]; do sleep 0.02; done; sleep 0.2; grep -c count .git/config;" ATTACK
		    "write .git/config;" ATTACK "unlink .git/config",
		    replace_config, &outcome);
	assert_string_equal(outcome.out, "1\nEROFS\nEBUSY\n");
	assert_int_equal(file_read(sandbox.events, 1 << 20, &events, NULL, NULL), 0);
	assert_non_null(strstr(events, "\"kind\":\"repair\""));
}

static void attack_kernel_01_no_typing_into_terminals(void **state) {
	(void)state;
	expect(ATTACK "tiocsti;" ATTACK "tiocsti-high;" ATTACK "tioclinux", "EPERM\nEPERM\nEPERM\n");
}

static void attack_kernel_02_foreign_calls_are_not_there(void **state) {
	(void)state;
	expect(ATTACK "i386;" ATTACK "x32", "ENOSYS\nENOSYS\n");
}

static void attack_kernel_03_process_1_is_out_of_reach(void **state) {
	(void)state;
	expect(ATTACK "ptrace-init;" ATTACK "init-memory; grep -c '^Seccomp:.2' /proc/1/status; cat /proc/1/comm",
	       "EPERM\nEACCES\n1\nsbx-init\n");
}

static void attack_kernel_04_no_listener_no_namespaces(void **state) {
	(void)state;
	expect(ATTACK "listener;" ATTACK "clone3;" ATTACK "unshare;" ATTACK "vsock",
	       "EBUSY\nENOSYS\nEPERM\nEAFNOSUPPORT\n");
}

static void attack_net_07_fast_open_connects_nothing(void **state) {
	(void)state;
	expect(ATTACK "fast-sendto;" ATTACK "fast-sendmsg one;" ATTACK "fast-sendmsg many;" ATTACK "fast-connect",
	       "EOPNOTSUPP\nEOPNOTSUPP\nEOPNOTSUPP\nENOPROTOOPT\n");
}

static void attack_net_13_host_sockets_are_out_of_reach(void **state) {
	(void)state;
	struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0sbx-test-abstract"},
			   named = {.sun_family = AF_UNIX, .sun_path = "agent.sock"};
	CLEANUP_FD int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLEANUP_FD int two = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(one, (const struct sockaddr *)&abstract,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen("sbx-test-abstract"))),
			 0);
	assert_int_equal(bind(two, (const struct sockaddr *)&named, sizeof named), 0);
	assert_int_equal(listen(one, 1) | listen(two, 1), 0);
	view_add_path(sandbox.view, "/**/.env", true, VIEW_ABSENT,
		      false); /* a view with patterns, as every profile has */
	expect(ATTACK "abstract sbx-test-abstract;" ATTACK "unix agent.sock;" ATTACK "unix /run/dbus/system_bus_socket",
	       "ECONNREFUSED\nECONNREFUSED\nENOENT\n");
	sandbox.view->network = VIEW_NETWORK_HOST; /* no call is held: the socket is laid over */
	expect(ATTACK "unix agent.sock", "EACCES\n");
}

static void attack_b_20_the_command_line_is_not_bwraps(void **state) {
	(void)state;
	setenv("LD_PRELOAD_SBX_SECRET", "hush", 1);
	expect("tr '\\0' '\\n' </proc/1/cmdline; env | grep -c SECRET", "/run/sbx/init\n0\n");
	unsetenv("LD_PRELOAD_SBX_SECRET");
}

static void a_terminal_less_run_has_no_terminal(void **state) {
	(void)state;
	expect("test -t 0 || test -t 1 || test -t 2 || echo none; sh -c ': </dev/tty' 2>/dev/null || echo no ctty",
	       "none\nno ctty\n");
}

static void network_none_has_loopback_alone(void **state) {
	(void)state;
	sandbox.view->network = VIEW_NETWORK_NONE;
	expect("ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; ls /run/sbx | tr "
	       "'\\n' ' ';"
	       "echo \"${HTTP_PROXY:-no proxy}\"",
	       "lo\nask.sock init no proxy\n");
}

static void a_denied_host_gets_403_and_the_last_words_say_how_to_allow(void **state) {
	(void)state;
	CLEANUP_OUTCOME struct outcome outcome = {0};
	sandbox.options.fail_on_deny = true;
	sandbox.view->network = VIEW_NETWORK_PROXY;
	sandbox_run(&sandbox, "curl -s -o /dev/null -w '%{http_code}' http://svc.test/", NULL, &outcome);
	assert_string_equal(outcome.out, "403");
	assert_non_null(strstr(outcome.err, "sbx grant net:access svc.test:80 --profile test"));
	assert_int_equal(outcome.status, RUN_EXIT_FAILED);
}

static void a_masked_path_that_appears_is_reported(void **state) {
	(void)state;
	CLEANUP_OUTCOME struct outcome outcome = {0};
	add_view("app/.envrc", VIEW_READ, true);
	sandbox.view->doorbell = VIEW_DOORBELL_NONE;
	sandbox_run(&sandbox, "echo evil >.envrc", NULL, &outcome);
	assert_non_null(strstr(outcome.err, ".envrc is new"));
}

static void making_a_masked_path_is_asked(void **state) {
	(void)state;
	CLEANUP_OUTCOME struct outcome outcome = {0};
	add_view("app/.envrc", VIEW_READ, true);
	sandbox_run(&sandbox, "(echo evil >.envrc) 2>/dev/null || echo refused; echo fine >other; cat other", NULL,
		    &outcome);
	assert_string_equal(outcome.out, "refused\nfine\n");
	assert_null(strstr(outcome.err, ".envrc is new"));
	assert_non_null(strstr(outcome.err, "blocked fs:write"));
}

static void memory_limit_leaves_address_space_alone(void **state) {
	(void)state;
	sandbox.view->limits.memory = 4LL << 30;
	if (access("/usr/bin/node", X_OK) < 0 && access("/usr/local/bin/node", X_OK) < 0) skip();
	expect("node -e 'const s = require(\"http\").createServer((q, r) => r.end(\"hi\")).listen(0, \"127.0.0.1\", "
	       "async () => {"
	       "console.log(await (await fetch(\"http://127.0.0.1:\" + s.address().port)).text()); s.close(); })'; "
	       "ulimit -v",
	       "hi\nunlimited\n");
}

#define SANDBOX_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(it_runs_and_tells_the_status),
		SANDBOX_TEST(attack_fs_03_a_denied_link_hides_its_target),
		SANDBOX_TEST(attack_fs_04_masked_names_and_folders_above_stay),
		SANDBOX_TEST(attack_fs_04_a_hooks_folder_that_is_a_link_is_held),
		SANDBOX_TEST(attack_fs_05_narrower_rules_stand),
		SANDBOX_TEST(attack_fs_06_the_pointer_of_a_worktree_stays),
		SANDBOX_TEST(attack_fs_07_a_denied_program_is_gone_by_every_name),
		SANDBOX_TEST(attack_fs_11_only_three_descriptors),
		SANDBOX_TEST(attack_fs_12_sbx_init_can_not_be_overwritten),
		SANDBOX_TEST(attack_fs_13_home_as_the_project_keeps_sbx_out),
		SANDBOX_TEST(attack_fs_14_names_of_any_bytes),
		SANDBOX_TEST(attack_fs_16_a_pattern_is_expanded_and_bounded),
		SANDBOX_TEST(attack_fs_17_what_the_host_tears_off_is_put_back),
		SANDBOX_TEST(attack_kernel_01_no_typing_into_terminals),
		SANDBOX_TEST(attack_kernel_02_foreign_calls_are_not_there),
		SANDBOX_TEST(attack_kernel_03_process_1_is_out_of_reach),
		SANDBOX_TEST(attack_kernel_04_no_listener_no_namespaces),
		SANDBOX_TEST(attack_net_07_fast_open_connects_nothing),
		SANDBOX_TEST(attack_net_13_host_sockets_are_out_of_reach),
		SANDBOX_TEST(attack_b_20_the_command_line_is_not_bwraps),
		SANDBOX_TEST(a_terminal_less_run_has_no_terminal),
		SANDBOX_TEST(network_none_has_loopback_alone),
		SANDBOX_TEST(a_denied_host_gets_403_and_the_last_words_say_how_to_allow),
		SANDBOX_TEST(a_masked_path_that_appears_is_reported),
		SANDBOX_TEST(making_a_masked_path_is_asked),
		SANDBOX_TEST(memory_limit_leaves_address_space_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
