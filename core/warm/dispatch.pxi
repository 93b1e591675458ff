# Dispatch: from a public function over the table of resolved kernels to the native call.

cdef enum:
    NOGIL_COUNT = 16384  # elements from which a native call lets other Python threads run


cdef struct Launch:
    DLTensor scalar_tensors[3]
    uint8_t scalar_values[3][16]
    uint32_t scalars


cdef Entry *entry_at(Device device, size_t place, str op, tuple dtypes) except NULL:
    """An entry of the device's table, filled. It is good as long as the GIL is kept, and from there
    on for whoever holds the table."""
    cdef KernelTable table = device._table
    cdef Entry *e = table.entries + place
    while e.state == ENTRY_EMPTY:
        fill_entry(device, table, e, op, dtypes)
        if table is not device._table:  # chosen anew meanwhile
            table = device._table
            e = table.entries + place
    return e


cdef int fill_entry(Device device, KernelTable table, Entry *e, str op, tuple dtypes) except -1:
    from .dispatch import registry

    device.ensure_open()
    contiguous = registry.choose_kernel(device, op, dtypes, Layout.CONTIGUOUS)
    strided = registry.choose_kernel(device, op, dtypes, Layout.STRIDED)
    if e.state != ENTRY_EMPTY:
        return 0  # another thread was faster
    e.out = dtype_from_name(dtypes[len(dtypes) - 1]).code
    if (contiguous is None or op == "copy") and strided is None:  # copy serves all other ops
        e.state = ENTRY_OTHER
        return 0
    if contiguous is None:
        contiguous = strided  # it takes contiguous operands too, in the strided form
        e.only = ONLY_STRIDED
    elif strided is None:
        strided = contiguous
        e.only = ONLY_CONTIGUOUS
    table.kept += [contiguous, strided]
    e.contiguous = <PyObject *>contiguous
    e.strided = <PyObject *>strided
    e.contiguous_run = (<Kernel>contiguous).run_fn
    e.strided_run = (<Kernel>strided).run_fn
    e.contiguous_row = (<Kernel>contiguous).native_row
    e.strided_row = (<Kernel>strided).native_row
    native = e.contiguous_run != NULL and e.strided_run != NULL
    e.state = ENTRY_NATIVE if native else ENTRY_DRIVER
    return 0


cdef inline bint same_shape(Array a, Array b) noexcept:
    return a.t.ndim == b.t.ndim and memcmp(
        a.t.shape, b.t.shape, a.t.ndim * sizeof(int64_t)) == 0


cdef Array run_elementwise(Device device, Entry *e, str op, int n, void **operands, Launch *launch,
                           Array out):
    """Run an elementwise entry on operands of one device; NULL operands are host scalars.

    ``out`` is the destination of an in-place call, of the right dtype, else None.
    """
    cdef KernelTable table = device._table  # kept: `e` lies in it
    cdef Stream s = current_stream_of(device)
    cdef Array first = None
    cdef Array a
    cdef int i
    cdef bint simple = True
    for i in range(n):
        if operands[i] == NULL:
            continue
        a = <Array>operands[i]
        if not a.contiguous or (first is not None and not same_shape(first, a)):
            simple = False
            break
        first = a
    if simple and first is not None and e.state == ENTRY_NATIVE and e.only != ONLY_STRIDED:
        if out is None:
            out = new_array(device, <DType>_dtypes[e.out], first.t.ndim, first.t.shape, s)
        elif not out.contiguous or not same_shape(first, out):
            return run_general(device, e, op, n, operands, launch, out, s)
        if out.count:
            launch_flat(device, e, s, n, operands, launch, out)
        return out
    return run_general(device, e, op, n, operands, launch, out, s)


