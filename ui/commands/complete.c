/*
 * `sbx complete -- WORD...`: what the shells' completion asks (completion/complete.h). Not for people.
 *
 * A key press waits for it. So it ends by itself, with nothing said, when a broker or a disk takes longer than
 * PATIENCE_MS; and whatever goes wrong, it says nothing.
 */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "commands/commands.h"
#include "completion/complete.h"

enum { PATIENCE_MS = 100 };

/* What was found so far is in stdio's buffer yet, and goes with it. */
_Noreturn static void give_up(int number) {
	(void)number;
	_exit(EXIT_DONE);
}

static int run(struct command_call *call, struct error *error) {
	(void)error;
	const struct itimerval patience = {.it_value = {.tv_usec = PATIENCE_MS * 1000}};
	struct sigaction action = {.sa_handler = give_up};
	char *text = NULL;
	size_t size = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &patience, NULL);
	FILE *out = open_memstream(&text, &size);
	if (!out) return EXIT_DONE;
	complete_words(command_all(), call->operands->items, call->operands->count, out);
	if (fclose(out) == 0 && text) fputs(text, stdout); /* glibc's fclose tells nothing of a text without room */
	free(text);
	return EXIT_DONE;
}

const struct command command_complete = {
	.name = "complete",
	.operands = "[--] WORD...",
	.summary = "Say what may stand in a command line's last word.",
	.hidden = true,
	.operands_most = SIZE_MAX,
	.run = run,
};
