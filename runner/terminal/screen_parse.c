#include "screen_parse.h"

#include <string.h>

#include "schema/limits.h"

enum { BEL = 7, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f };

static void enter(struct screen_parse *parse, enum screen_state state, char byte) {
	parse->state = state;
	parse->cut = false;
	parse->sequence.size = 0;
	string_append_char(&parse->sequence, byte);
}

static void add(struct screen_parse *parse, char byte) {
	if (parse->sequence.size < LIMIT_SEQUENCE)
		string_append_char(&parse->sequence, byte);
	else
		parse->cut = true;
}

static void give(const struct screen_parse *parse, enum screen_piece piece, const char *bytes, size_t size) {
	parse->take(parse->context, piece, bytes, size);
}

static void complete(struct screen_parse *parse, enum screen_piece piece) {
	parse->state = GROUND;
	if (!parse->cut || piece == PIECE_STRING) give(parse, piece, parse->sequence.data, parse->sequence.size);
}

static void see_ground(struct screen_parse *parse, unsigned char byte) {
	const char letter = (char)byte;
	if (byte >= 0xc2 && byte < 0xf5) {
		enter(parse, POINT, letter);
		parse->point_left = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
	} else if (byte != DEL) {
		give(parse, byte < ' ' ? PIECE_AT_ONCE : PIECE_TEXT, &letter, 1);
	}
}

static void see_point(struct screen_parse *parse, unsigned char byte) {
	if ((byte & 0xc0) != 0x80) { /* as it stands, whatever the terminal shows for it */
		complete(parse, PIECE_TEXT);
		see_ground(parse, byte);
		return;
	}
	add(parse, (char)byte);
	if (--parse->point_left == 0) complete(parse, PIECE_TEXT);
}

static void see_escape(struct screen_parse *parse, unsigned char byte) {
	if (byte == DEL) return;
	add(parse, (char)byte);
	if (byte < '0') return; /* more comes */
	const bool first = parse->sequence.size == 2;
	if (first && byte == '[')
		parse->state = CONTROL;
	else if (first && strchr("P]X^_k", byte))
		parse->state = STRING;
	else
		complete(parse, PIECE_ESCAPE);
}

static void see_control(struct screen_parse *parse, unsigned char byte) {
	if (byte == DEL) return;
	const char letter = (char)byte;
	add(parse, letter);
	if (byte < '@') return;
	if (parse->cut) give(parse, PIECE_CUT, &letter, 1);
	complete(parse, PIECE_CONTROL);
}

static void see_string(struct screen_parse *parse, unsigned char byte) {
	add(parse, (char)byte);
	if (byte == ESC)
		parse->state = STRING_ESCAPE;
	else if (byte == BEL && parse->sequence.data[1] == ']')
		complete(parse, PIECE_STRING);
}

/* ESC and a backslash end a string; so does ESC and anything else, with which something else begins. */
static bool ends_string(struct screen_parse *parse, unsigned char byte) {
	if (parse->state != STRING_ESCAPE) return false;
	add(parse, '\\');
	complete(parse, PIECE_STRING);
	if (byte != '\\') enter(parse, ESCAPE, ESC);
	return byte == '\\';
}

static void see(struct screen_parse *parse, unsigned char byte) {
	if (byte == CAN || byte == SUB) {
		parse->state = GROUND;
		return;
	}
	if (ends_string(parse, byte)) return;
	if (parse->state == STRING) {
		see_string(parse, byte);
		return;
	}
	if (byte == ESC) {
		if (parse->state == POINT) complete(parse, PIECE_TEXT);
		enter(parse, ESCAPE, ESC);
		return;
	}
	const char code = (char)byte;
	if (byte < ' ' && parse->state != POINT)
		give(parse, PIECE_AT_ONCE, &code, 1);
	else if (parse->state == POINT)
		see_point(parse, byte);
	else if (parse->state == ESCAPE)
		see_escape(parse, byte);
	else if (parse->state == CONTROL)
		see_control(parse, byte);
	else
		see_ground(parse, byte);
}

void screen_parse_see(struct screen_parse *parse, const char *bytes, size_t size) {
	while (size > 0) {
		size_t plain = 0;
		if (parse->state == GROUND)
			while (plain < size && bytes[plain] >= ' ' && bytes[plain] < DEL) plain++;
		if (plain > 0)
			give(parse, PIECE_TEXT, bytes, plain);
		else
			see(parse, (unsigned char)bytes[plain++]);
		bytes += plain;
		size -= plain;
	}
}

void screen_parse_resume(const struct screen_parse *parse, struct string *out) {
	if (parse->state == GROUND) return;
	if (!parse->cut) {
		string_append_bytes(out, parse->sequence.data, parse->sequence.size);
		return;
	}
	const bool string = parse->state == STRING || parse->state == STRING_ESCAPE;
	string_append(out, !string ? "\x1b[<" : parse->sequence.data[1] == ']' ? "\x1b]9999;" : "\x1b_");
	if (parse->state == STRING_ESCAPE) string_append_char(out, ESC);
}

void screen_parse_finish(struct screen_parse *parse) {
	string_finish(&parse->sequence);
}
