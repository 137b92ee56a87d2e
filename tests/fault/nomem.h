#pragma once

/* Weak: NULL in a program that was started without the library. */
__attribute__((weak)) void nomem_arm(long number); /* 0: never */
__attribute__((weak)) long nomem_count(void);      /* allocations since */
