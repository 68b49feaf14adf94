// SPDX-License-Identifier: Apache-2.0
// A program that gets to the library at run time:
//   loader plugin PATH [deepbind]   loads a plug-in, which is linked with -libverbs
//   loader names NAME...            opens the first NAME that there is and looks up the functions
//                                   by version, as NCCL does
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

static int use_plugin(const char* path, int deepbind) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | (deepbind ? RTLD_DEEPBIND : 0));
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*list)(void) = NULL;
  *(void**)&list = dlsym(handle, "plugin_list_devices");
  const int result = list != NULL ? list() : 2;
  dlclose(handle);
  return result;
}

static int use_names(char** names) {
  void* handle = NULL;
  for (; *names != NULL && handle == NULL; ++names)
    handle = dlopen(*names, RTLD_NOW);
  if (handle == NULL) return 2;
  struct ibv_device** (*get_list)(int*) = NULL;
  void (*free_list)(struct ibv_device**) = NULL;
  const char* (*name_of)(struct ibv_device*) = NULL;
  *(void**)&get_list = dlvsym(handle, "ibv_get_device_list", "IBVERBS_1.1");
  *(void**)&free_list = dlvsym(handle, "ibv_free_device_list", "IBVERBS_1.1");
  *(void**)&name_of = dlvsym(handle, "ibv_get_device_name", "IBVERBS_1.1");
  if (get_list == NULL || free_list == NULL || name_of == NULL) return 2;
  if (dlvsym(handle, "ibv_reg_mr_iova2", "IBVERBS_1.8") == NULL) return 2;
  if (dlvsym(handle, "ibv_reg_dmabuf_mr", "IBVERBS_1.12") == NULL) return 2;
  int count = 0;
  struct ibv_device** list = get_list(&count);
  for (int i = 0; i < count; ++i)
    puts(name_of(list[i]));
  free_list(list);
  dlclose(handle);
  return count == 0;
}

int main(int argc, char** argv) {
  if (argc >= 3 && strcmp(argv[1], "plugin") == 0) return use_plugin(argv[2], argc > 3);
  if (argc >= 3 && strcmp(argv[1], "names") == 0) return use_names(argv + 2);
  fprintf(stderr, "usage: loader plugin PATH [deepbind] | names NAME...\n");
  return 2;
}
