/*
 * The portal on real sandboxes: what is put appears, what is taken is gone, whatever a tool does to the way there.
 * The rows of the attack list are in the names.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "box.h"
#include "support/cmocka.h"
#include "support/long_run.h"

#if defined(__SANITIZE_ADDRESS__) /* it keeps what was freed */
enum { MEMORY_GROWTH_MAX = 64 * 1024 };
#else
enum { MEMORY_GROWTH_MAX = 16 }; /* pages */
#endif

static struct box box;

static int setup(void **state) {
	(void)state;
	box_make(&box);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	if (box.launch) box_close(&box);
	box_remove(&box);
	return 0;
}

static void open_usual(void) {
	struct plan plan;
	box_plan(&box, &plan);
	box_open(&box, &plan);
}

/* The usual plan with one mount more. */
static int change_to(enum mount_kind kind, const char *path) {
	struct plan plan;
	box_plan(&box, &plan);
	if (path) box_add(&box, &plan, kind, path);
	return box_change(&box, &plan);
}

static void the_portal_builds_what_a_plan_says(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box,
		 "mkdir -p app/.git/hooks app/deep/open read own; echo r >read/f; echo w >app/f; echo s >app/secret;"
		 "echo c >app/.git/config; ln -s .git/config app/link; echo o >app/deep/open/f; echo d >app/deep/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_READ, "read");
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/.git");
	box_add(&box, &plan, MOUNT_READ, "app/.git/config");
	box_add(&box, &plan, MOUNT_HELD, "app/link");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "app/secret")->mode = 0;
	box_add(&box, &plan, MOUNT_HIDE_FOLDER, "app/.git/hooks")->mode = 0;
	box_add(&box, &plan, MOUNT_HIDE_FOLDER, "app/deep")->mode = 0111;
	box_add(&box, &plan, MOUNT_WRITE, "app/deep/open");
	box_add_from(&box, &plan, MOUNT_OWN, "kept", "own");
	box_add(&box, &plan, MOUNT_READ, "read/f");
	box_add_from(&box, &plan, MOUNT_LINK, "to", "read");
	box_open(&box, &plan);
	box_expect(&box, "cat read/f to/f; w read/f read/g app/f; cat app/f", "r\nr\nrefused\nrefused\nwrote\nw\nx");
	box_expect(&box, "for f in app/secret app/.git/hooks/x app/deep/f; do cat $f 2>/dev/null || echo no; done",
		   "no\nno\nno");
	box_expect(&box,
		   "ls app/.git/hooks app/deep 2>/dev/null || echo no; cat app/deep/open/f; w app/deep/n app/secret",
		   "no\no\nrefused\nrefused");
	box_expect(&box,
		   "mv app/.git app/g 2>/dev/null || echo no; rm -f app/link 2>/dev/null || echo no; cat app/link; w "
		   "app/.git/config /x",
		   "no\nno\nc\nrefused\nrefused");
	box_expect(&box, "echo k >kept/k; touch new; ls -A; ls -A /",
		   "app\nkept\nnew\nread\nto\nbin\ndev\nlib\nlib64\nproc\nrun\ntmp\nusr");
	box_host(&box, "test \"$(cat own/k)\" = k; test ! -e new; test ! -e kept; test ! -e app/deep/n");
}

static void grants_come_and_go(void **state) {
	(void)state;
	box_host(&box,
		 "mkdir -p notes/a; echo one >notes/f; echo file >single; mkdir notes/a/b; echo two >notes/a/b/f");
	open_usual();
	const size_t mounts = box_count_mounts(&box);
	box_expect(&box, "ls -A; test -e notes || echo absent", "absent");
	assert_int_equal(change_to(MOUNT_READ, "notes"), 0);
	box_expect(&box, "cat notes/f; w notes/f notes/n", "one\nrefused\nrefused");
	assert_int_equal(change_to(MOUNT_WRITE, "notes"), 0);
	assert_int_equal(box.applied.taken_count, 0); /* in place */
	box_expect(&box, "w notes/f; cat notes/f; cd notes", "wrote\none\nx");
	assert_int_equal(change_to(MOUNT_READ, "notes"), 0);
	assert_int_equal(box.applied.taken_count, 0);
	box_expect(&box, "w notes/f f; cd ..", "refused\nrefused");
	assert_int_equal(change_to(MOUNT_READ, "notes/a/b"), 0);
	box_expect(&box, "cat notes/a/b/f; ls -A . notes", "two\n.:\nnotes\n\nnotes:\na");
	assert_int_equal(box.applied.taken_count, 0); /* nobody holds anything of it */
	assert_int_equal(change_to(MOUNT_READ, "single"), 0);
	box_expect(&box, "cat single; ls -A", "file\nsingle");
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	box_expect(&box, "ls -A", "");
	assert_int_equal(box_count_mounts(&box), mounts);
	/* in the sealed root, too */
	assert_int_equal(change_to(MOUNT_READ, "/opt"), 0);
	box_expect(&box, "ls -d /opt; w /x", "/opt\nrefused");
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	box_expect(&box, "test -e /opt || echo absent", "absent");
	/* what isn't there, and what came instead of what was checked */
	assert_int_equal(change_to(MOUNT_READ, "none"), ENOENT);
	assert_int_equal(box.applied.failed_count, 1);
	assert_non_null(strstr(box.text, "/home/none"));
}

/* Whatever the host has there, nobody inside changes it, and what the host does to its own file doesn't bare that. */
static void a_text_is_read_in_the_place_of_the_hosts(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir etc; echo hosts >etc/hosts; echo other >etc/other");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "etc");
	box_add(&box, &plan, MOUNT_TEXT, "etc/hosts")->source = string_copy("ours\nand more\n");
	box_add(&box, &plan, MOUNT_TEXT, "alone")->source = string_copy("");
	box_open(&box, &plan);
	box_expect(&box, "cat etc/hosts alone etc/other; ls -l alone | cut -c 1-10; ls etc",
		   "ours\nand more\nother\n-r--r--r--\nhosts\nother");
	box_expect(
		&box,
		"w etc/hosts alone; chmod 600 etc/hosts 2>/dev/null || echo no; rm -f etc/hosts 2>/dev/null || echo no",
		"refused\nrefused\nno\nno");
	box_host(&box, "test \"$(cat etc/hosts)\" = hosts; test ! -e alone");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "etc");
	box_add(&box, &plan, MOUNT_TEXT, "etc/hosts")->source = string_copy("another\n");
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "cat etc/hosts; test -e alone || echo absent", "another\nabsent");
}

