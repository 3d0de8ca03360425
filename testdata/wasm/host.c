// Runs WebAssembly with the C API of wasmtime, so that the stack of its main thread is known.
//
//	host MODE FOLDER [PATH]
//
// FOLDER has the modules; PATH is where the mode "file" writes what it compiled. When the stack has its shape it
// writes "R\n". The modes are in the table below. VERSION is that of the library.
//
// Functions that are to be seen on the stack are not inlined and do not end in a call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <wasm.h>
#include <wasmtime.h>

#define SEEN __attribute__((noinline, noclone, noipa))

static const char *folder, *file = "", *mode;
static wasm_engine_t *engine;
static _Thread_local wasmtime_context_t *context;
static _Thread_local wasmtime_instance_t instance;
static volatile int sink;

// What the host does when the module calls it.
enum { SLEEP, SPIN, RETURN, BRIEFLY } leaf = SLEEP;

static void die(const char *what, wasmtime_error_t *error, wasm_trap_t *trap)
{
	wasm_byte_vec_t text = {0};
	if (error)
		wasmtime_error_message(error, &text);
	else if (trap)
		wasm_trap_message(trap, &text);
	fprintf(stderr, "host: %s: %.*s\n", what, (int)text.size, text.data);
	exit(1);
}

static void ready(void)
{
	static int once;
	if (!once++ && write(1, "R\n", 2) != 2)
		exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

SEEN void host_leaf(void)
{
	double end = now() + 0.002;
	if (leaf != RETURN)
		ready();
	do {
		if (leaf == SLEEP)
			pause();
		sink++;
	} while (leaf == SLEEP || leaf == SPIN || (leaf == BRIEFLY && now() < end));
}

SEEN wasm_trap_t *host_wait(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t nargs,
	wasmtime_val_t *results, size_t nresults)
{
	(void)env, (void)caller, (void)nargs, (void)nresults;
	host_leaf();
	results[0] = args[0];
	return NULL;
}

static wasmtime_func_t export_of(const char *name)
{
	wasmtime_extern_t item;
	if (!wasmtime_instance_export_get(context, &instance, name, strlen(name), &item))
		die(name, NULL, NULL);
	return item.of.func;
}

SEEN void host_call(const char *name, int n)
{
	wasmtime_func_t func = export_of(name);
	wasmtime_val_t arg = {.kind = WASMTIME_I32, .of.i32 = n}, result;
	wasm_trap_t *trap = NULL;
	wasmtime_error_t *error = wasmtime_func_call(context, &func, &arg, 1, &result, 1, &trap);
	if (error || trap)
		die(name, error, trap);
	sink += result.of.i32;
}

static const char *again; // what is called by the host when the module called it

SEEN wasm_trap_t *host_again(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t nargs,
	wasmtime_val_t *results, size_t nresults)
{
	(void)env, (void)caller, (void)nargs, (void)nresults;
	host_call(again, 3);
	results[0] = args[0];
	return NULL;
}

static wasm_byte_vec_t bytes_of(const char *name)
{
	char path[4096];
	wasm_byte_vec_t v;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "r");
	if (!f)
		die(path, NULL, NULL);
	wasm_byte_vec_new_uninitialized(&v, 1 << 20);
	v.size = fread(v.data, 1, v.size, f);
	fclose(f);
	return v;
}

static wasmtime_module_t *compile(wasm_byte_vec_t v)
{
	wasmtime_module_t *m;
	wasmtime_error_t *error = wasmtime_module_new(engine, (uint8_t *)v.data, v.size, &m);
	if (error)
		die("compile", error, NULL);
	return m;
}

static wasmtime_linker_t *new_linker(void)
{
	wasmtime_linker_t *l = wasmtime_linker_new(engine);
	struct { const char *name; wasmtime_func_callback_t call; } imports[] = {{"wait_import", host_wait},
		{"enter_again", host_again}};
	for (int i = 0; i < 2; i++) {
		wasm_functype_t *type = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
		wasmtime_error_t *error = wasmtime_linker_define_func(l, "host", 4, imports[i].name,
			strlen(imports[i].name), type, imports[i].call, NULL, NULL);
		if (error)
			die("define", error, NULL);
	}
	return l;
}

