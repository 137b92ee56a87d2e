#include "session.h"

struct session *session_find(const struct broker *broker, int64_t id) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (session->record.id == id) return session;
	}
	return NULL;
}
