/*
 * random: unguessable tokens from the kernel (getrandom(2)).
 *
 * Promises: blocks rather than returning predictable bytes; a failure ends the process.
 */
#pragma once

enum { RANDOM_TOKEN_SIZE = 33 }; /* 128 bits as hex, and the NUL */

void random_token(char ret_token[RANDOM_TOKEN_SIZE]);
