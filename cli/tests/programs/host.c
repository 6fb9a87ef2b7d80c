/* Loads the plug-in that is its argument.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "run") : NULL;
  printf("%d\n", run != NULL ? run() : -1);
  return run == NULL;
}
