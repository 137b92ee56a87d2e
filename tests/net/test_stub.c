/* The sandbox's name server over real sockets of a network of its own, with questions made by hand. */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "island.h"
#include "net/dns/records.h"
#include "net/dns/stub.h"
#include "net/parse/dns.h"
#include "support/cmocka.h"
#include "support/patience.h"

enum { ID = 0x5378, ANSWER_MAX = 8192, HELD_MAX = 512 };

struct packet {
	uint8_t bytes[ANSWER_MAX];
	size_t size;
};

struct reply {
	struct packet packet;
	unsigned code, answers;
	ns_msg message; /* into the packet */
};

/* Names begin with what the judge says of them: allow, ask, deny, gone (no broker); late: not before it is told to. */
struct harbour {
	struct event_base *base;
	struct island island;
	struct island_store store;
	struct standins *standins;
	struct stub *stub;
	int client4, client6;
	unsigned judged, cancelled, denied, upstream; /* counts */
	char last_denied[HOST_MAX];
	struct {
		char host[HOST_MAX];
		void (*done)(void *argument, const struct verdict *verdict);
		void *argument;
	} held[HELD_MAX];
	size_t held_count;
	struct reply reply;         /* the last */
	uint8_t answer[ANSWER_MAX]; /* what the host's name servers say */
	int answer_size;
	char asked_upstream[HOST_MAX];
};

static struct verdict verdict_of(const char *host) {
	const bool gone = string_starts(host, "gone");
	struct verdict verdict = {.effect = string_starts(host, "allow") ? EFFECT_ALLOW
					    : string_starts(host, "ask") ? EFFECT_ASK
									 : EFFECT_DENY};

	memcpy(verdict.module, gone ? "broker" : "rules", gone ? 7 : 6);
	return verdict;
}

static uint64_t judge_name(void *context, const char *host, void (*done)(void *argument, const struct verdict *verdict),
			   void *argument) {
	struct harbour *harbour = context;
	const struct verdict verdict = verdict_of(host);

	harbour->judged++;
	if (!string_starts(host, "late")) {
		done(argument, &verdict);
		return 0;
	}
	assert_true(harbour->held_count < HELD_MAX);
	memcpy(harbour->held[harbour->held_count].host, host, strlen(host) + 1);
	harbour->held[harbour->held_count].done = done;
	harbour->held[harbour->held_count].argument = argument;
	return ++harbour->held_count;
}

static void judge_cancel(void *context, uint64_t ticket) {
	struct harbour *harbour = context;

	assert_true(ticket > 0 && ticket <= harbour->held_count);
	harbour->cancelled++;
}

static void judge_denied(void *context, const char *host, const struct verdict *verdict) {
	struct harbour *harbour = context;

	assert_int_equal(verdict->effect, EFFECT_DENY);
	harbour->denied++;
	memcpy(harbour->last_denied, host, strlen(host) + 1);
}

static int ask_upstream(void *context, const char *name, enum dns_type type, uint8_t *ret_answer, int room) {
	struct harbour *harbour = context;

	(void)type;
	assert_true(harbour->answer_size <= room);
	memcpy(harbour->asked_upstream, name, strlen(name) + 1);
	__atomic_add_fetch(&harbour->upstream, 1, __ATOMIC_RELEASE);
	if (harbour->answer_size > 0) memcpy(ret_answer, harbour->answer, (size_t)harbour->answer_size);
	return harbour->answer_size;
}

static int client_of(struct harbour *harbour, int domain) {
	const struct sockaddr_in ipv4 = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ipv6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(53), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const int client = island_socket(&harbour->island, domain, SOCK_DGRAM, 0);
	struct error error = ERROR_NONE;

	if (stub_serve(harbour->stub, island_socket(&harbour->island, domain, SOCK_DGRAM, 0), &error) < 0)
		fail_msg("%s", error.message);
	assert_int_equal(domain == AF_INET ? connect(client, (const struct sockaddr *)&ipv4, sizeof ipv4)
					   : connect(client, (const struct sockaddr *)&ipv6, sizeof ipv6),
			 0);
	return client;
}

static struct harbour *harbour_new(void) {
	struct harbour *harbour = mem_new(struct harbour);
	struct event_base *base = loop_new();
	const struct stub_judge judge = {
		.context = harbour, .name = judge_name, .cancel = judge_cancel, .denied = judge_denied};
	const struct spares_options spares = {.base = base, .fetch = island_fetch, .context = &harbour->store};
	const struct record_source source = {.context = harbour, .ask = ask_upstream};

	island_make(&harbour->island);
	harbour->base = base;
	harbour->standins = standins_new();
	harbour->store = (struct island_store){.island = &harbour->island, .spares = spares_new(&spares)};
	harbour->stub = stub_new(harbour->base, harbour->standins, harbour->store.spares, &judge);
	stub_use_source(harbour->stub, &source);
	harbour->client4 = client_of(harbour, AF_INET);
	harbour->client6 = client_of(harbour, AF_INET6);
	return harbour;
}

