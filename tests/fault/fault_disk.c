/* fault_disk: the story on a disk that fails, breaks, ends the process or cuts the power at every single call. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "disk.h"
#include "story.h"

static const struct disk_case {
	const char *what;
	enum disk_fault fault;
	unsigned calls;
	int code;
	int seeds;        /* tellings with other remains, where chance has a part */
	bool power_after; /* and the power goes at the end of the story */
} cases[] = {
	{"the n-th write to the disk fails", DISK_FAILS, DISK_WRITE, SQLITE_IOERR, 1, false},
	{"the disk is full from the n-th write on", DISK_BREAKS, DISK_WRITE, SQLITE_FULL, 1, false},
	{"the n-th fsync fails", DISK_FAILS, DISK_SYNC, SQLITE_IOERR, 1, false},
	{"the n-th fsync fails, the power goes later", DISK_FAILS, DISK_SYNC, SQLITE_IOERR, 8, true},
	{"the n-th open, lock, truncation or removal fails", DISK_FAILS,
	 DISK_OPEN | DISK_LOCK | DISK_TRUNCATE | DISK_DELETE, SQLITE_IOERR, 1, false},
	{"the n-th read fails", DISK_FAILS, DISK_READ, SQLITE_IOERR, 1, false},
	{"every read from the n-th on fails", DISK_BREAKS, DISK_READ, SQLITE_IOERR, 1, false},
	{"the disk is gone from the n-th call on", DISK_BREAKS, DISK_ALL, SQLITE_IOERR, 1, false},
	{"sbxd ends in the middle of the n-th call", DISK_DIES, DISK_CHANGES, SQLITE_IOERR, 1, false},
	{"the power goes at the n-th call", DISK_LOSES_POWER, DISK_CHANGES, SQLITE_IOERR, 3, false},
};

/* Shared with the teller, so that the number of its calls is seen. */
static struct disk *disk;

static void cut_power(void) {
	disk_cut_power(disk);
	_exit(DISK_ENDED);
}

static void prepare(void *argument) {
	(void)argument;
	disk_install(disk);
}

/* Tells the story once; is everything as it must be? */
static bool telling_is_good(const struct disk_case *what, const struct story *sound) {
	const struct story *story;
	bool power = what->fault == DISK_LOSES_POWER || what->power_after;
	story_reset();
	int status = story_tell(prepare, what->power_after ? cut_power : NULL, NULL, &story);
	bool ended = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DISK_ENDED);
	int wrong = story_wrong_allows(story, sound), silences = story_silences(story);
	int lost = story_losses(story, power);
	if (ended && wrong == 0 && silences == 0 && lost == 0) return true;
	fprintf(stderr, "%s: n = %ld, seed %u: status %x, %d wrong, %d silent, %d lost; %s\n", what->what, disk->at,
		disk->seed, (unsigned)status, wrong, silences, lost, story->why);
	return false;
}

/* Each call, or in a part of a round the first ones and then every so many, beginning at another one each time. */
static long next_call(long at, long step) {
	enum { EACH = 6 };
	const char *chance = getenv("SBX_FAULT_SEED");
	if (at < EACH) return at + 1;
	return at == EACH ? EACH + 1 + (chance ? strtol(chance, NULL, 10) : 0) % step : at + step;
}

static int run_case(const struct disk_case *what, const struct story *sound, double rounds) {
	int times = 0, lost = 0, seeds = what->seeds > 1 ? (int)(what->seeds * rounds + 0.5) : 1;
	const long step = rounds > 0 && rounds < 1 ? (long)(1 / rounds) : 1;
	for (int seed = 1; seed <= (seeds > 0 ? seeds : 1); seed++) {
		for (long at = 1;; at = next_call(at, step)) {
			*disk = (struct disk){.fault = what->fault,
					      .calls = what->calls,
					      .at = at,
					      .code = what->code,
					      .seed = (unsigned)(seed * 100000 + at)};
			if (!telling_is_good(what, sound)) lost++;
			if (disk->count < at) break;
			times++;
		}
	}
	printf("claim %d %d %s\n", times, lost, what->what);
	fflush(stdout);
	return lost;
}

int main(int argc, char **argv) {
	static const struct disk_case none = {.what = "nothing fails"};
	const char *rounds = getenv("SBX_FAULT_ROUNDS");
	const struct story *story;
	int failed = 0;
	disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (disk == MAP_FAILED) return 1;
	story_begin();
	story_reset();
	*disk = (struct disk){.fault = DISK_SOUND, .calls = DISK_ALL};
	story_tell(prepare, NULL, NULL, &story);
	const struct story sound = *story;
	/* A story in which little happens would show little. */
	if (sound.count < 36 || sound.allowed_count < 12 || !telling_is_good(&none, &sound)) {
		fprintf(stderr, "without a fault: %zu steps, %zu allows; %s\n", sound.count, sound.allowed_count,
			sound.why);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (argc < 2 || strstr(cases[i].what, argv[1]))
			failed += run_case(&cases[i], &sound, rounds ? strtod(rounds, NULL) : 1);
	story_end();
	return failed > 0;
}
