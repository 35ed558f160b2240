/* Calls a compiled kernel a number of times, for a tool that counts instructions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*Kernel)(const double **, double **, long long *, double *, int);
typedef int (*Work)(long long *, long long *, long long *, long long *);

/* Arguments: library, kernel, number of calls, a file with the inputs. The file holds the number of inputs, the size of
   each and its numbers, then the number of outputs and the size of each. */
int main(int count, char **words)
{
    if (count != 5)
        return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    char name[512];
    snprintf(name, sizeof name, "%s", words[2]);
    Kernel kernel = (Kernel)dlsym(library, name);
    snprintf(name, sizeof name, "%s_work", words[2]);
    Work work = (Work)dlsym(library, name);
    FILE *file = fopen(words[4], "r");
    if (!kernel || !file)
        return 4;
    long long room[4] = {64, 64, 64, 1 << 20};
    if (work)
        work(room, room + 1, room + 2, room + 3);
    const double **arguments = calloc(room[0] + 64, sizeof *arguments);
    double **results = calloc(room[1] + 64, sizeof *results);
    long long *integers = calloc(room[2] + 64, sizeof *integers);
    double *numbers = calloc(room[3] + 64, sizeof *numbers);
    int n, size;
    if (fscanf(file, "%d", &n) != 1)
        return 5;
    for (int i = 0; i < n; i++) {
        if (fscanf(file, "%d", &size) != 1)
            return 5;
        double *values = calloc(size + 8, sizeof *values);
        for (int k = 0; k < size; k++)
            if (fscanf(file, "%lf", values + k) != 1)
                return 5;
        arguments[i] = values;
    }
    if (fscanf(file, "%d", &n) != 1)
        return 5;
    for (int i = 0; i < n; i++) {
        if (fscanf(file, "%d", &size) != 1)
            return 5;
        results[i] = calloc(size + 8, sizeof(double));
    }
    for (long calls = atol(words[3]); calls > 0; calls--)
        if (kernel(arguments, results, integers, numbers, 0))
            return 6;
    printf("%.17g\n", results[n - 1][0]);
    return 0;
}
