#include "base/base64.h"

#include <nettle/base64.h>
#include <stdint.h>

#include "base/memory.h"

char *base64_text(const void *bytes, size_t size) {
	char *text = mem_alloc(BASE64_ENCODE_RAW_LENGTH(size) + 1, 1);

	base64_encode_raw(text, size, bytes);
	return text;
}
