/*
 * limits: a bound for everything that comes from outside (design section 10.5), in one table to read.
 *
 * Promises: whoever parses such input tests against the constant here and refuses with an error that names it.
 */
#pragma once

#include <stdint.h>

enum {
	LIMIT_MESSAGE = 64 * 1024,       /* bytes of one message on the broker's socket */
	LIMIT_JSON_DEPTH = 16,           /* nesting of a message */
	LIMIT_CLIENTS = 1024,            /* connections to the broker */
	LIMIT_PAGE = 100,                /* records in one page of a listing */
	LIMIT_PAGE_BYTES = 56 * 1024,    /* of its records' JSON, so that it fits a message */
	LIMIT_SCAN = 10 * 1000,          /* rows looked at for one page */
	LIMIT_SUMMARY_DAYS = 33,         /* days of one page of a summary, and where the last ends */
	LIMIT_HEAD = 100,                /* bytes of a row's number and hash */
	LIMIT_CLIENTS_PROCESS = 64,      /* connections of one process */
	LIMIT_QUEUE = 4 * 1024 * 1024,   /* bytes that wait for a client to read them */
	LIMIT_QUEUES = 32 * 1024 * 1024, /* of all clients together */
	LIMIT_HELLO_MS = 10 * 1000,      /* until a client must have said hello */
	LIMIT_SCOPES = 12,               /* scopes that a prompt offers */
	LIMIT_PENDING = 256,             /* requests of one client that wait for an answer */
	LIMIT_PROMPTS = 1000,            /* prompts pending in the broker */
	LIMIT_WANTS = 32,                /* things that a session may ask for at its start, together */
	LIMIT_QUESTIONS = 64,            /* of one session that nobody has allowed, before they are a flood */
	LIMIT_QUESTION_MS = 10 * 1000,   /* until one of them is forgotten */
	LIMIT_DESKTOP_MS = 5000,         /* until a run's terminal asks what the desktop was asked, too */
	LIMIT_FLOOD_MS = 10 * 60 * 1000, /* until the summary of a flood may be shown again */
	LIMIT_SILENCE_MS = 3600 * 1000,  /* a denied flood of who has no session */
	LIMIT_DENIALS = 1000,            /* of one session that have a row of their own in the history */
	LIMIT_DENIAL_MS = 1000,          /* until one of them is forgotten */
	LIMIT_ALLOWS = 20 * 1000,        /* of one session, likewise, and of what its runner tells of; past it none */
	LIMIT_ALLOW_MS = 1000,           /* until one of them is forgotten */
	LIMIT_EXEC_WORDS = 64,           /* words of an exec line's command */
	LIMIT_EXEC_COMMAND = 16 * 1024,  /* bytes of it */
	LIMIT_EXEC_INPUT = 128 * 1024,   /* bytes of the request that its program reads */
	LIMIT_EXEC_OUTPUT = 64 * 1024,   /* bytes of its verdict */
	LIMIT_EXEC_ERRORS = 2 * 1024,    /* bytes of its stderr that are logged */
	LIMIT_EXEC_MS = 60 * 1000,       /* the most time that a line may give it */
	LIMIT_EXEC_RUNNING = 8,          /* programs at once */
	LIMIT_EXEC_WAITING = 1024,       /* requests that wait for one */
	LIMIT_PERMISSION = 64,           /* bytes of a permission's name */
	LIMIT_PATTERN = 4096,            /* bytes of a pattern */
	LIMIT_PATTERN_STARS = 8,         /* `**` in one pattern */
	LIMIT_TARGET = 4096,             /* bytes of a target; PATH_MAX */
	LIMIT_DOOR_GUESTS = 64,          /* connections to the socket in a sandbox where a tool asks ahead */
	LIMIT_DOOR_SERVING = 32,         /* of them those that wait for an answer */
	LIMIT_DOOR_RATE = 50,            /* in a second; what comes faster waits */
	LIMIT_DOOR_MS = 10 * 1000,       /* until one must have said what it wants */
	LIMIT_DOOR_MESSAGE = 32 * 1024,  /* bytes of that: target, reason, escaped */
	LIMIT_REASON = 400,              /* bytes of a reason given by a tool or a user */
	LIMIT_PROCESS = 256,             /* bytes of a process description in a request */
	LIMIT_PARENTS = 8,               /* processes above the asking one that are shown */
	LIMIT_HELD = 4096,               /* calls of one sandbox that wait; past it they are refused */
	LIMIT_HELD_ASKED = 128,        /* of their questions at the broker at once (LIMIT_PENDING), the gate's beside */
	LIMIT_SEND = 64 * 1024,        /* bytes of one sendto(2) with an address; a UDP datagram's most */
	LIMIT_SEND_LOCAL = 208 * 1024, /* of an AF_UNIX one: net.core.wmem_default, past which the kernel refuses */
	LIMIT_IPC_CALLS = 256,         /* calls of one sandbox to Unix sockets that wait */
	LIMIT_IPC_LINKS = 1024,        /* its live connections to Unix sockets of the host */
	LIMIT_IPC_KNOWN = 64,          /* of these sockets those that datagrams may go to without asking again */
	LIMIT_IPC_LOOK_MS = 1000,      /* between looks at which of them have ended, and at new sockets of the host */
	LIMIT_SENDS = 16 << 20,        /* of all that one sandbox has held */
	LIMIT_HELD_LOOK_MS = 20,       /* between looks at a held thread's signals */
	LIMIT_HELD_LOOKS = 64,         /* threads looked at each time */
	LIMIT_HELD_AWAY_MS = 2000,     /* a signal's handler has, until its thread has made the held call again */
	LIMIT_HELD_PLACING_MS = 1000,  /* it waits, at most, while what the held call was allowed is mounted */
	LIMIT_ONCE_MS = 2000,          /* the most time that a call that was allowed once takes to return */
	LIMIT_GIVEN = 1000,            /* paths that a sandbox was given by grants of patterns */
	LIMIT_REPLAN_MS = 50,          /* until what the host has changed is looked at */
	LIMIT_WRITABLE = 256,          /* paths in one message about what sandboxes may write */
	LIMIT_HOLDERS = 4096,          /* processes of a sandbox that are looked at for what was taken */
	LIMIT_HOLDER_FILES = 20000,    /* descriptors of one of them */
	LIMIT_HOLDERS_TOLD = 64,       /* holders that are told of */
	LIMIT_POLICY = 1024 * 1024,    /* bytes of a policy file */
	LIMIT_POLICY_FILES = 64,       /* files in /etc/sbx/policy.d */
	LIMIT_PROJECT_FILE = 64 * 1024,  /* bytes of a project's: a tool may write it as often as it likes */
	LIMIT_ENCLOSING = 64,            /* folders above a project, where the files of outer ones are looked for */
	LIMIT_POLICY_DEPTH = 16,         /* nesting of a policy file */
	LIMIT_POLICY_NODES = 100 * 1000, /* scalars, lists and maps in it */
	LIMIT_POLICY_SCALAR = 4096,      /* bytes of one scalar */
	LIMIT_POLICY_ERRORS = 20,        /* errors shown for one file */
	LIMIT_PROFILES = 256,            /* profiles in a policy file */
	LIMIT_COMMANDS = 64,             /* commands that pick one profile */
	LIMIT_EXTENDS = 32,              /* a profile and all that it extends */
	LIMIT_NOTE = 200,                /* bytes of a rule's note */
	/* Of looks at where the denials of files lead by links (base/resolved.h), each some microsecond: of the rules
	 * of projects' files and of all others each, so that sbxd's loop waits a twentieth of a second at most */
	LIMIT_LEAD_LOOKS = 32 * 1024,
	LIMIT_LEAD_LEAST = 64,          /* of these for a link, however many there are */
	LIMIT_LEAD_RATE = 4096,         /* in a second, of looks at whether they still lead there */
	LIMIT_RULES = 20 * 1000,        /* rules that hold for one subject */
	LIMIT_COMMAND = 4096,           /* bytes of a command line as it is recorded */
	LIMIT_ENVIRONMENT = 1024,       /* variable names of a session */
	LIMIT_VIEW_PATHS = 4096,        /* paths in a view */
	LIMIT_ROOTS = 16,               /* folders for which ${root} stands in one session */
	LIMIT_ROOTS_TOLD = 256,         /* folders in one message about these */
	LIMIT_VIEW_SOCKETS = 4 * 1024,  /* bytes of a view's patterns of sockets, which share a message with the rest */
	LIMIT_GRANTS_ALIKE = 512,       /* grants of one subject under one index key */
	LIMIT_ENDING = 256,             /* grants that end in one turn of the broker's loop */
	LIMIT_WALK = 200 * 1000,        /* directory entries looked at for patterns below granted trees */
	LIMIT_ARRIVALS = 32 * 1024,     /* folders of shown trees that are watched for names that are to be hidden */
	LIMIT_HOST = 253,               /* bytes of a host name (RFC 1035 2.3.4, without the root's dot) */
	LIMIT_HEADER = 32 * 1024,       /* bytes of an HTTP request's or response's header */
	LIMIT_HEADERS = 100,            /* lines in it */
	LIMIT_CONNECTIONS = 2048,       /* connections of one sandbox at the gate */
	LIMIT_HELLO = 16 * 1024,        /* bytes of a TLS hello */
	LIMIT_HEARD = 64 * 1024 + 1,    /* first bytes of a connection that are read: past a line of http.server */
	LIMIT_HEAR_MS = 200,            /* until somebody is asked about a connection whose first bytes don't come */
	LIMIT_HANDSHAKE_MS = 30 * 1000, /* until a proxy request must be complete */
	LIMIT_IDLE_MS = 5 * 60 * 1000,  /* a proxy connection without a request */
	LIMIT_CONNECT_MS = 60 * 1000,   /* until an allowed name is resolved and connected to */
	LIMIT_ADDRESSES = 16,           /* of one name that are tried */
	LIMIT_RESOLVERS = 8,            /* threads of one sandbox's gate that resolve names */
	LIMIT_CHUNK_LINE = 1024,        /* bytes of an HTTP chunk's size line */
	LIMIT_SETTLE_MS = 500,          /* until runners must have said so, before the machine sleeps */
	LIMIT_WITHDRAW_MS = 2000,       /* until what ended is used no more: that is confirmed, or all is stopped */
	LIMIT_STOP_MS = 500,            /* of these: until a sandbox must be seen to be stopped */
	LIMIT_CONFIRM_MS = LIMIT_WITHDRAW_MS - LIMIT_STOP_MS,
	LIMIT_CONFIRM_END_MS = 30 * 1000, /* until who has not confirmed is ended */
	LIMIT_PROCESSES = 16 * 1024,      /* of one sandbox, that can be stopped */
	LIMIT_PUBLISH_MS = 5000,          /* until a runner must have said that a port is published */
	LIMIT_HOLD_MS = 500,              /* until the other runs on a terminal must have said that they hold */
	LIMIT_HOLDING = 64,               /* of them, whose processes are named to who asks there */
	LIMIT_PUBLISHED = 64,             /* ports of one sandbox that are published by name */
	LIMIT_LISTENING = 64,             /* others, that are published or asked about since something listens there */
	LIMIT_INBOUND = 512,              /* connections of the host to them */
	LIMIT_TERMINATE_MS = 5000,        /* until one that is to end its sandbox must have, or is killed */
	LIMIT_STANDINS = 8192,            /* names of one session that have a stand-in address */
	LIMIT_SPARES = 256,               /* sockets of one kind that are kept in reserve for a sandbox */
	LIMIT_DIAG = 64,              /* datagrams (of 32 KiB) of one list of a network's sockets: some 25,000, 40 ms */
	LIMIT_PROC_NET = 32768,       /* rows of a table of /proc/PID/net that are read: some 40 ms */
	LIMIT_FLOW_LISTENERS = 64,    /* host:ports that a sandbox's UDP sockets were connected to */
	LIMIT_FLOWS = 256,            /* sources of datagrams that are relayed */
	LIMIT_FLOWS_ASKING = 32,      /* of them that wait for an answer */
	LIMIT_FLOW_WAITING = 16,      /* datagrams of one that wait with it */
	LIMIT_FLOW_BYTES = 64 * 1024, /* of these together; the largest one fits */
	LIMIT_FLOW_UNUSED_MS = 5000,  /* between looks at which of the listeners a socket is connected to */
	LIMIT_FLOW_IDLE_MS = 120 * 1000, /* without a datagram either way (RFC 4787 REQ-5) */
	LIMIT_FLOW_REFUSED_MS = 1000,    /* until a datagram to what was refused asks again */
	LIMIT_NAME_PORTS = 64,           /* ports of one name that are judged one by one */
	LIMIT_DNS_QUERY = 1232,          /* bytes of a question to the stub */
	LIMIT_DNS_REPLY = 8192,          /* of its answer, if the asker takes as many */
	LIMIT_DNS_TURN = 32,             /* questions read in one turn of the loop */
	LIMIT_DNS_LOOKUPS = 64,          /* names of one sandbox that the broker is asked about at once */
	LIMIT_DNS_WAITING = 256,         /* questions that wait for an answer; past it none is read */
	LIMIT_DNS_UPSTREAM = 64 * 1024,  /* bytes of what the host's resolver says */
	LIMIT_DNS_RECORDS = 64,          /* records of it that are passed on */
	LIMIT_DNS_STREAMS = 32,          /* TCP connections to the stub */
	LIMIT_DNS_STREAM_MS = 10 * 1000, /* until one that asks nothing is closed */
	LIMIT_DNS_THREADS = 2,           /* that ask the host's resolver for SRV and TXT */
	LIMIT_DIRECT_HOLD_MS = 100,      /* a connect that doesn't block, for an answer that may hand a socket in */
	LIMIT_DIRECT_FILES = 1024,       /* descriptors of a sandbox that are looked at for another that is the same */
	LIMIT_DIRECT_LOOK_MS = 500,      /* between looks at which of these are closed */
	LIMIT_DIRECT_HIDDEN_MS = 1000,   /* until one that is to be cut must have been found */
	LIMIT_COMPLETIONS = 200,         /* candidates that a shell is offered for a word */
	LIMIT_DENIED = 256,              /* distinct denied hosts that are listed at the end */
	LIMIT_AGENT_MS = 5000,           /* until a run without a terminal goes on without its desktop agent */
	LIMIT_LOOK_MS = 2000,            /* until a look at a file system that may hang is given up */
	LIMIT_STUCK_MS = 20 * 1000,      /* until a run ends that can't go on for such a one */
	LIMIT_LISTING = 200 * 1000,      /* names of a folder of the host that the curtain lists */
	LIMIT_PICTURE = 128 * 1024,      /* bytes that a full-screen program's picture is kept in */
	LIMIT_SEQUENCE = 4096,           /* bytes of a terminal control that is not complete yet */
	LIMIT_LISTINGS = 32 << 20,       /* bytes of all its listings that a sandbox has open */
	LIMIT_SUGGEST_ROWS = 200 * 1000, /* rows of the history that suggestions are made of, the newest */
	LIMIT_SUGGEST_ASKED = 1024,      /* different things that were asked about among them */
	/* what one sandbox gets of the user's quotas, at most, where its profile says nothing (runner/run/limits.h) */
	LIMIT_SANDBOX_PROCESSES = 8192,         /* and threads */
	LIMIT_SANDBOX_FILES = 16 * 1024,        /* descriptors of a process: node opens thousands at once */
	LIMIT_SANDBOX_SIGNALS = 8192,           /* queued signals, and timers, which keep one each */
	LIMIT_SANDBOX_QUEUE_BYTES = 400 * 1024, /* of POSIX message queues: half of Linux's 800 KiB */
	LIMIT_SANDBOX_LOCKED = 8 << 20,         /* bytes of locked memory of a process */
	LIMIT_SUGGESTIONS = 200,                /* rules that are suggested, and as many notes */
};

/* Milliseconds that a grant may last: ten years, as base/clock.h's durations. */
#define LIMIT_TTL_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)
