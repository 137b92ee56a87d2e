/*
 * Theory of operation. A node hangs where something may be asked for, and the kernel sends what a call wants of it.
 *
 *   LOOKUP comes with the parent's lock when the name is new to the kernel: always answered at once. What a rule asks
 *   about and the host has is there, with nothing told but its type; what is hidden or missing is not.
 *   A link is told as it is: what it leads to is what is asked about.
 *   OPEN, OPENDIR, STATFS, GETXATTR of user.*, LISTXATTR, TMPFILE come without a lock: held.
 *   GETATTR: curtain_getattr.c says which it is.
 *   CREATE, MKDIR, UNLINK, RENAME … and SETATTR come with a lock: the wish is noted (curtain_caller.h) and ESTALE
 * given, whereupon the kernel walks the path again (retry_estale) and sends a GETATTR of the folder, without a lock:
 * held.
 *   READDIRPLUS by the portal: the names that lead to a mount, known from then on as if each had been looked up; others
 * get names alone.
 *
 * What was held and is there now is answered ESTALE: the kernel walks again and crosses into what was mounted. Names
 * that lead to a mount are told for ever, since one that the kernel finds gone takes the mount with it; all others
 * are asked for each time, and so are all attributes. Nothing else is cached, so nothing is ever taken back:
 * FUSE_NOTIFY_INVAL_ENTRY would wait for the folder's lock, whose holder may wait for us.
 */
#include "curtain/curtain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "curtain_private.h"

enum {
	REQUESTS_A_TURN = 64, /* then the rest of the loop has its turn */
	OPCODE_TMPFILE = 51,  /* linux/fuse.h of 6.2 */
};

/* What isn't a folder or a link is a file until it is shown: a pipe that nobody writes to would be waited for. */
static mode_t told_type(mode_t mode) {
	return S_ISDIR(mode) || S_ISLNK(mode) ? mode & S_IFMT : S_IFREG;
}

/* An open that makes the file is better held at the file: there nobody has a lock. */
static void look_up_unborn(struct exchange *exchange, const struct call_raw *raw) {
	struct curtain *curtain = exchange->curtain;
	struct node *parent = nodes_find(curtain->nodes, exchange->node), *node = NULL;
	CLEANUP_CALL struct call call = {.class = CALL_OTHER};
	if (raw) call_read_promptly(curtain->options.promptly, exchange->thread, raw, &call);
	if (parent && call.class == CALL_OPEN && call.create && !call.exclusive && !call.nameless)
		node = nodes_look_up(curtain->nodes, parent, exchange->name, S_IFREG);
	if (!node) {
		exchange_refuse(exchange, -ENOENT);
		return;
	}
	node->unborn = true;
	const struct wire_object object = curtain_object(curtain, node, NULL);
	wire_reply_entry(curtain->device, exchange->unique, &object, false);
	exchange_free(exchange);
}

static void looked_up(void *argument, int code, const struct stat *status, struct host_names *names) {
	struct exchange *exchange = argument;
	struct curtain *curtain = exchange->curtain;
	struct node *parent = nodes_find(curtain->nodes, exchange->node), *node = NULL;
	(void)names;
	const bool leads = curtain->options.sight(curtain->options.context, exchange->path).leads;
	mode_t type = status ? told_type(status->st_mode) : 0;
	if (parent && leads) {
		/* Mounted on: it stays what it was. */
		const struct node *known = nodes_child(curtain->nodes, parent, exchange->name);
		if (known)
			type = known->type;
		else if (type == 0 && code == -ENOENT)
			type = S_IFDIR; /* what is mounted there is sbx's own: the host need not have it */
	}
	if (parent && type) node = nodes_look_up(curtain->nodes, parent, exchange->name, type);
	if (node) node->unborn = false;
	if (parent && parent->told > 0 && code == -ENOENT && !type && !exchange->by_portal) {
		exchange_with_call(exchange, look_up_unborn);
	} else if (!parent || (type && !node)) {
		exchange_refuse(exchange, parent ? -ENOMEM : -ESTALE);
	} else if (!node) {
		exchange_refuse(exchange, code == -ENOTDIR || code == 0 ? -ENOENT : code);
	} else {
		const struct wire_object object = curtain_object(curtain, node, NULL);
		wire_reply_entry(curtain->device, exchange->unique, &object, leads);
		exchange_free(exchange);
	}
}