static void harbour_free(struct harbour *harbour) {
	stub_free(harbour->stub);
	spares_free(harbour->store.spares);
	standins_free(harbour->standins);
	event_base_free(harbour->base);
	fd_close(harbour->client4);
	fd_close(harbour->client6);
	island_remove(&harbour->island);
	free(harbour);
}

static void turn(struct harbour *harbour) {
	assert_true(event_base_loop(harbour->base, EVLOOP_NONBLOCK) >= 0);
}

static void put_16(struct packet *packet, unsigned value) {
	packet->bytes[packet->size++] = (uint8_t)(value >> 8);
	packet->bytes[packet->size++] = (uint8_t)value;
}

static void put_bytes(struct packet *packet, const void *bytes, size_t size) {
	memcpy(packet->bytes + packet->size, bytes, size);
	packet->size += size;
}

static void put_name(struct packet *packet, const char *name) {
	uint8_t labels[DNS_NAME_MAX];

	put_bytes(packet, labels, dns_name_write(name, labels));
}

static void put_header(struct packet *packet, unsigned flags, unsigned questions, unsigned additional) {
	*packet = (struct packet){.size = 0};
	put_16(packet, ID);
	put_16(packet, flags);
	put_16(packet, questions);
	put_16(packet, 0);
	put_16(packet, 0);
	put_16(packet, additional);
}

static void put_question(struct packet *packet, const char *name, unsigned type) {
	put_name(packet, name);
	put_16(packet, type);
	put_16(packet, DNS_IN);
}

static void put_opt(struct packet *packet, unsigned room, unsigned version) {
	put_bytes(packet, "\0", 1);
	put_16(packet, DNS_OPT);
	put_16(packet, room);
	put_16(packet, version); /* extended code, version */
	put_16(packet, 0x8000);  /* DO */
	put_16(packet, 0);
}

static struct packet question(const char *name, unsigned type) {
	struct packet packet;

	put_header(&packet, 0x0100, 1, 0);
	put_question(&packet, name, type);
	return packet;
}

/* Whole, well-formed, for this question, with RA and without AD. */
static void check_reply(struct reply *reply, const struct packet *asked) {
	const uint8_t *bytes = reply->packet.bytes;

	if (ns_initparse(bytes, (int)reply->packet.size, &reply->message) < 0)
		fail_msg("malformed: %s", strerror(errno));
	assert_int_equal(ns_msg_id(reply->message), ID);
	assert_true(ns_msg_getflag(reply->message, ns_f_qr) && ns_msg_getflag(reply->message, ns_f_ra) &&
		    ns_msg_getflag(reply->message, ns_f_aa));
	assert_false(ns_msg_getflag(reply->message, ns_f_ad));
	if (ns_msg_count(reply->message, ns_s_qd) > 0) {
		size_t size = (size_t)(ns_msg_size(reply->message));
		const uint8_t *start = bytes + 12, *p = start;

		assert_true(size <= reply->packet.size);
		assert_int_equal(ns_name_skip(&p, bytes + reply->packet.size), 0);
		assert_memory_equal(start, asked->bytes + 12, (size_t)(p - start) + 4);
	}
	reply->code = (unsigned)ns_msg_getflag(reply->message, ns_f_rcode);
	reply->answers = ns_msg_count(reply->message, ns_s_an);
}

static bool try_receive(struct harbour *harbour, int client, struct packet *packet) {
	turn(harbour);
	const ssize_t size = recv(client, packet->bytes, sizeof packet->bytes, MSG_DONTWAIT);

	if (size >= 0) packet->size = (size_t)size;
	return size >= 0;
}

static struct reply *receive(struct harbour *harbour, int client, const struct packet *asked) {
	struct reply *reply = &harbour->reply;

	wait_until(try_receive(harbour, client, &reply->packet));
	check_reply(reply, asked);
	return reply;
}

static void send_packet(int client, const struct packet *packet) {
	assert_int_equal(send(client, packet->bytes, packet->size, 0), packet->size);
}

static struct reply *exchange(struct harbour *harbour, int client, const struct packet *asked) {
	send_packet(client, asked);
	return receive(harbour, client, asked);
}

static struct reply *ask(struct harbour *harbour, const char *name, unsigned type) {
	const struct packet asked = question(name, type);

	return exchange(harbour, harbour->client4, &asked);
}

/* Not answered: what is asked after it is the first to be. */
static void expect_silence(struct harbour *harbour, const struct packet *asked) {
	const struct packet after = question("localhost", DNS_A);

	send_packet(harbour->client4, asked);
	exchange(harbour, harbour->client4, &after);
}

