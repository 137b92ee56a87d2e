#include "net/sockets/proc_net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "schema/limits.h"

enum { ADDRESS4_DIGITS = 8, ADDRESS6_DIGITS = 32, LINE_SIZE = 256 };

static void free_stream(FILE **stream) {
	if (*stream) fclose(*stream);
}

/* Words of 32 bits, each as the machine has it in memory (get_tcp4_sock() of net/ipv4/tcp_ipv4.c). */
static bool read_words(const char *digits, uint8_t *bytes, size_t count) {
	for (size_t i = 0; i < count; i++) {
		uint32_t word;
		if (sscanf(digits + i * ADDRESS4_DIGITS, "%8x", &word) != 1) return false; /* NOLINT(cert-err34-c) */
		memcpy(bytes + i * sizeof word, &word, sizeof word);
	}
	return true;
}

static bool read_address(const char *digits, struct in6_addr *ret) {
	*ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	if (strlen(digits) == ADDRESS4_DIGITS) return read_words(digits, ret->s6_addr + 12, 1);
	return strlen(digits) == ADDRESS6_DIGITS && read_words(digits, ret->s6_addr, 4);
}

static bool read_row(const char *line, struct proc_net_row *ret) {
	char local[ADDRESS6_DIGITS + 1], peer[ADDRESS6_DIGITS + 1];
	unsigned local_port, peer_port;
	/* NOLINTNEXTLINE(cert-err34-c): each number has its width */
	if (sscanf(line, " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x", local, &local_port, peer, &peer_port,
		   &ret->state) != 5)
		return false;
	ret->local_port = (uint16_t)local_port;
	ret->peer_port = (uint16_t)peer_port;
	return read_address(local, &ret->local) && read_address(peer, &ret->peer);
}

int proc_net_read(int folder, const char *table, bool (*each)(void *argument, const struct proc_net_row *row),
		  void *argument) {
	int fd = openat(folder, table, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -errno;
	__attribute__((cleanup(free_stream))) FILE *stream = mem_expect(fdopen(fd, "r"));
	char line[LINE_SIZE];
	if (!fgets(line, sizeof line, stream)) return -EBADMSG; /* the head */
	for (int i = 0; i < LIMIT_PROC_NET; i++) {
		struct proc_net_row row;
		if (!fgets(line, sizeof line, stream)) return ferror(stream) ? -EIO : 0;
		if (!read_row(line, &row)) return -EBADMSG;
		if (!each(argument, &row)) return 0;
	}
	return -E2BIG;
}
