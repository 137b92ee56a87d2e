/*
 * nomem: loaded in front of the C library (LD_PRELOAD), lets the n-th allocation of a process fail: SBX_NOMEM_AT=n, or
 * nomem_arm(n) from within. When it has, the file named by SBX_NOMEM_FILE exists. Children of the process are not
 * struck.
 *
 * glibc calls these names itself, so strdup, getline, fopen and the like are struck too ("Replacing malloc", glibc's
 * manual).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "nomem.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static long at, count;
static pid_t process;
static const char *mark;

void nomem_arm(long number) {
	at = number;
	count = 0;
	process = getpid();
}

long nomem_count(void) {
	return count;
}

__attribute__((constructor)) static void read_environment(void) {
	const char *number = getenv("SBX_NOMEM_AT");
	mark = getenv("SBX_NOMEM_FILE");
	if (number) nomem_arm(strtol(number, NULL, 10));
}

static int strikes(void) {
	if (at == 0 || ++count != at || getpid() != process) return 0;
	if (mark) close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size) {
	return strikes() ? NULL : __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
	return strikes() ? NULL : __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
	return strikes() ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t number, size_t size) {
	size_t all;
	if (__builtin_mul_overflow(number, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(memory, all);
}
