#include "call_table.h"

#include <assert.h>
#include <sys/syscall.h>

/* Only older architectures have these; on those since (asm-generic/unistd.h without __ARCH_WANT_SYSCALL_NO_AT) the *at
 * forms are all there is. */
#ifndef __NR_open
#define __NR_open      -1
#define __NR_creat     -1
#define __NR_stat      -1
#define __NR_lstat     -1
#define __NR_access    -1
#define __NR_readlink  -1
#define __NR_mkdir     -1
#define __NR_mknod     -1
#define __NR_unlink    -1
#define __NR_rmdir     -1
#define __NR_rename    -1
#define __NR_link      -1
#define __NR_symlink   -1
#define __NR_chmod     -1
#define __NR_chown     -1
#define __NR_lchown    -1
#define __NR_utime     -1
#define __NR_utimes    -1
#define __NR_futimesat -1
#endif
#ifndef __NR_renameat /* riscv64 has renameat2 alone */
#define __NR_renameat -1
#endif

/* Newer than the headers we may be built with; the same number everywhere (since 424). */
#ifndef __NR_faccessat2
#define __NR_faccessat2 439
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat    463
#define __NR_getxattrat    464
#define __NR_listxattrat   465
#define __NR_removexattrat 466
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif

static_assert(__NR_openat > 0 && __NR_mkdirat > 0 && __NR_unlinkat > 0 && __NR_linkat > 0 && __NR_symlinkat > 0 &&
		      __NR_renameat2 > 0 && __NR_fchmodat > 0 && __NR_fchownat > 0 && __NR_utimensat > 0,
	      "every architecture has the *at forms");
#ifdef __x86_64__
static_assert(__NR_open > 0 && __NR_creat > 0 && __NR_rename > 0 && __NR_renameat > 0, "x86-64 has the old forms, too");
#endif

#define CALL(name_)   .name = #name_, .number = __NR_##name_
#define LOOK(name_)   CALL(name_), .class = CALL_LOOK
#define NAMES(name_)  CALL(name_), .class = CALL_NAMES
#define CHANGE(name_) CALL(name_), .class = CALL_CHANGE
#define AT(f, p)                                                                                                       \
	{ .folder = (f), .path = (p) }
#define MAKES(f, p)                                                                                                    \
	{ .folder = (f), .path = (p), .makes = true }
#define REMOVES(f, p)                                                                                                  \
	{ .folder = (f), .path = (p), .removes = true }

