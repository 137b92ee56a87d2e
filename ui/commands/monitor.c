/* `sbx monitor`: becomes the program sbx-monitor (ui/monitor). */
#include <unistd.h>

#include "base/memory.h"
#include "commands/commands.h"
#include "ui/broker.h"

static int run(struct command_call *call, struct error *error) {
	(void)call;
	CLEANUP_FREE char *path = NULL;
	int r = program_find("sbx-monitor", &path, error);
	if (r < 0) return r;
	char *const arguments[] = {(char *)"sbx", NULL};
	execv(path, arguments);
	return error_errno(error, "starting %s", path);
}

const struct command command_monitor = {
	.name = "monitor",
	.operands = "",
	.summary = "Watch and answer, full screen.",
	.details = "What waits for your answer, the sandboxes that run, what is granted and what was decided, as it "
		   "happens. Prompts are answered and grants revoked by key: '?' lists them all. While it runs you "
		   "count as somebody who can be asked.",
	.refuses_root = true,
	.run = run,
};
