#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

int thread_start(size_t stack, void *(*run)(void *argument), void *argument) {
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int r = pthread_create(&thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}
