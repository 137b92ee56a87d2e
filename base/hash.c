#include "base/hash.h"

#include <sys/types.h>

#include <sha2.h>
#include <stdint.h>

static void finish_hex(SHA2_CTX *hash, char ret_hex[HASH_HEX_SIZE]) {
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256Final(digest, hash);
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
	SHA2_CTX hash;
	SHA256Init(&hash);
	SHA256Update(&hash, first, first_size);
	SHA256Update(&hash, second, second_size);
	finish_hex(&hash, ret_hex);
}
