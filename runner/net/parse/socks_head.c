#include "socks_head.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { VERSION = 5, COMMAND_CONNECT = 1, METHOD_OPEN = 0, REQUEST_HEAD = 4, PORT_SIZE = 2 };
enum { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };

int socks_greeting_parse(const uint8_t *bytes, size_t size, bool *ret_open) {
	size_t whole;

	if (size >= 1 && bytes[0] != VERSION) return -EBADMSG;
	if (size < 2) return 0;
	whole = 2 + (size_t)bytes[1];
	if (bytes[1] == 0) return -EBADMSG;
	if (size < whole) return 0;
	*ret_open = memchr(bytes + 2, METHOD_OPEN, bytes[1]) != NULL;
	return (int)whole;
}

/* All forms go through host_parse, so that one host has one spelling whatever the form (attack N3). */
static bool address_parse(uint8_t type, const uint8_t *bytes, size_t size, struct host *ret_host) {
	char text[INET6_ADDRSTRLEN];

	if (type == ADDRESS_NAME) return host_parse((const char *)bytes, size, ret_host, NULL) == 0;
	if (!inet_ntop(type == ADDRESS_IPV4 ? AF_INET : AF_INET6, bytes, text, sizeof text)) return false;
	return host_parse(text, strlen(text), ret_host, NULL) == 0;
}

int socks_request_parse(const uint8_t *bytes, size_t size, struct host *ret_host, uint16_t *ret_port,
			enum socks_code *ret_code) {
	size_t start = REQUEST_HEAD, length;

	if (size >= 1 && bytes[0] != VERSION) return -EBADMSG;
	if (size < REQUEST_HEAD + 1) return 0;
	if (bytes[2] != 0) return -EBADMSG;
	switch (bytes[3]) {
	case ADDRESS_IPV4:
		length = 4;
		break;
	case ADDRESS_IPV6:
		length = 16;
		break;
	case ADDRESS_NAME:
		length = bytes[start++];
		break;
	default: /* its length is not known, so nothing behind it can be either */
		*ret_code = SOCKS_ADDRESS_UNKNOWN;
		return (int)size;
	}
	if (size < start + length + PORT_SIZE) return 0;
	*ret_port = (uint16_t)(bytes[start + length] << 8 | bytes[start + length + 1]);
	if (bytes[1] != COMMAND_CONNECT)
		*ret_code = SOCKS_COMMAND_UNKNOWN;
	else if (*ret_port == 0 || !address_parse(bytes[3], bytes + start, length, ret_host))
		*ret_code = SOCKS_FAILED;
	else
		*ret_code = SOCKS_SUCCEEDED;
	return (int)(start + length + PORT_SIZE);
}
