/*
 * hash: SHA-256 (FIPS 180-4, by libmd) as lower-case hex.
 */
#pragma once

#include <stddef.h>

enum { HASH_HEX_SIZE = 65 };

/* Of one run of bytes, and of two runs one after the other. */
void hash_hex(char ret_hex[HASH_HEX_SIZE], const void *bytes, size_t size);
void hash_hex_two(char ret_hex[HASH_HEX_SIZE], const void *first, size_t first_size, const void *second,
		  size_t second_size);
