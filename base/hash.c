#include "base/hash.h"

#include <nettle/sha2.h>
#include <stdint.h>

static void finish_hex(struct sha256_ctx *hash, char ret_hex[HASH_HEX_SIZE]) {
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_digest(hash, sizeof digest, digest);
	for (size_t i = 0; i < sizeof digest; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[HASH_HEX_SIZE - 1] = '\0';
}

void hash_hex(char ret_hex[HASH_HEX_SIZE], const void *bytes, size_t size) {
	hash_hex_two(ret_hex, bytes, size, "", 0);
}

void hash_hex_two(char ret_hex[HASH_HEX_SIZE], const void *first, size_t first_size, const void *second,
		  size_t second_size) {
	struct sha256_ctx hash;
	sha256_init(&hash);
	sha256_update(&hash, first_size, first);
	sha256_update(&hash, second_size, second);
	finish_hex(&hash, ret_hex);
}
