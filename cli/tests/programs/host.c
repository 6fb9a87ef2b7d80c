/* Loads and unloads the plug-ins that are its arguments, each with another stack pointer.
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <alloca.h>
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "run") : NULL;
    *(char *volatile)alloca(64) = 0;
    printf("%d\n", run != NULL ? run() : -1);
    if (plugin == NULL || dlclose(plugin) != 0) return 1;
  }
  return argc < 2;
}
