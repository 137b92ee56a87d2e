/* roots: folders that a runner has found, for which ${root} stands from then on. */
#include "base/memory.h"
#include "handler.h"
#include "schema/limits.h"
#include "sessions/session_roots.h"

static const struct body_field told_fields[] = {
	{"trees", BODY_TEXTS, OPTIONAL, offsetof(struct session_roots, trees), LIMIT_ROOTS_TOLD, NULL},
	{"found", BODY_TEXTS, OPTIONAL, offsetof(struct session_roots, found), LIMIT_ROOTS_TOLD, NULL},
	{"gone", BODY_TEXTS, OPTIONAL, offsetof(struct session_roots, gone), LIMIT_ROOTS_TOLD, NULL},
};
static const struct body_shape told_shape = BODY_SHAPE_OF(struct session_roots, told_fields);

/* The view that has them comes before the reply. */
static int take(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)id;
	const struct session_roots *told = body;
	bool kept[2 * LIMIT_ROOTS_TOLD] = {0};
	int r = body_check_paths(&told->trees, error);
	if (r == 0) r = body_check_paths(&told->found, error);
	if (r == 0) r = body_check_paths(&told->gone, error);
	if (r == 0) r = session_add_roots(client->session, told, kept, error);
	if (r < 0) return r;
	json_t *list = json_array();
	for (size_t i = 0; i < told->trees.count + told->found.count; i++)
		json_array_append_new(list, json_boolean(kept[i]));
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "kept", list);
	return HANDLED;
}

const struct request_handler handle_roots = {take, &told_shape};
