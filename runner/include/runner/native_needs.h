/*
 * native_needs: what `network: native` needs of this machine: calls of a sandbox that stop until the runner has
 * answered them, and a way to the very socket that one of them names.
 */
#pragma once

/* NULL when all is there, else what lacks, as the end of a sentence. Asks the kernel only, and changes nothing. */
const char *native_lacks(void);
