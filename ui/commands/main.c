#include <locale.h>

#include "base/start.h"
#include "commands/commands.h"

int main(int argc, char **argv) {
	(void)argc; /* may be 0: command_main looks at argv alone (attack B4) */
	start_process();
	setlocale(LC_CTYPE, "");
	return command_main(command_all(), argv);
}