static void what_the_tool_made_stays(void **state) {
	(void)state;
	box_host(&box, "mkdir notes; echo hosts >notes/f");
	open_usual();
	box_expect(&box, "mkdir notes; echo mine >notes/mine; echo mine >file", "");
	assert_int_equal(change_to(MOUNT_READ, "notes"), 0);
	box_expect(&box, "ls notes", "f");
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	box_expect(&box, "cat notes/mine file", "mine\nmine");
}

/* Folders that look like the portal's own would otherwise be removed one by one, while no other grant can be taken. */
static void what_the_tool_made_many_of_is_left_to_it(void **state) {
	(void)state;
	box_host(&box, "mkdir notes; echo hosts >notes/f");
	open_usual();
	box_expect(&box,
		   "mkdir -m 1755 notes; for i in $(seq 30); do mkdir -m 1755 notes/$i; (cd notes/$i; mkdir -m 1755 "
		   "$(seq 100)); done; ls -d notes/*/* | wc -l",
		   "3000");
	assert_int_equal(change_to(MOUNT_READ, "notes"), 0);
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	box_expect(&box, "test $(ls -d notes/*/* | wc -l) -ge 2000 && echo left", "left");
}

static void mounts_below_come_along_read_only(void **state) {
	(void)state;
	struct plan plan;
	open_usual();
	box_plan(&box, &plan);
	box_add_from(&box, &plan, MOUNT_WRITE, "sub", "/dev"); /* has mounts of its own below it anywhere */
	assert_int_equal(box_change(&box, &plan), 0);
	box_plan(&box, &plan);
	box_add_from(&box, &plan, MOUNT_READ, "sub", "/dev");
	assert_int_equal(box_change(&box, &plan), 0);
	CLEANUP_FREE char *options = box_say(&box, "while read a b c d p o rest; do case $p in */home/sub*) echo $o;; "
						   "esac; done </proc/self/mountinfo");
	size_t count = 0;
	for (char *rest = options, *line; (line = strtok_r(rest, "\n", &rest)); count++)
		if (!string_starts(line, "ro,nosuid,nodev")) fail_msg("a mount is %s", line);
	assert_true(count > 1);
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	assert_int_equal(box.applied.taken_count, count);
}

static void what_is_open_for_writing_is_put_anew(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/sub; echo s >app/sub/mask");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "app/sub/mask")->mode = 0;
	box_open(&box, &plan);
	box_expect(&box, "exec 7>app/open; echo before >&7; cd app", "");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_READ, "app");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "app/sub/mask")->mode = 0;
	assert_int_equal(box_change(&box, &plan), 0);
	assert_int_equal(box.applied.taken_count, 2);
	box_expect(&box, "w $PWD/new; cat $PWD/sub/mask 2>/dev/null || echo hidden; echo after >&7; cat $PWD/open",
		   "refused\nhidden\nbefore\nafter"); /* who has it open keeps it: holders.h */
	box_expect(&box, "exec 7>&-; cd $PWD; w $PWD/open", "refused");
}

static void masked_plan(struct plan *plan, bool mask, bool in_it) {
	box_plan(&box, plan);
	box_add(&box, plan, MOUNT_WRITE, "app");
	if (mask) box_add(&box, plan, MOUNT_READ, "app/d");
	if (mask || in_it) box_add(&box, plan, MOUNT_READ, "app/d/kept");
}

static void who_stands_in_what_may_be_written_writes_there(void **state) {
	(void)state;
	const struct {
		const char *once;
		bool in_it, moved, writes;
	} tries[] = {
		{.writes = true}, {.once = "app"}, {.once = "other", .writes = true}, {.in_it = true}, {.moved = true}};
	struct plan plan;
	box_host(&box, "mkdir -p app/d; echo k >app/d/kept");
	masked_plan(&plan, true, true);
	box_open(&box, &plan);
	for (size_t i = 0; i < ARRAY_LENGTH(tries); i++) {
		box_expect(&box, "cd $HOME/app/d; w new kept", "refused\nrefused");
		if (tries[i].moved) box_host(&box, "mv app/d app/e; mkdir app/d");
		masked_plan(&plan, false, tries[i].in_it);
		if (tries[i].once) strings_take(&plan.once, path_join(box.home, tries[i].once));
		assert_int_equal(box_change(&box, &plan), 0);
		box_expect(&box, "w new kept", tries[i].writes ? "wrote\nrefused" : "refused\nrefused");
		for (size_t k = 0; k < box.applied.taken_count; k++)
			assert_int_equal(box.applied.taken[k].written, tries[i].writes);
		assert_true(box.applied.taken_count > 0 || !tries[i].writes);
		masked_plan(&plan, true, true);
		if (!tries[i].moved) assert_int_equal(box_change(&box, &plan), 0);
		if (tries[i].moved) plan_finish(&plan);
	}
}

/* The portal has `spare` descriptors left: its steps fail here and there. */
static void starve(size_t spare) {
	const struct rlimit limit = {.rlim_cur = box_count_fds(portal_pid(box.portal)) + spare, .rlim_max = 1024};
	assert_int_equal(prlimit(portal_pid(box.portal), RLIMIT_NOFILE, &limit, NULL), 0);
}

