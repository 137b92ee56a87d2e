#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void random_token(char ret_token[RANDOM_TOKEN_SIZE]) {
	uint8_t bytes[(RANDOM_TOKEN_SIZE - 1) / 2];
	ssize_t got;
	do got = getrandom(bytes, sizeof bytes, 0);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof bytes) abort();
	for (size_t i = 0; i < sizeof bytes; i++) snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
}
