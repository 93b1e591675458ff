/* Codes in buckets by the splits of sort_quick.inc.h, for one key width; included behind it. */

/* Bring codes of data to dest in the order of the buckets below a node of the tree of splitters, and write how
 * many each has; data or spare is dest. */
static void SORT_NAME(part)(SORT_KEY *data, SORT_KEY *spare, SORT_KEY *dest, size_t n,
                            const SORT_KEY *tree, size_t node, int levels, size_t *counts) {
    if (levels == 0) {
        if (data != dest) memcpy(dest, data, n * sizeof *data);
        *counts = n;
        return;
    }
    SORT_KEY *other = data == dest ? spare : data;
    const size_t l = SORT_NAME(split)(data, dest, other, n, tree[node]);
    levels--;
    SORT_NAME(part)(dest, other, dest, l, tree, 2 * node, levels, counts);
    SORT_NAME(part)(other + l, dest + l, dest + l, n - l, tree, 2 * node + 1, levels, counts + ((size_t)1 << levels));
}

void SORT_NAME(phx_sort_part)(SORT_KEY *codes, SORT_KEY *parts, size_t n, const SORT_KEY *tree,
                              int levels, size_t *counts) {
    SORT_NAME(part)(codes, parts, parts, n, tree, 1, levels, counts);
}
