/*
 * fault_memory: the broker's units and the story with the n-th allocation failing: all n, or an even sample. Nothing
 * may come of it but the right result, a told error or the end of the process with status 125. Needs libnomem.so in
 * LD_PRELOAD.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nomem.h"
#include "story.h"
#include "unit.h"

enum { TELLINGS = 1000, EXIT_NO_MEMORY = 125 };

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

static int tell_story(struct unit_sample sample) {
	const struct story *story;
	shared_count = mmap(NULL, sizeof *shared_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared_count == MAP_FAILED) return 1;
	story_reset();
	wanted = 1L << 60;
	story_tell(prepare, note_count, NULL, &story);
	const struct story sound = *story;
	long all = *shared_count;
	if (all == 0 || !telling_is_good(&sound)) return 1;
	/* Each one takes too long by default: every so many, beginning at another one each time. */
	double step = (double)all / (TELLINGS * sample.rounds);
	if (step < 1) step = 1;
	int times = 0, lost = 0;
	for (;; times++) {
		wanted = (long)(1 + sample.start * (step - 1) + times * step);
		if (wanted > all) break;
		lost += !telling_is_good(&sound);
	}
	printf("claim %d %d the n-th allocation fails in a broker that serves clients, its libraries included (n to "
	       "%ld)\n",
	       times, lost, all);
	return lost;
}

int main(int argc, char **argv) {
	(void)argc;
	if (!nomem_arm) {
		fprintf(stderr, "%s: start it with LD_PRELOAD=libnomem.so\n", argv[0]);
		return 1;
	}
	struct unit_sample sample = unit_sample();
	story_begin();
	int lost = unit_room_run(&units_broker, sample) + tell_story(sample);
	story_end();
	return lost > 0;
}
