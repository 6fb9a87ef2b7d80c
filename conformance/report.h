/* The checks and failures of each rule of abi/SPEC.md. A process that was forked shares them.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORMANCE_REPORT_H
#define CONFORMANCE_REPORT_H
#include <stdint.h>

int report_start(void); /* before all else. 0: no memory */
void checked(const char *rule);
void report_failure(const char *rule, const char *what); /* prints it at once */
void report_rules(void);                                 /* a line for each rule */
long report_total(int *failures);

#endif