static void look_up(struct request *request) {
	struct curtain *curtain = request->curtain;
	char path[PATH_MAX];
	int code = node_path_of_name(request->node, request->wire.name, path);
	if (code == 0 && !request->by_portal) {
		const struct sight sight = curtain->options.sight(curtain->options.context, path);
		if (sight.mode == VIEW_ABSENT && !sight.leads) code = -ENOENT;
	}
	if (code < 0) {
		wire_reply(curtain->device, request->wire.unique, code, NULL, 0);
		return;
	}
	struct exchange *exchange = exchange_new(curtain, &request->wire, path);
	exchange->by_portal = request->by_portal;
	host_look(curtain->host, path, looked_up, exchange);
}

static void hold(struct request *request, enum permission_kind permission, bool by_folder, bool listing) {
	const struct need need = {
		.permission = permission, .path = request->path, .by_folder = by_folder, .listing = listing};
	exchange_hold(exchange_new(request->curtain, &request->wire, request->path), &need);
}

static void refuse(struct request *request, int code) {
	wire_reply(request->curtain->device, request->wire.unique, code, NULL, 0);
}

/* For what is to be made in the folder that the node would be in. */
static void hold_folder(struct request *request) {
	CLEANUP_FREE char *folder = path_parent(request->path);
	const struct need need = {.permission = PERMISSION_FS_WRITE, .path = folder, .by_folder = true};
	exchange_hold(exchange_new(request->curtain, &request->wire, request->path), &need);
}

static void open_file(struct request *request) {
	const bool writes = (request->wire.flags & O_ACCMODE) != O_RDONLY || (request->wire.flags & O_TRUNC);
	if (request->sight.mode == VIEW_ABSENT)
		refuse(request, -EACCES);
	else if (request->sight.visible)
		hold(request, PERMISSION_PROC_SPAWN, false, false);
	else if (request->node->unborn)
		hold_folder(request);
	else
		hold(request, writes ? PERMISSION_FS_WRITE : PERMISSION_FS_READ, false, false);
}

/* A folder that only leads somewhere has a listing of what may be known. */
static void open_folder(struct request *request) {
	if (request->sight.mode != VIEW_ABSENT)
		hold(request, PERMISSION_FS_READ, false, true);
	else
		folder_open(request);
}

static void linked(void *argument, int code, const struct stat *status, struct host_names *names) {
	struct exchange *exchange = argument;
	(void)status;
	if (!names) {
		exchange_refuse(exchange, code);
		return;
	}
	wire_reply(exchange->curtain->device, exchange->unique, 0, names->text.data, names->text.size);
	exchange_free(exchange);
}

/* As the links of a folder that is real (plan.h): what it leads to is what is asked about. */
static void read_link(struct request *request) {
	if (request->sight.mode == VIEW_ABSENT)
		refuse(request, -EACCES);
	else
		host_read_link(request->curtain->host, request->path, linked,
			       exchange_new(request->curtain, &request->wire, request->path));
}

static void get_attribute(struct request *request) {
	/* What the kernel itself asks for (security.*, system.*), perhaps with a lock, there is none of. */
	if (request->sight.visible || request->sight.mode == VIEW_ABSENT ||
	    !string_starts(request->wire.attribute, "user."))
		refuse(request, -ENODATA);
	else
		hold(request, PERMISSION_FS_READ, false, false);
}

static void list_attributes(struct request *request) {
	if (request->sight.visible || request->sight.mode == VIEW_ABSENT)
		refuse(request, -EOPNOTSUPP);
	else
		hold(request, PERMISSION_FS_READ, false, false);
}

static void get_space(struct request *request) {
	if (request->sight.visible || request->sight.mode == VIEW_ABSENT)
		wire_reply_statfs(request->curtain->device, request->wire.unique);
	else
		hold(request, PERMISSION_FS_READ, false, false);
}

static void make_nameless(struct request *request) {
	if (request->sight.mode == VIEW_ABSENT)
		refuse(request, -EACCES);
	else
		hold(request, PERMISSION_FS_WRITE, true, false);
}

