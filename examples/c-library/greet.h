/* A small library of our own. */

/* Adds two whole numbers. */
int greet_add(int a, int b);

/* The length of a name in bytes. */
unsigned long greet_length(const char *name);

/* The distance of a point from the origin. */
double greet_distance(double x, double y);