static void attack_r_01_a_mask_whose_release_fails_stays_read_only(void **state) {
	enum { SPARE_MAX = 12 };
	(void)state;
	size_t failed = 0;
	struct plan plan;
	box_host(&box, "mkdir -p app/d; echo k >app/d/kept");
	masked_plan(&plan, true, true);
	box_open(&box, &plan);
	box_expect(&box, "cd $HOME/app/d; w new kept", "refused\nrefused");
	for (size_t spare = 0; spare < SPARE_MAX; spare++) {
		CLEANUP_PLAN struct plan next;
		CLEANUP_STEPS struct steps steps = {0};
		masked_plan(&next, false, false);
		plan_changes(&box.plan, &next, &steps);
		starve(spare);
		const int code = box_apply(&box, &steps);
		starve(1000);
		if (code == 0) break;
		failed++;
		box_expect(&box, "w new kept $HOME/app/d/kept", "refused\nrefused\nrefused");
	}
	assert_in_range(failed, 1, SPARE_MAX - 1);
	box_expect(&box, "w new kept", "wrote\nrefused");
}

/* A link where a grant will be, on the way to it, or in the place of what was checked. */
static void attack_fs_02_links_of_the_tool_lead_nowhere(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/in secret notes; echo s >secret/f; echo n >notes/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_open(&box, &plan);
	box_expect(&box, "ln -s ../secret app/way; ln -s app/in notes", "");
	/* a source that is reached by a link: never */
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_READ, "app/way/f")->inode = 0;
	assert_int_equal(box_change(&box, &plan), ELOOP);
	/* a mount point that is a link: refused, and nothing made behind it on the host */
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_READ, "notes");
	assert_int_not_equal(box_change(&box, &plan), 0);
	box_expect(&box, "ls -A app/in", "");
	box_host(&box, "test -z \"$(ls -A app/in)\"");
	/* on the way to one */
	box_expect(&box, "rm notes; ln -s app/in deep", "");
	box_host(&box, "mkdir deep; echo d >deep/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_READ, "deep/f");
	assert_int_not_equal(box_change(&box, &plan), 0);
	box_host(&box, "test -z \"$(ls -A app/in)\"");
}

static void attack_fs_15_an_exchanged_folder_stays_what_was_checked(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/good app/bad; echo good >app/good/f; echo bad >app/bad/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_open(&box, &plan);
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_READ, "app/good");
	CLEANUP_FREE char *good = path_join(box.home, "app/good"), *bad = path_join(box.home, "app/bad");
	/* between the check and the mount */
	assert_int_equal(renameat2(AT_FDCWD, good, AT_FDCWD, bad, RENAME_EXCHANGE), 0);
	assert_int_equal(box_change(&box, &plan), ESTALE);
	assert_int_equal(renameat2(AT_FDCWD, good, AT_FDCWD, bad, RENAME_EXCHANGE), 0);
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	CLEANUP_PLAN struct plan granted;
	box_plan(&box, &granted);
	box_add(&box, &granted, MOUNT_WRITE, "app");
	box_add_from(&box, &granted, MOUNT_READ, "grant", "app/good");
	assert_int_equal(box_change(&box, &plan), 0);
	assert_int_equal(box_change(&box, &granted), 0);
	granted = (struct plan){0};
	/* and while it is mounted */
	assert_int_equal(renameat2(AT_FDCWD, good, AT_FDCWD, bad, RENAME_EXCHANGE), 0);
	box_expect(&box, "cat grant/f", "good");
}

static void attack_fs_18_a_revoke_takes_what_was_put(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/.git notes/sub; echo hosts >app/.git/config; echo n >notes/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/.git");
	box_add(&box, &plan, MOUNT_READ, "app/.git/config");
	box_open(&box, &plan);
	box_expect(&box, "mkdir -p a/b", "");
	box_host(&box, "mkdir -p a/b/grant; echo g >a/b/grant/f");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/.git");
	box_add(&box, &plan, MOUNT_READ, "app/.git/config");
	box_add(&box, &plan, MOUNT_READ, "a/b/grant");
	assert_int_equal(box_change(&box, &plan), 0);
	const size_t mounts = box_count_mounts(&box);
	/* the grant is elsewhere now, and its name leads to a mask */
	box_expect(&box, "mv a moved && mkdir -p a && ln -s ../app/.git a/b; cat moved/b/grant/f", "g");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/.git");
	box_add(&box, &plan, MOUNT_READ, "app/.git/config");
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "ls moved/b/grant; w app/.git/config", "refused");
	assert_int_equal(box_count_mounts(&box), mounts - 1);
	box_host(&box, "test -f a/b/grant/f; test \"$(cat app/.git/config)\" = hosts");
}

/* Who has a folder of a grant open, or works in it, must not see behind its masks when it has been taken. */
static void attack_fs_20_masks_stay_on_what_was_taken(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p g/a/hidden; echo key >g/a/.env; echo key >g/a/hidden/f; echo open >g/a/f");
	open_usual();
	for (int i = 0; i < 20; i++) {
		box_plan(&box, &plan);
		box_add(&box, &plan, i % 2 ? MOUNT_READ : MOUNT_WRITE, "g");
		box_add(&box, &plan, MOUNT_HIDE_FILE, "g/a/.env")->mode = 0;
		box_add(&box, &plan, MOUNT_HIDE_FOLDER, "g/a/hidden")->mode = 0;
		assert_int_equal(box_change(&box, &plan), 0);
		box_expect(&box,
			   "cd ~/g/a; [ -e /tmp/stop ] || { while [ ! -e /tmp/stop ]; do cat .env hidden/f; done "
			   ">>/tmp/seen 2>/dev/null & }; cat f",
			   "open");
		box_plan(&box, &plan);
		assert_int_equal(box_change(&box, &plan), 0);
		box_expect(&box, "cat f; cat .env hidden/f 2>/dev/null || echo masked; test -e ~/g || echo absent",
			   "open\nmasked\nabsent");
	}
	box_expect(&box, "touch /tmp/stop; wait; cat /tmp/seen", "");
}