const struct call_shape call_shapes[] = {
	{CALL(open), .class = CALL_OPEN, .paths = {AT(0, 1)}, .flags = CALL_FLAGS_OPEN, .flags_at = 2, .mode_at = 3},
	{CALL(creat), .class = CALL_OPEN, .paths = {AT(0, 1)}, .flags = CALL_FLAGS_CREAT, .mode_at = 2},
	{CALL(openat), .class = CALL_OPEN, .paths = {AT(1, 2)}, .flags = CALL_FLAGS_OPEN, .flags_at = 3, .mode_at = 4},

	{CALL(execve), .class = CALL_EXECUTE, .paths = {AT(0, 1)}},
	{CALL(execveat), .class = CALL_EXECUTE, .paths = {AT(1, 2)}},

	{NAMES(mkdir), .paths = {MAKES(0, 1)}},
	{NAMES(mkdirat), .paths = {MAKES(1, 2)}},
	{NAMES(mknod), .paths = {MAKES(0, 1)}, .mode_at = 2},
	{NAMES(mknodat), .paths = {MAKES(1, 2)}, .mode_at = 3},
	{NAMES(symlink), .paths = {MAKES(0, 2)}, .text = 1, .brings = true},
	{NAMES(symlinkat), .paths = {MAKES(2, 3)}, .text = 1, .brings = true},
	{NAMES(bind), .paths = {MAKES(0, 2)}, .form = CALL_ADDRESS},
	{NAMES(link), .paths = {AT(0, 1), MAKES(0, 2)}},
	{NAMES(linkat), .paths = {AT(1, 2), MAKES(3, 4)}, .flags = CALL_FLAGS_LINK, .flags_at = 5},
	{NAMES(unlink), .paths = {REMOVES(0, 1)}},
	{NAMES(unlinkat), .paths = {REMOVES(1, 2)}},
	{NAMES(rmdir), .paths = {REMOVES(0, 1)}},
	{NAMES(rename), .paths = {REMOVES(0, 1), MAKES(0, 2)}, .brings = true},
	{NAMES(renameat), .paths = {REMOVES(1, 2), MAKES(3, 4)}, .brings = true},
	{NAMES(renameat2), .paths = {REMOVES(1, 2), MAKES(3, 4)}, .brings = true, .flags = CALL_FLAGS_RENAME,
	 .flags_at = 5},

	{CHANGE(truncate), .paths = {AT(0, 1)}},
	{CHANGE(chmod), .paths = {AT(0, 1)}, .mode_at = 2},
	{CHANGE(fchmod), .paths = {AT(1, 0)}, .mode_at = 2},
	{CHANGE(fchmodat), .paths = {AT(1, 2)}, .mode_at = 3},
	{CHANGE(fchmodat2), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 4, .mode_at = 3},
	{CHANGE(chown), .paths = {AT(0, 1)}},
	{CHANGE(lchown), .paths = {AT(0, 1)}, .straight = true},
	{CHANGE(fchown), .paths = {AT(1, 0)}},
	{CHANGE(fchownat), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 5},
	{CHANGE(utime), .paths = {AT(0, 1)}},
	{CHANGE(utimes), .paths = {AT(0, 1)}},
	{CHANGE(futimesat), .paths = {AT(1, 2)}},
	{CHANGE(utimensat), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 4},
	{CHANGE(setxattr), .paths = {AT(0, 1)}},
	{CHANGE(lsetxattr), .paths = {AT(0, 1)}, .straight = true},
	{CHANGE(fsetxattr), .paths = {AT(1, 0)}},
	{CHANGE(setxattrat), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 3},
	{CHANGE(removexattr), .paths = {AT(0, 1)}},
	{CHANGE(lremovexattr), .paths = {AT(0, 1)}, .straight = true},
	{CHANGE(fremovexattr), .paths = {AT(1, 0)}},
	{CHANGE(removexattrat), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 3},
	{CHANGE(file_setattr), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_AT, .flags_at = 5},

	{LOOK(stat), .paths = {AT(0, 1)}},
	{LOOK(lstat), .paths = {AT(0, 1)}},
	{LOOK(fstat), .paths = {AT(1, 0)}},
	{LOOK(newfstatat), .paths = {AT(1, 2)}},
	{LOOK(statx), .paths = {AT(1, 2)}},
	{LOOK(access), .paths = {AT(0, 1)}, .flags = CALL_FLAGS_ACCESS, .flags_at = 2},
	{LOOK(faccessat), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_ACCESS, .flags_at = 3},
	{LOOK(faccessat2), .paths = {AT(1, 2)}, .flags = CALL_FLAGS_ACCESS, .flags_at = 3},
	{LOOK(readlink), .paths = {AT(0, 1)}},
	{LOOK(readlinkat), .paths = {AT(1, 2)}},
	{LOOK(chdir), .paths = {AT(0, 1)}},
	{LOOK(fchdir), .paths = {AT(1, 0)}},
	{LOOK(statfs), .paths = {AT(0, 1)}},
	{LOOK(fstatfs), .paths = {AT(1, 0)}},
	{LOOK(getxattr), .paths = {AT(0, 1)}},
	{LOOK(lgetxattr), .paths = {AT(0, 1)}},
	{LOOK(fgetxattr), .paths = {AT(1, 0)}},
	{LOOK(getxattrat), .paths = {AT(1, 2)}},
	{LOOK(listxattr), .paths = {AT(0, 1)}},
	{LOOK(llistxattr), .paths = {AT(0, 1)}},
	{LOOK(flistxattr), .paths = {AT(1, 0)}},
	{LOOK(listxattrat), .paths = {AT(1, 2)}},
	{LOOK(file_getattr), .paths = {AT(1, 2)}},
	{LOOK(name_to_handle_at), .paths = {AT(1, 2)}},
	{LOOK(inotify_add_watch), .paths = {AT(0, 2)}},
};
const size_t call_shape_count = sizeof call_shapes / sizeof *call_shapes;

const struct call_shape *call_shape_of(int number) {
	for (size_t i = 0; number >= 0 && i < call_shape_count; i++)
		if (call_shapes[i].number == number) return &call_shapes[i];
	return NULL;
}
