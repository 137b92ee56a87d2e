/*
 * memory: allocation that doesn't fail, and cleanup attributes.
 *
 * Promises: no function here returns NULL. Running out of memory ends the process with one line on stderr and
 * exit status 125: a broker or runner that is gone denies everything (docs/decisions.md), and code without
 * untested error paths is code that can be read. Sizes are checked for overflow.
 * Raw malloc and friends are poisoned in this project (base/banned.h).
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* Give free pages back to the system; takes milliseconds where there was much. */
void mem_trim(void);

/* Zeroed memory for `count` objects of `size` bytes; freed with free(). */
void *mem_alloc(size_t count, size_t size) __attribute__((__malloc__, returns_nonnull, alloc_size(1, 2)));
void *mem_resize(void *memory, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));
void *mem_copy(const void *bytes, size_t size) __attribute__((returns_nonnull));
_Noreturn void mem_exhausted(void);

/* What this process (not its children) puts back before it ends for want of memory, as its user's terminal: one at a
 * time, without allocating. NULL: nothing any more. */
void mem_before_end(void (*put_back)(void *argument), void *argument);

/* malloc(3) and realloc(3) for libraries that let us say what they allocate with: they end the process, too. */
void *mem_raw(size_t size) __attribute__((__malloc__, returns_nonnull, alloc_size(1)));
void *mem_raw_resize(void *memory, size_t size) __attribute__((returns_nonnull, warn_unused_result));

/* What a function of the C library that allocates (realpath(3), opendir(3)) has returned: NULL for want of memory ends
 * the process, so that it can't be taken for "there is no such thing". */
void *mem_expect(void *result);

#define mem_new(type)          ((type *)mem_alloc(1, sizeof(type)))
#define mem_array(type, count) ((type *)mem_alloc((count), sizeof(type)))

/*
 * Room for one more element behind `count`: grows by doubling, and needs no capacity field, since it
 * reallocates exactly when count is 0 or a power of two.
 *     list->items = array_grow(list->items, list->count, sizeof *list->items);
 *     list->items[list->count++] = item;
 */
void *array_grow(void *items, size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Takes the pointer out of a variable that has a cleanup attribute. */
#define STEAL(pointer)                                                                                                 \
	__extension__({                                                                                                \
		__auto_type steal_address_ = &(pointer);                                                               \
		__auto_type steal_value_ = *steal_address_;                                                            \
		*steal_address_ = NULL;                                                                                \
		steal_value_;                                                                                          \
	})

/* CLEANUP(fn): run fn(&variable) at the end of its scope. DEFINE_CLEANUP(type *, free_fn) makes such an fn. */
#define CLEANUP(function) __attribute__((cleanup(function)))
#define DEFINE_CLEANUP(type, function)                                                                                 \
	static inline void function##_p(type *pointer) {                                                               \
		if (*pointer) function(*pointer);                                                                      \
	}                                                                                                              \
	struct cleanup_semicolon_

static inline void mem_free_p(void *pointer) {
	free(*(void **)pointer);
}
#define CLEANUP_FREE CLEANUP(mem_free_p)