static void attack_fs_20_the_dead_mount_is_read_only_and_noexec(void **state) {
	(void)state;
	box_host(&box, "mkdir notes; echo n >notes/f; cp /usr/bin/true notes/prog");
	open_usual();
	assert_int_equal(change_to(MOUNT_WRITE, "notes"), 0);
	box_expect(&box, "cd notes; w f; ./prog && echo ran", "wrote\nran");
	assert_int_equal(change_to(MOUNT_READ, NULL), 0);
	box_expect(&box, "w f new; ./prog 2>/dev/null || echo no; cd ~; test -e notes || echo absent",
		   "refused\nrefused\nno\nabsent");
	box_host(&box, "test ! -e notes/new");
}

static void write_proc(const char *name, const char *text) {
	CLEANUP_FREE char *path = path_join("/proc/self", name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd_write_all(fd, text, strlen(text), NULL) < 0) _exit(2);
}

/* The host mounts something below a shown tree while the sandbox runs: needs a host of our own. */
static _Noreturn void run_with_own_host(void) {
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	CLEANUP_FREE char *users = string_format("%u %u 1", uid, uid), *groups = string_format("%u %u 1", gid, gid);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) _exit(77);
	write_proc("setgroups", "deny");
	write_proc("uid_map", users);
	write_proc("gid_map", groups);
	CLEANUP_FREE char *below = path_join(box.home, "app/below");
	box_host(&box, "mkdir -p app/below && echo under >app/below/f");
	if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0) _exit(3);
	struct plan plan;
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_open(&box, &plan);
	if (mount("none", below, "tmpfs", 0, NULL) < 0) _exit(4);
	box_host(&box, "echo over >app/below/f; test \"$(cat app/below/f)\" = over");
	box_expect(&box, "cat app/below/f; grep -c below /proc/self/mountinfo", "under\n0");
	box_close(&box);
	_exit(0);
}

static void attack_fs_19_what_the_host_mounts_later_never_appears(void **state) {
	(void)state;
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) run_with_own_host();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
	assert_int_equal(status, 0);
}

/* Inside, processes look for what a broad grant must not show at any moment. */
static void attack_fs_22_a_broad_grant_never_shows_what_it_masks(void **state) {
	(void)state;
	box_host(&box,
		 "mkdir -p .config/sbx app/.git; echo key >.config/sbx/policy.yaml; echo a >app/f; echo s >app/.env");
	open_usual();
	box_expect(&box,
		   "look() { while [ ! -e /tmp/stop ]; do cat ~/.config/sbx/policy.yaml ~/app/.env; ls ~/.config/sbx;"
		   "done >>/tmp/seen 2>/dev/null; }; look & look & echo go",
		   "go");
	for (int i = 0; i < 200; i++) {
		struct plan plan;
		box_plan(&box, &plan);
		struct mount *home = box_add(&box, &plan, i % 2 ? MOUNT_WRITE : MOUNT_READ, "grant");
		free(home->path);
		free(home->source);
		home->path = string_copy(box.home);
		home->source = string_copy(box.home);
		home->inode = 0;
		for (size_t k = 0; k < plan.count; k++) /* in the place of the fresh one */
			if (plan.mounts[k].kind == MOUNT_FRESH && string_equal(plan.mounts[k].path, box.home)) {
				mount_finish(&plan.mounts[k]);
				memmove(&plan.mounts[k], &plan.mounts[k + 1],
					(plan.count - k - 1) * sizeof *plan.mounts);
				plan.count--;
			}
		box_add(&box, &plan, MOUNT_HIDE_FOLDER, ".config/sbx")->mode = 0;
		box_add(&box, &plan, MOUNT_HIDE_FILE, "app/.env")->mode = 0;
		assert_int_equal(box_change(&box, &plan), 0);
		if (i == 0) box_expect(&box, "cat ~/app/f", "a");
		box_plan(&box, &plan);
		assert_int_equal(box_change(&box, &plan), 0);
	}
	box_expect(&box, "touch /tmp/stop; wait; cat /tmp/seen", "");
}

static void nothing_of_the_portal_is_seen_inside(void **state) {
	(void)state;
	box_host(&box, "mkdir notes");
	open_usual();
	assert_int_equal(change_to(MOUNT_READ, "notes"), 0);
	box_expect(&box, "cat /proc/[0-9]*/comm | grep -c -v -e '^sh$' -e '^sbx-init$' -e '^cat$' -e '^grep$'", "0");
	box_expect(&box,
		   "grep -v ' /proc/' /proc/self/mountinfo | grep -c -e stage -e void -e hidden -e aside; ls /run/sbx",
		   "0\ninit");
	box_expect(&box, "for f in /proc/[0-9]*/fd/*; do readlink $f; done | grep -v -e pipe: -e ^/proc -e ^/usr/", "");
}

/* Grants as a user of a day makes them: some nested, some over others. */
static void random_plan(unsigned *seed, struct plan *plan) {
	static const char *const paths[] = {"g", "g/a", "g/a/b", "h", "h/f", "app/sub"};
	box_plan(&box, plan);
	box_add(&box, plan, MOUNT_WRITE, "app");
	box_add(&box, plan, MOUNT_PIN, "app/.git");
	box_add(&box, plan, MOUNT_HIDE_FILE, "app/.git/config")->mode = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		const int chance = rand_r(seed) % 4;
		if (chance < 2) box_add(&box, plan, chance == 0 ? MOUNT_READ : MOUNT_WRITE, paths[i]);
	}
	if (rand_r(seed) % 2) box_add(&box, plan, MOUNT_TEXT, "g/f")->source = string_copy("text\n");
}

static void make_host_of_random_plans(void) {
	box_host(&box, "mkdir -p app/.git app/sub g/a/b h; echo c >app/.git/config; echo 1 >g/f; echo 2 >g/a/f; echo 3 "
		       ">g/a/b/f; echo 4 >h/f; echo 5 >app/sub/f");
}

/* What is to be seen by a plan, as the shell inside says it. */
static void expect_plan(const struct plan *plan) {
	static const char *const files[] = {"g/f", "g/a/f", "g/a/b/f", "h/f", "app/sub/f", "app/.git/config"};
	CLEANUP_STRING struct string said = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *path = path_join(box.home, files[i]);
		const enum show show = plan_show(plan, path);
		string_append(&said, show == SHOW_WRITE                       ? "write\n"
				     : show == SHOW_READ || show == SHOW_TEXT ? "read\n"
									      : "none\n");
	}
	said.data[--said.size] = '\0';
	box_expect(&box,
		   "for f in g/f g/a/f g/a/b/f h/f app/sub/f app/.git/config; do if ! [ -r $f ]; then echo none; elif "
		   "[ -w $f ]; then echo write; else echo read; fi; done",
		   said.data);
}

