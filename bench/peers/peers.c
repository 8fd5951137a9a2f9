/*
 * peers measures matrix products of a native library, for comparison with
 * gemmbench. One source makes one program per library, so that no library's
 * threads disturb another's:
 *
 *     cc -DPEER_OPENBLAS peers.c -lopenblas    sgemm and dgemm, and sbgemm where it exists
 *     cc -DPEER_ONEDNN   peers.c -ldnnl        matmul, f32 and bf16 -> f32
 *
 *     peers [-dtype bf16,f32,f64] [-threads T] [-count N] [-min-time MS] SHAPE...
 *
 * C (m x n, float32, or of f64 float64) = A (m x k) * B (k x n), all row-major and
 * dense, and B plain on every call. Without -dtype it is bf16,f32. Each product is
 * checked, warmed up and then sampled: a sample repeats the call for at least MS
 * milliseconds. One line of CSV per product: lib,dtype,m,n,k,threads,seconds_median.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DIM = 16384, MAX_COUNT = 1000, CHECKS = 256 };

enum type { BF16, F32, F64, TYPES };

static const char *const names[TYPES] = {"bf16", "f32", "f64"};
static const int sizes[TYPES] = {2, 4, 8};

/* A product is one shape in one type, with its operands. */
typedef struct {
	enum type type, type_c;
	long m, n, k;
	void *a, *b, *c; /* uint16_t, float or double */
	void *plan; /* what the library prepares once */
} product;

static _Noreturn void die(int status, const char *what, const char *detail)
{
	fprintf(stderr, "peers: %s%s\n", what, detail);
	exit(status);
}

/*
 * Each library defines:
 *   LIB          its name in the CSV
 *   lib_init     sets the number of threads and says on stderr what runs
 *   lib_prepare  returns NULL, or why this product cannot run
 *   lib_call     computes C once
 *   lib_release  frees what lib_prepare made
 */
#if defined PEER_OPENBLAS

#include <cblas.h>
#define LIB "openblas"

/* cblas_sbgemm is in builds with BUILD_BFLOAT16 only. */
typedef void sbgemm_func(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint, blasint, float,
                         const uint16_t *, blasint, const uint16_t *, blasint, float, float *, blasint);
static sbgemm_func *sbgemm;

static void lib_init(int threads)
{
	openblas_set_num_threads(threads);
	*(void **)&sbgemm = dlsym(RTLD_DEFAULT, "cblas_sbgemm");
	fprintf(stderr, "peers: %s, core %s, %s\n", openblas_get_config(), openblas_get_corename(),
	        sbgemm ? "with sbgemm" : "without sbgemm");
	if (openblas_get_num_threads() != threads)
		die(1, "openblas does not take the number of threads", "");
}

static const char *lib_prepare(product *p)
{
	return p->type == BF16 && !sbgemm ? "this build has no sbgemm" : NULL;
}

static void lib_call(product *p)
{
#define ARGUMENTS CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, p->c, p->n
	if (p->type == BF16)
		sbgemm(ARGUMENTS);
	else if (p->type == F32)
		cblas_sgemm(ARGUMENTS);
	else
		cblas_dgemm(ARGUMENTS);
}

static void lib_release(product *p) { (void)p; }

#elif defined PEER_ONEDNN

#include <dnnl.h>
#define LIB "onednn"

typedef struct {
	dnnl_primitive_t matmul;
	dnnl_exec_arg_t args[3];
} plan;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void must(dnnl_status_t s, const char *what)
{
	char code[32];
	snprintf(code, sizeof code, ": status %d", (int)s);
	if (s != dnnl_success)
		die(1, what, code);
}

static void lib_init(int threads)
{
	const dnnl_version_t *v = dnnl_version();
	void (*set)(int);
	*(void **)&set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
	if (v->cpu_runtime == DNNL_RUNTIME_OMP && set)
		set(threads);
	else if (v->cpu_runtime != DNNL_RUNTIME_SEQ || threads != 1)
		die(1, "oneDNN is not built with OpenMP: the number of threads cannot be set", "");
	fprintf(stderr, "peers: oneDNN %d.%d.%d, effective ISA %#x\n", v->major, v->minor, v->patch,
	        (unsigned)dnnl_get_effective_cpu_isa());
	must(dnnl_engine_create(&engine, dnnl_cpu, 0), "dnnl_engine_create");
	must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "dnnl_stream_create");
}

