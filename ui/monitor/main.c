/* sbx-monitor: the screen of `sbx monitor`, which becomes it: no other command is to load curses. */
#include <string.h>

#include "base/log.h"
#include "base/start.h"
#include "monitor/monitor.h"
#include "terminfo.h"
#include "ui/broker.h"
#include "ui/command.h"

static int run(struct error *error) {
	/* Starts the broker where there is none, and says what is wrong with it while that can be read. */
	struct channel *channel = NULL;
	int r = broker_connect(NULL, &channel, error);
	channel_free(channel);
	return r < 0 ? r : monitor_run(error);
}

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	start_process();
	if (argc > 1 && strcmp(argv[1], "--check") == 0) return terminfo_is_known() ? EXIT_DONE : EXIT_NO;
	int r = run(&error);
	if (r >= 0) return r;
	log_error("monitor: %s", error.message);
	return EXIT_NO;
}
