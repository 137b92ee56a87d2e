#include "places.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "policy/source.h"
#include "schema/channel.h"

static const char database_name[] = "sbx.db";

static int find_home(char **ret_home, struct error *error) {
	const char *home = getenv("HOME");
	if (home && *home == '/') return path_normalise(NULL, home, ret_home, error);
	const struct passwd *user = getpwuid(geteuid());
	if (!user || !user->pw_dir || *user->pw_dir != '/')
		return error_set(error, ENOENT, "you have no home directory: set HOME");
	return path_normalise(NULL, user->pw_dir, ret_home, error);
}

static char *under(const char *variable, const char *home, const char *otherwise) {
	const char *base = getenv(variable);
	char *path = NULL;
	if (base && *base == '/' && path_normalise(NULL, base, &path, NULL) == 0) {
		char *folder = path_join(path, "sbx");
		free(path);
		return folder;
	}
	CLEANUP_FREE char *fallback = path_join(home, otherwise);
	return path_join(fallback, "sbx");
}

static void protect(struct strings *protected, const char *path) {
	if (!strings_contain(protected, path)) strings_add(protected, path);
	/* realpath(3) allocates with malloc, which free(3) takes; a folder that isn't there yet has no other name. */
	CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
	if (real && !strings_contain(protected, real)) strings_add(protected, real);
}

int places_find(struct places *ret_places, struct error *error) {
	struct places places = {0};
	int r = find_home(&places.home, error);
	if (r == 0) r = channel_socket_path(&places.socket, error);
	if (r < 0) {
		places_finish(&places);
		return r;
	}
	places.state = under("XDG_STATE_HOME", places.home, ".local/state");
	places.config = under("XDG_CONFIG_HOME", places.home, ".config");
	places.runtime = path_parent(places.socket);
	places.database = path_join(places.state, database_name);
	places.journal = string_copy("/run/systemd/journal/socket");
	places.syslog = string_copy("/dev/log");
	places.policy = path_join(places.config, "policy.yaml");
	places.admin = string_copy(POLICY_ADMIN_FOLDER);
	CLEANUP_FREE char *plain_state = path_join(places.home, ".local/state/sbx");
	CLEANUP_FREE char *plain_config = path_join(places.home, ".config/sbx");
	const char *const folders[] = {places.state, places.config, places.runtime, plain_state, plain_config};
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) protect(&places.protected, folders[i]);
	*ret_places = places;
	return 0;
}

static int make_private(const char *path, struct error *error) {
	int fd = file_open_private_directory(path, error);
	fd_close(fd);
	return fd < 0 ? fd : 0;
}

/* SQLite follows no link on the way to its file, but a home may well lie behind one (/home on image-based systems). */
static int resolve_state(struct places *places, struct error *error) {
	char *real = mem_expect(realpath(places->state, NULL));
	if (!real) return error_errno(error, "%s", places->state);
	free(places->state);
	free(places->database);
	places->state = real;
	places->database = path_join(real, database_name);
	return 0;
}

int places_make(struct places *places, struct error *error) {
	/* State first: the runtime folder may lie in it, and nothing is to be made through a link in its place. */
	int r = make_private(places->state, error);
	if (r == 0) r = make_private(places->runtime, error);
	if (r == 0) r = resolve_state(places, error);
	if (r < 0) return r;
	/* What we may not make, the tool, being the same user, may not either; the runner's plan refuses the rest. */
	for (size_t i = 0; i < places->protected.count; i++) file_make_directories(places->protected.items[i], NULL);
	return 0;
}

void places_finish(struct places *places) {
	free(places->home);
	free(places->state);
	free(places->config);
	free(places->runtime);
	free(places->socket);
	free(places->database);
	free(places->journal);
	free(places->syslog);
	free(places->policy);
	free(places->admin);
	strings_finish(&places->protected);
	*places = (struct places){0};
}