static void expect_code(struct harbour *harbour, const char *name, unsigned type, unsigned code) {
	const struct reply *reply = ask(harbour, name, type);

	if (reply->code != code || reply->answers != 0)
		fail_msg("%s type %u: code %u with %u answers", name, type, reply->code, reply->answers);
}

/* The one answer's data, as text. */
static char *data_of(struct reply *reply) {
	char text[NS_MAXDNAME] = "?";
	ns_rr row;

	assert_int_equal(reply->code, DNS_NOERROR);
	assert_int_equal(reply->answers, 1);
	assert_int_equal(ns_parserr(&reply->message, ns_s_an, 0, &row), 0);
	assert_true(ns_rr_ttl(row) > 0 && ns_rr_ttl(row) <= 300);
	if (ns_rr_type(row) == ns_t_a) inet_ntop(AF_INET, ns_rr_rdata(row), text, sizeof text);
	if (ns_rr_type(row) == ns_t_aaaa) inet_ntop(AF_INET6, ns_rr_rdata(row), text, sizeof text);
	if (ns_rr_type(row) == ns_t_ptr)
		ns_name_uncompress(ns_msg_base(reply->message), ns_msg_end(reply->message), ns_rr_rdata(row), text,
				   sizeof text);
	return string_copy(text);
}

static void expect_data(struct harbour *harbour, const char *name, unsigned type, const char *data) {
	struct reply *reply = ask(harbour, name, type);
	CLEANUP_FREE char *text = data_of(reply);

	if (!string_equal(text, data)) fail_msg("%s type %u: %s, not %s", name, type, text, data);
}

static void names_get_stand_ins_and_back(void **state) {
	struct harbour *harbour = *state;

	expect_data(harbour, "allow.test", DNS_A, "198.18.0.2");
	expect_data(harbour, "allow.test", DNS_AAAA, "fd53:6278::2");
	expect_data(harbour, "ask.test", DNS_AAAA, "fd53:6278::3");
	expect_data(harbour, "ask.test", DNS_A, "198.18.0.3");
	expect_data(harbour, "allow.test", DNS_A, "198.18.0.2");
	assert_int_equal(harbour->judged, 2); /* what has a stand-in isn't judged again */
	expect_data(harbour, "2.0.18.198.in-addr.arpa", DNS_PTR, "allow.test");
	expect_data(harbour, "3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.7.2.6.3.5.D.F.IP6.arpa", DNS_PTR,
		    "ask.test");
	assert_int_equal(harbour->upstream, 0);
}

static void both_families_of_socket_answer(void **state) {
	struct harbour *harbour = *state;
	const struct packet asked = question("allow.test", DNS_A);
	struct reply *reply = exchange(harbour, harbour->client6, &asked);
	CLEANUP_FREE char *text = data_of(reply);

	assert_string_equal(text, "198.18.0.2");
}

static void localhost_is_the_loopback(void **state) {
	struct harbour *harbour = *state;

	expect_data(harbour, "localhost", DNS_A, "127.0.0.1");
	expect_data(harbour, "localhost", DNS_AAAA, "::1");
	expect_data(harbour, "a.b.LocalHost", DNS_A, "127.0.0.1");
	expect_code(harbour, "localhost", 65, DNS_NOERROR);
	expect_data(harbour, "1.0.0.127.in-addr.arpa", DNS_PTR, "localhost");
	expect_data(harbour, "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", DNS_PTR,
		    "localhost");
	assert_int_equal(harbour->judged, 0);
}

static void other_types_have_no_data(void **state) {
	struct harbour *harbour = *state;
	static const unsigned types[] = {2, 5, 6, 15, 28 + 1, 35, 43, 52, 64, 65 /* HTTPS */, 127, 257};

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		expect_code(harbour, "allow.test", types[i], DNS_NOERROR);
		expect_code(harbour, "ask.test", types[i], DNS_NOERROR);
		expect_code(harbour, "deny.test", types[i], DNS_NXDOMAIN);
	}
	expect_code(harbour, "_443._tcp.allow.test", 52, DNS_NOERROR); /* about the host itself */
	expect_code(harbour, "_443._tcp.deny.test", 52, DNS_NXDOMAIN);
	assert_string_equal(harbour->last_denied, "deny.test");
	expect_code(harbour, "", 2, DNS_NOERROR); /* the root */
	assert_int_equal(harbour->upstream, 0);
}

static void what_is_no_data_is_refused(void **state) {
	struct harbour *harbour = *state;
	static const unsigned types[] = {DNS_ANY, 252, 251, 249, 250, DNS_OPT};
	struct packet chaos;

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) expect_code(harbour, "allow.test", types[i], DNS_REFUSED);
	put_header(&chaos, 0x0100, 1, 0);
	put_name(&chaos, "version.bind");
	put_16(&chaos, DNS_TXT);
	put_16(&chaos, 3);
	assert_int_equal(exchange(harbour, harbour->client4, &chaos)->code, DNS_REFUSED);
	assert_int_equal(harbour->judged, 0);
}