cdef inline int launch_flat(Device device, Entry *e, Stream s, int n, void **operands,
                            Launch *launch, Array out) except -1:
    """Launch the contiguous kernel on the arrays' own descriptors."""
    cdef const DLTensor *tensors[4]
    cdef void *arrays[4]
    cdef int i
    for i in range(n):
        arrays[i] = operands[i]
        tensors[i] = &launch.scalar_tensors[i] if operands[i] == NULL else &(<Array>operands[i]).t
    arrays[n] = <void *>out
    tensors[n] = &out.t
    return launch_native(s, <Kernel>e.contiguous, e.contiguous_run, e.contiguous_row, tensors, arrays,
                         n, 1, NULL, 0, launch.scalars, out.count)


cdef inline bint is_own(Timeline t, void *array) noexcept:
    """Whether only this timeline uses an array's buffer: no wait, and one number to note."""
    return (<Array>array).buffer.timeline is t and (<Array>array).buffer.readers is None


cdef inline int depend_on_all(Timeline t, void **arrays, int n_inputs, int n_outputs) except -1:
    """Wait for what arrays depend on, the inputs first. NULL arrays are scalars."""
    cdef int i
    for i in range(n_inputs + n_outputs):
        if arrays[i] == NULL:
            continue
        if not is_own(t, arrays[i]):
            depend_on(t, (<Array>arrays[i]).buffer, i >= n_inputs)
        elif i < n_inputs:
            if t.doubts is not None:
                t.check_value((<Array>arrays[i]).buffer.write_seq)
            if (<Array>arrays[i]).buffer.places is not None:
                check_places((<Array>arrays[i]).buffer)
    return 0


cdef inline int note_uses(Timeline t, void **arrays, int n_inputs, int n_outputs) except -1:
    """Note the uses of arrays by the timeline's newest launch."""
    cdef int i
    for i in range(n_inputs + n_outputs):
        if arrays[i] == NULL:
            continue
        if not is_own(t, arrays[i]):
            note_use(t, (<Array>arrays[i]).buffer, i >= n_inputs)
        elif i < n_inputs:
            (<Array>arrays[i]).buffer.read_seq = t.seq
        else:
            (<Array>arrays[i]).buffer.write_seq = t.seq
    if _has_checks:
        note_places(arrays, n_inputs, n_outputs)
    return 0


cdef inline int launch_native(Stream s, Kernel kernel, phx_run_fn run, const phx_kernel *row,
                              const DLTensor **tensors, void **arrays, int n_inputs, int n_outputs,
                              const int64_t *params, int n_params, uint32_t scalars,
                              int64_t work) except -1:
    """One launch of a native kernel: depend, begin, enqueue, publish. NULL arrays are scalars."""
    cdef Timeline t = s.timeline
    cdef phx_call call
    cdef phx_error *error
    cdef phx_stream *queue
    call.struct_size = sizeof(phx_call)
    call.tensors = tensors
    call.params = params
    call.n_inputs = n_inputs
    call.n_outputs = n_outputs
    call.n_params = n_params
    call.scalars = scalars
    call.device = t.device.native
    depend_on_all(t, arrays, n_inputs, n_outputs)
    t.begin()
    if work < NOGIL_COUNT and not PHX_DELAYS:
        error = run(row, t.native, &call)
    else:
        queue = t.native
        with nogil:
            phx_delay()
            error = run(row, queue, &call)
            phx_delay()
    t.publish()
    note_uses(t, arrays, n_inputs, n_outputs)
    t.leave()
    if error != NULL:
        raise_native(t.device, error, kernel)
    return 0


cdef int raise_native(Device device, phx_error *error, Kernel kernel) except -1:
    context = f"{kernel.op}({', '.join(kernel.dtypes)}) on {device}"
    device.calls().check_native_error(<uintptr_t>error, context)
    raise errors.LaunchError(f"{context} failed, and the driver did not say why")