static wasmtime_store_t *new_store(void)
{
	wasmtime_store_t *s = wasmtime_store_new(engine, NULL, NULL);
	context = wasmtime_store_context(s);
	return s;
}

static void instantiate(wasmtime_linker_t *l, wasmtime_module_t *m)
{
	wasm_trap_t *trap = NULL;
	wasmtime_error_t *error = wasmtime_linker_instantiate(l, context, m, &instance, &trap);
	if (error || trap)
		die("instantiate", error, trap);
}

static void load(wasmtime_module_t *m)
{
	new_store();
	instantiate(new_linker(), m);
}

static void load_module(void) { load(compile(bytes_of("module.wasm"))); }

SEEN void run_work(void)
{
	load_module();
	ready();
	for (;;)
		host_call("work_main", 1 << 20);
}

static void run_import(const char *name, int what)
{
	leaf = what;
	load_module();
	host_call(name, 3);
}

SEEN void run_sleep(void) { run_import("import_main", SLEEP); sink++; }
SEEN void run_spin(void) { run_import("import_main", SPIN); sink++; }
SEEN void run_names(void) { run_import("names_main", SLEEP); sink++; }
SEEN void run_again(void) { again = "import_main"; run_import("again_main", SLEEP); sink++; }

SEEN void run_again_work(void)
{
	again = "work_main";
	load_module();
	ready();
	for (;;)
		host_call("again_main", 1 << 20);
}

SEEN void run_tail(void)
{
	load_module();
	ready();
	for (;;)
		host_call("tail_main", 1 << 20);
}

// The stack has held an activation where the buffer is now.
SEEN void run_returned(void)
{
	char buffer[16 << 10];
	run_import("import_main", RETURN);
	leaf = SLEEP;
	sink += read(-1, buffer, sizeof buffer);
	host_leaf();
	sink += buffer[99];
}

SEEN void host_returned(void)
{
	char buffer[16 << 10];
	sink += read(-1, buffer, sizeof buffer);
	leaf = SLEEP;
	ready();
	pause();
	sink += buffer[99];
}

// The buffer lies where the activation was.
SEEN void run_returned_below(void)
{
	leaf = RETURN;
	load_module();
	host_call("import_main", 3);
	host_returned();
	sink++;
}

static void load_two(void)
{
	load_module();
	wasmtime_linker_t *l = new_linker();
	wasmtime_error_t *error = wasmtime_linker_define_instance(l, context, "first", 5, &instance);
	if (error)
		die("define", error, NULL);
	instantiate(l, compile(bytes_of("other.wasm")));
}

SEEN void run_two(void)
{
	load_two();
	ready();
	for (;;)
		host_call("other_work", 5);
}

SEEN void run_two_sleep(void) { load_two(); host_call("other_import", 5); sink++; }

SEEN void run_file(void)
{
	wasm_byte_vec_t v;
	wasmtime_module_t *m = compile(bytes_of("module.wasm"));
	wasmtime_error_t *error = wasmtime_module_serialize(m, &v);
	if (error)
		die("serialize", error, NULL);
	FILE *f = fopen(file, "w");
	if (!f || fwrite(v.data, 1, v.size, f) != v.size || fclose(f))
		die(file, NULL, NULL);
	wasmtime_module_delete(m);
	error = wasmtime_module_deserialize_file(engine, file, &m);
	if (error)
		die(file, error, NULL);
	load(m);
	ready();
	for (;;)
		host_call("work_main", 1 << 20);
}

static wasm_byte_vec_t serialized(const char *from, const char *to)
{
	wasm_byte_vec_t v = bytes_of("module.wasm"), out;
	for (size_t i = 0; i + strlen(from) <= v.size; i++)
		if (!memcmp(v.data + i, from, strlen(from)))
			memcpy(v.data + i, to, strlen(to));
	wasmtime_module_t *m = compile(v);
	wasmtime_error_t *error = wasmtime_module_serialize(m, &out);
	if (error)
		die("serialize", error, NULL);
	wasmtime_module_delete(m);
	return out;
}

