#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "curtain_private.h"

#include "base/path.h"

static void listed(void *argument, int code, const struct stat *status, struct host_names *names) {
	struct exchange *exchange = argument;
	struct curtain *curtain = exchange->curtain;
	(void)status;
	const uint64_t handle = names ? listings_open(curtain->listings, names) : 0;
	if (handle == 0) {
		exchange_refuse(exchange, code < 0 ? code : -ENFILE);
		return;
	}
	wire_reply_opened(curtain->device, exchange->unique, handle);
	exchange_free(exchange);
}

void folder_open(struct request *request) {
	host_list(request->curtain->host, request->path, listed,
		  exchange_new(request->curtain, &request->wire, request->path));
}

struct reading {
	const struct request *request;
	size_t room;
	bool plus;
	struct string entries;
};

static bool read_name(void *argument, const char *text, unsigned char type, uint64_t next) {
	struct reading *reading = argument;
	const struct curtain *curtain = reading->request->curtain;
	const struct wire_name name = {.name = text, .type = type, .next = next};
	char path[PATH_MAX];
	if (!path_is_dots(text)) {
		if (node_path_of_name(reading->request->node, text, path) < 0) return true;
		const struct sight sight = curtain->options.sight(curtain->options.context, path);
		if (sight.mode == VIEW_ABSENT && !sight.leads) return true;
	}
	if (reading->entries.size + wire_name_size(&name, reading->plus) > reading->room) return false;
	if (reading->plus)
		wire_append_entry(&reading->entries, &name, NULL);
	else
		wire_append_name(&reading->entries, &name);
	return true;
}

/* What is mounted on stays what it was. */
static bool read_node(void *argument, const char *text, unsigned char type, uint64_t next) {
	struct reading *reading = argument;
	const struct request *request = reading->request;
	const struct curtain *curtain = request->curtain;
	const struct wire_name name = {.name = text, .type = type, .next = next};
	char path[PATH_MAX];
	if (path_is_dots(text) || type == DT_UNKNOWN || node_path_of_name(request->node, text, path) < 0 ||
	    !curtain->options.sight(curtain->options.context, path).leads)
		return true;
	if (reading->entries.size + wire_name_size(&name, true) > reading->room) return false;
	const struct node *known = nodes_child(curtain->nodes, request->node, text);
	struct node *node =
		nodes_look_up(curtain->nodes, request->node, text, known ? known->type : (mode_t)DTTOIF(type));
	if (!node) return false;
	node->unborn = false;
	const struct wire_object object = curtain_object(curtain, node, NULL);
	wire_append_entry(&reading->entries, &name, &object);
	return true;
}

void folder_read(struct request *request) {
	const struct wire_request *wire = &request->wire;
	struct reading reading = {.request = request,
				  .room = wire->size < LISTING_BYTES ? wire->size : LISTING_BYTES,
				  .plus = wire->opcode == FUSE_READDIRPLUS};
	listing_visit *visit = reading.plus && request->by_portal ? read_node : read_name;
	int code = listings_read(request->curtain->listings, wire->handle, wire->offset, visit, &reading);
	wire_reply(request->curtain->device, wire->unique, code, reading.entries.data, reading.entries.size);
	string_finish(&reading.entries);
}
