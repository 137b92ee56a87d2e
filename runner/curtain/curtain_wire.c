/*
 * Theory of operation. A message is a header, a fixed part by its opcode, then names that end with a NUL. The table
 * says how long the fixed part is at least (older kernels send less of some, newer ones more in ways that INIT turns
 * on, which we don't) and how many names follow; what is read is copied out of the message, which may lie about
 * anything.
 */
#include "curtain_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* linux/fuse.h of 6.15 (7.43); older headers know nothing of it. */
enum { WIRE_REQUEST_TIMEOUT = 1 << (42 - 32), WIRE_REQUEST_TIMEOUT_MAX_S = UINT16_MAX };

enum { OPCODE_TMPFILE = 51 }; /* 6.2 */

enum names {
	NAMES_NONE,
	NAMES_ONE, /* of a folder's entry */
	NAMES_TWO,
	NAMES_LINK,      /* a folder's entry, then any text */
	NAMES_ATTRIBUTE, /* of an extended attribute */
	NAMES_IGNORED,
};

static const struct shape {
	uint32_t opcode;
	size_t fixed;
	enum names names;
} shapes[] = {
	{FUSE_LOOKUP, 0, NAMES_ONE},
	{FUSE_FORGET, sizeof(struct fuse_forget_in), NAMES_NONE},
	{FUSE_GETATTR, sizeof(struct fuse_getattr_in), NAMES_NONE},
	{FUSE_SETATTR, sizeof(struct fuse_setattr_in), NAMES_NONE},
	{FUSE_READLINK, 0, NAMES_NONE},
	{FUSE_SYMLINK, 0, NAMES_LINK},
	{FUSE_MKNOD, sizeof(struct fuse_mknod_in), NAMES_ONE},
	{FUSE_MKDIR, sizeof(struct fuse_mkdir_in), NAMES_ONE},
	{FUSE_UNLINK, 0, NAMES_ONE},
	{FUSE_RMDIR, 0, NAMES_ONE},
	{FUSE_RENAME, sizeof(struct fuse_rename_in), NAMES_TWO},
	{FUSE_LINK, sizeof(struct fuse_link_in), NAMES_ONE},
	{FUSE_OPEN, sizeof(struct fuse_open_in), NAMES_NONE},
	{FUSE_STATFS, 0, NAMES_NONE},
	{FUSE_SETXATTR, FUSE_COMPAT_SETXATTR_IN_SIZE, NAMES_IGNORED},
	{FUSE_GETXATTR, sizeof(struct fuse_getxattr_in), NAMES_ATTRIBUTE},
	{FUSE_LISTXATTR, sizeof(struct fuse_getxattr_in), NAMES_NONE},
	{FUSE_REMOVEXATTR, 0, NAMES_IGNORED},
	{FUSE_INIT, 4 * sizeof(uint32_t), NAMES_NONE},
	{FUSE_OPENDIR, sizeof(struct fuse_open_in), NAMES_NONE},
	{FUSE_READDIR, sizeof(struct fuse_read_in), NAMES_NONE},
	{FUSE_READDIRPLUS, sizeof(struct fuse_read_in), NAMES_NONE},
	{FUSE_RELEASEDIR, sizeof(struct fuse_release_in), NAMES_NONE},
	{FUSE_CREATE, sizeof(struct fuse_create_in), NAMES_ONE},
	{FUSE_INTERRUPT, sizeof(struct fuse_interrupt_in), NAMES_NONE},
	{FUSE_BATCH_FORGET, sizeof(struct fuse_batch_forget_in), NAMES_NONE},
	{FUSE_RENAME2, sizeof(struct fuse_rename2_in), NAMES_TWO},
	{OPCODE_TMPFILE, sizeof(struct fuse_create_in), NAMES_IGNORED},
};

static const struct shape *shape_of(uint32_t opcode) {
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++)
		if (shapes[i].opcode == opcode) return &shapes[i];
	return NULL;
}

/* The bytes behind the fixed part, taken text by text. */
struct rest {
	const char *bytes;
	size_t size;
};

static const char *take_text(struct rest *rest) {
	const char *text = rest->bytes, *end = rest->size ? memchr(text, '\0', rest->size) : NULL;
	if (!end) return NULL;
	rest->size -= (size_t)(end + 1 - text);
	rest->bytes = end + 1;
	return text;
}

static const char *take_name(struct rest *rest) {
	const char *name = take_text(rest);
	if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return NULL;
	return name;
}

static bool take_names(struct rest *rest, enum names names, struct wire_request *request) {
	switch (names) {
	case NAMES_NONE:
	case NAMES_IGNORED:
		return true;
	case NAMES_ONE:
		return (request->name = take_name(rest)) && rest->size == 0;
	case NAMES_TWO:
		return (request->name = take_name(rest)) && take_name(rest) && rest->size == 0;
	case NAMES_LINK:
		return (request->name = take_name(rest)) && take_text(rest) && rest->size == 0;
	case NAMES_ATTRIBUTE:
		return (request->attribute = take_text(rest)) && rest->size == 0;
	}
	return false;
}

