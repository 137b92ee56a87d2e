/*
 * text: untrusted text made visible.
 *
 * Promises: what comes out is printable UTF-8 on one line: control characters, invalid bytes, bidirectional and
 * zero-width characters and other invisible ones appear as \n, \x1b, \u{202e} and so on (attacks B9, F14; the set
 * is in text.c). A backslash is one, but for those in front of such an escape, or of a letter that would make it look
 * like one: they are doubled (\\n is a backslash and an n). So two texts never look the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

char *text_visible(const char *bytes);                 /* freed by the caller */
char *text_visible_cut(const char *bytes, size_t max); /* at most max columns: the middle replaced by an ellipsis */

/* For words that become part of a text which is made visible where it is shown, and which are harmless where it isn't:
 * white space is a space, and what can't be shown is U+FFFD. A backslash stays one. Freed by the caller. */
char *text_plain(const char *bytes);

/* As one word for a shell, to be pasted by a person: visible, and these very bytes again once the shell has read it;
 * what can't be seen takes a shell that knows $'…'. Freed by the caller. */
char *text_shell_word(const char *bytes);

/* The first code point of the bytes and how many they are; 0 where they aren't well-formed UTF-8. */
size_t text_point(const char *bytes, size_t size, uint32_t *ret_point);
bool text_point_is_visible(uint32_t point); /* not of the set that is escaped; a backslash is visible */

bool text_is_utf8(const char *bytes, size_t size);
size_t text_columns(const char *visible); /* of text that text_visible made */
