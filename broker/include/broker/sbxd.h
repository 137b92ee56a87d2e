/*
 * sbxd: the broker as a program: options, what it may do, going into the background.
 *
 * Promises: `sbxd` alone ends with status 0 as soon as a broker listens on the socket, this one in the background or
 * one that served already; with another status and a sentence on stderr when none does. As uid 0 it refuses. The
 * broker has no capabilities, gains none, and can't be traced or dumped.
 */
#pragma once

int sbxd_main(int argc, char **argv);