static void take_init(const void *fixed, size_t size, struct wire_request *request) {
	struct fuse_init_in init = {0};
	memcpy(&init, fixed, size < sizeof init ? size : sizeof init);
	request->init.major = init.major;
	request->init.minor = init.minor;
	request->init.readahead = init.max_readahead;
	request->init.flags = init.flags;
	if (init.flags & FUSE_INIT_EXT) request->init.flags |= (uint64_t)init.flags2 << 32;
}

static bool take_forgets(const void *fixed, size_t size, struct wire_request *request) {
	const struct fuse_batch_forget_in *in = fixed;
	const size_t room = size - sizeof *in;
	if (in->count > room / sizeof *request->forgets) return false;
	request->count = in->count;
	request->forgets = (const void *)(in + 1);
	return true;
}

static bool take_fixed(const void *fixed, size_t size, struct wire_request *request) {
	switch (request->opcode) {
	case FUSE_INIT:
		take_init(fixed, size, request);
		break;
	case FUSE_FORGET:
		request->count = ((const struct fuse_forget_in *)fixed)->nlookup;
		break;
	case FUSE_BATCH_FORGET:
		return take_forgets(fixed, size, request);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		request->flags = ((const struct fuse_open_in *)fixed)->flags;
		break;
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		request->handle = ((const struct fuse_read_in *)fixed)->fh;
		request->offset = ((const struct fuse_read_in *)fixed)->offset;
		request->size = ((const struct fuse_read_in *)fixed)->size;
		break;
	case FUSE_RELEASEDIR:
		request->handle = ((const struct fuse_release_in *)fixed)->fh;
		break;
	case FUSE_INTERRUPT:
		request->target = ((const struct fuse_interrupt_in *)fixed)->unique;
		break;
	default:
		break;
	}
	return true;
}

int wire_parse(const void *bytes, size_t size, struct wire_request *ret_request) {
	struct fuse_in_header header;
	*ret_request = (struct wire_request){0};
	if (size < sizeof header) return -EIO;
	memcpy(&header, bytes, sizeof header);
	*ret_request = (struct wire_request){.opcode = header.opcode, .unique = header.unique, .node = header.nodeid};
	if (header.len != size) return -EIO;
	if (header.pid <= INT_MAX) ret_request->thread = (pid_t)header.pid;

	const struct shape *shape = shape_of(header.opcode);
	if (!shape) return 0;
	const char *fixed = (const char *)bytes + sizeof header;
	const size_t left = size - sizeof header;
	if (left < shape->fixed || !take_fixed(fixed, left, ret_request)) return -EIO;
	struct rest rest = {.bytes = fixed + shape->fixed, .size = left - shape->fixed};
	return take_names(&rest, shape->names, ret_request) ? 0 : -EIO;
}

bool wire_wants_reply(const struct wire_request *request) {
	return request->unique != 0 && request->opcode != FUSE_FORGET && request->opcode != FUSE_BATCH_FORGET &&
	       request->opcode != FUSE_INTERRUPT;
}

void wire_reply(int device, uint64_t unique, int code, const void *data, size_t size) {
	const struct fuse_out_header header = {
		.len = (uint32_t)(sizeof header + size), .error = code, .unique = unique};
	const struct iovec parts[] = {{.iov_base = (void *)&header, .iov_len = sizeof header},
				      {.iov_base = (void *)data, .iov_len = size}};
	/* ENOENT: the requester was killed; anything else shows when the device is read. */
	ssize_t written = writev(device, parts, size ? 2 : 1);
	(void)written;
}

/* An administrator's default would end the connection of whoever thinks for longer; their maximum is theirs
 * (Documentation/admin-guide/sysctl/fs.rst). */
static bool has_default_timeout(void) {
	CLEANUP_FREE char *text = NULL;
	return file_read("/proc/sys/fs/fuse/default_request_timeout", 64, &text, NULL, NULL) == 0 && *text != '0';
}

