"""What CUDA needs beside `phalanx.device_code`: its dialect of C, and the compiler's options."""
