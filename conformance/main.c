/* The driver as a program. With LINKED or LINKED_CLIENT defined, the provider or the client is part of it.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "driver.h"

#ifdef LINKED
const conformance_provider *conformance_provider_table(void);
#endif
#ifdef LINKED_CLIENT
const conformance_client *conformance_client_table(void);
#endif

int main(int argc, char **argv) {
#ifdef LINKED
  conformance_link(conformance_provider_table);
#endif
#ifdef LINKED_CLIENT
  conformance_link_client(conformance_client_table);
#endif
  return conformance_main(argc, argv, NULL);
}