static void get_attributes(struct request *request) {
	struct curtain *curtain = request->curtain;
	struct exchange *exchange = exchange_new(curtain, &request->wire, request->path);
	const bool is_link = S_ISLNK(request->node->type) && request->sight.mode != VIEW_ABSENT;
	if (is_link || (request->sight.visible && !S_ISDIR(request->node->type)))
		exchange_look(exchange);
	else
		getattr_decide(exchange);
}

static void wish(struct exchange *exchange, const struct call_raw *raw) {
	struct curtain *curtain = exchange->curtain;
	struct node *node = nodes_find(curtain->nodes, exchange->node);
	const bool by_folder = exchange->opcode != FUSE_SETATTR;
	if (node && !by_folder) node = node->parent;
	if (!node || !raw) {
		exchange_refuse(exchange, -EACCES);
		return;
	}
	struct caller *caller = callers_get(curtain->callers, exchange->thread, raw);
	const bool noted = caller_wishes(caller, node, exchange->path, by_folder);
	if (noted && node_cool(node)) wire_notify_attributes(curtain->device, node->number);
	exchange_refuse(exchange, noted ? -ESTALE : -EACCES);
}

/* It has a lock: what it wants is asked for when it comes by again. */
static void change(struct request *request) {
	if (request->sight.mode == VIEW_ABSENT || request->sight.visible)
		refuse(request, -EACCES);
	else
		exchange_with_call(exchange_new(request->curtain, &request->wire, request->path), wish);
}

static void never(struct request *request) {
	refuse(request, -EACCES);
}

static const struct {
	uint32_t opcode;
	void (*handle)(struct request *request);
} handlers[] = {
	{FUSE_LOOKUP, look_up},
	{FUSE_GETATTR, get_attributes},
	{FUSE_OPEN, open_file},
	{FUSE_OPENDIR, open_folder},
	{FUSE_READLINK, read_link},
	{FUSE_GETXATTR, get_attribute},
	{FUSE_STATFS, get_space},
	{FUSE_LISTXATTR, list_attributes},
	{OPCODE_TMPFILE, make_nameless},
	{FUSE_CREATE, change},
	{FUSE_MKNOD, change},
	{FUSE_MKDIR, change},
	{FUSE_SYMLINK, change},
	{FUSE_LINK, change},
	{FUSE_UNLINK, change},
	{FUSE_RMDIR, change},
	{FUSE_RENAME, change},
	{FUSE_RENAME2, change},
	{FUSE_SETATTR, change},
	{FUSE_SETXATTR, never},
	{FUSE_REMOVEXATTR, never},
};

static void tell_portal(struct request *request) {
	struct wire_object object = curtain_object(request->curtain, request->node, NULL);
	const enum view_mode mode =
		request->curtain->options.sight(request->curtain->options.context, request->path).mode;
	if (object.valid_ms == 0 && S_ISDIR(object.type) && mode != VIEW_ASK)
		object.valid_ms = node_tell_portal(request->node);
	wire_reply_attributes(request->curtain->device, request->wire.unique, &object);
}

/* What the portal does on its way is no question. */
static void serve_portal(struct request *request) {
	int code = node_path(request->node, request->path);
	if (code < 0) {
		refuse(request, code);
		return;
	}
	switch (request->wire.opcode) {
	case FUSE_LOOKUP:
		look_up(request);
		break;
	case FUSE_GETATTR:
		tell_portal(request);
		break;
	case FUSE_OPENDIR:
		folder_open(request);
		break;
	case FUSE_STATFS:
		wire_reply_statfs(request->curtain->device, request->wire.unique);
		break;
	default:
		refuse(request, -EACCES);
		break;
	}
}

static void serve_sandbox(struct request *request) {
	struct curtain *curtain = request->curtain;
	int code = node_path(request->node, request->path);
	if (code == 0 && request->wire.opcode != FUSE_LOOKUP) {
		request->sight = curtain->options.sight(curtain->options.context, request->path);
		if (request->sight.mode == VIEW_ABSENT && !request->sight.leads) code = -ENOENT;
	}
	if (code < 0) {
		refuse(request, code);
		return;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(handlers); i++)
		if (handlers[i].opcode == request->wire.opcode) {
			handlers[i].handle(request);
			return;
		}
	refuse(request, -ENOSYS);
}

