// Runs an assembly in the .NET runtime of a folder that holds libcoreclr.so, as a program of its own:
//
//   host FOLDER ASSEMBLY [ARGUMENT...]
//
// Source: dotnet/runtime, src/coreclr/hosts/inc/coreclrhost.h.
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int initialize(const char *exe, const char *domain, int n, const char **keys, const char **values,
		       void **host, unsigned *id);
typedef int execute(void *host, unsigned id, int argc, const char **argv, const char *assembly, unsigned *status);

static char trusted[1 << 20];

static void trust(const char *path)
{
	if (strlen(trusted) + strlen(path) + 2 > sizeof trusted)
		exit(70);
	strcat(strcat(trusted, path), ":");
}

int main(int argc, char **argv)
{
	char folder[PATH_MAX], assembly[PATH_MAX], path[2 * PATH_MAX];
	if (argc < 3 || !realpath(argv[1], folder) || !realpath(argv[2], assembly)) {
		fprintf(stderr, "usage: host FOLDER ASSEMBLY [ARGUMENT...]\n");
		return 64;
	}
	trust(assembly);
	DIR *dir = opendir(folder);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		size_t n = strlen(e->d_name);
		if (n < 4 || strcmp(e->d_name + n - 4, ".dll"))
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		trust(path);
	}
	snprintf(path, sizeof path, "%s/libcoreclr.so", folder);
	void *clr = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!clr) {
		fprintf(stderr, "host: %s\n", dlerror());
		return 69;
	}
	const char *keys[] = {"TRUSTED_PLATFORM_ASSEMBLIES", "NATIVE_DLL_SEARCH_DIRECTORIES"};
	const char *values[] = {trusted, folder};
	void *host;
	unsigned id, status = 0;
	int code = ((initialize *)dlsym(clr, "coreclr_initialize"))(argv[0], "host", 2, keys, values, &host, &id);
	if (code < 0) {
		fprintf(stderr, "host: coreclr_initialize: %#x\n", code);
		return 69;
	}
	code = ((execute *)dlsym(clr, "coreclr_execute_assembly"))(host, id, argc - 3, (const char **)argv + 3, assembly,
								   &status);
	if (code < 0) {
		fprintf(stderr, "host: coreclr_execute_assembly: %#x\n", code);
		return 69;
	}
	return (int)status;
}
