#include "fixture.h"
#include "service.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "fuzz.h"
#include "handlers/dispatch.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/home.h"

static void read_still(const struct clock *clock, struct moment *ret_now) {
	(void)clock;
	*ret_now = (struct moment){.wall_ms = FIXTURE_NOW_MS, .boot_ms = FIXTURE_NOW_MS / 2, .boot_id = "boot"};
}

static const struct clock still = {.read = read_still};

static void make_home(void) {
	static bool made;
	if (made) return;
	if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
	home_make(NULL);
	atexit(home_remove);
	made = true;
}

struct broker *fixture_new(void) {
	struct places places;
	struct broker *broker;
	struct error error = ERROR_NONE;
	make_home();
	demand(places_find(&places, &error) == 0, "%s", error.message);
	demand(places_make(&places, &error) == 0, "%s", error.message);
	unlink(places.database);
	demand(broker_new(&places, &still, 60000, NULL, &broker, &error) == 0, "%s", error.message);
	/* It looks after the socket's name, and there is none. */
	event_del(broker->tick);
	return broker;
}

void fixture_free(struct broker *broker) {
	broker_free(broker);
}

struct client *fixture_client(struct broker *broker, int *ret_end) {
	int ends[2];
	size_t before = broker->client_count;
	demand(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "%m");
	client_accept(broker, ends[0]);
	demand(broker->client_count == before + 1, "a client is refused");
	*ret_end = ends[1];
	return TAILQ_LAST(&broker->clients, client_list);
}

json_t *fixture_receive(int end) {
	static char bytes[LIMIT_MESSAGE + 1];
	ssize_t size = recv(end, bytes, sizeof bytes, MSG_DONTWAIT);
	json_t *message;
	struct error error = ERROR_NONE;
	if (size <= 0) return NULL;
	demand(message_decode(bytes, (size_t)size, &message, &error) == 0, "%s", error.message);
	return message;
}

void fixture_turn(struct broker *broker) {
	event_base_loop(broker->base, EVLOOP_NONBLOCK);
}

void fixture_say(struct client *client, const char *text) {
	dispatch(client, text, strlen(text));
}