static void denied_names_do_not_exist(void **state) {
	struct harbour *harbour = *state;

	expect_code(harbour, "deny.test", DNS_A, DNS_NXDOMAIN);
	assert_int_equal(harbour->denied, 1);
	assert_string_equal(harbour->last_denied, "deny.test");
	expect_code(harbour, "DENY.test", DNS_AAAA, DNS_NXDOMAIN);
	assert_string_equal(harbour->last_denied, "deny.test");
	expect_code(harbour, "gone.test", DNS_A, DNS_SERVFAIL); /* for now */
	expect_code(harbour, "2.0.18.198.in-addr.arpa", DNS_PTR, DNS_NXDOMAIN);
}

static void what_is_no_host_name_does_not_exist(void **state) {
	struct harbour *harbour = *state;
	static const char *const names[] = {
		"allow test.test",      "allow..test",      "-allow.test",   "192.0.2.1",  "0x7f.1",
		"2130706433",           "allow\x80.test",   "allow%41.test", "xn--a.test", "allow@test",
		"9.9.9.9.in-addr.arpa", "x.9.in-addr.arpa", "1.ip6.arpa",    "_tcp._udp"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		if (string_equal(names[i], "allow..test")) continue; /* labels can't be empty */
		expect_code(harbour, names[i], i == 13 ? 33 : DNS_A, DNS_NXDOMAIN);
	}
	assert_int_equal(harbour->judged, 0);
}

/* One label "allow.test", and "deny\0.test": as C strings they would be other names. */
static void attack_net_03_a_dot_or_nul_within_a_label(void **state) {
	struct harbour *harbour = *state;
	static const struct {
		const char *labels;
		size_t size;
	} names[] = {{"\012allow.test", 12}, {"\006allow\0\004test", 13}, {"\005allow\011test\0evil", 17}};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct packet packet;

		put_header(&packet, 0x0100, 1, 0);
		put_bytes(&packet, names[i].labels, names[i].size);
		put_16(&packet, DNS_A);
		put_16(&packet, DNS_IN);
		const struct reply *reply = exchange(harbour, harbour->client4, &packet);
		assert_int_equal(reply->code, DNS_NXDOMAIN);
	}
	assert_int_equal(harbour->judged, 0);
}

static void the_spelling_comes_back(void **state) {
	struct harbour *harbour = *state;

	expect_data(harbour, "aLLoW.TesT", DNS_A, "198.18.0.2"); /* check_reply compares the bytes */
	expect_data(harbour, "ALLOW.test", DNS_A, "198.18.0.2");
	expect_data(harbour, "2.0.18.198.IN-Addr.Arpa", DNS_PTR, "allow.test");
}

static void names_as_long_as_can_be(void **state) {
	struct harbour *harbour = *state;
	char name[260] = "allow";
	struct packet packet;

	for (size_t i = 5; i < 253; i++) name[i] = i % 50 == 49 ? '.' : 'a';
	name[253] = '\0';
	expect_data(harbour, name, DNS_A, "198.18.0.2");
	/* One more. */
	put_header(&packet, 0x0100, 1, 0);
	for (int i = 0; i < 4; i++) {
		packet.bytes[packet.size++] = i < 3 ? 63 : 62;
		for (int j = i < 3 ? 63 : 62; j > 0; j--) packet.bytes[packet.size++] = 'a';
	}
	put_bytes(&packet, "\0\0\1\0\1", 5);
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
}

static void extended_questions_get_extended_answers(void **state) {
	struct harbour *harbour = *state;
	struct packet packet;
	struct reply *reply;
	ns_rr row;

	put_header(&packet, 0x0130 /* RD, AD, CD */, 1, 1);
	put_question(&packet, "allow.test", DNS_A);
	put_opt(&packet, 1232, 0);
	reply = exchange(harbour, harbour->client4, &packet);
	CLEANUP_FREE char *text = data_of(reply);
	assert_string_equal(text, "198.18.0.2");
	assert_int_equal(ns_msg_count(reply->message, ns_s_ar), 1);
	assert_int_equal(ns_parserr(&reply->message, ns_s_ar, 0, &row), 0);
	assert_int_equal(ns_rr_type(row), ns_t_opt);
	assert_int_equal(ns_rr_class(row), 1232);
	assert_int_equal(ns_rr_ttl(row), 0);
	/* Another version: BADVERS is 16, its upper bits stand in the OPT. */
	put_header(&packet, 0x0100, 1, 1);
	put_question(&packet, "allow.test", DNS_A);
	put_opt(&packet, 1232, 1);
	reply = exchange(harbour, harbour->client4, &packet);
	assert_int_equal(reply->code, 0);
	assert_int_equal(reply->answers, 0);
	assert_int_equal(ns_parserr(&reply->message, ns_s_ar, 0, &row), 0);
	assert_int_equal(ns_rr_ttl(row) >> 24, 1);
}

