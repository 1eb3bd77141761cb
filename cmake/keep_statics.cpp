// What weft_keep_statics (compiler.cmake) puts in the place of the function that registers destructors of static
// objects.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*);

int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }
