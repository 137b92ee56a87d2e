#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/string.h"
#include "nomem.h"

enum {
	USES = 100,
	TOLD_SIZE = 1 << 20,
	EXIT_NO_MEMORY = 125,
	EXIT_TROUBLE = 70,
	PATIENCE_S = 30,
};

static const char error_mark[] = "error: ";

/* In memory that the children share with us: what they told. Nothing here allocates. */
struct told {
	long count; /* allocations */
	int losses;
	size_t size;
	char text[TOLD_SIZE];
};

static struct told *shared, *used; /* the one that is told now, and the use's own */
static char folder[32];
static long wanted;

/* Telling */

static void append(const char *text, size_t size) {
	if (size >= TOLD_SIZE - shared->size) _exit(EXIT_TROUBLE);
	memcpy(shared->text + shared->size, text, size);
	shared->size += size;
	shared->text[shared->size] = '\0';
}

/* Long texts and ones of several lines become one line. */
__attribute__((format(printf, 2, 0))) static void tell(const char *mark, const char *format, va_list arguments) {
	static char line[512 * 1024]; /* policy show has 100 KiB */
	int size = vsnprintf(line, sizeof line, format, arguments);
	if (size < 0 || (size_t)size >= sizeof line) _exit(EXIT_TROUBLE);
	for (char *p = line; *p; p++)
		if (*p == '\n') *p = '|';
	append(mark, strlen(mark));
	append(line, (size_t)size);
	append("\n", 1);
}

void unit_tell(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	tell("", format, arguments);
	va_end(arguments);
}

void unit_tell_error(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	tell(error_mark, format, arguments);
	va_end(arguments);
}

bool unit_failed(int r, const struct error *error) {
	if (r >= 0) return false;
	unit_tell_error("%s", error->message);
	return true;
}

void unit_tell_verdict(const struct verdict *verdict) {
	const char *why = verdict->why ? verdict->why : "";
	if (verdict->effect == EFFECT_DENY)
		unit_tell_error("%s", why);
	else
		unit_tell("%s by %s at %s, grant %lld%s%s: %s", effect_name(verdict->effect), verdict->module,
			  verdict->rule ? verdict->rule : "", (long long)verdict->grant,
			  verdict->private_allowed ? ", private" : "", verdict->direct ? ", direct" : "", why);
}

void unit_strike(void) {
	nomem_arm(wanted);
}

const char *unit_file(const char *name) {
	static char path[256];
	snprintf(path, sizeof path, "%s/f/%s", folder, name);
	return path;
}

void unit_write(const char *name, const char *text, size_t size) {
	int fd = open(unit_file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size || close(fd) < 0) _exit(EXIT_TROUBLE);
}

static const char *find_line(const char *text, const char *line, size_t size) {
	for (; *text; text = strchr(text, '\n') + 1)
		if (strcspn(text, "\n") == size && memcmp(text, line, size) == 0) return text;
	return NULL;
}

bool unit_told(const char *line) {
	return find_line(used->text, line, strlen(line)) != NULL;
}

void unit_lose(const char *what) {
	fprintf(stderr, "LOST: %s\n", what);
	shared->losses++;
}

/* Running */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static void clear_folder(void) {
	nftw(unit_file("."), remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (mkdir(unit_file(""), 0700) < 0 && errno != EEXIST) _exit(EXIT_TROUBLE);
}

static int run(struct told *told, void (*body)(void), bool armed, bool quiet, unsigned patience_s) {
	int status;
	shared = told;
	told->count = told->losses = 0;
	told->size = 0;
	told->text[0] = '\0';
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (quiet && !getenv("SBX_FAULT_LOG")) dup2(null, STDERR_FILENO);
		alarm(patience_s);
		if (armed) unit_strike();
		body();
		told->count = nomem_count();
		nomem_arm(0);
		_exit(0);
	}
	while (child < 0 || waitpid(child, &status, 0) < 0)
		if (child < 0 || errno != EINTR) exit(EXIT_TROUBLE);
	return status;
}

/* The use with its `number`th allocation failing, then the look at what it left. Returns the use's status. */
static int use(const struct unit *unit, long number, struct told *told, struct told *seen, int *ret_look) {
	wanted = number;
	clear_folder();
	if (unit->prepare && run(seen, unit->prepare, false, false, PATIENCE_S) != 0) exit(EXIT_TROUBLE);
	int status = run(told, unit->use, !unit->late, true, PATIENCE_S);
	used = told;
	*ret_look = 0;
	seen->losses = 0;
	seen->size = 0;
	seen->text[0] = '\0';
	if (unit->look) *ret_look = run(seen, unit->look, false, false, PATIENCE_S);
	return status;
}