/* Memory descriptors are values in oneDNN 2 and objects in oneDNN 3. */
#if DNNL_VERSION_MAJOR >= 3
#define MD(md) (md)
static dnnl_status_t describe(dnnl_memory_desc_t *md, long rows, long cols, dnnl_data_type_t t)
{
	dnnl_dims_t dims = {rows, cols};
	return dnnl_memory_desc_create_with_tag(md, 2, dims, t, dnnl_ab);
}
static dnnl_status_t matmul_desc(dnnl_primitive_desc_t *pd, dnnl_memory_desc_t *md)
{
	return dnnl_matmul_primitive_desc_create(pd, engine, md[0], md[1], NULL, md[2], NULL);
}
static void forget(dnnl_memory_desc_t md) { dnnl_memory_desc_destroy(md); }
#else
#define MD(md) (&(md))
static dnnl_status_t describe(dnnl_memory_desc_t *md, long rows, long cols, dnnl_data_type_t t)
{
	dnnl_dims_t dims = {rows, cols};
	return dnnl_memory_desc_init_by_tag(md, 2, dims, t, dnnl_ab);
}
static dnnl_status_t matmul_desc(dnnl_primitive_desc_t *pd, dnnl_memory_desc_t *md)
{
	dnnl_matmul_desc_t d;
	dnnl_status_t s = dnnl_matmul_desc_init(&d, &md[0], &md[1], NULL, &md[2]);
	return s == dnnl_success ? dnnl_primitive_desc_create(pd, &d, NULL, engine, NULL) : s;
}
static void forget(dnnl_memory_desc_t md) { (void)md; }
#endif

/* The primitive, with the code generated for it, is made once, in oneDNN's favour. */
static const char *lib_prepare(product *p)
{
	if (p->type == F64)
		return "oneDNN has no matmul of float64 on a processor";
	dnnl_data_type_t in = p->type == BF16 ? dnnl_bf16 : dnnl_f32;
	dnnl_memory_desc_t md[3];
	dnnl_primitive_desc_t pd;
	void *data[3] = {p->a, p->b, p->c};
	int arg[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
	plan *q = calloc(1, sizeof *q);
	if (!q)
		die(1, "out of memory", "");
	must(describe(&md[0], p->m, p->k, in), "describing A");
	must(describe(&md[1], p->k, p->n, in), "describing B");
	must(describe(&md[2], p->m, p->n, dnnl_f32), "describing C");
	dnnl_status_t s = matmul_desc(&pd, md);
	if (s == dnnl_success) {
		must(dnnl_primitive_create(&q->matmul, pd), "dnnl_primitive_create");
		dnnl_primitive_desc_destroy(pd);
	}
	for (int i = 0; i < 3; i++) {
		if (s == dnnl_success) {
			q->args[i].arg = arg[i];
			must(dnnl_memory_create(&q->args[i].memory, MD(md[i]), engine, data[i]), "dnnl_memory_create");
		}
		forget(md[i]);
	}
	if (s != dnnl_success) {
		free(q);
		return "this processor or build has no such matmul";
	}
	p->plan = q;
	return NULL;
}

static void lib_call(product *p)
{
	plan *q = p->plan;
	must(dnnl_primitive_execute(q->matmul, stream, 3, q->args), "dnnl_primitive_execute");
	must(dnnl_stream_wait(stream), "dnnl_stream_wait");
}

static void lib_release(product *p)
{
	plan *q = p->plan;
	for (int i = 0; i < 3; i++)
		dnnl_memory_destroy(q->args[i].memory);
	dnnl_primitive_destroy(q->matmul);
	free(q);
}

#else
#error "define PEER_OPENBLAS or PEER_ONEDNN"
#endif

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *aligned(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!p)
		die(1, "out of memory", "");
	return p;
}

