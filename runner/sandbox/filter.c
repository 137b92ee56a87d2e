#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/memory.h"

/* Another architecture's call of that number gets ENOSYS from the filter itself. */
static const struct sock_filter refusal[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_setup, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
};

struct sock_filter *filter_refuse_aio(const struct filter *filter, uint32_t *ret_count) {
	const uint32_t before = ARRAY_LENGTH(refusal);
	struct sock_filter *steps = mem_array(struct sock_filter, before + filter->count);

	memcpy(steps, refusal, sizeof refusal);
	memcpy(steps + before, filter->steps, filter->count * sizeof *steps);
	*ret_count = before + filter->count;
	return steps;
}