static void malformed_questions(void **state) {
	struct harbour *harbour = *state;
	const struct packet good = question("allow.test", DNS_A);
	struct packet packet;

	for (size_t size = 0; size < 12; size++) { /* libevent issue 1231 */
		packet = good;
		packet.size = size;
		expect_silence(harbour, &packet);
	}
	for (size_t size = 12; size < good.size; size++) {
		packet = good;
		packet.size = size;
		assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	}
	packet = good;
	packet.bytes[packet.size++] = 0; /* something behind it */
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	packet = good;
	packet.bytes[2] |= 0x80; /* an answer */
	expect_silence(harbour, &packet);
	packet = good;
	packet.bytes[2] |= 0x28; /* an update */
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_NOTIMP);
	for (size_t count = 4; count < 12; count += 2) { /* counts that don't fit */
		packet = good;
		packet.bytes[count] = 0xff;
		assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	}
	packet = good;
	packet.bytes[5] = 0; /* no question, though there is one */
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	static const uint8_t bad_labels[] = {0xc0, 0x40, 0x80, 0xff};
	for (size_t i = 0; i < sizeof bad_labels; i++) { /* pointers, to itself, too */
		packet = good;
		packet.bytes[12] = bad_labels[i];
		packet.bytes[13] = 12;
		assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	}
	put_header(&packet, 0x0100, 2, 0);
	put_question(&packet, "allow.test", DNS_A);
	put_question(&packet, "deny.test", DNS_A);
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	put_header(&packet, 0x0100, 1, 1); /* an OPT longer than what is there */
	put_question(&packet, "allow.test", DNS_A);
	put_opt(&packet, 1232, 0);
	packet.bytes[packet.size - 1] = 4;
	assert_int_equal(exchange(harbour, harbour->client4, &packet)->code, DNS_FORMERR);
	packet = good;
	packet.size = LIMIT_DNS_QUERY + 1;
	expect_silence(harbour, &packet);
	assert_int_equal(harbour->judged, 0);
}

static void beyond_the_range_is_a_failure(void **state) {
	struct harbour *harbour = *state;
	struct host host;
	uint32_t index;

	for (int i = 0; i < LIMIT_STANDINS; i++) {
		CLEANUP_FREE char *name = string_format("h%d.test", i);
		assert_int_equal(host_parse(name, strlen(name), &host, NULL), 0);
		assert_int_equal(standins_find_or_add(harbour->standins, &host, &index), 0);
	}
	expect_code(harbour, "allow.test", DNS_A, DNS_SERVFAIL);
	expect_code(harbour, "allow.test", DNS_AAAA, DNS_SERVFAIL);
	expect_data(harbour, "h8191.test", DNS_A, "198.18.32.1");
}

static void held_answer(struct harbour *harbour, size_t i, enum effect effect) {
	const struct verdict verdict = {.effect = effect, .module = "rules"};

	harbour->held[i].done(harbour->held[i].argument, &verdict);
}

static void questions_about_one_name_are_judged_once(void **state) {
	struct harbour *harbour = *state;
	const struct packet a = question("late.test", DNS_A), aaaa = question("Late.test", DNS_AAAA);

	send_packet(harbour->client4, &a);
	send_packet(harbour->client6, &aaaa);
	while (harbour->judged == 0) turn(harbour);
	turn(harbour);
	turn(harbour);
	assert_int_equal(harbour->judged, 1);
	held_answer(harbour, 0, EFFECT_ASK);
	struct reply *reply = receive(harbour, harbour->client4, &a);
	CLEANUP_FREE char *first = data_of(reply);
	reply = receive(harbour, harbour->client6, &aaaa);
	CLEANUP_FREE char *second = data_of(reply);
	assert_string_equal(first, "198.18.0.2");
	assert_string_equal(second, "fd53:6278::2");
}

