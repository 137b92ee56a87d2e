/*
 * orders: what the runner and sbx-init say to each other, over one SOCK_SEQPACKET pair.
 *
 * Promises: fixed-size records; what varies in size (arguments, environment, filter) follows ORDER_PREPARE as bytes,
 * bounded, and is read by orders_unpack alone. No descriptor is sent: standard descriptors are inherited, and a report
 * names sbx-init's own by their numbers, for the runner to take (fd_take). sbx-init believes the runner (it was started
 * by it); the runner believes of sbx-init no more than a status once it has said ORDER_GO: by then the tool may have
 * found a way to speak through it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>

#include "base/error.h"
#include "base/string.h"

enum {
	ORDERS_FD = 3,    /* where sbx-init finds its end: BWRAP_FD_ORDERS */
	ORDERS_STDIO = 5, /* and, from here on, the standard descriptors that were inherited: BWRAP_FD_STDIO */
};

enum report_kind {
	REPORT_HELLO = 1,   /* first; the kernel says who sends it */
	REPORT_READY,       /* once, before ORDER_GO, with descriptors. value: 1 when signals don't interrupt a trapped
			     * call that was received */
	REPORT_FAILED,      /* value: errno, text: what failed; nothing was run */
	REPORT_NOT_STARTED, /* value: errno of execve */
	REPORT_STOPPED,     /* value: the signal */
	REPORT_EXITED,      /* value: wait status */
};

struct report {
	enum report_kind kind;
	int value;
	int terminal; /* READY: the master of a pty of the sandbox's own devpts; -1 = none */
	int listener; /* READY: where the filter's notifications come (seccomp_unotify(2)); -1 = none */
	char text[120];
};

enum order_kind {
	ORDER_PREPARE = 1, /* the bytes of launch_orders follow, in datagrams of ORDERS_CHUNK */
	ORDER_GO,          /* all is there, and what READY named is taken: start the tool */
	ORDER_SIGNAL,      /* value: to the tool's process group */
	ORDER_CONTINUE,    /* value: whether the tool gets the terminal's foreground */
	ORDER_FOREGROUND,  /* value: the same without SIGCONT */
};

struct order {
	enum order_kind kind;
	int value;
	uint32_t bytes;       /* PREPARE: how many follow */
	bool terminal[3];     /* PREPARE: which of 0, 1, 2 become the pty */
	bool background;      /* PREPARE: start without the terminal's foreground */
	struct winsize size;  /* PREPARE: of the user's terminal */
	struct termios modes; /* PREPARE: and its modes, for the pty */
};

enum {
	ORDERS_RLIMIT_MAX = 8,
	ORDERS_SIZE_MAX = 8 * 1024 * 1024,
	ORDERS_CHUNK = 16 * 1024, /* far below the least that a socket takes at once (net.core.wmem_default) */
};

/* What PREPARE brings. */
struct launch_orders {
	struct strings arguments;
	struct strings environment; /* "K=V" */
	char *program;              /* path inside */
	char *directory;            /* working directory inside */
	const void *filter;         /* struct sock_filter[filter_count]; freed by orders_finish */
	uint32_t filter_count;
	bool listener; /* the filter has traps: READY is to name their listener */
	struct {
		uint32_t resource;
		uint64_t soft, hard; /* RLIM_INFINITY: as it is */
	} limits[ORDERS_RLIMIT_MAX];
	uint32_t limit_count;
};

int orders_pack(const struct launch_orders *orders, struct string *ret_bytes, struct error *error);
int orders_unpack(const char *bytes, size_t size, struct launch_orders *ret_orders, struct error *error);

/* PREPARE and its bytes over a socket that waits. `bytes` is set here. */
int orders_send(int socket, const struct order *prepare, const struct launch_orders *orders, struct error *error);
int orders_receive(int socket, struct order *ret_prepare, struct launch_orders *ret_orders, struct error *error);
void orders_finish(struct launch_orders *orders);
#define CLEANUP_ORDERS __attribute__((cleanup(orders_finish)))