static size_t count_planned(const struct plan *plan) {
	size_t count = 0;
	for (size_t i = 0; i < plan->count; i++) count += plan->mounts[i].kind != MOUNT_LINK;
	for (size_t i = 0; i < plan->below_count; i++) count += plan->below[i].kind != MOUNT_LINK;
	return count;
}

static void a_portal_that_dies_leaves_all_whole(void **state) {
	(void)state;
	unsigned seed = 4;
	struct plan plan;
	make_host_of_random_plans();
	random_plan(&seed, &plan);
	box_open(&box, &plan);
	expect_plan(&box.plan);
	const size_t bwraps = box_count_mounts(&box) - count_planned(&box.plan);
	for (int i = 0; i < 50; i++) {
		CLEANUP_STEPS struct steps steps = {0};
		unsigned same = seed;
		random_plan(&seed, &plan);
		plan_changes(&box.plan, &plan, &steps);
		/* somewhere in the middle of it, or before, or after */
		pid_t killer = fork();
		if (killer == 0) {
			usleep((useconds_t)(rand_r(&seed) % 600));
			kill(portal_pid(box.portal), SIGKILL);
			_exit(0);
		}
		const int code = box_apply(&box, &steps);
		assert_int_equal(waitpid(killer, NULL, 0), killer);
		(void)rand_r(&seed);
		if (code == 0 && i % 2) {
			plan_finish(&box.plan);
			box.plan = plan;
			box_restart(&box, NULL);
		} else { /* as far as it got: back to what was in force, then again */
			box_restart(&box, &steps);
			expect_plan(&box.plan);
			CLEANUP_STEPS struct steps once_more = {0};
			plan_finish(&plan);
			random_plan(&same, &plan);
			plan_changes(&box.plan, &plan, &once_more);
			if (box_apply(&box, &once_more) != 0) fail_msg("round %d: %s", i, box.text);
			plan_finish(&box.plan);
			box.plan = plan;
		}
		expect_plan(&box.plan);
		assert_int_equal(box_count_mounts(&box), bwraps + count_planned(&box.plan)); /* no stale one */
	}
	/* and all that was granted goes */
	box_plan(&box, &plan);
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "ls -A; grep -c -e /g -e /h/ -e /app /proc/self/mountinfo", "0");
}

/* A dead portal's mounts that others cover: a tree whose folder has lost that name, and a file on a file. */
static void what_is_covered_is_found_again(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p g/a; echo 1 >g/f; echo 2 >g/a/f; echo 3 >file; echo 4 >other");
	open_usual();
	const size_t mounts = box_count_mounts(&box);
	CLEANUP_STEPS struct steps steps = {.items = mem_array(struct step, 4), .count = 4};
	static const struct {
		const char *path, *source;
		uint32_t id, on;
	} puts[] = {
		{"g/a", "g/a", 1001, 0}, {"g", "g", 1002, 0}, {"file", "file", 1003, 0}, {"file", "other", 1004, 1003}};
	uint32_t home = 0;
	for (size_t i = 0; i < box.plan.count; i++)
		if (string_equal(box.plan.mounts[i].path, box.home)) home = box.plan.mounts[i].id;
	for (size_t i = 0; i < ARRAY_LENGTH(puts); i++) {
		struct mount *mount = &steps.items[i].mount;
		steps.items[i].kind = STEP_PUT;
		*mount = (struct mount){.kind = MOUNT_WRITE, .id = puts[i].id, .on = puts[i].on ? puts[i].on : home};
		mount->path = path_join(box.home, puts[i].path);
		mount->source = path_join(box.home, puts[i].source);
	}
	assert_int_equal(box_apply(&box, &steps), 0);
	box_expect(&box, "cat g/f g/a/f file", "1\n2\n4");
	box_host(&box, "mv g/a away");
	/* those below are known, the others in sight */
	box_plan(&box, &plan);
	for (size_t i = 0; i < box.plan.count; i++) {
		plan.mounts[i].id = box.plan.mounts[i].id;
		plan.mounts[i].on = box.plan.mounts[i].on;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(puts); i++) {
		plan.below = array_grow(plan.below, plan.below_count, sizeof *plan.below);
		plan.below[plan.below_count++] = mount_copy(&steps.items[i].mount);
	}
	plan_finish(&box.plan);
	box.plan = plan;
	kill(portal_pid(box.portal), SIGKILL);
	box_restart(&box, NULL);
	box_expect(&box, "cat g/f file; test -e g/a || echo gone", "1\n4\ngone");
	for (size_t i = 0; i < 2; i++) { /* from below */
		struct step step = {.kind = STEP_TAKE, .mount = steps.items[i * 2].mount};
		assert_int_equal(box_apply(&box, &(struct steps){.items = &step, .count = 1}), 0);
	}
	box_expect(&box, "cat g/f; test -e file || echo gone", "1\ngone"); /* with what lay on it */
	struct step last = {.kind = STEP_TAKE, .mount = steps.items[1].mount};
	assert_int_equal(box_apply(&box, &(struct steps){.items = &last, .count = 1}), 0);
	box_expect(&box, "ls -A; ls /run/sbx", "init");
	assert_int_equal(box_count_mounts(&box), mounts);
}