cdef Array run_general(Device device, Entry *e, str op, int n, void **operands, Launch *launch,
                       Array out, Stream s):
    """Broadcast, choose the layout of a new output, merge axes, launch."""
    cdef Plan p
    cdef int i
    cdef void *all_operands[4]
    if out is None:
        broadcast_into(&p, n, operands)
        memory_order(&p)
        output_strides(&p)
        out = new_header(device, <DType>_dtypes[e.out], p.ndim)
        memcpy(out.t.shape, p.shape, p.ndim * sizeof(int64_t))
        memcpy(out.t.strides, p.strides[n], p.ndim * sizeof(int64_t))
        out.count = p.count
        out.contiguous = is_c_contiguous(p.ndim, out.t.shape, out.t.strides)
        if p.count > _MAX_COUNT:
            raise_too_large(device, out.dtype, p.ndim, p.shape)
        attach(out, allocate(device, p.count * out.dtype.itemsize, s))
    else:
        for i in range(n):
            all_operands[i] = operands[i]
        all_operands[n] = <void *>out
        broadcast_into(&p, n + 1, all_operands)
        p.n = n
        if p.ndim != out.t.ndim or memcmp(p.shape, out.t.shape, p.ndim * sizeof(int64_t)) != 0:
            raise ValueError(f"the result of shape {tuple([p.shape[i] for i in range(p.ndim)])} does "
                             f"not fit into the array of shape {out.shape}")
        memcpy(p.strides[n], out.t.strides, p.ndim * sizeof(int64_t))
    if p.count == 0:
        return out
    merge_axes(&p, n + 1)
    launch_planned(device, e, op, s, n, operands, launch, out, &p)
    return out


cdef int launch_planned(Device device, Entry *e, str op, Stream s, int n, void **operands,
                        Launch *launch, Array out, Plan *p) except -1:
    cdef KernelTable table = device._table  # kept: `e` lies in it
    cdef DLTensor local[4]
    cdef const DLTensor *tensors[4]
    cdef void *arrays[4]
    cdef int i
    cdef bint linear = is_linear(p, n + 1)
    if e.only == ONLY_STRIDED:
        linear = False
    elif e.only == ONLY_CONTIGUOUS and not linear:
        return launch_copied(device, e, op, s, n, operands, launch, out)
    if e.state != ENTRY_NATIVE:
        return launch_python(device, e, op, s, n, operands, launch, out, p, linear)
    for i in range(n + 1):
        arrays[i] = <void *>out if i == n else operands[i]
        if arrays[i] == NULL:
            tensors[i] = &launch.scalar_tensors[i]
            if linear:
                continue
            local[i] = launch.scalar_tensors[i]
        else:
            local[i] = (<Array>arrays[i]).t
        local[i].ndim = p.ndim
        if linear and p.ndim and p.strides[i][0] == 0:
            local[i].ndim = 0
        local[i].shape = p.shape
        local[i].strides = p.strides[i]
        tensors[i] = &local[i]
    if linear:
        return launch_native(s, <Kernel>e.contiguous, e.contiguous_run, e.contiguous_row, tensors,
                             arrays, n, 1, NULL, 0, launch.scalars, p.count)
    return launch_native(s, <Kernel>e.strided, e.strided_run, e.strided_row, tensors, arrays, n, 1,
                         NULL, 0, launch.scalars, p.count)


cdef int launch_copied(Device device, Entry *e, str op, Stream s, int n, void **operands,
                       Launch *launch, Array out) except -1:
    """Serve a contiguous kernel with operands of any strides: copy them, and the result back."""
    cdef list copies = []
    cdef void *dense[3]
    cdef Array copied
    cdef int i
    for i in range(n):
        dense[i] = NULL
        if operands[i] != NULL:
            copied = new_array(device, (<Array>operands[i]).dtype, out.t.ndim, out.t.shape, s)
            assign(copied, <Array>operands[i])
            copies.append(copied)
            dense[i] = <void *>copied
    copied = new_array(device, out.dtype, out.t.ndim, out.t.shape, s)
    run_general(device, e, op, n, dense, launch, copied, s)
    assign(out, copied)
    return 0


