/*
 * sleep: what sbxd knows of the machine's sleep: logind says so beforehand (a delay inhibitor, logind's
 * org.freedesktop.login1(5)), and waits until the runners have settled the calls that they hold.
 *
 * A held call that nobody answers may keep the kernel from freezing its process, and so the machine from sleeping.
 *
 * Promises: optional: without systemd, its library at build time, or a system bus nothing happens, and `status` says
 * so. The bus is spoken to by a program of its own (sbx-sleep), so sbxd itself needs no library for it, opens no stream
 * to anybody (confine.h), and believes of it one of four bytes. Sleep waits for LIMIT_SETTLE_MS at most.
 */
#pragma once

#include <stdbool.h>

struct broker;
struct sleep;

/* Before sbxd confines itself: start the helper; sbxd's end of its socket, -1: there is none to start. */
int sleep_start(void);

struct sleep *sleep_new(struct broker *broker, int socket); /* takes the descriptor, which may be -1 */
void sleep_free(struct sleep *sleep);
bool sleep_is_told(const struct sleep *sleep); /* sbx-sleep runs: it ends where there is no logind to listen to */