/* What a tree lay over has gone with the portal, and then it is the tree itself that a revoke has to take. */
static void attack_fs_18_a_revoke_takes_what_a_portal_that_died_has_bared(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p g/a; echo 1 >g/f; echo 2 >g/a/f; echo 3 >g/a/g");
	open_usual();
	const size_t mounts = box_count_mounts(&box);
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "g");
	box_add(&box, &plan, MOUNT_HIDE_FOLDER, "g/a")->mode = 0;
	assert_int_equal(box_change(&box, &plan), 0);
	box_plan(&box, &plan); /* a narrower mask: the tree is put anew, over the old one */
	box_add(&box, &plan, MOUNT_WRITE, "g");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "g/a/f")->mode = 0;
	assert_int_equal(box_change(&box, &plan), 0);
	assert_int_equal(box.plan.below_count, 2);
	assert_int_equal(box_count_mounts(&box), mounts + 4);
	CLEANUP_STEPS struct steps steps = {0};
	box_plan(&box, &plan);
	plan_changes(&box.plan, &plan, &steps);
	plan_finish(&plan);
	assert_int_equal(steps.count, 1); /* the lower one, and what lies on it goes with it */
	assert_int_equal(steps.items[0].kind, STEP_TAKE);
	for (int deaths = 0; deaths < 2; deaths++) { /* before it can tell */
		assert_int_equal(box_apply(&box, &steps), 0);
		box_expect(&box, "test -e g || echo gone", "gone");
		kill(portal_pid(box.portal), SIGKILL);
		box_restart(&box, &steps);
		box_expect(&box, "cat g/f g/a/g; test -r g/a/f || echo masked", "1\n3\nmasked");
		assert_int_equal(box.plan.below_count, 0);
		assert_int_equal(box_count_mounts(&box), mounts + 2);
		kill(portal_pid(box.portal), SIGKILL); /* the next one knows it, too */
		box_restart(&box, NULL);
		assert_int_equal(box_count_mounts(&box), mounts + 2);
		steps_finish(&steps);
		box_plan(&box, &plan);
		plan_changes(&box.plan, &plan, &steps);
		plan_finish(&plan);
	}
	box_plan(&box, &plan);
	assert_int_equal(box_change(&box, &plan), 0);
	box_expect(&box, "test -e g || echo gone", "gone");
	assert_int_equal(box_count_mounts(&box), mounts);
}

/* What the portal does after its last reply is done, and no descriptor is on its way. */
static void settle(void) {
	portal_seal(box.portal, "/run", NULL, NULL);
	box_wait(&box);
}

static size_t read_memory(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/statm", pid), *text = NULL;
	assert_int_equal(file_read(path, 4096, &text, NULL, NULL), 0);
	const char *resident = strchr(text, ' ');
	assert_non_null(resident);
	return strtoul(resident, NULL, 10);
}

static void many_grants_leave_nothing_behind(void **state) {
	(void)state;
	const int grants = how_often(300, 1000);
	box_host(&box, "mkdir -p g/a; echo 1 >g/f; echo 2 >g/a/f");
	open_usual();
	box_expect(&box,
		   "for i in 1 2; do while [ ! -e /tmp/stop ]; do cat g/f g/a/f g >/dev/null 2>&1; done & "
		   "done; echo go",
		   "go");
	size_t fds[2] = {0}, memory[2] = {0}, own[2] = {0}, mounts = 0;
	for (int i = 0; i <= grants; i++) {
		struct plan plan;
		if (i == 20 || i == grants) {
			const int at = i == grants;
			settle();
			memory[at] = read_memory(portal_pid(box.portal));
			own[at] = box_count_fds(getpid());
			if (at == 0) mounts = box_count_mounts(&box);
			fds[at] = box_count_fds(portal_pid(box.portal));
		}
		box_plan(&box, &plan);
		box_add(&box, &plan, i % 3 ? MOUNT_READ : MOUNT_WRITE, "g");
		if (i % 2) box_add(&box, &plan, MOUNT_HIDE_FILE, "g/a/f")->mode = 0;
		assert_int_equal(box_change(&box, &plan), 0);
		box_plan(&box, &plan);
		assert_int_equal(box_change(&box, &plan), 0);
	}
	box_expect(&box, "touch /tmp/stop; wait; ls -A", "");
	assert_int_equal(box_count_mounts(&box), mounts);
	assert_int_equal(fds[0], fds[1]);
	assert_int_equal(own[0], own[1]);
	if (memory[1] > memory[0] + MEMORY_GROWTH_MAX)
		fail_msg("the portal grew from %zu to %zu pages", memory[0], memory[1]);
}

static size_t repaired;

static void on_repaired(void *context, const char *path, int code) {
	(void)context;
	if (code != 0) fail_msg("%s can't be put back: %s", path, strerror(code));
	repaired++;
}

/* They follow the box's plan. */
static struct masks *masks_begin(void (*stale)(void *context)) {
	const struct masks_options options = {.base = box.base,
					      .init = box.init,
					      .portal = &box.portal,
					      .stale = stale,
					      .repaired = on_repaired,
					      .context = &box};
	struct masks *masks;
	assert_int_equal(masks_new(&options, &masks, NULL), 0);
	masks_follow(masks, &box.plan);
	return masks;
}

static int compare_times(const void *a, const void *b) {
	const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;
	return one < two ? -1 : one > two;
}

static int64_t now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* NetworkManager and others write /etc/resolv.conf anew and rename. */
static void a_text_comes_back_when_the_host_has_torn_it_off(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir etc; echo hosts >etc/hosts");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_READ, "etc");
	box_add(&box, &plan, MOUNT_TEXT, "etc/hosts")->source = string_copy("ours\n");
	box_open(&box, &plan);
	const size_t mounts = box_count_mounts(&box);
	struct masks *masks = masks_begin(NULL);
	settle();
	repaired = 0;
	box_host(&box, "echo new >etc/n; mv etc/n etc/hosts");
	assert_int_equal(box_count_mounts(&box), mounts - 1);
	while (box_count_mounts(&box) != mounts) event_base_loop(box.base, EVLOOP_ONCE);
	box_wait(&box);
	box_expect(&box, "cat etc/hosts; w etc/hosts", "ours\nrefused");
	box_host(&box, "test \"$(cat etc/hosts)\" = new");
	assert_int_equal(repaired, 0); /* it hides nothing: nobody has to hear of it */
	portal_free(STEAL(box.portal));
	masks_free(masks);
}

