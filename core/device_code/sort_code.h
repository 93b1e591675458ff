/* A code behind every other: what sort.h and sort_radix.h put where a row has ended. */
PHX_FN CODE last_code(void) {
#if FORM == 2
    CODE c;
    c.key = c.place = ~(u64)0;
    return c;
#else
    return ~(CODE)0;
#endif
}
