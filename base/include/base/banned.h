/*
 * banned: functions this project doesn't use, made to fail the build (included by the compiler's command line
 * after the system's own headers are seen, see cmake/sbx.cmake).
 *
 * strcpy, strcat, sprintf, strncpy and gets write without a bound or forget the NUL; malloc and friends return
 * NULL that nobody tests (base/memory.h has the ones that don't); system and popen start a shell.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifndef SBX_MAY_ALLOCATE
#pragma GCC poison malloc calloc realloc reallocarray strdup strndup
#endif
#pragma GCC poison strcpy stpcpy strcat strncpy strncat sprintf vsprintf gets system popen
