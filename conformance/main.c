/* The driver as a program, for clients that can be loaded.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "driver.h"

int main(int argc, char **argv) { return conformance_main(argc, argv, NULL); }