cdef int launch_python(Device device, Entry *e, str op, Stream s, int n, void **operands,
                       Launch *launch, Array out, Plan *p, bint linear) except -1:
    """Hand canonical views to a driver's own launch, or to decomposition and fallback."""
    cdef Kernel kernel = None
    cdef Signature g
    cdef void *arrays[4]
    cdef bytes key = None
    cdef list inputs
    cdef int i
    if e.state == ENTRY_DRIVER:
        kernel = <Kernel>(e.contiguous if linear else e.strided)
    prepared = None
    if kernel is not None and prepares(device):
        g.n = g.n_places = 0
        for i in range(n + 1):
            arrays[i] = <void *>out if i == n else operands[i]
            if arrays[i] == NULL:
                sign_number(&g, &launch.scalar_tensors[i])
            else:
                sign_array(&g, <Array>arrays[i], canonical_ndim(p, i, n, linear), p.shape,
                           p.strides[i])
        key = key_of(&g)
        if key is not None:
            prepared = look_up_prepared(device, kernel, key)
        if prepared is not None and prepared is not _seen:
            return run_prepared(s, prepared, &g, arrays, n, 1)
    inputs = []
    for i in range(n):
        if operands[i] == NULL:
            inputs.append(scalar_value(&launch.scalar_tensors[i]))
        else:
            inputs.append(view_of(<Array>operands[i], canonical_ndim(p, i, n, linear), p.shape,
                                  p.strides[i], 0))
    view = view_of(out, p.ndim, p.shape, p.strides[n], 0)
    if kernel is None:
        dtypes = tuple([(<DType>_dtypes[_code_of(operands, launch, i)]).name for i in range(n)])
        _dispatch_other(device, op, dtypes + (out.dtype.name,), inputs, [view], (), s)
        return 0
    if prepared is _seen:
        prepared = prepare_launch(device, kernel, key, inputs, [view], (), s)
        if prepared is not None:
            return run_prepared(s, prepared, &g, arrays, n, 1)
    launch_with_driver(device, kernel, inputs, [view], (), s)
    return 0


cdef inline int canonical_ndim(Plan *p, int i, int n, bint linear) noexcept:
    """The axes of an operand in canonical form: none where the layout is linear and it is repeated."""
    return 0 if linear and i < n and p.ndim and p.strides[i][0] == 0 else p.ndim


cdef int _code_of(void **operands, Launch *launch, int i):
    cdef DLDataType dl
    if operands[i] != NULL:
        return (<Array>operands[i]).dtype.code
    dl = launch.scalar_tensors[i].dtype
    return (<DType>_BY_DLPACK[dl.code, dl.bits, dl.lanes]).code


cdef int launch_with_driver(Device device, Kernel kernel, list inputs, list outputs, tuple params,
                            Stream s) except -1:
    run_transaction(
        s, [(<Array>x).buffer for x in inputs if isinstance(x, Array)],
        [(<Array>x).buffer for x in outputs],
        device.calls().launch, (kernel, inputs, outputs, params))
    if _has_checks:
        note_places_of(inputs, outputs)
    return 0


cdef int _dispatch_other(Device device, str op, tuple dtypes, list inputs, list outputs,
                         tuple params, Stream s) except -1:
    from .dispatch import misses

    misses.run_elsewhere(device, op, dtypes, inputs, outputs, params, s)
    return 0


