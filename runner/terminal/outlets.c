#include "outlets.h"

static void hold(const struct outlets *outlets, enum output_reason why, bool held) {
	output_hold(outlets->output, why, held);
	own_lines_hold(outlets->own_lines, why, held);
}

void outlets_leave(const struct outlets *outlets, struct string *first) {
	hold(outlets, OUTPUT_OWN_QUESTION, true);
	terminal_hold(outlets->terminal, first);
}

void outlets_return(const struct outlets *outlets) {
	terminal_go_on(outlets->terminal);
	hold(outlets, OUTPUT_OWN_QUESTION, false);
}

bool outlets_have_more(const struct outlets *outlets, bool killed) {
	return output_has_more(outlets->output) || own_lines_have_more(outlets->own_lines) ||
	       terminal_has_more(outlets->terminal, killed);
}

void outlets_pause(const struct outlets *outlets, bool paused) {
	hold(outlets, OUTPUT_OTHERS_QUESTION, paused);
	if (outlets->terminal) terminal_pause(outlets->terminal, paused);
}
