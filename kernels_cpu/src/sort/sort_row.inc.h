/* A whole row for one code width; included by sort_row.c twice. */

static void SORT_NAME(sort_alone)(const sort_row *row, SORT_KEY *codes, SORT_KEY *spare) {
    SORT_LOAD(row, codes, 0, row->n);
    SORT_NAME(phx_sort_codes)(codes, spare, row->n, row->index_bits);
    if (row->rest) phx_sort_refine(row, (void *)codes, (void *)spare, row->n, row->rest);
    SORT_STORE(row, codes, 0, row->n);
}

int SORT_NAME(phx_sort_row)(const sort_row *row) {
    const size_t n = row->n, bytes = sizeof(SORT_KEY), threads = (size_t)phx_num_threads();
    const size_t result = row->index_bits ? 8 : (size_t)row->order.width;
    const int in_place = result == bytes && row->out_stride == (int64_t)bytes;
    if (n <= SORT_SMALL) {
        SORT_KEY codes[SORT_SMALL], spare[SORT_SMALL];
        SORT_NAME(sort_alone)(row, codes, spare);
        if (!row->index_bits) phx_sort_restore_nans(row);
        return 0;
    }
    const int buckets = n >= (threads > 1 ? SORT_BUCKETS_PAY : SORT_BUCKETS_PAY_ALONE);
    const size_t want = (in_place ? 0 : n) + (buckets ? 0 : n);
    SORT_KEY *heap = want ? phx_sort_scratch(want * bytes) : NULL;
    if (want && !heap) return -1;
    SORT_KEY *codes = in_place ? (SORT_KEY *)row->out : heap, *spare = in_place ? heap : heap + n;
    int failed = 0;
    if (buckets)
        failed = SORT_NAME(phx_sort_buckets)(row, codes);
    else
        SORT_NAME(sort_alone)(row, codes, spare);
    free(heap);
    if (!failed && !row->index_bits) phx_sort_restore_nans(row);
    return failed;
}