/* As many wait as may; the kernel's buffer holds the rest, and they are answered when there is room. */
static void attack_net_12_a_flood_of_names_is_bounded(void **state) {
	struct harbour *harbour = *state;
	struct packet packet;

	for (int i = 0; i < LIMIT_DNS_LOOKUPS + 40; i++) {
		CLEANUP_FREE char *name = string_format("late%d.test", i);
		packet = question(name, DNS_A);
		send_packet(harbour->client4, &packet);
	}
	for (int i = 0; i < 50; i++) turn(harbour);
	assert_int_equal(harbour->judged, LIMIT_DNS_LOOKUPS);
	for (size_t i = 0; i < LIMIT_DNS_LOOKUPS + 40; i++) {
		while (harbour->held_count <= i) turn(harbour);
		held_answer(harbour, i, EFFECT_ASK);
		assert_true(harbour->judged - i - 1 <= LIMIT_DNS_LOOKUPS);
	}
	for (int i = 0; i < LIMIT_DNS_LOOKUPS + 40; i++) wait_until(try_receive(harbour, harbour->client4, &packet));
	/* And many questions about one name. */
	packet = question("late.test", DNS_A);
	for (int i = 0; i < LIMIT_DNS_WAITING + 40; i++) {
		send_packet(harbour->client4, &packet);
		if (i % 16 == 0) turn(harbour);
	}
	for (int i = 0; i < 50; i++) turn(harbour);
	held_answer(harbour, harbour->held_count - 1, EFFECT_ASK);
	int answered = 0;
	while (recv(harbour->client4, packet.bytes, sizeof packet.bytes, MSG_DONTWAIT) >= 0) answered++;
	assert_in_range(answered, 1, LIMIT_DNS_WAITING);
	wait_until(try_receive(harbour, harbour->client4, &packet)); /* one that was not read yet */
}

static void the_end_of_it_cancels_what_waits(void **state) {
	struct harbour *harbour = *state;
	const struct packet packet = question("late.test", DNS_A);

	send_packet(harbour->client4, &packet);
	while (harbour->judged == 0) turn(harbour);
	stub_free(STEAL(harbour->stub));
	assert_int_equal(harbour->cancelled, 1);
}

/* Answers of the host's name servers */

static void upstream_begin(struct harbour *harbour, const char *name, enum dns_type type, unsigned answers) {
	struct packet packet;

	put_header(&packet, 0x8180, 1, 0);
	put_question(&packet, name, type);
	packet.bytes[7] = (uint8_t)answers;
	memcpy(harbour->answer, packet.bytes, packet.size);
	harbour->answer_size = (int)packet.size;
}

static void upstream_add(struct harbour *harbour, unsigned type, const void *data, size_t size) {
	struct packet packet = {.size = 0};

	put_16(&packet, 0xc00c);
	put_16(&packet, type);
	put_16(&packet, DNS_IN);
	put_16(&packet, 0);
	put_16(&packet, 9000); /* ttl */
	put_16(&packet, (unsigned)size);
	put_bytes(&packet, data, size);
	memcpy(harbour->answer + harbour->answer_size, packet.bytes, packet.size);
	harbour->answer_size += (int)packet.size;
}

static void upstream_add_srv(struct harbour *harbour, const char *target) {
	struct packet data = {.size = 0};

	put_16(&data, 10);
	put_16(&data, 20);
	put_16(&data, 5432);
	put_name(&data, target);
	upstream_add(harbour, DNS_SRV, data.bytes, data.size);
}

static void attack_net_05_srv_and_txt_of_allowed_names_alone(void **state) {
	struct harbour *harbour = *state;

	upstream_begin(harbour, "x", DNS_TXT, 0);
	expect_code(harbour, "ask.test", DNS_TXT, DNS_NOERROR);
	expect_code(harbour, "_x._tcp.ask.test", DNS_SRV, DNS_NOERROR);
	expect_code(harbour, "deny.test", DNS_TXT, DNS_NXDOMAIN);
	expect_code(harbour, "_x._tcp.deny.test", DNS_SRV, DNS_NXDOMAIN);
	expect_code(harbour, "secret.allow.test.deny.test", DNS_TXT, DNS_NXDOMAIN);
	expect_data(harbour, "ask.test", DNS_A, "198.18.0.2"); /* a stand-in is no allow */
	expect_code(harbour, "ask.test", DNS_TXT, DNS_NOERROR);
	assert_int_equal(harbour->upstream, 0);
	expect_code(harbour, "_X._tcp.Allow.test", DNS_SRV, DNS_NOERROR);
	assert_int_equal(harbour->upstream, 1);
	assert_string_equal(harbour->asked_upstream, "_x._tcp.allow.test");
}

static void srv_is_rebuilt(void **state) {
	struct harbour *harbour = *state;
	char text[NS_MAXDNAME];
	ns_rr row;

	upstream_begin(harbour, "_x._tcp.allow.test", DNS_SRV, 6);
	upstream_add_srv(harbour, "Db1.Allow.test");
	upstream_add_srv(harbour, "192.0.2.1");
	upstream_add_srv(harbour, "bad name.test");
	upstream_add(harbour, DNS_A, "\1\2\3\4", 4);
	upstream_add_srv(harbour, "");
	upstream_add(harbour, DNS_SRV, "\0\1\0\2", 4);
	struct reply *reply = ask(harbour, "_x._tcp.allow.test", DNS_SRV);
	assert_int_equal(reply->code, DNS_NOERROR);
	assert_int_equal(reply->answers, 2);
	assert_int_equal(ns_parserr(&reply->message, ns_s_an, 0, &row), 0);
	assert_int_equal(ns_rr_type(row), ns_t_srv);
	assert_int_equal(ns_rr_ttl(row), 300);
	assert_memory_equal(ns_rr_rdata(row), "\0\12\0\24\25\70", 6);
	ns_name_uncompress(ns_msg_base(reply->message), ns_msg_end(reply->message), ns_rr_rdata(row) + 6, text,
			   sizeof text);
	assert_string_equal(text, "db1.allow.test");
	assert_int_equal(ns_parserr(&reply->message, ns_s_an, 1, &row), 0);
	assert_int_equal(ns_rr_rdlen(row), 7);
}

