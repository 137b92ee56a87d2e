#include "host_made.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/string.h"

struct host_made {
	pthread_mutex_t lock;
	struct strings keys;
};

struct host_made *host_made_new(void) {
	struct host_made *made = mem_new(struct host_made);
	pthread_mutex_init(&made->lock, NULL);
	return made;
}

/* Of what the host has at the path now; NULL: nothing is there. Freed by the caller. */
static char *key_of(const char *path) {
	struct stat status;
	if (lstat(path, &status) < 0) return NULL;
	return string_format("%lx %lx %s", (unsigned long)status.st_dev, (unsigned long)status.st_ino, path);
}

void host_made_add(struct host_made *made, const char *path) {
	CLEANUP_FREE char *key = key_of(path);
	pthread_mutex_lock(&made->lock);
	if (key && made->keys.count < HOST_MADE_MOST) strings_add(&made->keys, key);
	pthread_mutex_unlock(&made->lock);
}

bool host_made_has(struct host_made *made, const char *path) {
	pthread_mutex_lock(&made->lock);
	const bool any = made->keys.count > 0;
	pthread_mutex_unlock(&made->lock);
	CLEANUP_FREE char *key = any ? key_of(path) : NULL;
	if (!key) return false;
	pthread_mutex_lock(&made->lock);
	const bool has = strings_contain(&made->keys, key);
	pthread_mutex_unlock(&made->lock);
	return has;
}

void host_made_free(struct host_made *made) {
	if (!made) return;
	pthread_mutex_destroy(&made->lock);
	strings_finish(&made->keys);
	free(made);
}
