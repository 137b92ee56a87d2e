/*
 * packet: what sbx-notify and sbx-notify-show say to each other: one JSON object in each message of a SOCK_SEQPACKET
 * socket.
 *
 * To sbx-notify-show:
 *	{"type":"show","popup":N,"replaces":ID,"summary":…,"body":…,"icon":…,"urgency":0–2,"transient":BOOL,"expire":MS,
 *	 "actions":[KEY,LABEL,…]}      in place of ID (0: of none); `shown` is the answer
 *	{"type":"close","id":ID}
 *	{"type":"ping"}                `pong` is the answer, once the server has answered
 * From it:
 *	{"type":"absent","bus":BOOL,"why":…}   there is no server that could show something
 *	{"type":"found"}                       there is one
 *	{"type":"present","name":…,"vendor":…,"version":…,"specification":…,"actions":BOOL,"markup":BOOL,
 *	 "places":N,"narrow":BOOL}             so many it keeps at a time (0: that isn't known); no three buttons fit
 *	{"type":"inhibited","inhibited":BOOL or null}
 *	{"type":"shown","popup":N,"id":ID}     0: it could not be shown
 *	{"type":"stuck"}                       what was closed hasn't been taken down in time
 *	{"type":"action","id":ID,"key":…}, {"type":"closed","id":ID}, {"type":"pong"}
 * `absent` and `found` make all ids void. An id is never used twice.
 *
 * Promises: nothing here blocks. What is longer than PACKET_MAX, or isn't an object, is refused at both ends.
 */
#pragma once

#include <jansson.h>

enum { PACKET_MAX = 64 * 1024 };

/* `object` is taken over; NULL is -EBADMSG. */
int packet_send(int fd, json_t *object);
/* -EAGAIN: there is none now. -ECONNRESET: the other end is gone. -EBADMSG. */
int packet_receive(int fd, json_t **ret_object);
