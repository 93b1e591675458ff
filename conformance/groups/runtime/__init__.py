"""Runtime: devices, memory, copies, streams, events, errors."""
