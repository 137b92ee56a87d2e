/* sbx-notify: shows prompts on the desktop. Started by `sbx run`; see sbx-notify(1). */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/start.h"
#include "check.h"
#include "ui/notify_lock.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, IDLE_MS = 60 * 1000 };

static const char usage[] =
	"Usage: sbx-notify [--idle DURATION | --stay] [--ready]\n"
	"       sbx-notify --check [--json]\n"
	"Shows the questions of sandboxes on the desktop. 'sbx run' starts it where there is one; it ends when\n"
	"nothing has run for a while.\n"
	"\n"
	"  --idle DURATION  how long without a sandbox until it ends (60s)\n"
	"  --stay           don't end by itself (for a service manager; keeps sbxd running, too)\n"
	"  --ready          close descriptor 3 when questions reach it, or none will\n"
	"  --check          say what there is of a desktop, and end: status 0 when prompts can be answered there\n"
	"  --json           with --check: as a JSON object\n"
	"  --version        print the version\n"
	"  --help           print this\n"
	"\n"
	"With SBX_NO_NOTIFY=1 in its environment 'sbx run' doesn't start it.\n";

struct options {
	struct agent_options agent;
	bool check, json;
};

/* 0 to go on, else the exit status + 1. */
static int read_options(int argc, char **argv, struct options *options) {
	enum { IDLE = 1000, STAY, READY, CHECK, JSON, VERSION, HELP };
	static const struct option known[] = {
		{"idle", required_argument, NULL, IDLE}, {"stay", no_argument, NULL, STAY},
		{"ready", no_argument, NULL, READY},     {"check", no_argument, NULL, CHECK},
		{"json", no_argument, NULL, JSON},       {"version", no_argument, NULL, VERSION},
		{"help", no_argument, NULL, HELP},       {NULL, 0, NULL, 0}};
	struct error error = ERROR_NONE;
	*options = (struct options){.agent = {.idle_ms = IDLE_MS, .waiting = -1}};
	for (int option; argc > 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		switch (option) {
		case IDLE:
			if (duration_parse(optarg, &options->agent.idle_ms, &error) == 0) break;
			log_error("--idle: %s", error.message);
			return EXIT_USAGE + 1;
		case STAY:
			options->agent.stay = true;
			break;
		case READY:
			if (fcntl(NOTIFY_READY_FD, F_SETFD, FD_CLOEXEC) == 0) {
				options->agent.waiting = NOTIFY_READY_FD;
				break;
			}
			log_error("--ready: descriptor %d isn't open", NOTIFY_READY_FD);
			return EXIT_USAGE + 1;
		case CHECK:
			options->check = true;
			break;
		case JSON:
			options->json = true;
			break;
		case VERSION:
			puts("sbx-notify " SBX_VERSION);
			return 1;
		case HELP:
			fputs(usage, stdout);
			return 1;
		default:
			return EXIT_USAGE + 1;
		}
	}
	if (optind >= argc && (options->check || !options->json)) return 0;
	log_error(optind < argc ? "there are no arguments (sbx-notify --help)" : "--json goes with --check");
	return EXIT_USAGE + 1;
}

int main(int argc, char **argv) {
	struct options options;
	struct error error = ERROR_NONE;
	start_process();
	setlocale(LC_CTYPE, "");
	int status = read_options(argc, argv, &options);
	if (status != 0) return status - 1;
	if (options.check) return check_print(options.json);
	signal(SIGPIPE, SIG_IGN);
	int lock = notify_lock_take(&error);
	int r = lock < 0 ? lock : agent_run(&options.agent, &error);
	fd_close(lock);
	if (lock == -EBUSY) log_notice("it runs already");
	if (r == 0 || lock == -EBUSY) return 0;
	log_error("%s", error.message);
	return EXIT_FAILED;
}
