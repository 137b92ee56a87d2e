#include "announce.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "broker.h"
#include "journal.h"

static const char *const names[] = {
	[JOURNAL_NOWHERE] = "nowhere", [JOURNAL_SYSLOG] = "syslog", [JOURNAL_NATIVE] = "journal"};

const char *announce_place(struct broker *broker) {
	const char *const sockets[] = {
		[JOURNAL_SYSLOG] = broker->places.syslog, [JOURNAL_NATIVE] = broker->places.journal};
	for (int place = JOURNAL_NATIVE; place > JOURNAL_NOWHERE; place--)
		if (access(sockets[place], W_OK) == 0) return names[place];
	return names[JOURNAL_NOWHERE];
}

static void tell(struct broker *broker, const char *message, const struct journal_field *fields, size_t count) {
	const struct journal_sockets sockets = {broker->places.journal, broker->places.syslog};
	if (journal_write(&sockets, message, fields, count) != JOURNAL_NOWHERE || broker->head_is_lost) return;
	broker->head_is_lost = true;
	log_warning("neither %s nor %s takes a line: the history's heads are kept nowhere but in the history",
		    sockets.native, sockets.syslog);
}

void announce_head(struct broker *broker, int64_t session) {
	const char *hash;
	CLEANUP_FREE char *seq = string_format("%lld", (long long)history_head(broker->history, &hash));
	CLEANUP_FREE char *id = string_format("%lld", (long long)session);
	CLEANUP_FREE char *message = session != 0 ? string_format("session %s ended; history head %s:%s", id, seq, hash)
						  : string_format("leaving; history head %s:%s", seq, hash);
	const struct journal_field fields[] = {{"SBX_HEAD_SEQ", seq}, {"SBX_HEAD_HASH", hash}, {"SBX_SESSION", id}};
	tell(broker, message, fields, session != 0 ? 3 : 2);
}

void announce_anchor(struct broker *broker, int64_t removed, int64_t seq, const char *hash) {
	CLEANUP_FREE char *number = string_format("%lld", (long long)seq);
	CLEANUP_FREE char *message = string_format("retention took %lld row%s; history anchor %s:%s",
						   (long long)removed, removed == 1 ? "" : "s", number, hash);
	const struct journal_field fields[] = {{"SBX_ANCHOR_SEQ", number}, {"SBX_ANCHOR_HASH", hash}};
	tell(broker, message, fields, ARRAY_LENGTH(fields));
}
