/* writable: what a runner's sandbox is about to write, and which folders any sandbox could write. */
#include "base/string.h"
#include "handler.h"
#include "schema/limits.h"
#include "store/writable.h"

struct asked {
	struct strings trees, folders;
};
static const struct body_field asked_fields[] = {
	{"trees", BODY_TEXTS, OPTIONAL, offsetof(struct asked, trees), LIMIT_WRITABLE, NULL},
	{"folders", BODY_TEXTS, OPTIONAL, offsetof(struct asked, folders), LIMIT_WRITABLE, NULL},
};
static const struct body_shape asked_shape = BODY_SHAPE_OF(struct asked, asked_fields);

static bool are_known(struct store *store, const struct strings *trees) {
	for (size_t i = 0; i < trees->count; i++)
		if (!writable_has(store, trees->items[i])) return false;
	return true;
}

/* Committed before the reply, so that a tree is known before anything can write to it. */
static int add(struct broker *broker, const struct strings *trees, struct error *error) {
	if (are_known(broker->store, trees)) return 0;
	int r = broker_begin(broker, STORE_FULL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < trees->count; i++)
		if (!writable_has(broker->store, trees->items[i]))
			r = writable_add(broker->store, trees->items[i], error);
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

static int ask(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct asked *asked = body;
	struct broker *broker = client->broker;
	int r = body_check_paths(&asked->trees, error);
	if (r == 0) r = body_check_paths(&asked->folders, error);
	if (r == 0) r = add(broker, &asked->trees, error);
	if (r < 0) return r;
	json_t *writable = json_array();
	for (size_t i = 0; i < asked->folders.count; i++)
		json_array_append_new(writable, json_boolean(writable_has(broker->store, asked->folders.items[i])));
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "writable", writable);
	return HANDLED;
}

const struct request_handler handle_writable = {ask, &asked_shape};
