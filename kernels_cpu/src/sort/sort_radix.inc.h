/* Least significant digit radix sort of codes for one width; included by sort_radix.c twice. */

/* Stable insertion sort by the bits from `low` up. */
static void SORT_NAME(insertion)(SORT_KEY *a, size_t n, int low) {
    for (size_t i = 1; i < n; i++) {
        SORT_KEY v = a[i], k = v >> low;
        size_t j = i;
        for (; j > 0 && a[j - 1] >> low > k; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

/* One stable merge of two neighbouring runs; the selects compile to conditional moves. */
static void SORT_NAME(merge)(const SORT_KEY *a, size_t na, const SORT_KEY *b, size_t nb,
                             SORT_KEY *out, int low) {
    const SORT_KEY *ea = a + na, *eb = b + nb;
    while (a < ea && b < eb) {
        size_t right = *b >> low < *a >> low;
        *out++ = right ? *b : *a;
        a += 1 - right;
        b += right;
    }
    while (a < ea) *out++ = *a++;
    while (b < eb) *out++ = *b++;
}

/* Insertion-sorted runs of 16, merged pairwise: less set-up than digits for a few hundred codes. */
static void SORT_NAME(merge_sort)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n,
                                  int low) {
    for (size_t i = 0; i < n; i += 16) SORT_NAME(insertion)(data + i, n - i < 16 ? n - i : 16, low);
    for (size_t run = 16; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            size_t na = n - i < run ? n - i : run, nb = n - i - na < run ? n - i - na : run;
            SORT_NAME(merge)(data + i, na, data + i + na, nb, spare + i, low);
        }
        SORT_KEY *swap = data;
        data = spare;
        spare = swap;
    }
    if (data != dest) memcpy(dest, data, n * sizeof *dest);
}

void SORT_NAME(phx_sort_radix)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n, int low) {
    enum { DIGITS = sizeof(SORT_KEY) };
    if (n <= 64 * DIGITS) {
        SORT_NAME(merge_sort)(data, spare, dest, n, low);
        return;
    }
    size_t count[DIGITS][256] = {
        {0}}; /* of all digits in one pass; the lowest digit starts at `low` */
    int digits = (DIGITS * 8 - low + 7) / 8;
    for (size_t i = 0; i < n; i++) {
        SORT_KEY k = data[i] >> low;
        for (int d = 0; d < digits; d++) count[d][k >> (8 * d) & 255]++;
    }
    for (int d = 0; d < digits; d++) {
        size_t *place = count[d], sum = 0;
        if (place[(data[0] >> low) >> (8 * d) & 255] == n)
            continue; /* one value: the pass would copy */
        for (int v = 0; v < 256; v++) {
            size_t c = place[v];
            place[v] = sum;
            sum += c;
        }
        for (size_t i = 0; i < n; i++) {
            SORT_KEY v = data[i];
            spare[place[(v >> low) >> (8 * d) & 255]++] = v;
        }
        SORT_KEY *swap = data;
        data = spare;
        spare = swap;
    }
    if (data != dest) memcpy(dest, data, n * sizeof *dest);
}
