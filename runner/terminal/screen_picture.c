#include "screen_picture.h"

#include "schema/limits.h"

void picture_begin(struct picture *picture) {
	string_finish(&picture->bytes);
	*picture = (struct picture){.rows = picture->rows, .whole = true};
}

void picture_give_up(struct picture *picture) {
	picture->whole = picture->floating = false;
	string_finish(&picture->bytes);
}

bool picture_is_whole(const struct picture *picture) {
	return picture->whole && !picture->floating;
}

void picture_add(struct picture *picture, const char *bytes, size_t size) {
	if (!picture->whole) return;
	if (picture->bytes.size + size > LIMIT_PICTURE)
		picture_give_up(picture);
	else
		string_append_bytes(&picture->bytes, bytes, size);
}

void picture_add_there(struct picture *picture, const char *bytes, size_t size) {
	picture->home = false;
	if (!picture->placed) picture_give_up(picture);
	picture_add(picture, bytes, size);
}

void picture_add_line(struct picture *picture, const char *bytes, size_t size) {
	const bool down = *bytes >= '\n' && *bytes <= '\f';
	if (picture->whole && !picture->placed && !picture->floating && *bytes == '\r') {
		picture->floating = true;
		picture->feeds = 0;
		picture_add(picture, "\x1b[H", 3);
	}
	if (picture->floating && down && ++picture->feeds + 1 >= picture->rows) {
		picture->placed = true;
		picture->floating = false;
	}
	if (picture->floating)
		picture_add(picture, bytes, size);
	else
		picture_add_there(picture, bytes, size);
}

void picture_place(struct picture *picture) {
	if (picture->floating) picture_give_up(picture);
	picture->placed = true;
	picture->home = false;
}
