/*
 * fault_memory: the story with the n-th allocation failing. Nothing may come of it but the right result, a told error
 * or the end of the process with status 125. Needs libnomem.so in LD_PRELOAD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nomem.h"
#include "story.h"

enum { TELLINGS = 1500, EXIT_NO_MEMORY = 125 };

static long *shared_count, wanted;

static void note_count(void) {
	*shared_count = nomem_count();
}

static void prepare(void *argument) {
	(void)argument;
	nomem_arm(wanted);
}

/* Once; is everything as it must be? */
static int telling_is_good(const struct story *sound) {
	const struct story *story;
	story_reset();
	int status = story_tell(prepare, note_count, NULL, &story);
	int ended = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_NO_MEMORY);
	int wrong = story_wrong_allows(story, sound), silences = story_silences(story);
	int lost = story_losses(story, false);
	if (ended && wrong == 0 && silences == 0 && lost == 0) return 1;
	fprintf(stderr, "allocation %ld: status %x, %d wrong, %d silent, %d lost; %s\n", wanted, (unsigned)status,
		wrong, silences, lost, story->why);
	return 0;
}

int main(int argc, char **argv) {
	if (!nomem_arm) {
		fprintf(stderr, "%s: start it with LD_PRELOAD=libnomem.so\n", argv[0]);
		return 1;
	}
	const char *rounds = getenv("SBX_FAULT_ROUNDS");
	const struct story *story;
	shared_count = mmap(NULL, sizeof *shared_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared_count == MAP_FAILED) return 1;
	story_begin();
	story_reset();
	wanted = 1L << 60;
	story_tell(prepare, note_count, NULL, &story);
	const struct story sound = *story;
	long all = *shared_count;
	if (all == 0 || !telling_is_good(&sound)) return 1;
	/* Each one takes too long by default: every so many, beginning at another one each time. */
	long step = (long)((double)all / (TELLINGS * (rounds ? strtod(rounds, NULL) : 1)));
	if (step < 1) step = 1;
	int times = 0, lost = 0;
	wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 1 + getpid() % step;
	for (; wanted <= all; wanted += step, times++) {
		lost += !telling_is_good(&sound);
		if (argc > 1) break;
	}
	printf("claim %d %d the n-th allocation fails in sbxd, its libraries included (n to %ld)\n", times, lost, all);
	story_end();
	return lost > 0;
}