static void attack_fs_17_what_the_host_tears_off_comes_back_with_what_lay_on_it(void **state) {
	(void)state;
	struct plan plan;
	int64_t times[100];
	box_host(&box, "mkdir -p app/.git/hooks; echo c >app/.git/config; echo k >app/.git/keep");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/.git");
	box_add(&box, &plan, MOUNT_READ, "app/.git/config");
	box_add(&box, &plan, MOUNT_HIDE_FOLDER, "app/.git/hooks")->mode = 0;
	box_open(&box, &plan);
	const size_t mounts = box_count_mounts(&box);
	struct masks *masks = masks_begin(NULL);
	CLEANUP_FREE char *config = path_join(box.home, "app/.git/config"), *new = path_join(box.home, "app/.git/new");
	size_t fds = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		assert_int_equal(file_write(new, "c", 1, 0644, NULL), 0);
		repaired = 0;
		const int64_t start = now_us();
		assert_int_equal(rename(new, config), 0);
		while (repaired == 0) event_base_loop(box.base, EVLOOP_ONCE);
		times[i] = now_us() - start;
		if (i != 10 && i != ARRAY_LENGTH(times) - 1) continue;
		settle();
		size_t open = box_count_fds(portal_pid(box.portal));
		if (fds == 0) fds = open;
		assert_int_equal(open, fds);
	}
	qsort(times, ARRAY_LENGTH(times), sizeof *times, compare_times);
	print_message("torn off and put back: %" PRId64 " us, at most %" PRId64 "\n", times[ARRAY_LENGTH(times) / 2],
		      times[ARRAY_LENGTH(times) - 1]);
	box_expect(&box, "w app/.git/config; mv app/.git/config app/x 2>/dev/null || echo no", "refused\nno");
	/* a folder, and what lay on it; while it is away nothing of it is put back */
	repaired = 0;
	box_host(&box, "rm -r app/.git");
	for (int i = 0; i < 20; i++) {
		event_base_loop(box.base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	assert_int_equal(repaired, 0);
	box_host(&box, "mkdir -p app/n/hooks; echo c >app/n/config; mv app/n app/.git");
	while (repaired == 0) event_base_loop(box.base, EVLOOP_ONCE);
	assert_int_equal(repaired, 3);
	assert_int_equal(box_count_mounts(&box), mounts);
	box_expect(&box, "w app/.git/config app/.git/hooks/x; mv app/.git app/g 2>/dev/null || echo no",
		   "refused\nrefused\nno");
	portal_free(STEAL(box.portal));
	masks_free(masks);
}

static size_t stale;

static void on_stale(void *context) {
	(void)context;
	stale++;
}

static void attack_fs_17_what_is_moved_away_and_made_anew_is_masked_again(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/in; echo old >app/in/secret; echo old >app/read");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_PIN, "app/in");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "app/in/secret")->mode = 0;
	box_add(&box, &plan, MOUNT_READ, "app/read");
	box_open(&box, &plan);
	const size_t mounts = box_count_mounts(&box);
	struct masks *masks = masks_begin(on_stale);
	settle();
	repaired = stale = 0;
	box_host(&box,
		 "mv app/read app/read~; echo new >app/read; mv app/in app/old; mkdir app/in; echo new >app/in/secret");
	masks_look(masks);
	while (repaired < 3) event_base_loop(box.base, EVLOOP_ONCE);
	assert_int_equal(box_count_mounts(&box), mounts);
	box_expect(&box, "w app/in/secret app/read; mv app/in app/x 2>/dev/null || echo no", "refused\nrefused\nno");
	/* of another kind: another plan is asked for, and again where that one doesn't know it either */
	box_host(&box, "rm -r app/in; ln -s /usr app/in");
	while (stale == 0) event_base_loop(box.base, EVLOOP_ONCE);
	masks_follow(masks, &box.plan);
	while (stale == 1) event_base_loop(box.base, EVLOOP_ONCE);
	assert_int_equal(repaired, 3);
	masks_stop(masks);
	portal_free(STEAL(box.portal));
	masks_free(masks);
}

/* The host makes it anew while the portal can't put it back yet, and whoever watches the names says so just then. */
static void attack_fs_17_what_is_made_anew_while_it_is_put_back_is_masked_at_once(void **state) {
	(void)state;
	struct plan plan;
	int64_t best = INT64_MAX;
	box_host(&box, "mkdir app; echo old >app/read");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_READ, "app/read");
	box_open(&box, &plan);
	struct masks *masks = masks_begin(NULL);
	settle();
	CLEANUP_FREE char *read = path_join(box.home, "app/read");
	for (int round = 0; round < 10; round++) {
		repaired = 0;
		assert_int_equal(unlink(read), 0);
		event_base_loop(box.base, EVLOOP_ONCE); /* it is torn off: the portal has its steps */
		usleep(20000);                          /* and has answered that nothing is there */
		assert_int_equal(file_write(read, "new", 3, 0644, NULL), 0);
		const int64_t start = now_us();
		masks_look(masks);
		while (repaired == 0) event_base_loop(box.base, EVLOOP_ONCE);
		const int64_t took = now_us() - start;
		if (took < best) best = took;
	}
	print_message("made anew and masked: %" PRId64 " us\n", best);
	assert_true(best < 50000); /* the pause is 100 ms */
	box_expect(&box, "w app/read", "refused");
	portal_free(STEAL(box.portal));
	masks_free(masks);
}

static void exchange(const char *one, const char *other) {
	CLEANUP_FREE char *a = path_join(box.home, one), *b = path_join(box.home, other);
	assert_int_equal(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), 0);
}

