#include "ui/broker.h"

#include <errno.h>
#include <string.h>

#include "base/string.h"
#include "schema/message.h"

void json_put_text(json_t *object, const char *key, const char *text) {
	if (text) json_object_set_new(object, key, message_bytes(text));
}

void json_put_id(json_t *object, const char *key, int64_t id) {
	if (id != 0) json_object_set_new(object, key, json_integer(id));
}

int broker_call(const char *type, json_t *body, json_t **ret_reply, struct error *error) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int r = broker_connect(NULL, &channel, error);
	if (r < 0) {
		json_decref(body);
		return r;
	}
	return channel_call(channel, type, body, ret_reply, error);
}

static int list_page(const struct listing *listing, const json_t *reply, struct error *error) {
	const json_t *items = json_object_get(reply, "items");
	size_t index;
	json_t *item;
	if (!json_is_array(items)) return error_set(error, EPROTO, "the broker's reply has no items");
	json_array_foreach (items, index, item) {
		int r = listing->each(listing->context, item, error);
		if (r != 0) return r;
	}
	return listing->page ? listing->page(listing->context, error) : 0;
}

int broker_list(struct channel *channel, const struct listing *listing, struct error *error) {
	json_t *cursor = NULL;
	int r;
	do {
		json_t *reply = NULL, *body = json_pack("{s:s}", "what", listing->what);
		if (listing->ended_too) json_object_set_new(body, "all", json_true());
		if (listing->newest) json_object_set_new(body, "newest", json_true());
		if (listing->filter) json_object_set(body, "filter", listing->filter);
		if (cursor) json_object_set_new(body, "cursor", cursor);
		cursor = NULL;
		r = channel_call(channel, "list", body, &reply, error);
		if (r < 0) break;
		r = list_page(listing, reply, error);
		cursor = json_incref(json_object_get(reply, "next"));
		json_decref(reply);
	} while (r == 0 && cursor && !json_is_null(cursor));
	json_decref(cursor);
	json_decref(listing->filter);
	return r;
}