def launch(str op not None, tuple inputs not None, tuple outputs not None, tuple params=()):
    """Run an op on canonical operands (see ``docs/ops.md``) into arrays that exist.

    All arrays lie on one device. Enqueues on the current stream and returns; native failures of
    inline streams raise here.

    Raises:
        DeviceMismatchError: arrays of several devices.
        UnsupportedOpError: no kernel, and the policy forbids a fallback.
    """
    cdef Device device = (<Array?>outputs[0]).device
    cdef Stream s = current_stream_of(device)
    cdef Kernel kernel
    cdef Array x
    cdef int i, n = len(inputs), m = len(outputs)
    cdef tuple key
    if n + m > 8 or len(params) > 8:
        raise ValueError(f"{op}: at most 8 operands and 8 params")
    key = PyTuple_New(1 + n + m)
    put_item(key, 0, op)
    for i in range(n + m):
        x = <Array?>(inputs[i] if i < n else outputs[i - n])
        put_item(key, 1 + i, x.dtype)
        if x.device is not device:
            raise errors.DeviceMismatchError(
                f"{op} into an array on {device} of one on {x.device}: move it, for example "
                f'with x.to_device("{device}")')
    if op == "scatter":  # by a wrong index it writes nothing: what is there has its value
        forget_places(uses_of((<Array>inputs[1]).buffer))
    kernel = kernel_at(device, key)
    if kernel is None:
        _dispatch_other(device, op, names_of(key), list(inputs), list(outputs), params, s)
        return
    if kernel.run_fn == NULL:
        launch_arrays(device, kernel, list(inputs), list(outputs), params, s)
    else:
        launch_natively(s, kernel, inputs, outputs, params)
    if op == "wrap_index":
        note_check(<Array>outputs[0])


cdef int launch_natively(Stream s, Kernel kernel, tuple inputs, tuple outputs, tuple params) except -1:
    cdef const DLTensor *tensors[8]
    cdef void *arrays[8]
    cdef int64_t native_params[8]
    cdef int i, n = len(inputs), m = len(outputs), k = len(params)
    cdef int64_t work = 0
    cdef Array a
    for i in range(n + m):
        a = inputs[i] if i < n else outputs[i - n]
        arrays[i] = <void *>a
        tensors[i] = &a.t
        work += a.count
    for i in range(k):
        native_params[i] = params[i]
    launch_native(s, kernel, kernel.run_fn, kernel.native_row, tensors, arrays, n, m, native_params,
                  k, 0, work)


cdef int launch_arrays(Device device, Kernel kernel, list inputs, list outputs, tuple params,
                       Stream s) except -1:
    """Hand an op on arrays, 8 at most, to a driver's launch, or to what the driver prepared for it."""
    cdef Signature g
    cdef void *arrays[MOST_OPERANDS]
    cdef Array a
    cdef bytes key = None
    cdef int i, n = len(inputs), m = len(outputs)
    if prepares(device):
        g.n = 1 + len(params)
        g.n_places = 0
        g.words[0] = len(params)
        for i in range(1, g.n):
            g.words[i] = params[i - 1]
        for i in range(n + m):
            a = <Array>(inputs[i] if i < n else outputs[i - n])
            arrays[i] = <void *>a
            sign_array(&g, a, a.t.ndim, a.t.shape, a.t.strides)
        key = key_of(&g)
        if key is not None:
            prepared = look_up_prepared(device, kernel, key)
            if prepared is _seen:
                prepared = prepare_launch(device, kernel, key, inputs, outputs, params, s)
            if prepared is not None:
                return run_prepared(s, prepared, &g, arrays, n, m)
    return launch_with_driver(device, kernel, inputs, outputs, params, s)


cdef Kernel kernel_at(Device device, tuple key):
    """The device's kernel for (op, *dtypes) of any layout, ``None`` if it has none."""
    cdef KernelTable table = device._table
    found = table.kernels.get(key, _missing)
    if found is _missing:
        from .dispatch import registry

        found = registry.choose_kernel(device, key[0], names_of(key), Layout.ANY)
        table.kernels[key] = found
    return found


cdef tuple names_of(tuple key):
    """The names of the dtypes in the key of a kernel."""
    return tuple([(<DType>dtype).name for dtype in key[1:]])


cdef Kernel _missing = Kernel("", (), Layout.ANY)