static void run_loaded(wasm_byte_vec_t *v, const char *name)
{
	wasmtime_module_t *m;
	wasmtime_error_t *error = wasmtime_module_deserialize(engine, (uint8_t *)v->data, v->size, &m);
	if (error)
		die("deserialize", error, NULL);
	wasmtime_store_t *s = new_store();
	wasmtime_linker_t *l = new_linker();
	instantiate(l, m);
	double end = now() + 0.005;
	while (now() < end)
		host_call(name, 100);
	wasmtime_linker_delete(l);
	wasmtime_store_delete(s);
	wasmtime_module_delete(m);
}

SEEN void run_work_loaded(wasm_byte_vec_t *v) { run_loaded(v, "work_main"); sink++; }
SEEN void run_wurk_loaded(wasm_byte_vec_t *v) { run_loaded(v, "wurk_main"); sink++; }

// Two modules that differ in names alone take turns at the same address.
SEEN void run_loads(void)
{
	wasm_byte_vec_t work = serialized("work_", "work_"), wurk = serialized("work_", "wurk_");
	ready();
	for (;;) {
		run_work_loaded(&work);
		run_wurk_loaded(&wurk);
	}
}

#define MANY 30000

SEEN void run_many(void)
{
	char *text = malloc(MANY * 200 + 1000), *at = text;
	at += sprintf(at, "(module (import \"host\" \"wait_import\" (func $wait_import (param i32) (result i32)))\n");
	for (int i = 0; i < MANY; i++)
		at += sprintf(at, "(func $number_%05d_of_many_functions_with_long_names (param $n i32) (result i32) (i32.add "
			"(call %d (local.get $n)) (i32.const %d)))\n", i, i % 1000 ? i : 0, i);
	at += sprintf(at, "(export \"many_main\" (func %d)))\n", MANY / 2 + 2);
	wasm_byte_vec_t v;
	wasmtime_error_t *error = wasmtime_wat2wasm(text, at - text, &v);
	if (error)
		die("many functions", error, NULL);
	load(compile(v));
	host_call("many_main", 3);
	sink++;
}

// A loop over activations of all kinds, each some milliseconds.
SEEN void run_mixed(void)
{
	load_two();
	wasmtime_instance_t other = instance;
	load_module();
	wasmtime_instance_t first = instance;
	wasmtime_context_t *second_store = context;
	(void)other, (void)first, (void)second_store;
	leaf = BRIEFLY;
	ready();
	for (;;) {
		host_call("import_main", 3);
		host_call("names_main", 3);
		host_call("work_main", 1000);
		again = "import_main";
		host_call("again_main", 3);
		again = "work_main";
		host_call("again_main", 3);
	}
}

static double spent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// A loop, tail calls, and the host below WebAssembly; says how much CPU time each took.
SEEN void run_shares(void)
{
	static const struct { const char *name; int n; } parts[] = {{"work_main", 200000}, {"tail_main", 400},
		{"import_main", 3}};
	double sum[3] = {0}, said = now();
	load_module();
	leaf = BRIEFLY;
	for (;;) {
		for (int i = 0; i < 3; i++) {
			double begin = spent();
			host_call(parts[i].name, parts[i].n);
			sum[i] += spent() - begin;
		}
		if (now() - said > 0.25) {
			said = now();
			printf("shares work_main %.0f tail_main %.0f import_main %.0f\n", sum[0], sum[1], sum[2]);
			fflush(stdout);
		}
	}
}

static void *thread(void *module)
{
	load(module);
	for (;;) {
		host_call("work_main", 1000);
		host_call("import_main", 3);
	}
	return NULL;
}