void wire_reply_init(int device, const struct wire_request *request) {
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION};
	if (request->init.major < FUSE_KERNEL_VERSION) {
		wire_reply(device, request->unique, -EPROTO, NULL, 0);
		return;
	}
	if (request->init.major == FUSE_KERNEL_VERSION) {
		/* PARALLEL_DIROPS: no lock of the file system's own around a look-up; ATOMIC_O_TRUNC: an open says
		 * that it truncates; HANDLE_KILLPRIV: nothing is asked under a file's lock before it is changed;
		 * DO_READDIRPLUS: the portal learns of many names at once. */
		const uint64_t wanted =
			FUSE_PARALLEL_DIROPS | FUSE_ATOMIC_O_TRUNC | FUSE_HANDLE_KILLPRIV | FUSE_DO_READDIRPLUS;
		const uint64_t timeout = (uint64_t)WIRE_REQUEST_TIMEOUT << 32 | FUSE_INIT_EXT;
		uint64_t flags = request->init.flags & wanted;
		if ((request->init.flags & timeout) == timeout && has_default_timeout()) {
			const uint16_t seconds = WIRE_REQUEST_TIMEOUT_MAX_S;
			flags |= timeout;
			memcpy(&out.unused[1], &seconds, sizeof seconds); /* behind max_stack_depth, 7.40 */
		}
		out.flags = (uint32_t)flags;
		out.flags2 = (uint32_t)(flags >> 32);
		out.max_readahead = request->init.readahead;
		out.max_write = WIRE_WRITE_MAX;
		out.time_gran = 1;
	}
	/* A newer major sends INIT again with ours. */
	wire_reply(device, request->unique, 0, &out, sizeof out);
}

void wire_reply_opened(int device, uint64_t unique, uint64_t handle) {
	const struct fuse_open_out out = {.fh = handle};
	wire_reply(device, unique, 0, &out, sizeof out);
}

void wire_reply_statfs(int device, uint64_t unique) {
	const struct fuse_statfs_out out = {.st = {.bsize = 4096, .frsize = 4096, .namelen = NAME_MAX}};
	wire_reply(device, unique, 0, &out, sizeof out);
}

static struct fuse_attr attributes_of(const struct wire_object *object) {
	const struct stat *status = object->status;
	struct fuse_attr attributes = {
		.ino = object->node,
		.mode = (object->type & S_IFMT) | 0755,
		.nlink = 1,
		.uid = object->uid,
		.gid = object->gid,
		.blksize = 4096,
	};
	if (!status) return attributes;
	attributes.mode = status->st_mode & (S_IFMT | 0777);
	attributes.nlink = (uint32_t)status->st_nlink;
	attributes.size = (uint64_t)status->st_size;
	attributes.blocks = (uint64_t)status->st_blocks;
	attributes.atime = (uint64_t)status->st_atim.tv_sec;
	attributes.mtime = (uint64_t)status->st_mtim.tv_sec;
	attributes.ctime = (uint64_t)status->st_ctim.tv_sec;
	attributes.atimensec = (uint32_t)status->st_atim.tv_nsec;
	attributes.mtimensec = (uint32_t)status->st_mtim.tv_nsec;
	attributes.ctimensec = (uint32_t)status->st_ctim.tv_nsec;
	return attributes;
}

void wire_reply_attributes(int device, uint64_t unique, const struct wire_object *object) {
	const struct fuse_attr_out out = {.attr_valid = object->valid_ms / 1000,
					  .attr_valid_nsec = object->valid_ms % 1000 * 1000000,
					  .attr = attributes_of(object)};
	wire_reply(device, unique, 0, &out, sizeof out);
}

static struct fuse_entry_out entry_of(const struct wire_object *object, bool stays) {
	return (struct fuse_entry_out){.nodeid = object->node,
				       .entry_valid = stays ? WIRE_NEVER : 0,
				       .attr_valid = object->valid_ms / 1000,
				       .attr_valid_nsec = object->valid_ms % 1000 * 1000000,
				       .attr = attributes_of(object)};
}

void wire_reply_entry(int device, uint64_t unique, const struct wire_object *object, bool stays) {
	const struct fuse_entry_out out = entry_of(object, stays);
	wire_reply(device, unique, 0, &out, sizeof out);
}

void wire_notify_attributes(int device, uint64_t node) {
	const struct fuse_notify_inval_inode_out out = {.ino = node, .off = -1};
	wire_reply(device, 0, FUSE_NOTIFY_INVAL_INODE, &out, sizeof out);
}

size_t wire_name_size(const struct wire_name *name, bool plus) {
	const size_t before = plus ? sizeof(struct fuse_entry_out) : 0;
	return before + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + strlen(name->name));
}

void wire_append_name(struct string *listing, const struct wire_name *name) {
	static const char padding[sizeof(uint64_t)] = {0};
	const size_t size = strlen(name->name);
	const struct fuse_dirent entry = {.ino = UINT32_MAX, /* FUSE_UNKNOWN_INO */
					  .off = name->next,
					  .namelen = (uint32_t)size,
					  .type = name->type};
	string_append_bytes(listing, (const char *)&entry, FUSE_NAME_OFFSET);
	string_append_bytes(listing, name->name, size);
	string_append_bytes(listing, padding, FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + size) - FUSE_NAME_OFFSET - size);
}

void wire_append_entry(struct string *listing, const struct wire_name *name, const struct wire_object *object) {
	const struct fuse_entry_out entry = object ? entry_of(object, true) : (struct fuse_entry_out){.nodeid = 0};
	string_append_bytes(listing, (const char *)&entry, sizeof entry);
	wire_append_name(listing, name);
}
