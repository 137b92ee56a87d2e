#include "screen_modes.h"

#include <assert.h>

#include "base/memory.h"

enum group { ALONE, MOUSE, MOUSE_FORM }; /* of a group one is on, and switching one off switches it off */

/* xterm's ctlseqs, DECSET; the last ones: the terminal-wg's, kitty's and conhost's. Ascending. */
static const struct mode {
	uint16_t number;
	bool usual; /* on when the terminal is switched on */
	bool draws;
	bool soft; /* DECSTR puts it back (DEC STD 070, 5-182) */
	enum group group;
} table[] = {
	{1, false, false, true, ALONE},                   /* cursor keys of applications */
	{5, false, true, false, ALONE},                   /* dark on light */
	{SCREEN_MODE_ORIGIN, false, true, true, ALONE},   /* */
	{7, true, true, false, ALONE},                    /* lines wrap */
	{9, false, false, false, MOUSE},                  /* as X10 had it */
	{25, true, false, true, ALONE},                   /* the cursor is seen */
	{45, false, true, false, ALONE},                  /* backspace goes to the line above */
	{SCREEN_MODE_KEYPAD, false, false, true, ALONE},  /* */
	{SCREEN_MODE_MARGINS, false, true, false, ALONE}, /* */
	{1000, false, false, false, MOUSE},               /* clicks */
	{1001, false, false, false, MOUSE},               /* with highlighting */
	{1002, false, false, false, MOUSE},               /* and dragging */
	{1003, false, false, false, MOUSE},               /* and any motion */
	{1004, false, false, false, ALONE},               /* focus */
	{1005, false, false, false, MOUSE_FORM},          /* UTF-8 */
	{1006, false, false, false, MOUSE_FORM},          /* SGR */
	{1015, false, false, false, MOUSE_FORM},          /* urxvt */
	{1016, false, false, false, MOUSE_FORM},          /* SGR, pixels */
	{2004, false, false, false, ALONE},               /* what is pasted stands in brackets */
	{2026, false, false, false, ALONE},               /* shown when it is complete */
	{2031, false, false, false, ALONE},               /* dark or light is told of */
	{2048, false, false, false, ALONE},               /* so is a new size */
	{9001, false, false, false, ALONE},               /* keys as Windows has them */
};
static_assert(ARRAY_LENGTH(table) <= 32, "a bit for each mode");

static size_t row_of(unsigned number) {
	size_t row = 0;
	while (row < ARRAY_LENGTH(table) && table[row].number != number) row++;
	return row;
}

void screen_modes_set(struct screen_modes *modes, unsigned number, bool on) {
	const size_t row = row_of(number);
	if (row == ARRAY_LENGTH(table)) return;
	if (table[row].group != ALONE)
		for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
			if (table[i].group == table[row].group) modes->changed &= ~(UINT32_C(1) << i);
	const uint32_t bit = UINT32_C(1) << row;
	modes->changed = on == table[row].usual ? modes->changed & ~bit : modes->changed | bit;
}

bool screen_modes_on(const struct screen_modes *modes, unsigned number) {
	const size_t row = row_of(number);
	return row < ARRAY_LENGTH(table) && table[row].usual != ((modes->changed >> row & 1) != 0);
}

bool screen_modes_known(unsigned number) {
	return row_of(number) < ARRAY_LENGTH(table);
}

bool screen_modes_draw(unsigned number) {
	const size_t row = row_of(number);
	return row < ARRAY_LENGTH(table) && table[row].draws;
}

void screen_modes_save(struct screen_modes *modes, unsigned number) {
	const size_t row = row_of(number);
	if (row == ARRAY_LENGTH(table)) return;
	const uint32_t bit = UINT32_C(1) << row;
	modes->saved = (modes->saved & ~bit) | (modes->changed & bit);
}

void screen_modes_restore(struct screen_modes *modes, unsigned number) {
	const size_t row = row_of(number);
	if (row == ARRAY_LENGTH(table)) return;
	screen_modes_set(modes, number, table[row].usual != ((modes->saved >> row & 1) != 0));
}

void screen_modes_soft_reset(struct screen_modes *modes) {
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (table[i].soft) modes->changed &= ~(UINT32_C(1) << i);
}

void screen_modes_append(const struct screen_modes *modes, bool draw, struct string *out) {
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
		if (!(modes->changed >> i & 1) || table[i].draws != draw || table[i].number == SCREEN_MODE_ORIGIN)
			continue;
		string_appendf(out, "\x1b[?%u%c", table[i].number, table[i].usual ? 'l' : 'h');
	}
}

void screen_modes_append_usual(const struct screen_modes *modes, struct string *out) {
	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (modes->changed >> i & 1)
			string_appendf(out, "\x1b[?%u%c", table[i].number, table[i].usual ? 'h' : 'l');
}
