/*
 * base64: bytes as text (RFC 4648 section 4).
 */
#pragma once

#include <stddef.h>

char *base64_text(const void *bytes, size_t size); /* with padding. Freed by the caller */
