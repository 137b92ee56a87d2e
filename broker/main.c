#include "broker/sbxd.h"

int main(int argc, char **argv) {
	return sbxd_main(argc, argv);
}
