#include "terminfo.h"

#include <curses.h>
#include <unistd.h>

#include <term.h>

bool terminfo_is_known(void) {
	int fault = 1;
	if (setupterm(NULL, STDERR_FILENO, &fault) != OK) return false;
	del_curterm(cur_term);
	return true;
}
