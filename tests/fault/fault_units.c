/*
 * fault_units [ROOM]: each unit of each room but the broker's (fault_memory.c) with the n-th allocation failing: all n,
 * or an even sample. Needs libnomem.so in LD_PRELOAD.
 */
#include <stdio.h>

#include "base/string.h"
#include "nomem.h"
#include "support/home.h"
#include "unit.h"

int main(int argc, char **argv) {
	static const struct unit_room *const rooms[] = {&units_base,    &units_schema, &units_policy,
							&units_runner,  &units_net,    &units_ui,
#ifdef SBX_NOTIFY
							&units_notify,
#endif
							&units_monitor, &units_suggest};
	if (!nomem_arm) {
		fprintf(stderr, "%s: start it with LD_PRELOAD=libnomem.so\n", argv[0]);
		return 1;
	}
	struct unit_sample sample = unit_sample();
	int lost = 0;
	home_make(NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(rooms); i++)
		if (argc < 2 || string_starts(rooms[i]->name, argv[1])) lost += unit_room_run(rooms[i], sample);
	home_remove();
	return lost > 0;
}
