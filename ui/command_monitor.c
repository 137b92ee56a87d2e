/* `sbx monitor`. */
#include "monitor/monitor.h"
#include "ui/broker.h"
#include "ui/command.h"

static int run(struct command_call *call, struct error *error) {
	(void)call;
	/* Starts the broker where there is none, and says what is wrong with it while that can be read. */
	struct channel *channel = NULL;
	int r = broker_connect(NULL, &channel, error);
	channel_free(channel);
	return r < 0 ? r : monitor_run(error);
}

const struct command command_monitor = {
	.name = "monitor",
	.operands = "",
	.summary = "Watch and answer, full screen.",
	.details = "What waits for your answer, the sandboxes that run, what is granted and what was decided, as it "
		   "happens. Prompts are answered and grants revoked by key: '?' lists them all. While it runs you "
		   "count as "
		   "somebody who can be asked.",
	.refuses_root = true,
	.run = run,
};
