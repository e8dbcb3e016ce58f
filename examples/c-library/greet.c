#include "greet.h"

#include <string.h>

int greet_add(int a, int b) { return a + b; }

unsigned long greet_length(const char *name) { return strlen(name); }

double greet_distance(double x, double y) {
    double square = x * x + y * y, root = square > 1 ? square : 1;
    for (int step = 0; step < 60; step++) root = (root + square / root) / 2;
    return root;
}
