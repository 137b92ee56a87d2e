#include "base/start.h"
#include "broker/sbxd.h"

int main(int argc, char **argv) {
	start_process();
	return sbxd_main(argc, argv);
}