/* NULL, or what is wrong with the lines; *ret_line is the one. */
static const char *compare(const struct told *told, const struct told *sound, bool ended, const char **ret_line) {
	const char *next = sound->text;
	bool failed = false;
	for (const char *line = told->text; *line; line = strchr(line, '\n') + 1) {
		size_t size = strcspn(line, "\n");
		bool error = string_starts(line, error_mark);
		const char *found = find_line(next, line, size);
		*ret_line = line;
		if (error && size == sizeof error_mark - 1) return "an error without a sentence";
		if (!found && !error) return "the sound one didn't tell";
		if (found && found != next && !failed && !error) return "lines are missing before";
		failed |= found != next;
		if (found) next = strchr(found, '\n') + 1;
	}
	*ret_line = next;
	return ended && !failed && *next ? "lines are missing at the end" : NULL;
}

static const char *compare_seen(const struct told *seen, const struct told *sound, const char **ret_line) {
	for (const char *line = seen->text; *line; line = strchr(line, '\n') + 1) {
		*ret_line = line;
		if (!find_line(sound->text, line, strcspn(line, "\n"))) return "the sound one left no such thing";
	}
	return NULL;
}

static struct told *told_new(void) {
	struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED) exit(EXIT_TROUBLE);
	return told;
}

static bool is_good(const struct unit *unit, long number, const struct told *sound, const struct told *sound_seen) {
	static struct told *told, *seen;
	int look;
	const char *line = "";
	if (!told) told = told_new();
	if (!seen) seen = told_new();
	int status = use(unit, number, told, seen, &look);
	bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	const char *wrong = NULL;
	if (!ended && !(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MEMORY)) wrong = "that is no end";
	if (!wrong) wrong = compare(told, sound, ended, &line);
	if (!wrong && (look != 0 || seen->losses > 0)) wrong = "what it left";
	if (!wrong) wrong = compare_seen(seen, sound_seen, &line);
	if (!wrong) return true;
	fprintf(stderr, "%s, allocation %ld of %ld: status %x: %s: %.*s\n", unit->what, number, sound->count,
		(unsigned)status, wrong, (int)strcspn(line, "\n"), line);
	return false;
}

struct unit_sample unit_sample(void) {
	const char *rounds = getenv("SBX_FAULT_ROUNDS"), *seed = getenv("SBX_FAULT_SEED");
	uint32_t hash = 2166136261U; /* FNV-1a */
	for (; seed && *seed; seed++) hash = (hash ^ (unsigned char)*seed) * 16777619U;
	return (struct unit_sample){.rounds = rounds ? strtod(rounds, NULL) : 1, .start = (double)hash / UINT32_MAX};
}

static bool unit_run(const struct unit *unit, struct unit_sample sample, struct told *sound, struct told *sound_seen,
		     int *times, int *lost) {
	const char *only = getenv("SBX_FAULT_AT");
	int look, status = use(unit, 1L << 60, sound, sound_seen, &look);
	if (status != 0 || look != 0 || sound_seen->losses > 0 || sound->count == 0 || sound->size == 0) {
		fprintf(stderr, "%s: without a fault: status %x, %x, %ld allocations\n%s", unit->what, (unsigned)status,
			(unsigned)look, sound->count, sound->text);
		return false;
	}
	if (getenv("SBX_FAULT_LOG")) fprintf(stderr, "== %s\n%s-- %s", unit->what, sound->text, sound_seen->text);
	/* The same again, or else nothing can be compared. */
	if (!is_good(unit, 1L << 60, sound, sound_seen)) return false;
	double step = (double)sound->count / (USES * sample.rounds);
	if (step < 1) step = 1;
	if (only) {
		*lost += !is_good(unit, strtol(only, NULL, 10), sound, sound_seen);
		++*times;
		return true;
	}
	for (int i = 0;; i++, ++*times) {
		long at = (long)(1 + sample.start * (step - 1) + i * step);
		if (at > sound->count) return true;
		*lost += !is_good(unit, at, sound, sound_seen);
	}
}

int unit_room_run(const struct unit_room *room, struct unit_sample sample) {
	struct told *sound = told_new(), *sound_seen = told_new();
	const char *only = getenv("SBX_FAULT_UNIT");
	int times = 0, lost = 0;
	long most = 0;
	snprintf(folder, sizeof folder, "%s/sbx-unit.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder)) exit(EXIT_TROUBLE);
	for (size_t i = 0; i < room->count; i++) {
		if (only && !strstr(room->units[i].what, only)) continue;
		if (!unit_run(&room->units[i], sample, sound, sound_seen, &times, &lost)) lost++;
		if (sound->count > most) most = sound->count;
	}
	if (times > 0 || lost > 0)
		printf("claim %d %d the n-th allocation fails in %s (n to %ld)\n", times, lost, room->name, most);
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	munmap(sound, sizeof *sound);
	munmap(sound_seen, sizeof *sound_seen);
	return lost;
}
