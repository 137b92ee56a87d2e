/* turn, held. */
#include "handler.h"
#include "prompts/turns.h"

struct turn_wish {
	bool wanted, elsewhere;
};
static const struct body_field turn_fields[] = {
	{"wanted", BODY_FLAG, REQUIRED, offsetof(struct turn_wish, wanted), 0, NULL},
	{"elsewhere", BODY_TRUE, OPTIONAL, offsetof(struct turn_wish, elsewhere), 0, NULL},
};
static const struct body_shape turn_shape = BODY_SHAPE_OF(struct turn_wish, turn_fields);

static int turn(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	const struct turn_wish *wish = body;
	(void)ret_reply;
	if (!wish->wanted) {
		turns_give(client);
		return HANDLED;
	}
	int r = turns_take(client, id, wish->elsewhere, error);
	return r < 0 ? r : HANDLED_REPLIED;
}

const struct request_handler handle_turn = {turn, &turn_shape};

struct held {
	int64_t number;
};
static const struct body_field held_fields[] = {
	{"number", BODY_INTEGER, REQUIRED, offsetof(struct held, number), 0, NULL},
};
static const struct body_shape held_shape = BODY_SHAPE_OF(struct held, held_fields);

static int take_held(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	const struct held *said = body;
	(void)id, (void)ret_reply, (void)error;
	turns_held(client->session, said->number);
	return HANDLED;
}

const struct request_handler handle_held = {take_held, &held_shape};