static void attack_fs_17_names_that_are_exchanged_keep_their_own_masks(void **state) {
	(void)state;
	struct plan plan;
	box_host(&box, "mkdir -p app/in app/dir; echo 1 >app/secret; echo 2 >app/read; echo 3 >app/in/read");
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "app");
	box_add(&box, &plan, MOUNT_HIDE_FOLDER, "app/dir")->mode = 0;
	box_add(&box, &plan, MOUNT_PIN, "app/in");
	box_add(&box, &plan, MOUNT_READ, "app/in/read");
	box_add(&box, &plan, MOUNT_READ, "app/read");
	box_add(&box, &plan, MOUNT_HIDE_FILE, "app/secret")->mode = 0;
	box_open(&box, &plan);
	box_restart(&box, NULL); /* the next portal knows each one, too */
	const size_t mounts = box_count_mounts(&box);
	struct masks *masks = masks_begin(on_stale);
	settle();
	static const char *const others[] = {"app/read", "app/in/read", "app/read"};
	static const char *const shown[] = {"1\n3", "1\n2", "3\n2"};
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		repaired = stale = 0;
		exchange("app/secret", others[i]);
		masks_look(masks);
		while (repaired < 2) event_base_loop(box.base, EVLOOP_ONCE);
		box_wait(&box);
		box_expect(&box, "w app/secret app/read app/in/read", "refused\nrefused\nrefused");
		box_expect(&box, "cat app/secret 2>/dev/null || echo hidden", "hidden");
		box_expect(&box, "cat app/read app/in/read", shown[i]);
		assert_int_equal(box_count_mounts(&box), mounts);
		assert_int_equal(stale, 0);
	}
	/* of another kind: nothing is bared until there is a plan that knows it */
	exchange("app/secret", "app/dir");
	masks_look(masks);
	while (stale == 0) event_base_loop(box.base, EVLOOP_ONCE);
	box_expect(&box, "ls app/secret 2>/dev/null || echo hidden; cat app/dir 2>/dev/null || echo hidden",
		   "hidden\nhidden");
	assert_int_equal(box_count_mounts(&box), mounts);
	masks_stop(masks);
	portal_free(STEAL(box.portal));
	masks_free(masks);
}

#define PORTAL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

struct told {
	size_t done, died;
};

static void on_sealed(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct told *told = argument;
	(void)text, (void)fds;
	assert_int_equal(fd_count, 0);
	assert_true(code == 0 || code == EPIPE);
	told->done += code == 0;
	told->died += code == EPIPE;
}

/* Far more than its socket takes. */
static void attack_r_01_calls_to_a_stopped_portal_return_at_once_and_all_are_done_later(void **state) {
	enum { CALLS = 5000 };
	struct told told = {0};
	(void)state;
	open_usual();
	assert_int_equal(kill(portal_pid(box.portal), SIGSTOP), 0);
	for (size_t i = 0; i < CALLS; i++) portal_seal(box.portal, "/run", on_sealed, &told);
	event_base_loop(box.base, EVLOOP_NONBLOCK);
	assert_int_equal(told.done + told.died, 0);
	assert_int_equal(kill(portal_pid(box.portal), SIGCONT), 0);
	box_wait(&box);
	assert_int_equal(told.done, CALLS);
}

static void attack_r_01_a_call_that_a_portal_does_not_take_is_told_as_failed(void **state) {
	struct told told = {0};
	siginfo_t info;
	(void)state;
	open_usual();
	assert_int_equal(kill(portal_pid(box.portal), SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)portal_pid(box.portal), &info, WEXITED | WNOWAIT), 0);
	portal_seal(box.portal, "/run", on_sealed, &told);
	assert_int_equal(told.died, 0); /* never from within the call */
	assert_true(portal_wait(box.portal, NULL) < 0);
	assert_int_equal(told.died, 1);
	portal_seal(box.portal, "/run", on_sealed, &told);
	assert_true(portal_wait(box.portal, NULL) < 0);
	assert_int_equal(told.died, 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		PORTAL_TEST(the_portal_builds_what_a_plan_says),
		PORTAL_TEST(grants_come_and_go),
		PORTAL_TEST(a_text_is_read_in_the_place_of_the_hosts),
		PORTAL_TEST(what_the_tool_made_stays),
		PORTAL_TEST(what_the_tool_made_many_of_is_left_to_it),
		PORTAL_TEST(mounts_below_come_along_read_only),
		PORTAL_TEST(what_is_open_for_writing_is_put_anew),
		PORTAL_TEST(who_stands_in_what_may_be_written_writes_there),
		PORTAL_TEST(attack_r_01_a_mask_whose_release_fails_stays_read_only),
		PORTAL_TEST(attack_fs_02_links_of_the_tool_lead_nowhere),
		PORTAL_TEST(attack_fs_15_an_exchanged_folder_stays_what_was_checked),
		PORTAL_TEST(attack_fs_18_a_revoke_takes_what_was_put),
		PORTAL_TEST(attack_fs_20_masks_stay_on_what_was_taken),
		PORTAL_TEST(attack_fs_20_the_dead_mount_is_read_only_and_noexec),
		PORTAL_TEST(attack_fs_19_what_the_host_mounts_later_never_appears),
		PORTAL_TEST(attack_fs_22_a_broad_grant_never_shows_what_it_masks),
		PORTAL_TEST(attack_fs_17_what_the_host_tears_off_comes_back_with_what_lay_on_it),
		PORTAL_TEST(attack_fs_17_what_is_moved_away_and_made_anew_is_masked_again),
		PORTAL_TEST(attack_fs_17_what_is_made_anew_while_it_is_put_back_is_masked_at_once),
		PORTAL_TEST(attack_fs_17_names_that_are_exchanged_keep_their_own_masks),
		PORTAL_TEST(a_text_comes_back_when_the_host_has_torn_it_off),
		PORTAL_TEST(nothing_of_the_portal_is_seen_inside),
		PORTAL_TEST(attack_r_01_calls_to_a_stopped_portal_return_at_once_and_all_are_done_later),
		PORTAL_TEST(attack_r_01_a_call_that_a_portal_does_not_take_is_told_as_failed),
		PORTAL_TEST(a_portal_that_dies_leaves_all_whole),
		PORTAL_TEST(what_is_covered_is_found_again),
		PORTAL_TEST(attack_fs_18_a_revoke_takes_what_a_portal_that_died_has_bared),
		PORTAL_TEST(many_grants_leave_nothing_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
