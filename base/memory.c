#include "base/memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct {
	void (*put_back)(void *argument);
	void *argument;
	pid_t process;
} before_end;

void mem_before_end(void (*put_back)(void *argument), void *argument) {
	before_end.put_back = put_back;
	before_end.argument = argument;
	before_end.process = getpid();
}

_Noreturn void mem_exhausted(void) {
	static const char line[] = "sbx: out of memory\n";
	void (*put_back)(void *argument) = before_end.put_back;
	before_end.put_back = NULL;
	if (put_back && before_end.process == getpid()) put_back(before_end.argument);
	if (write(STDERR_FILENO, line, sizeof line - 1) < 0) _exit(125);
	_exit(125);
}

void *mem_raw(size_t size) {
	void *memory = malloc(size > 0 ? size : 1);
	if (!memory) mem_exhausted();
	return memory;
}

void *mem_raw_resize(void *memory, size_t size) {
	return mem_resize(memory, 1, size);
}

void *mem_expect(void *result) {
	if (!result && errno == ENOMEM) mem_exhausted();
	return result;
}

void *mem_alloc(size_t count, size_t size) {
	void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
	if (!memory) mem_exhausted();
	return memory;
}

void *mem_resize(void *memory, size_t count, size_t size) {
	if (count == 0) count = 1;
	void *resized = reallocarray(memory, count, size > 0 ? size : 1);
	if (!resized) mem_exhausted();
	return resized;
}

void mem_trim(void) {
#ifdef __GLIBC__
	/* malloc.h declares what banned.h forbids. */
	extern int malloc_trim(size_t pad);
	malloc_trim(0);
#endif
}

void *mem_copy(const void *bytes, size_t size) {
	/* Not calloc: what is overwritten at once needn't be zero, and glibc serves malloc from a quicker place. */
	void *copy = malloc(size > 0 ? size : 1);
	if (!copy) mem_exhausted();
	if (size > 0) memcpy(copy, bytes, size);
	return copy;
}

void *array_grow(void *items, size_t count, size_t size) {
	if ((count & (count - 1)) != 0) return items;
	if (count > SIZE_MAX / 2) mem_exhausted();
	return mem_resize(items, count > 0 ? count * 2 : 1, size);
}
