/* sleep_wire: the bytes between sbxd and sbx-sleep, each of which says all. */
#pragma once

enum sleep_byte {
	SLEEP_READY = 'r', /* from sbx-sleep: logind waits for us from now on */
	SLEEP_SOON = 's',  /* the machine is about to sleep */
	SLEEP_AWAKE = 'w', /* it is awake */
	SLEEP_GO = 'g',    /* from sbxd: it may */
};