static void forget(struct curtain *curtain, uint64_t number, uint64_t count) {
	struct node *node = nodes_find(curtain->nodes, number);
	if (node) nodes_forget(curtain->nodes, node, count);
}

/* What has nothing to do with who asks. True: it is done. */
static bool serve_kernel(struct request *request) {
	struct curtain *curtain = request->curtain;
	const struct wire_request *wire = &request->wire;
	switch (wire->opcode) {
	case FUSE_INIT:
		wire_reply_init(curtain->device, wire);
		return true;
	case FUSE_FORGET:
		forget(curtain, wire->node, wire->count);
		return true;
	case FUSE_BATCH_FORGET:
		for (uint64_t i = 0; i < wire->count; i++)
			forget(curtain, wire->forgets[i].nodeid, wire->forgets[i].nlookup);
		return true;
	case FUSE_INTERRUPT:
		exchange_interrupt(curtain, wire->target);
		return true;
	case FUSE_RELEASEDIR:
		listings_close(curtain->listings, wire->handle);
		refuse(request, 0);
		return true;
	case FUSE_DESTROY:
		refuse(request, 0);
		return true;
	default:
		return false;
	}
}

static void serve(struct curtain *curtain, const void *bytes, size_t size) {
	struct request request = {.curtain = curtain};
	const bool good = wire_parse(bytes, size, &request.wire) == 0;
	if (!good) {
		if (wire_wants_reply(&request.wire)) refuse(&request, -EIO);
		return;
	}
	if (serve_kernel(&request)) return;
	request.node = nodes_find(curtain->nodes, request.wire.node);
	request.by_portal = request.wire.thread != 0 && request.wire.thread == curtain->options.portal;
	if (!wire_wants_reply(&request.wire)) return;
	if (!request.node)
		refuse(&request, -ESTALE);
	else if (request.wire.opcode == FUSE_READDIR || request.wire.opcode == FUSE_READDIRPLUS)
		folder_read(&request); /* who opened it was let in */
	else if (request.by_portal)
		serve_portal(&request);
	else if (thread_is_in(request.wire.thread, curtain->pid_namespace))
		serve_sandbox(&request);
	else
		refuse(&request, -EACCES);
}

static void read_device(evutil_socket_t fd, short what, void *argument) {
	struct curtain *curtain = argument;
	(void)what;
	for (int i = 0; i < REQUESTS_A_TURN; i++) {
		ssize_t size = read(fd, curtain->buffer, sizeof curtain->buffer);
		if (size > 0) {
			serve(curtain, curtain->buffer, (size_t)size);
		} else if (size < 0 && errno == EAGAIN) {
			return;
		} else if (size == 0 || (errno != EINTR && errno != ENOENT)) { /* ENOENT: taken back */
			event_del(curtain->event);
			curtain->options.ended(curtain->options.context);
			return;
		}
	}
}

int curtain_new(int device, const struct curtain_options *options, struct curtain **ret_curtain, struct error *error) {
	CLEANUP_FD int fd = device;
	const ino_t pid_namespace = thread_pid_namespace(options->init);
	if (pid_namespace == 0) return error_set(error, ESRCH, "the sandbox's first process can't be looked at");
	int code = fd_nonblocking(fd, true, error);
	if (code < 0) return code;
	struct curtain *curtain = mem_new(struct curtain);
	*curtain = (struct curtain){
		.options = *options,
		.device = fd_steal(&fd),
		.pid_namespace = pid_namespace,
		.nodes = nodes_new(),
		.callers = callers_new(),
		.listings = listings_new(),
		.host = host_new(options->base),
	};
	curtain->event = event_new(options->base, curtain->device, EV_READ | EV_PERSIST, read_device, curtain);
	if (!curtain->event || event_add(curtain->event, NULL) < 0) mem_exhausted();
	*ret_curtain = curtain;
	return 0;
}

void curtain_set_portal(struct curtain *curtain, pid_t portal) {
	curtain->options.portal = portal;
}

void curtain_free(struct curtain *curtain) {
	if (!curtain) return;
	host_free(curtain->host); /* answers no exchange from now on */
	exchanges_refuse(curtain);
	event_free(curtain->event);
	fd_close(curtain->device);
	listings_free(curtain->listings);
	callers_free(curtain->callers);
	nodes_free(curtain->nodes);
	free(curtain);
}