static void txt_is_rebuilt(void **state) {
	struct harbour *harbour = *state;
	ns_rr row;

	upstream_begin(harbour, "allow.test", DNS_TXT, 4);
	upstream_add(harbour, DNS_TXT, "\3abc\2de", 7);
	upstream_add(harbour, DNS_TXT, "\11abc", 4); /* longer than it is */
	upstream_add(harbour, DNS_TXT, "", 0);
	upstream_add(harbour, DNS_TXT, "\0", 1);
	struct reply *reply = ask(harbour, "allow.test", DNS_TXT);
	assert_int_equal(reply->answers, 2);
	assert_int_equal(ns_parserr(&reply->message, ns_s_an, 0, &row), 0);
	assert_int_equal(ns_rr_rdlen(row), 7);
	assert_memory_equal(ns_rr_rdata(row), "\3abc\2de", 7);
}

static void what_the_host_could_not_find(void **state) {
	struct harbour *harbour = *state;
	static const struct {
		int said;
		unsigned code;
	} cases[] = {{-HOST_NOT_FOUND, DNS_NXDOMAIN},
		     {-NO_DATA, DNS_NOERROR},
		     {-TRY_AGAIN, DNS_SERVFAIL},
		     {-NO_RECOVERY, DNS_SERVFAIL},
		     {11, DNS_SERVFAIL /* too short */}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		harbour->answer_size = cases[i].said;
		expect_code(harbour, "allow.test", DNS_TXT, cases[i].code);
	}
	upstream_begin(harbour, "allow.test", DNS_TXT, 9); /* says more than it has */
	upstream_add(harbour, DNS_TXT, "\3abc", 4);
	expect_code(harbour, "allow.test", DNS_TXT, DNS_SERVFAIL);
}

static void what_has_no_room_is_left_out(void **state) {
	struct harbour *harbour = *state;
	char text[200] = {(char)199};
	struct packet packet;

	upstream_begin(harbour, "allow.test", DNS_TXT, 4);
	for (int i = 0; i < 4; i++) upstream_add(harbour, DNS_TXT, text, sizeof text);
	struct reply *reply = ask(harbour, "allow.test", DNS_TXT);
	assert_true(ns_msg_getflag(reply->message, ns_f_tc));
	assert_int_equal(reply->answers, 0);
	assert_true(reply->packet.size <= 512);
	put_header(&packet, 0x0100, 1, 1);
	put_question(&packet, "allow.test", DNS_TXT);
	put_opt(&packet, 1232, 0);
	reply = exchange(harbour, harbour->client4, &packet);
	assert_false(ns_msg_getflag(reply->message, ns_f_tc));
	assert_int_equal(reply->answers, 4);
	assert_true(reply->packet.size <= 1232);
}

/* Over TCP */

static bool try_connect(struct harbour *harbour, int client) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	turn(harbour);
	return connect(client, (const struct sockaddr *)&address, sizeof address) == 0;
}

static int tcp_client(struct harbour *harbour) {
	const int client = island_socket(&harbour->island, AF_INET, SOCK_STREAM, 0);

	wait_until(try_connect(harbour, client));
	return client;
}

static void send_framed(int client, const struct packet *packet) {
	const uint8_t head[2] = {(uint8_t)(packet->size >> 8), (uint8_t)packet->size};

	assert_int_equal(send(client, head, sizeof head, MSG_NOSIGNAL), sizeof head);
	assert_int_equal(send(client, packet->bytes, packet->size, MSG_NOSIGNAL), packet->size);
}

static bool try_receive_bytes(struct harbour *harbour, int client, uint8_t *bytes, size_t size) {
	turn(harbour);
	const ssize_t got = recv(client, bytes, size, MSG_DONTWAIT | MSG_PEEK);

	return got >= (ssize_t)size && recv(client, bytes, size, 0) == (ssize_t)size;
}

static struct reply *receive_framed(struct harbour *harbour, int client, const struct packet *asked) {
	struct reply *reply = &harbour->reply;
	uint8_t head[2];

