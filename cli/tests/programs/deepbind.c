/* Objects of the program are freed by a plug-in that is loaded with RTLD_DEEPBIND.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#ifdef PLUGIN
void drop(void *p) { free(p); }
#else
int main(int argc, char **argv) {
  void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_DEEPBIND);
  void (*drop)(void *) = (void (*)(void *))dlsym(plugin, "drop");
  for (int i = 0; i < 20000; i++) drop(malloc(40));
  return 0;
}
#endif
