/*
 * orders: what the runner and sbx-init say to each other, over one SOCK_SEQPACKET pair.
 *
 * Promises: fixed-size records; what varies in size (arguments, environment, filter) is in one sealed memfd, read by
 * orders_unpack alone. sbx-init believes the runner (it was started by it); the runner believes of sbx-init no more
 * than a status: by then the tool may have found a way to speak through it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>

#include "base/error.h"
#include "base/string.h"

enum { ORDERS_FD = 3 }; /* where sbx-init finds its end: BWRAP_FD_ORDERS */

enum report_kind {
	REPORT_HELLO = 1,   /* first; the kernel says who sends it */
	REPORT_TERMINAL,    /* with one descriptor: the master of a pty of the sandbox's own devpts */
	REPORT_LISTENER,    /* with one descriptor: where the filter's notifications come (seccomp_unotify(2)); value: 1
			     * when signals don't interrupt a call that was received. Before the tool starts */
	REPORT_FAILED,      /* value: errno, text: what failed; nothing was run */
	REPORT_NOT_STARTED, /* value: errno of execve */
	REPORT_STOPPED,     /* value: the signal */
	REPORT_EXITED,      /* value: wait status */
};

struct report {
	enum report_kind kind;
	int value;
	char text[120];
};

enum order_kind {
	ORDER_PREPARE = 1, /* with descriptors: the memfd, then those of 0, 1, 2 that don't become the pty */
	ORDER_GO,          /* all is there: start the tool */
	ORDER_SIGNAL,      /* value: to the tool's process group */
	ORDER_CONTINUE,    /* value: whether the tool gets the terminal's foreground */
	ORDER_FOREGROUND,  /* value: the same without SIGCONT */
};

struct order {
	enum order_kind kind;
	int value;
	bool terminal[3];     /* PREPARE: which of 0, 1, 2 become the pty */
	bool background;      /* PREPARE: start without the terminal's foreground */
	struct winsize size;  /* PREPARE: of the user's terminal */
	struct termios modes; /* PREPARE: and its modes, for the pty */
};

enum { ORDERS_RLIMIT_MAX = 8, ORDERS_SIZE_MAX = 8 * 1024 * 1024 };

/* What PREPARE's memfd holds. */
struct launch_orders {
	struct strings arguments;
	struct strings environment; /* "K=V" */
	char *program;              /* path inside */
	char *directory;            /* working directory inside */
	const void *filter;         /* struct sock_filter[filter_count]; freed by orders_finish */
	uint32_t filter_count;
	bool listener; /* the filter has traps: REPORT_LISTENER is to be sent */
	struct {
		uint32_t resource;
		uint64_t soft;
	} limits[ORDERS_RLIMIT_MAX];
	uint32_t limit_count;
};

int orders_pack(const struct launch_orders *orders, int *ret_fd, struct error *error);
int orders_unpack(int fd, struct launch_orders *ret_orders, struct error *error);
void orders_finish(struct launch_orders *orders);
#define CLEANUP_ORDERS __attribute__((cleanup(orders_finish)))
