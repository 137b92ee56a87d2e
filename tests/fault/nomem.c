/*
 * nomem: loaded in front of the C library (LD_PRELOAD), lets the n-th allocation of a process fail: SBX_NOMEM_AT=n, or
 * nomem_arm(n) from within. Children of the process are not struck; with SBX_NOMEM_FORKS they are, and all count
 * together. The file named by SBX_NOMEM_FILE says how many allocations there were (8 bytes) and whether one has failed
 * (8 bytes); it is mapped before anything else happens, so that a process that may not open files any more writes it.
 *
 * glibc calls these names itself, so strdup, getline, fopen and the like are struck too ("Replacing malloc", glibc's
 * manual).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nomem.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

struct tally {
	long count, struck;
};

static struct tally own, *tally = &own;
static long at;
static pid_t process; /* 0: all that come of this one */

void nomem_arm(long number) {
	process = getpid();
	__atomic_store_n(&tally->count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&at, number, __ATOMIC_RELEASE);
}

long nomem_count(void) {
	return __atomic_load_n(&tally->count, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void read_environment(void) {
	const char *number = getenv("SBX_NOMEM_AT"), *file = getenv("SBX_NOMEM_FILE");
	if (!number) return;
	if (file) {
		int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		void *mapped = fd < 0 || ftruncate(fd, sizeof *tally) < 0
				       ? MAP_FAILED
				       : mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (mapped == MAP_FAILED) abort();
		close(fd);
		tally = mapped;
	}
	nomem_arm(strtol(number, NULL, 10));
	if (getenv("SBX_NOMEM_FORKS")) process = 0;
}

static int strikes(void) {
	long wanted = __atomic_load_n(&at, __ATOMIC_ACQUIRE);
	if (wanted == 0 || __atomic_add_fetch(&tally->count, 1, __ATOMIC_RELAXED) != wanted) return 0;
	if (process != 0 && getpid() != process) return 0;
	tally->struck = 1;
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
