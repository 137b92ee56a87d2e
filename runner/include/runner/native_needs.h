/*
 * native_needs: what a sandbox needs of this machine, and what `network: native` needs more: calls of a sandbox that
 * stop until the runner has answered them.
 */
#pragma once

/* NULL when all is there, else what lacks, as the end of a sentence. They ask the kernel only, and change nothing.
 * sandbox_lacks is of taking descriptors from another process (fd_take), without which none starts. */
const char *sandbox_lacks(void);
const char *native_lacks(void);
