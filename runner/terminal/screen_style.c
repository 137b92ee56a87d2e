#include "screen_style.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ECMA-48 8.3.117 and xterm's ctlseqs: what switches it on, and off. Underlined is not here: it has kinds. */
static const struct {
	uint8_t on, off;
} attributes[] = {{1, 22}, {2, 22}, {3, 23}, {5, 25}, {6, 25}, {7, 27}, {8, 28}, {9, 29}, {21, 24}, {53, 55}};

enum { PARAMETERS_MAX = 32, UNDERLINED = 4, NOT_UNDERLINED = 24 };

/* One parameter, with its parts behind colons. */
struct parameter {
	const char *text;
	size_t size;
	unsigned long number;
};

static size_t split(const char *text, struct parameter parameters[PARAMETERS_MAX]) {
	size_t count = 0;
	for (;;) {
		const size_t size = strcspn(text, ";");
		parameters[count++] = (struct parameter){.text = text, .size = size, .number = strtoul(text, NULL, 10)};
		if (text[size] == '\0' || count == PARAMETERS_MAX) return count;
		text += size + 1;
	}
}

static void keep(char colour[SCREEN_COLOUR_SIZE], const char *text, size_t size) {
	if (size >= SCREEN_COLOUR_SIZE) size = 0;
	memcpy(colour, text, size);
	colour[size] = '\0';
}

/* Which of them it sets, or -1. */
static int colour_of(unsigned long number) {
	if ((number >= 30 && number <= 39) || (number >= 90 && number <= 97)) return 0;
	if ((number >= 40 && number <= 49) || (number >= 100 && number <= 107)) return 1;
	return number == 58 || number == 59 ? 2 : -1;
}

/* A colour of the palette (38;5;N) or by its parts (38;2;R;G;B), in one parameter or several: how many it took. */
static size_t take_colour(char colour[SCREEN_COLOUR_SIZE], const struct parameter *parameters, size_t count) {
	const unsigned long number = parameters[0].number;
	size_t used = 1;
	if (number == 39 || number == 49 || number == 59) {
		keep(colour, "", 0);
		return 1;
	}
	if ((number == 38 || number == 48 || number == 58) && !memchr(parameters[0].text, ':', parameters[0].size))
		used = count > 1 && parameters[1].number == 2 ? 5 : 3;
	if (used > count) return count;
	const struct parameter *last = &parameters[used - 1];
	keep(colour, parameters[0].text, (size_t)(last->text + last->size - parameters[0].text));
	return used;
}

static void take_attribute(struct screen_style *style, const struct parameter *parameter) {
	if (parameter->number == UNDERLINED) {
		const char *kind = memchr(parameter->text, ':', parameter->size);
		style->underline = kind && kind[1] >= '0' && kind[1] <= '9' ? kind[1] : '1';
		if (style->underline == '0') style->underline = 0;
	}
	if (parameter->number == NOT_UNDERLINED) style->underline = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(attributes); i++) {
		if (parameter->number == attributes[i].on) style->attributes |= (uint16_t)(1U << i);
		if (parameter->number == attributes[i].off) style->attributes &= (uint16_t) ~(1U << i);
	}
}

void screen_style_take(struct screen_style *style, const char *text) {
	struct parameter parameters[PARAMETERS_MAX];
	const size_t count = split(text, parameters);
	for (size_t i = 0; i < count;) {
		const int colour = colour_of(parameters[i].number);
		if (colour >= 0) {
			i += take_colour(style->colours[colour], &parameters[i], count - i);
			continue;
		}
		if (parameters[i].number == 0) *style = (struct screen_style){0};
		take_attribute(style, &parameters[i++]);
	}
}

void screen_style_append(const struct screen_style *style, struct string *out) {
	CLEANUP_STRING struct string text = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(attributes); i++)
		if (style->attributes & 1U << i) string_appendf(&text, ";%d", attributes[i].on);
	if (style->underline == '1') string_append(&text, ";4");
	if (style->underline > '1') string_appendf(&text, ";4:%c", style->underline);
	for (size_t i = 0; i < SCREEN_COLOURS; i++)
		if (*style->colours[i]) string_appendf(&text, ";%s", style->colours[i]);
	if (text.size > 0) string_appendf(out, "\x1b[0%sm", text.data);
}