	wait_until(try_receive_bytes(harbour, client, head, sizeof head));
	reply->packet.size = (size_t)(head[0] << 8 | head[1]);
	assert_true(reply->packet.size <= sizeof reply->packet.bytes);
	wait_until(try_receive_bytes(harbour, client, reply->packet.bytes, reply->packet.size));
	check_reply(reply, asked);
	return reply;
}

static bool is_closed(struct harbour *harbour, int client) {
	uint8_t byte;

	turn(harbour);
	const ssize_t got = recv(client, &byte, 1, MSG_DONTWAIT);
	return got == 0 || (got < 0 && errno != EAGAIN);
}

static void answer_much(struct harbour *harbour) {
	const char text[200] = {(char)199};

	upstream_begin(harbour, "allow.test", DNS_TXT, 20);
	for (int i = 0; i < 20; i++) upstream_add(harbour, DNS_TXT, text, sizeof text);
}

static void who_is_told_tc_comes_back_over_tcp(void **state) {
	struct harbour *harbour = *state;
	const struct packet txt = question("allow.test", DNS_TXT), a = question("allow.test", DNS_A),
			    late = question("late.test", DNS_A);

	answer_much(harbour);
	assert_true(ns_msg_getflag(ask(harbour, "allow.test", DNS_TXT)->message, ns_f_tc));
	CLEANUP_FD int client = tcp_client(harbour), second = tcp_client(harbour);
	send_framed(client, &txt);
	struct reply *reply = receive_framed(harbour, client, &txt);
	assert_false(ns_msg_getflag(reply->message, ns_f_tc));
	assert_int_equal(reply->answers, 20);
	/* Several at once, in order; one that waits holds up no other connection. */
	send_framed(client, &late);
	send_framed(client, &a);
	send_framed(second, &a);
	CLEANUP_FREE char *text = data_of(receive_framed(harbour, second, &a));
	assert_string_equal(text, "198.18.0.2");
	while (harbour->held_count == 0) turn(harbour);
	held_answer(harbour, 0, EFFECT_DENY);
	assert_int_equal(receive_framed(harbour, client, &late)->code, DNS_NXDOMAIN);
	assert_int_equal(receive_framed(harbour, client, &a)->answers, 1);
}

static void attack_net_12_tcp_is_bounded(void **state) {
	struct harbour *harbour = *state;
	const struct packet late = question("late.test", DNS_A), a = question("allow.test", DNS_A);
	int clients[LIMIT_DNS_STREAMS + 1];

	answer_much(harbour);
	ask(harbour, "allow.test", DNS_TXT);
	for (size_t i = 0; i < ARRAY_LENGTH(clients); i++) clients[i] = tcp_client(harbour);
	wait_until(is_closed(harbour, clients[LIMIT_DNS_STREAMS]));
	/* What is no question, and too long for one; who leaves while its question waits. */
	assert_int_equal(send(clients[0], "\0\3abc", 5, 0), 5);
	wait_until(is_closed(harbour, clients[0]));
	assert_int_equal(send(clients[1], "\377\377", 2, 0), 2);
	wait_until(is_closed(harbour, clients[1]));
	send_framed(clients[2], &late);
	while (harbour->held_count == 0) turn(harbour);
	const struct linger reset = {.l_onoff = 1};
	assert_int_equal(setsockopt(clients[2], SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
	fd_close(clients[2]);
	for (int i = 0; i < 20; i++) turn(harbour);
	held_answer(harbour, 0, EFFECT_ASK);
	send_framed(clients[3], &a);
	assert_int_equal(receive_framed(harbour, clients[3], &a)->answers, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(clients); i++)
		if (i != 2) fd_close(clients[i]);
}

static int setup(void **state) {
	*state = harbour_new();
	return 0;
}

static int teardown(void **state) {
	harbour_free(*state);
	return 0;
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(names_get_stand_ins_and_back),
		TEST(both_families_of_socket_answer),
		TEST(localhost_is_the_loopback),
		TEST(other_types_have_no_data),
		TEST(what_is_no_data_is_refused),
		TEST(denied_names_do_not_exist),
		TEST(what_is_no_host_name_does_not_exist),
		TEST(attack_net_03_a_dot_or_nul_within_a_label),
		TEST(the_spelling_comes_back),
		TEST(names_as_long_as_can_be),
		TEST(extended_questions_get_extended_answers),
		TEST(malformed_questions),
		TEST(beyond_the_range_is_a_failure),
		TEST(questions_about_one_name_are_judged_once),
		TEST(attack_net_12_a_flood_of_names_is_bounded),
		TEST(the_end_of_it_cancels_what_waits),
		TEST(attack_net_05_srv_and_txt_of_allowed_names_alone),
		TEST(srv_is_rebuilt),
		TEST(txt_is_rebuilt),
		TEST(what_the_host_could_not_find),
		TEST(what_has_no_room_is_left_out),
		TEST(who_is_told_tc_comes_back_over_tcp),
		TEST(attack_net_12_tcp_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