// Some threads at once, each with a store of its own.
SEEN void run_threads(void)
{
	wasmtime_module_t *m = compile(bytes_of("module.wasm"));
	leaf = BRIEFLY;
	for (int i = 0; i < 8; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, thread, m))
			die("thread", NULL, NULL);
	}
	ready();
	pause();
	sink++;
}

static void run_async(const char *name)
{
	wasmtime_val_t arg = {.kind = WASMTIME_I32, .of.i32 = 1 << 20}, result;
	wasm_trap_t *trap = NULL;
	wasmtime_error_t *error = NULL;
	new_store();
	wasmtime_linker_t *l = new_linker();
	wasmtime_call_future_t *f = wasmtime_linker_instantiate_async(l, context, compile(bytes_of("module.wasm")),
		&instance, &trap, &error);
	while (!wasmtime_call_future_poll(f))
		;
	wasmtime_call_future_delete(f);
	if (error || trap)
		die("instantiate", error, trap);
	for (;;) {
		wasmtime_func_t func = export_of(name);
		f = wasmtime_func_call_async(context, &func, &arg, 1, &result, 1, &trap, &error);
		if (strcmp(mode, "fibersleep")) // host_leaf says it
			ready();
		while (!wasmtime_call_future_poll(f))
			;
		wasmtime_call_future_delete(f);
	}
}

SEEN void run_fiber(void) { run_async("work_main"); sink++; }
SEEN void run_fiber_sleep(void) { run_async("import_main"); sink++; }

// A module with DWARF of its own, compiled with debug information.
SEEN void run_debug(void)
{
	load(compile(bytes_of("lines.wasm")));
	ready();
	for (;;)
		host_call("lines_main", 1 << 20);
}

static struct { const char *name; void (*run)(void); } modes[] = {
	{"work", run_work}, {"sleep", run_sleep}, {"spin", run_spin}, {"names", run_names}, {"again", run_again},
	{"againwork", run_again_work}, {"tail", run_tail}, {"returned", run_returned},
	{"returnedbelow", run_returned_below}, {"two", run_two}, {"twosleep", run_two_sleep}, {"file", run_file},
	{"loads", run_loads}, {"many", run_many}, {"mixed", run_mixed}, {"shares", run_shares}, {"threads", run_threads},
	{"fiber", run_fiber}, {"fibersleep", run_fiber_sleep}, {"debug", run_debug},
};

SEEN static void configure(void)
{
	wasm_config_t *config = wasm_config_new();
	wasmtime_config_wasm_tail_call_set(config, true);
	if (!strcmp(mode, "debug"))
		wasmtime_config_debug_info_set(config, true);
#if VERSION < 42
	if (!strncmp(mode, "fiber", 5))
		wasmtime_config_async_support_set(config, true);
#endif
	const char *profiler = getenv("PROFILER");
	if (profiler)
		wasmtime_config_profiler_set(config, strcmp(profiler, "jitdump") ? WASMTIME_PROFILING_STRATEGY_PERFMAP
			: WASMTIME_PROFILING_STRATEGY_JITDUMP);
	engine = wasm_engine_new_with_config(config);
}

// Writes module texts as modules: convert TEXT FILE...
static int convert(int argc, char **argv)
{
	for (int i = 2; i + 1 < argc; i += 2) {
		char *text = malloc(1 << 20);
		FILE *in = fopen(argv[i], "r"), *out = fopen(argv[i + 1], "w");
		if (!in || !out)
			die(argv[i], NULL, NULL);
		wasm_byte_vec_t v;
		wasmtime_error_t *error = wasmtime_wat2wasm(text, fread(text, 1, 1 << 20, in), &v);
		if (error)
			die(argv[i], error, NULL);
		fwrite(v.data, 1, v.size, out);
		fclose(out);
	}
	return 0;
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 1 && !strcmp(argv[1], "convert"))
		return convert(argc, argv);
	if (argc < 3)
		return 64;
	mode = argv[1], folder = argv[2];
	if (argc > 3)
		file = argv[3];
	configure();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, mode))
			modes[i].run();
	return 64;
}