/*
 * Multiples of 1/128 in [-1, 1) are exact in bf16, so it and f32 get the same values. Those of f64 are multiples of
 * 2^-53, which need all its bits.
 */
static void *operand(long n, enum type type, uint64_t seed)
{
	void *p = aligned(n * sizes[type]);
	for (long i = 0; i < n; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		float f = (int)(seed >> 40 & 255) / 128.0f - 1;
		uint32_t bits;
		memcpy(&bits, &f, 4);
		if (type == BF16)
			((uint16_t *)p)[i] = bits >> 16;
		else if (type == F32)
			((float *)p)[i] = f;
		else
			((double *)p)[i] = ((int64_t)seed >> 10) * 0x1p-53;
	}
	return p;
}

static double value(const void *p, enum type type, long i)
{
	if (type == F64)
		return ((const double *)p)[i];
	if (type == F32)
		return ((const float *)p)[i];
	uint32_t bits = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

/*
 * check compares entries all over C with exact sums, to the bound that gemmbench holds its own to. All products are
 * multiples of 2^-106 up to 1, and MAX_DIM of them an integer of 122 bits.
 */
static int check(const product *p)
{
	double unit = p->type_c == F64 ? 0x1p-53 : 0x1p-24;
	for (long i = 0; i < CHECKS; i++) {
		long at = (long)((double)i / (CHECKS - 1) * (p->m * p->n - 1)), row = at / p->n, col = at % p->n;
		__int128 sum = 0;
		double size = 0;
		for (long l = 0; l < p->k; l++) {
			double x = value(p->a, p->type, row * p->k + l), y = value(p->b, p->type, l * p->n + col);
			sum += (__int128)(x * 0x1p53) * (int64_t)(y * 0x1p53);
			size += fabs(x * y);
		}
		if (!(fabs(value(p->c, p->type_c, at) - sum * 0x1p-106) <= (p->k + 8) * unit * size))
			return 0;
	}
	return 1;
}

static double repeat(product *p, long calls)
{
	double start = now();
	for (long i = 0; i < calls; i++)
		lib_call(p);
	return now() - start;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

/* calls_of returns how many calls take so long. */
static long calls_of(product *p, double min_time)
{
	long calls = 1;
	for (double t; (t = repeat(p, calls)) < min_time;) {
		double want = calls * 1.2 * min_time / (t > 1e-9 ? t : 1e-9);
		calls = want > 2 * calls ? (want < 100 * calls ? want : 100 * calls) : 2 * calls;
	}
	return calls;
}

static double median(product *p, int count, long calls)
{
	double samples[MAX_COUNT];
	for (int i = 0; i < count; i++)
		samples[i] = repeat(p, calls) / calls;
	qsort(samples, count, sizeof *samples, ascending);
	return (samples[(count - 1) / 2] + samples[count / 2]) / 2;
}

/* flush writes what was printed. */
static void flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		die(1, LIB ": cannot write the result", "");
}

static void print(const product *p, int threads, double seconds)
{
	printf(LIB ",%s,%ld,%ld,%ld,%d,", names[p->type], p->m, p->n, p->k, threads);
	printf(isnan(seconds) ? "NaN\n" : "%.9g\n", seconds);
	flush();
}

/* wait_line returns whether there is another line on stdin. */
static int wait_line(void)
{
	int c;
	while ((c = getchar()) != '\n' && c != EOF)
		;
	return c == '\n';
}

/*
 * measure prints the line of one product and returns whether C was right. In steps it waits for a line before each
 * sample, and prints one for each, also if there is nothing to measure.
 */
static int measure(product p, int threads, int count, double min_time, int step)
{
	if (step && !wait_line())
		exit(0);
	p.type_c = p.type == F64 ? F64 : F32;
	p.a = operand(p.m * p.k, p.type, 0x9e3779b97f4a7c15);
	p.b = operand(p.k * p.n, p.type, 0xd1b54a32d192ed03);
	p.c = aligned(p.m * p.n * sizes[p.type_c]);
	memset(p.c, 0xff, p.m * p.n * sizes[p.type_c]); /* not a number */
	const char *why = lib_prepare(&p);
	int right = 1;
	long calls = 0;
	if (why) {
		fprintf(stderr, "peers: " LIB " %s skipped: %s\n", names[p.type], why);
	} else {
		lib_call(&p);
		if ((right = check(&p)))
			calls = calls_of(&p, min_time);
		else
			fprintf(stderr, "peers: " LIB " %s %ldx%ldx%ld is wrong, and not measured\n", names[p.type], p.m, p.n,
			        p.k);
	}
	for (int i = 0; step && i < count; i++) {
		if (i && !wait_line())
			exit(0);
		if (calls)
			lib_call(&p); /* the caches are the other program's */
		print(&p, threads, calls ? repeat(&p, calls) / calls : NAN);
	}
	if (!step && calls)
		print(&p, threads, median(&p, count, calls));
	if (!why)
		lib_release(&p);
	free(p.a), free(p.b), free(p.c);
	return right;
}

static long number(const char *s, char **end, long max, const char *what)
{
	long v = *s >= '0' && *s <= '9' ? strtol(s, end, 10) : 0;
	if (v < 1 || v > max) {
		fprintf(stderr, "peers: %s: \"%s\" is not in 1..%ld\n", what, s, max);
		exit(2);
	}
	return v;
}

static long flag(const char *s, long max, const char *what)
{
	char *end;
	long v = number(s, &end, max, what);
	if (*end)
		die(2, what, ": not a number");
	return v;
}

/* shape reads N or MxNxK. */
static product shape(const char *s)
{
	product p = {0};
	char *end;
	p.m = p.n = p.k = number(s, &end, MAX_DIM, "shape");
	if (*end == 'x') {
		p.n = number(end + 1, &end, MAX_DIM, "shape");
		if (*end != 'x')
			die(2, "shape: not N or MxNxK: ", s);
		p.k = number(end + 1, &end, MAX_DIM, "shape");
	}
	if (*end)
		die(2, "shape: not N or MxNxK: ", s);
	return p;
}

/* next_type reads the first type of a list, and moves on to the others, NULL after the last. */
static enum type next_type(const char **list)
{
	size_t n = strcspn(*list, ",");
	for (enum type t = 0; t < TYPES; t++)
		if (strlen(names[t]) == n && !strncmp(names[t], *list, n)) {
			*list = (*list)[n] ? *list + n + 1 : NULL;
			return t;
		}
	die(2, "-dtype: not a list of bf16, f32, f64: ", *list);
}

int main(int argc, char **argv)
{
	int threads = 1, count = 3, step = 0, i = 1, right = 1;
	double min_time = 0.1;
	const char *types = "bf16,f32";
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "-help") || !strcmp(argv[1], "--help"))) {
		printf("usage: %s [-dtype bf16,f32,f64] [-threads T] [-count N] [-min-time MS] [-step] SHAPE...\n", argv[0]);
		flush();
		return 0;
	}
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-step")) {
			step = 1;
			continue;
		}
		if (i + 1 == argc)
			die(2, "needs a value, or is no flag: ", argv[i]);
		const char *name = argv[i], *value = argv[++i];
		if (!strcmp(name, "-threads"))
			threads = flag(value, 4096, "-threads");
		else if (!strcmp(name, "-count"))
			count = flag(value, MAX_COUNT, "-count");
		else if (!strcmp(name, "-min-time"))
			min_time = flag(value, 60000, "-min-time") / 1e3;
		else if (!strcmp(name, "-dtype"))
			types = value;
		else
			die(2, "unknown flag ", name);
	}
	for (const char *list = types; list;)
		next_type(&list);
	if (i == argc)
		die(2, "no shapes: give N or MxNxK", "");
	for (int j = i; j < argc; j++)
		shape(argv[j]); /* all of them, before anything runs */
	lib_init(threads);
	for (; i < argc; i++) {
		product p = shape(argv[i]);
		for (const char *list = types; list;) {
			p.type = next_type(&list);
			right &= measure(p, threads, count, min_time, step);
		}
	}
	return right ? 0 : 1;
}
